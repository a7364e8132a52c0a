"""``primum compare``: whether the unlabelled rows of a table help, and which model to use.

It prints plain text, at most 80 characters wide.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import primum
from primum._progress import showing_passes
from primum._typing import AnyArray
from primum._words import (
    TERMINAL_WIDTH,
    counted,
    find_name,
    key_of,
    listed,
    printable,
    shortened,
    suggestion,
    wrapped,
)
from primum.cli import _options as options
from primum.comparison.card import ClassFigures
from primum.comparison.decision import decision_in_words
from primum.comparison.labelling_files import StoredLabelling, prepare_labelling, write_labelling
from primum.comparison.models import OWN_MODEL, default_baselines, default_methods
from primum.comparison.rare_classes import DROP, GROUP
from primum.comparison.records import named_classes
from primum.comparison.result import Comparison
from primum.comparison.settle import why_not
from primum.comparison.shares import COUNTS, SHIFTS, assumption_in_words
from primum.comparison.words import BASELINE, SAFE, MethodResult, labels_in_words
from primum.judging.objectives import names_a_rule
from primum.judging.words import CANNOT_TELL, HARM, HELP, NO_DIFFERENCE, Measure, percent
from primum.methods.registry import commands
from primum.reading.known import AUTO, CLASSES, NUMBERS
from primum.safe.candidates.packages import ON_REQUEST, PACKAGES, require_installed
from primum.tables.files import TableFile, TableFormat, open_table
from primum.tables.labels import recognised
from primum.tables.problem import sampled, without_total

if TYPE_CHECKING:
    import pandas as pd

# The models of every comparison besides its methods; names do not depend on the folds.
MODELS = [BASELINE, *(name for name, _ in default_baselines())]
# The default methods by the keys that request them: their name in ``primum.compare``, and whether
# they use unlabelled rows.
DEFAULT_METHODS = {key_of(name): (name, uses) for name, _, uses in default_methods(2, 2, None)}
FURTHER = {key_of(variant.name): variant for variant in commands()}
# Supervised models that are methods or baselines only on request.
REQUESTED = {key_of(name): name for name in ON_REQUEST}


def read_methods(context: Any, parameter: Any, text: str | None) -> str | list[Any]:
    """Return the methods in a comma-separated list, in the form that ``primum.compare`` takes."""
    return [_find(name) for name in options.comma_separated(context, parameter, text)] or "default"


def _find(name: str) -> Any:
    """Return a method: the name of a default one, or (name, classifier, uses_unlabeled)."""
    key = key_of(name)
    if key in DEFAULT_METHODS:
        return DEFAULT_METHODS[key][0]
    if key in REQUESTED:
        return _installed(REQUESTED[key])
    if key in FURTHER:
        variant = FURTHER[key]
        return variant.name, variant.estimator(), not variant.supervised
    meant = suggestion(key, [*DEFAULT_METHODS, *FURTHER, *REQUESTED])
    raise click.BadParameter(f"unknown method {name!r}{meant}; --list-methods lists them.")


def _installed(name: str) -> str:
    """Return a name; raise an error if the package that it stands for is not installed."""
    try:
        require_installed(name)
    except ImportError as problem:
        raise click.BadParameter(str(problem)) from problem
    return name


def read_baseline(context: Any, parameter: Any, text: str | None) -> str | list[str]:
    """Return the baselines in a comma-separated list, in the form that ``primum.compare`` takes."""
    models = {key_of(name): name for name in MODELS[1:]} | REQUESTED
    names = options.comma_separated(context, parameter, text)
    for name in names:
        if key_of(name) not in models:
            raise click.BadParameter(
                f"unknown baseline {name!r}{suggestion(key_of(name), list(models))}; choose from "
                f"{', '.join(models)}."
            )
    return [_installed(models[key_of(name)]) for name in names] or "default"


def list_methods(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print the names of all methods, and end."""
    if not wanted or context.resilient_parsing:
        return
    lines = [(key, "compared by default", uses) for key, (_, uses) in DEFAULT_METHODS.items()]
    lines += [(key, known.method, not known.supervised) for key, known in FURTHER.items()]
    lines += [
        (key, f"of the package {name}" if name in PACKAGES else "scikit-learn's booster", False)
        for key, name in REQUESTED.items()
    ]
    for key, description, uses_unlabeled in lines:
        click.echo(f"{key:26}{description}{'' if uses_unlabeled else ', supervised'}")
    context.exit()


