"""What ``primum compare`` writes: plain text, at most 80 characters wide, a report and a model.

Where they go is checked before the work starts.
"""

import json
import os
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from primum._files import unpredictable, write_file
from primum._words import WIDTH, counted, printable, wrapped
from primum.cli._options import check_length, check_out, in_options, refuse_inputs
from primum.comparison.card import ClassFigures
from primum.comparison.decision import decision_in_words
from primum.comparison.page import code_of, comparison_markdown, comparison_page
from primum.comparison.result import Comparison
from primum.comparison.shares import COUNTS, assumption_in_words
from primum.comparison.words import BASELINE, SAFE, MethodResult
from primum.judging.words import CANNOT_TELL, HARM, HELP, NO_DIFFERENCE, Measure, percent

ANSWERS = {HELP: "helps", HARM: "harms", NO_DIFFERENCE: "no difference", CANNOT_TELL: "cannot tell"}
MODEL_ROW = "{:<24} {:>9} {:>8} {:>10} {:>16}"
MAX_CLASSES = 12
# The default baselines, whose names are too short to explain themselves, and the safe stack's twin.
TUNED = {
    ("ridge", "logistic"): "tuned ridge and logistic regression",
    ("ridge",): "tuned ridge regression",
}
SUPERVISED = "supervised stack"
ROW = "{:<18} {:>7} {:>24} {:>6} {:>6}  {:<13}"


def screen_text(result: Comparison) -> str:
    """Return the data, the verdict, one table, and what was left out."""
    notes = "\n".join(f"Note: {sentence}" for sentence in dict.fromkeys(result.left_out))
    texts = [wrapped(data_text(result)), str(result.headline), _model_text(result)]
    texts.append(wrapped(decision_in_words(result, result.decision)))
    texts.append(_shares_text(result))
    names = names_in_words(result, " ".join(str(result.headline).split()))
    captions = "\n".join([_caption(result), names])
    parts = [*texts, _table(result), wrapped(captions), wrapped(notes)]
    return printable("\n\n".join(part for part in parts if part))


def _shares_text(result: Comparison) -> str:
    """Return the shares of the classes among the unlabelled rows, and what they assume."""
    if (shares := result.shares) is None:
        return ""
    assumption = in_options(assumption_in_words(shares, result.drift, result.shift))
    return wrapped(f"{shares.in_words} {assumption} {COUNTS}")


def data_text(result: Comparison) -> str:
    """Return what the labelled rows are, and how many columns are used."""
    table = result.plan.table
    labels, how = table.drawn_target.in_words, table.target.kind.how
    how = f"\n{in_options(how)}" if how else ""
    chosen = counted(table.n_chosen, "chosen one")
    chosen = f", {chosen} for training only" if table.n_chosen else ""
    if table.n_unlabeled == 0:
        return (
            f"All {table.n_labeled} rows are labelled ({labels}{chosen}), so there are no "
            "unlabelled rows "
            "that could help, and the methods are compared on the labelled rows alone. Unknown "
            f"labels must be empty cells, or markers listed in --missing.{how}{_columns(result)}"
        )
    unlabeled = counted(table.n_unlabeled, "unlabelled row")
    drawn = f"{table.n_labeled - table.n_chosen} labelled rows ({labels})"
    return f"{drawn}{chosen} and {unlabeled}.{how}{_columns(result)}"


def _columns(result: Comparison) -> str:
    if not result.columns:
        return ""
    used = sum(column.used for column in result.columns)
    return f"\n{used} of {len(result.columns)} columns are used; the report says how."


def _model_text(result: Comparison) -> str:
    """Return the loss of the recommended model, and what it does."""
    if (card := result.model_card) is None:
        return ""
    loss = f"The model to deploy is {result.name_in_words(card.name)}: {card.in_words}."
    text = wrapped(f"{loss} {card.errors_in_words}".strip())
    return f"{text}\n\n{_classes_text(card.classes)}" if card.classes else text


def _classes_text(classes: Sequence[ClassFigures]) -> str:
    """Return what a model does with every class, as a table."""
    head = MODEL_ROW.format("class", "labelled", "recall", "precision", "unlabelled rows")
    rows = [
        MODEL_ROW.format(
            textwrap.shorten(one.name, 24, placeholder="..."),
            one.n_labeled,
            *("-" if share is None else f"{share:.0%}" for share in (one.recall, one.precision)),
            "-" if one.n_unlabeled is None else one.n_unlabeled,
        )
        for one in classes[:MAX_CLASSES]
    ]
    if len(classes) > MAX_CLASSES:
        rows.append(f"and {len(classes) - MAX_CLASSES} more classes, which the report lists")
    return "\n".join([head, "-" * WIDTH, *rows])


def _table(result: Comparison) -> str:
    head = ROW.format("method", "loss", "change (interval)", "help", "harm", "answer")
    rows = [_row(method, result.loss.measure) for method in result.methods]
    return "\n".join(line.rstrip() for line in [head, "-" * WIDTH, *rows])


def _row(method: MethodResult, measure: Measure) -> str:
    loss = f"{method.loss * measure.scale:.{measure.digits}f}"
    name = textwrap.shorten(method.name, 18, placeholder="...")
    if method.verdict is None:
        return ROW.format(name, loss, "", "", "", "")
    verdict, odds = method.verdict, method.verdict.probabilities
    low, high = (_signed(value, measure) for value in verdict.interval)
    change = f"{_signed(verdict.change, measure)} ({low} to {high})"
    answer = ANSWERS[verdict.answer]
    return ROW.format(name, loss, change, _short(odds.help), _short(odds.harm), answer)