def _one_cost(_context: Any, _parameter: Any, parts: Sequence[Any]) -> dict[Any, float] | None:
    """Return the costs as one mapping; None if there are none."""
    pairs = [pair for pair, _ in parts]
    if twice := [pair for pair in pairs if pairs.count(pair) > 1]:
        raise click.BadParameter(f"the cost of {':'.join(twice[0])} is given twice.")
    return dict(parts) or None


TABLE_OPTIONS = options.with_options(
    click.option(
        "--target",
        required=True,
        help="Column with the classes, or the numbers, to predict; empty where they are unknown.",
    ),
    click.option(
        "--classes",
        "target_kind",
        flag_value=CLASSES,
        help="Treat the target as classes even if it looks like numbers to predict.",
    ),
    click.option(
        "--regression",
        "target_kind",
        flag_value=NUMBERS,
        help="Treat the target as numbers to predict even if it looks like classes.",
    ),
    click.option(
        "--bounds",
        type=options.read_bounds,
        metavar="LOW:HIGH",
        help="Range certain to contain all numbers to predict, for example 0:100. With it, ICLS is "
        "compared too.",
    ),
    options.id_option("Column that identifies the rows: not a feature; copied to predictions."),
    click.option(
        "--group", help="Column that names groups, such as patients, whose rows stay together."
    ),
    options.chosen_option,
    click.option(
        "--independent-rows",
        is_flag=True,
        help="Say that no rows belong together, even if a column looks as if some do.",
    ),
    click.option(
        "--exclude",
        callback=options.comma_separated,
        help="Comma-separated columns not to learn from.",
    ),
)
# How a comparison is run, whatever is compared.
RUN_OPTIONS = options.with_options(
    click.option(
        "--scoring",
        help="How to judge predictions. Classes: accuracy (the default), balanced_accuracy, f1, "
        "average_precision, recall_at_precision=0.9, neg_brier_score, neg_log_loss; numbers: rmse "
        "(the default), mae, r2, rmsle; or another scorer of scikit-learn. Models choose their "
        "decision rule for balanced_accuracy, f1 and recall_at_precision.",
    ),
    click.option(
        "--positive",
        help="The class of interest, one of two, for f1, average_precision and "
        "recall_at_precision.",
    ),
    click.option(
        "--cost",
        multiple=True,
        type=options.read_error_cost,
        metavar="TRUE:PREDICTED=COST",
        callback=_one_cost,
        help="Cost of predicting PREDICTED where TRUE is right, for example yes:no=5; repeat it "
        "for further errors. All others cost 1. Models predict the class with the least expected "
        "cost.",
    ),
    click.option(
        "--rare-classes",
        type=click.Choice([GROUP, DROP]),
        help="What to do with classes that have too few labels to be judged, one or two: group "
        "(predict them as one class, other) or drop (count their rows as unlabelled).",
    ),
    click.option(
        "--shift",
        type=click.Choice(SHIFTS),
        default="none",
        help="How labelled and unlabelled rows differ, if labels are not a random sample: label "
        "(only in the shares of the classes) or covariate (only in the features). Labelled rows "
        "are then weighted.",
    ),
    click.option(
        "--methods",
        callback=read_methods,
        help="Comma-separated names of the methods to compare; --list-methods lists them.",
    ),
    click.option(
        "--baseline",
        callback=read_baseline,
        help="Comma-separated names of the supervised models to compare with: ridge, logistic, "
        "hist-gradient-boosting, tabpfn, tabicl, catboost; default: ridge,logistic, and ridge for "
        "numbers.",
    ),
    click.option(
        "--list-methods",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=list_methods,
        help="List the names for --methods.",
    ),
    click.option(
        "--repeats",
        "n_repeats",
        type=click.IntRange(min=1),
        help="How many times to split the labelled rows into folds; default: 3.",
    ),
    click.option(
        "--curves/--no-curves",
        default=False,
        help="Draw learning curves over the number of unlabelled rows.",
    ),
    click.option(
        "--time-budget",
        type=click.FloatRange(min=0, min_open=True),
        help="Limit in seconds; fits that would exceed it are left out and listed in the report.",
    ),
    click.option(
        "--max-rows",
        type=click.IntRange(min=100),
        default=10_000,
        help="Use a random sample of this many rows of a longer table.",
    ),
    click.option(
        "--seed",
        "random_state",
        type=click.IntRange(min=0, max=2**32 - 1),
        default=0,
        help="Seed of everything random.",
    ),
    options.jobs_option("n_jobs"),
)
OUTPUT_OPTIONS = options.with_options(
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        help="Folder for the report and the finished fits, or the file of the report (.html, .md, "
        ".json); default: DATA-comparison.",
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(options.FORMATS),
        help="Format of the report; default: html",
    ),
    click.option(
        "--save-model",
        "model",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File for the recommended model, preparation included, for primum predict.",
    ),
    click.option(
        "--model",
        "name",
        help="Name of another model of the table to save with --save-model, for example baseline.",
    ),
    click.option("--resume", is_flag=True, help="Continue the comparison in the folder."),
    click.option("--force", is_flag=True, help="Replace existing output."),
    click.option("--quiet", is_flag=True, help="Show no progress."),
)


@click.command()
@click.argument("data", type=options.TablePath())
@TABLE_OPTIONS
@options.format_options
@RUN_OPTIONS
@OUTPUT_OPTIONS
def compare(
    data: Path,
    id_column: str | None,
    table_format: TableFormat,
    max_rows: int,
    out: Path | None,
    form: str | None,
    model: Path | None,
    name: str | None,
    force: bool,
    quiet: bool,
    **settings: Any,  # of primum.compare
) -> None:
    """Find out whether the unlabelled rows of DATA help, and which model to use.

    DATA is a table (CSV, Parquet or a spreadsheet) with one row per case; some rows have a class,
    or a number, in the column --target. Its columns are prepared automatically. Prints a verdict
    and a table, and writes a report.
    """
    _check_arguments(name, model, settings)
    output = options.output_of(data, out, form, model)
    output.check(data, resume=settings["resume"], force=force)
    settings |= {"id": id_column, "missing": table_format.missing, "folder": output.fits}
    with _plain_errors(output):
        table, frame = _read(data, table_format, settings, quiet=quiet)
        settings["decimal"] = table_format.decimal or table.decimal
        whole, frame, notes = _rows(frame, max_rows, settings)
        with output.replacing_fits(resume=settings["resume"]), _silence():
            chosen_settings = {key: value for key, value in settings.items() if value is not None}
            result = primum.compare(frame, **chosen_settings, left_out=notes, verbose=not quiet)
            if whole is not None:  # labels are asked for on all rows
                result.whole = whole
            sample = "" if whole is None else "  # a sample of it was compared"
            if result.call is not None:
                result.call = replace(result.call, read=f"{table.pandas_code()}{sample}")
            labelling, labels = _labelling(result, table, output)
        # Models are fitted once more for the report, perhaps to fewer rows of a class.
        with _noting_warnings(result.plan.table.classes):
            output.write_report(result)
            saved = (
                [] if model is None else _save(result, model, name, settings["target"], id_column)
            )
            if labelling is not None:
                labels += _write_labelling(labelling, result, table)
            text = screen_text(result)
        # Printed last, when all files are complete, because the reader may close the output early.
        click.echo(text)
        click.echo("\n".join([f"\nReport: {output.report}", *saved]))
        for note in filter(None, labels):
            click.echo("\n" + printable(wrapped(note)))