def _short(probability: float) -> str:
    return percent(probability).replace("below ", "<").replace("above ", ">")


def _signed(value: float, measure: Measure) -> str:
    return f"{round(value * measure.scale, measure.digits) + 0.0:+.{measure.digits}f}"


def _caption(result: Comparison) -> str:
    measure = result.loss.measure
    unit = f", in{measure.unit}" if measure.unit.strip() else ""
    return (
        f"loss: {measure.name}{unit}, on held-out rows. change: estimated difference in "
        f"{measure.name} from {result.plan.baseline_in_words}, with its interval; negative is "
        "better. help, harm: their probabilities. The report explains how the change is estimated."
    )


def names_in_words(result: Comparison, shown: str) -> str:
    """Return what the models are whose names do not say it, if they occur in the table or text."""
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


FORMATS = ("html", "md", "json")
FITS = "fits"  # the folder of finished fits, inside the folder of the comparison


@dataclass(frozen=True)
class ComparisonOutput:
    """What a comparison writes.

    Attributes
    ----------
    report : Path
        The report, in the format of its suffix.
    fits : Path or None
        Folder of finished fits, from which an interrupted comparison continues; None if the report
        is all that is written.
    model : Path or None
        The model file.
    """

    report: Path
    fits: Path | None
    model: Path | None

    def check(self, data: Path, *, resume: bool, force: bool) -> None:
        """Raise an error if something cannot be written, or exists and must not be replaced."""
        if self.fits is None and resume:
            raise click.UsageError("--resume needs a folder as --out: a file contains no fits.")
        if self.fits is not None:
            _check_folder(self.report.parent)
        for path in filter(None, (self.report, self.model)):
            refuse_inputs(path, [("DATA", data)])
        if self.model is not None and self.model.resolve() == self.report.resolve():
            raise click.UsageError(f"--save-model {self.model} is the report: choose another name.")
        if not force:
            self._refuse_existing(resume=resume)

    def _refuse_existing(self, *, resume: bool) -> None:
        kept = (self.model,) if resume else (self.model, self.report, self.fits)
        for path in kept:
            if path is not None and path.exists():
                can_resume = path != self.model and self.fits is not None
                more = ", --resume to continue the comparison" if can_resume else ""
                raise click.UsageError(
                    f"{path} exists: pass --force to replace it{more}, or choose another name."
                )

    @contextmanager
    def replacing_fits(self, *, resume: bool) -> Iterator[None]:
        """Set the fits of an earlier comparison aside, unless it is continued.

        They are deleted once new ones have taken their place, and come back if there are none.
        """
        if self.fits is None or resume or not self.fits.is_dir():
            yield
            return
        aside = unpredictable(self.fits, "replaced")
        self.fits.rename(aside)
        try:
            yield
        finally:
            if self.fits.exists():
                shutil.rmtree(aside)
            else:
                aside.rename(self.fits)

    def write_report(self, result: Comparison, read: str) -> None:
        """Write the report; the file appears only once it is complete.

        ``read`` is the Python expression that reads the table.
        """
        if self.report.suffix == ".json":
            text = json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n"
        else:
            write = comparison_page if self.report.suffix == ".html" else comparison_markdown
            text = write(result, code=code_of(result, read))
        self.report.parent.mkdir(exist_ok=True)
        write_file(self.report, text)


def output_of(
    data: Path, out: Path | None, chosen: str | None, model: Path | None
) -> ComparisonOutput:
    """Return where a comparison writes; ``out`` is a folder, or a file by its suffix."""
    if out is None:
        stem = data.name.removesuffix(".gz")
        out = Path(f"{Path(stem).stem}-comparison")
    with _naming("--out"):
        check_length(out)
    if out.suffix[1:] not in FORMATS or out.is_dir():
        return ComparisonOutput(out / f"report.{chosen or 'html'}", out / FITS, model)
    if chosen is not None and out.suffix != f".{chosen}":
        raise click.UsageError(f"--out {out} is not a file of the --format {chosen}.")
    check_file(out, "--out")
    return ComparisonOutput(out, None, model)


def _check_folder(folder: Path) -> None:
    if os.path.lexists(folder) and not folder.is_dir():
        raise click.UsageError(f"--out {folder} exists and is not a folder: choose another name.")
    if not folder.absolute().parent.is_dir():
        raise click.UsageError(f"--out {folder}: there is no folder {folder.parent}.")
    place = folder if folder.is_dir() else folder.absolute().parent
    if not os.access(place, os.W_OK):
        raise click.UsageError(f"--out {folder}: the folder {place} cannot be written to.")


def check_file(path: Path, option: str) -> None:
    """Raise an error, in terms of the option, for a file that cannot be written."""
    with _naming(f"{option} {path}"):
        check_out(None, None, path)  # type: ignore[arg-type]


@contextmanager
def _naming(option: str) -> Iterator[None]:
    """Show the option to which an error belongs."""
    try:
        yield
    except click.BadParameter as problem:
        raise click.UsageError(f"{option}: {problem.message}") from problem