def _check_arguments(name: str | None, model: Path | None, settings: dict[str, Any]) -> None:
    """Raise an error, before anything is read, for arguments that contradict each other."""
    if settings["independent_rows"] and settings["group"] is not None:
        raise click.UsageError(
            "--independent-rows says that no rows belong together, but --group says which do: pass "
            "one of the two."
        )
    if model is not None:
        options.check_file(model, "--save-model")
    ruled = settings["cost"] is not None or names_a_rule(settings["scoring"] or "")
    check_model_name(name, model, settings["methods"], settings["baseline"], ruled=ruled)


def _read(
    data: Path, table_format: TableFormat, settings: dict[str, Any], *, quiet: bool
) -> tuple[TableFile, "pd.DataFrame"]:
    """Return a table and its rows; raise an error if a named column does not exist."""
    as_text = [settings[role] for role in ("target", "id", "group", "chosen") if settings[role]]
    with nullcontext() if quiet else showing_passes(f"reading {data.name}"):
        table = open_table(data, table_format)
        frame = table.frame(as_text)
    table.require([*as_text, *settings["exclude"]], frame.columns)
    return table, frame


def _rows(
    frame: "pd.DataFrame", max_rows: int, settings: dict[str, Any]
) -> tuple["pd.DataFrame | None", "pd.DataFrame", list[str]]:
    """Return (all rows if only a sample is compared, the compared rows, notes on them).

    Notes on rows that are left out are shown at once, because the run may take long.
    """
    target, missing, kind = settings["target"], settings["missing"], settings["target_kind"] or AUTO
    whole, total = without_total(frame, target, missing)
    seed, decimal = settings["random_state"], settings["decimal"]
    rows, sample = sampled(whole, target, missing, max_rows, seed, kind, decimal)
    for note in filter(None, (total, sample)):
        click.echo(printable(wrapped(note)), err=True)
    notes = [total, sample, recognised(list(frame.columns), settings["chosen"])]
    return whole if sample else None, rows, list(filter(None, notes))


def _write_labelling(labelling: StoredLabelling, result: Comparison, table: TableFile) -> list[str]:
    """Write the rows to label and their files; return what to do with them."""
    with _silence():
        write_labelling(labelling, result, table)
    asked = labelling.settlement
    if not asked.settled:
        return [labelling.how_to_label]
    return [f"{asked.request} {labelling.words.how}"] if asked.request else []


def _why_no_sheet(result: Comparison, output: options.ComparisonOutput) -> str:
    """Return, in a sentence, why there are no rows to label; empty if that is obvious."""
    if not result.plan.table.n_unlabeled or not result.compared:
        return ""
    asked = result.settlement
    if asked is None:
        return options.in_options(why_not(result))
    if output.fits is None and not asked.settled:
        return (
            "Labels of some rows settle which model is better on your rows: pass a folder as "
            "--out, and the rows to label are written beside the report."
        )
    return ""


def _labelling(
    result: Comparison, table: TableFile, output: options.ComparisonOutput
) -> tuple[StoredLabelling | None, list[str]]:
    """Give a comparison the labels given earlier; return its labelling to store, and notes."""
    labelling, notes = None, list[str]()
    if output.fits is not None:
        labelling, notes = prepare_labelling(result, table, output.report)
    return labelling, [*notes, _why_no_sheet(result, output)]


@contextmanager
def _silence() -> Iterator[None]:
    """Show no warnings: the report has the notes of every fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _noting_warnings(classes: AnyArray | None) -> Iterator[None]:
    """Print warnings of this library as sentences, once each, with the names of classes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    ours = [str(one.message) for one in caught if one.category is UserWarning]
    for sentence in dict.fromkeys(ours):
        said = named_classes(sentence, classes)
        options.warn(f"models were fitted again for the report, and one of them warned: {said}")


def check_model_name(
    name: str | None, path: Path | None, methods: Any, baseline: Any, *, ruled: bool = False
) -> None:
    """Raise an error, before the run, if no model of the table can have a name.

    With decision rules, several baselines form one model.
    """
    if name is None:
        return
    if path is None:
        raise click.UsageError("--model names the model to save: pass --save-model PATH as well.")
    chosen = DEFAULT_METHODS.values() if isinstance(methods, str) else methods
    parts = MODELS if isinstance(baseline, str) else [BASELINE, *baseline]
    parts = parts[:1] if ruled and len(parts) > 2 else parts
    names = [*parts, *(one if isinstance(one, str) else one[0] for one in chosen)]
    if find_name(name, names) is None:
        raise click.BadParameter(
            f"there is no model {name!r}{suggestion(key_of(name), list(map(key_of, names)))}: "
            f"choose from {listed(names)}.",
            param_hint="--model",
        )


def _save(
    result: Comparison, path: Path, name: str | None, target: str, id_column: str | None
) -> list[str]:
    """Store a model fitted to all rows, by default the recommended one; return what to print."""
    chosen = result.recommended if name is None else name
    with _silence():
        fitted = result.fit(chosen)
    carried = id_column if result.problem is None else result.problem.id_column
    primum.save(fitted, path, id=carried, target=target)
    said = [f"Model: {path} ({chosen}), for primum predict"]
    if chosen not in {method.name for method in result.methods}:
        warning = f"{chosen} was fitted, but not compared: nothing above says how good it is."
        said.append(printable(wrapped(f"Warning: {warning}")))
    if id_column is None and carried is not None:
        hint = f"Predictions will have the column {carried!r}, which seems to identify the rows."
        said.append(printable(wrapped(hint)))
    return said


@contextmanager
def _plain_errors(output: options.ComparisonOutput) -> Iterator[None]:
    """Show errors as one sentence, in terms of this command's options."""
    try:
        with options.plain_errors():
            yield
    except click.ClickException as problem:
        message = problem.message.replace(OWN_MODEL, "")
        raise click.ClickException(printable(message)) from problem
    except KeyboardInterrupt:
        advice = "" if output.fits is None else "; continue with --resume"
        raise click.ClickException(f"Stopped{advice}.") from None


ANSWERS = {HELP: "helps", HARM: "harms", NO_DIFFERENCE: "no difference", CANNOT_TELL: "cannot tell"}
MODEL_ROW = "{:<24} {:>9} {:>8} {:>10} {:>16}"
# Rows of the table of classes in a terminal, at most, so that the answer above stays in sight.
MAX_CLASSES_SHOWN = 12
# Explanations of the default baselines, and the name of the safe stack's twin.
TUNED = {
    ("ridge", "logistic"): "tuned ridge and logistic regression",
    ("ridge",): "tuned ridge regression",
}
SUPERVISED = "supervised stack"
ROW = "{:<18} {:>7} {:>7} {:>17} {:>5} {:>5}  {:<13}"


def screen_text(result: Comparison) -> str:
    """Return the data, the verdict, one table, and what was left out."""
    notes = "\n".join(f"Note: {sentence}" for sentence in dict.fromkeys(result.left_out))
    texts = [wrapped(data_text(result)), str(result.headline), _model_text(result)]
    texts.append(wrapped(decision_in_words(result.answer)))
    texts.append(_shares_text(result))
    names = names_in_words(result, " ".join(str(result.headline).split()))
    captions = "\n".join([_caption(result), names])
    parts = [*texts, _table(result), wrapped(captions), wrapped(notes)]
    return printable("\n\n".join(part for part in parts if part))


def _shares_text(result: Comparison) -> str:
    """Return the class shares of the unlabelled rows, and their assumption."""
    if (shares := result.shares) is None:
        return ""
    assumption = options.in_options(assumption_in_words(shares, result.drift, result.shift))
    return wrapped(f"{shares.in_words} {assumption} {COUNTS}")


def data_text(result: Comparison) -> str:
    """Return a description of the rows, and the number of columns that are used."""
    table = result.plan.table
    labels, reason = labels_in_words(table.drawn), table.kind.how
    reason = f"\n{options.in_options(reason)}" if reason else ""
    chosen = counted(table.n_chosen, "chosen one")
    chosen = f", {chosen} for training only" if table.n_chosen else ""
    if table.n_unlabeled == 0:
        return (
            f"All {table.n_labeled} rows are labelled ({labels}{chosen}), so there are no "
            "unlabelled rows that could help, and the methods are compared on the labelled rows "
            "alone. Unknown labels must be empty cells, or markers listed in --missing."
            f"{reason}{_columns(result)}"
        )
    unlabeled = counted(table.n_unlabeled, "unlabelled row")
    drawn = f"{table.n_labeled - table.n_chosen} labelled rows ({labels})"
    return f"{drawn}{chosen} and {unlabeled}.{reason}{_columns(result)}"


def _columns(result: Comparison) -> str:
    if not result.columns:
        return ""
    used = sum(column.used for column in result.columns)
    return f"\n{used} of {len(result.columns)} columns are used; the report says how."


def _model_text(result: Comparison) -> str:
    """Return the loss of the recommended model, and its figures by class."""
    if (card := result.model_card) is None:
        return ""
    loss = f"The model to deploy is {result.name_in_words(card.name)}: {card.in_words}."
    text = wrapped(f"{loss} {card.details}".strip())
    return f"{text}\n\n{_classes_text(card.classes)}" if card.classes else text


def _classes_text(classes: Sequence[ClassFigures]) -> str:
    """Return recall, precision and counts of a model by class, as a table."""
    head = MODEL_ROW.format("class", "labelled", "recall", "precision", "unlabelled rows")
    rows = [
        MODEL_ROW.format(
            shortened(one.name, 24),
            one.n_labeled,
            *("-" if share is None else f"{share:.0%}" for share in (one.recall, one.precision)),
            "-" if one.n_unlabeled is None else one.n_unlabeled,
        )
        for one in classes[:MAX_CLASSES_SHOWN]
    ]
    if len(classes) > MAX_CLASSES_SHOWN:
        rows.append(f"and {len(classes) - MAX_CLASSES_SHOWN} more classes, which the report lists")
    return "\n".join([head, "-" * TERMINAL_WIDTH, *rows])


def _table(result: Comparison) -> str:
    head = ROW.format("method", "loss", "change", "interval", "help", "harm", "answer")
    rows = [_row(method, result.measure) for method in result.methods]
    return "\n".join(line.rstrip() for line in [head, "-" * TERMINAL_WIDTH, *rows])


def _row(method: MethodResult, measure: Measure) -> str:
    loss = f"{method.loss * measure.scale:.{measure.digits}f}"
    name = shortened(method.name, 18)
    if method.verdict is None or method.observed_change is None:
        return ROW.format(name, loss, "", "", "", "", "")
    verdict, odds = method.verdict, method.verdict.probabilities
    change = _signed(method.observed_change, measure)
    interval = " to ".join(_signed(value, measure) for value in verdict.interval)
    likely = _short(odds.help), _short(odds.harm)
    return ROW.format(name, loss, change, interval, *likely, ANSWERS[verdict.answer])


def _short(probability: float) -> str:
    return percent(probability).replace("below ", "<").replace("above ", ">")


def _signed(value: float, measure: Measure) -> str:
    return f"{round(value * measure.scale, measure.digits) + 0.0:+.{measure.digits}f}"


def _caption(result: Comparison) -> str:
    measure = result.measure
    unit = f", in{measure.unit}" if measure.unit.strip() else ""
    return (
        f"loss: {measure.name}{unit}, on held-out rows. change: its difference from that of "
        f"{result.plan.baseline_in_words}; negative is better. interval: where the true change "
        "lies, often nearer to 0, because part of a difference is chance. help, harm: their "
        "probabilities. The report explains how they are estimated."
    )


def names_in_words(result: Comparison, shown: str) -> str:
    """Return explanations of names that do not explain themselves, if they occur in the text."""
    names = [entry.name for entry in result.plan.baselines]
    parts = TUNED.get(tuple(names), " and ".join(names))
    meanings = {BASELINE: f"the average of {parts}" if len(names) > 1 else parts}
    if any(method.name == SAFE for method in result.methods):
        meanings[SAFE] = (
            "a weighted average of models with and without the unlabelled rows, near the baseline "
            "if labels are few"
        )
        if SUPERVISED in shown:
            meanings[SUPERVISED] = "the same without the unlabelled rows"
    return "; ".join(f"{name}: {meaning}" for name, meaning in meanings.items()) + "."
