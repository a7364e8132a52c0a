"""The reports of ``primum reproduce``: the paper's experiments, and the races of the safe choice.

Every report is one HTML page, with its tables and figures as files of their own beside it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pandas import DataFrame, Series

from primum._files import write_file
from primum._words import counted
from primum.comparison.plan import rng_for
from primum.comparison.store import read_snapshot
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.pages import plot_constraint_set
from primum.pages.page import Cell, PageTable, html_page, paragraph, picture
from primum.pages.pictures import score_parameters
from primum.simulated import one_feature
from primum_lab import paper, race
from primum_lab.datasets.loading import Dataset
from primum_lab.pages.experiment import Section, data_and_versions, provenance
from primum_lab.pages.results import (
    curves,
    dataset_title,
    datasets_table,
    error_table,
    minima_table,
    save_figure,
    z_figure,
    z_table,
)
from primum_lab.paper import ExperimentPlan, most_moved
from primum_lab.summary import failed_sentence, summarize, twin_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# The columns of summary.csv after its keys, first those for the comparison with the paper.
COLUMNS = ("mean", "sd_over_repeats", "repeats", "times_worse", "published_mean", "z")
FURTHER_COLUMNS = ("significantly_worse", "failed", "se", "q25", "median", "q75", "role", "loss")
Z_CAPTION = (
    "z of all cells against the quantiles of a standard normal; a faithful run lies on the line."
)
ILLUSTRATIONS = {
    "constrained-problem": "One parameter: the loss on labelled rows as a curve, and the interval "
    "of the parameters that some labelling of the unlabelled rows produces.",
    "constrained-subset": "Two parameters: the polygon of the parameters that some labelling of "
    "the unlabelled rows produces, with the supervised, constrained and oracle solutions.",
}
# Measures that were published.
JUDGED = ("error", "loss_test")
# The largest number of unlabelled rows in the zoom into the peaking figure, as in the paper.
MAX_ZOOM_UNLABELED = 25
# The measure of each learning-curve figure, by target of the command line.
CURVES = {"error-curves": "error", "loss-curves": "loss_test", "time-curves": "seconds"}

# The measures of a race, their names, and the unit in which hundredths of them are shown.
SHOWN = {"error": ("error", "percentage points"), "loss_test": ("Brier score", "hundredths")}
PERCENT = 100.0  # percentage points in a share of 1
# The race for numbers: the title of its page, and the last column of its tables.
NUMBER_TITLE = "The safe choice for numbers"
UNLABELED_COLUMN = "safe / supervised"
BETTER_BASELINE = "the better (in hindsight) of tuned ridge and tuned logistic regression"
TOTALS = {
    "mean": "Mean difference",
    "better": "Better / worse",
    "better_holm": "Better / worse (Holm)",
    "largest_loss": "Largest mean loss",
}


@dataclass(frozen=True)
class Run:
    """An experiment that was run, for its report.

    Attributes
    ----------
    folder : Path
        Folder of its results and its report.
    plan : ExperimentPlan
        The plan that was run.
    results : DataFrame
        The results.
    missing : sequence of str
        Names of the data sets that were not found.
    """

    folder: Path
    plan: ExperimentPlan
    results: DataFrame
    missing: Sequence[str]


def write_results(run: Run) -> DataFrame:
    """Write ``results.parquet`` and ``summary.csv``; return the summary, with published values."""
    summary = summarize(run.results, curve=run.plan.curve)
    if run.plan.published is None:
        summary = summary.assign(published_mean=np.nan, z=np.nan)
    else:
        summary = paper.compare_with_published(summary, run.plan.published)
    write_file(run.folder / "results.parquet", run.results.to_parquet(index=False))
    keys = [key for key in paper.KEYS if key in summary]
    columns = summary[[*keys, *COLUMNS, *FURTHER_COLUMNS]]
    write_file(run.folder / "summary.csv", columns.to_csv(index=False))
    return summary


def write_table_files(folder: Path, table: PageTable, name: str) -> None:
    """Write a table as text, Markdown, LaTeX and HTML."""
    folder.mkdir(parents=True, exist_ok=True)
    page = html_page(name, [(name, [table.to_html()])])
    texts = (table.to_text(), table.to_markdown(), table.to_latex(), page)
    for kind, text in zip(("txt", "md", "tex", "html"), texts, strict=True):
        write_file(folder / f"{name}.{kind}", text + "\n")


def write_datasets_report(folder: Path, datasets: Sequence[Dataset]) -> list[str]:
    """Write Table 1."""
    table = datasets_table(datasets)
    write_table_files(folder, table, "table1")
    page = html_page("Data sets (Table 1)", [("Data sets", [table.to_html()])])
    write_file(folder / "report.html", page)
    return [table.to_text()]


def write_table_report(run: Run, name: str) -> list[str]:
    """Write everything about a cross-validation table; return what to print."""
    summary = write_results(run)
    error = error_table(summary)
    loss = error_table(_with_the_twins_loss(summary), "loss_test")
    write_table_files(run.folder / "tables", error, f"{name}-error")
    write_table_files(run.folder / "tables", loss, f"{name}-loss")
    sections = [
        ("Classification error", [error.to_html()]),
        ("Loss on test rows", [loss.to_html()]),
        *_agreement_sections(run.folder, summary),
    ]
    folds = paper.paired_folds(run.results)
    optima = list(paper.local_optima_sentences(folds, summary)) if len(folds) else []
    if optima:
        minima = minima_table(folds)
        write_table_files(run.folder / "tables", minima, f"{name}-minima")
        sections.append(("Local optima of the TSVM", [*map(paragraph, optima), minima.to_html()]))
    words = _write_page(run, _judgment(run.plan, summary), sections)
    return [error.to_text(), *words, *optima]


def _judgment(plan: ExperimentPlan, summary: DataFrame) -> Iterator[str]:
    """Describe how well results agree with the published ones, with caveats."""
    for measure in JUDGED:
        yield paper.agreement(summary, measure).sentence()
    if plan.published and plan.reconstructed:
        for measure in JUDGED:
            yield paper.stand_in_sentence(summary, plan.published, measure, *plan.reconstructed)
    if not plan.curve and {"ICLS", "Self-Learning"} <= set(summary["classifier"]):
        yield from paper.ordering_claims(summary)
    if plan.remark:
        yield plan.remark


def _agreement_sections(folder: Path, summary: DataFrame) -> Iterator[Section]:
    """Draw z if there are enough repeats for it."""
    if summary["z"].notna().any():
        figure, numbers = z_figure(summary), z_table(summary)
        drawing = draw(folder, "z", figure, Z_CAPTION, numbers)
        yield "Agreement with the published values", [drawing]


def write_curves_report(run: Run) -> list[str]:
    """Write the learning curves and all their figures; return what to print."""
    summary = write_results(run)
    drawn = summary[~summary["classifier"].isin(run.plan.undrawn)]
    sections: list[Section] = []
    for target, measure in CURVES.items():
        shown = _with_the_twins_loss(drawn) if measure == "loss_test" else drawn
        drawing = draw(run.folder, target, *curves(shown, measure))
        sections.append((target.replace("-", " ").capitalize(), [drawing]))
    sections += _agreement_sections(run.folder, summary)
    return _write_page(run, _judgment(run.plan, summary), sections)


def write_peaking_report(run: Run) -> list[str]:
    """Write the peaking figure and its zoom; return what to print."""
    summary = write_results(run)
    zoom = summary[summary["n_unlabeled"] <= MAX_ZOOM_UNLABELED]
    sections = []
    for name, shown in {"peaking": summary, "peaking-zoom": zoom}.items():
        drawing = draw(run.folder, name, *curves(shown, "error", log_scale=False))
        sections.append((name.replace("-", ", ").capitalize(), [drawing]))
    return _write_page(run, _peaks(summary, run.results), sections)


def _peaks(summary: DataFrame, results: DataFrame) -> Iterator[str]:
    """Describe where the oracle's error peaks; in the paper, where L + U is close to d."""
    errors = summary[(summary["measure"] == "error") & (summary["classifier"] == "Oracle")]
    n_labeled = int(results["n_labeled"].iloc[0])
    for name, curve in errors.groupby("dataset", sort=False):
        peak = curve.loc[curve["mean"].idxmax()]
        yield (
            f"{name}: the oracle's error peaks at U = {peak['n_unlabeled']}, that is, at "
            f"L + U = {n_labeled + peak['n_unlabeled']} rows."
        )


def write_illustrations(folder: Path, seed: int) -> list[str]:
    """Draw the paper's two illustrations from simulated data."""
    rng = rng_for(seed, "illustrations")
    X, y = one_feature(200, random_state=int(rng.integers(2**31)))
    parts = []
    for name, caption in ILLUSTRATIONS.items():
        drawn = most_moved(X, y, rng, fit_intercept=name == "constrained-subset")
        figure = plot_constraint_set(drawn.clf, X, drawn.y, oracle=drawn.oracle).figure
        models = {"supervised": drawn.clf.supervised_, "ICLS": drawn.clf, "oracle": drawn.oracle}
        parts.append(draw(folder, name, figure, caption, _parameters_table(models)))
    page = html_page("Illustrations", [("Models of one and two parameters", parts)])
    write_file(folder / "report.html", page)
    return [f"Drew both illustrations in {folder / 'figures'}."]


def _parameters_table(models: Mapping[str, LeastSquaresBase]) -> PageTable:
    """Return the parameters of models, intercept first if there are two."""
    rows = [
        (name, *(f"{value:.4f}" for value in score_parameters(model)))
        for name, model in models.items()
    ]
    names = ("Intercept", "Coefficient") if len(rows[0]) == 3 else ("Coefficient",)
    return PageTable.of("Parameters of the models that are drawn.", ("Model", *names), rows)


def write_race_report(run: Run, name: str) -> list[str]:
    """Write the tables of a race; return what to print."""
    write_results(run)
    sections = []
    compared = {measure: race_table(run.results, measure) for measure in SHOWN}
    for measure, table in compared.items():
        write_table_files(run.folder / "tables", table, f"{name}-{measure.removesuffix('_test')}")
        sections.append((SHOWN[measure][0].capitalize(), [table.to_html()]))
    words = _write_page(run, _race_sentences(run.results), sections)
    return [compared["error"].to_text(), *words]


def race_table(results: DataFrame, measure: str = "error") -> PageTable:
    """Return the differences of all methods from the better baseline, in hundredths."""
    quantity, unit = SHOWN[measure]
    compared = race.paired_differences(results, measure)
    names = list(compared["classifier"].unique())
    rows = []
    for dataset, group in compared.groupby("dataset", sort=False):
        row, first = group.set_index("classifier"), group.iloc[0]
        reference = f"{first['reference_mean'] * PERCENT:.1f} ({first['reference']})"
        cells = (_difference_cell(row.loc[name]) for name in names)
        rows.append((dataset_title(str(dataset)), reference, *cells))
    totals = race.race_summary(compared).set_index("classifier")
    foot = [
        (title, "", *(_total(totals.loc[name], key) for name in names))
        for key, title in TOTALS.items()
    ]
    return PageTable.of(
        f"Difference in {quantity} on test rows, in {unit}, from {BETTER_BASELINE}; means over "
        f"{compared['repeats'].max()} repeats. Bold: better, underlined: worse (paired t beyond "
        f"{race.CRITICAL_T}).",
        ("Dataset", "Better baseline", *names),
        rows,
        foot,
    )


def _difference_cell(row: Series) -> Cell:
    text = f"{row['mean'] * PERCENT:+.1f}"
    return Cell(text, bold=row["t"] < -race.CRITICAL_T, underline=row["t"] > race.CRITICAL_T)


def _total(row: Series, key: str) -> str:
    if key in ("mean", "largest_loss"):
        return f"{row[key] * PERCENT:+.2f}"
    return f"{int(row[key])} / {int(row[key.replace('better', 'worse')])}"


def _race_sentences(results: DataFrame) -> Iterator[str]:
    """Describe how the safe stack compares with the baselines and with the supervised stack."""
    for measure, (quantity, unit) in SHOWN.items():
        for against, words, due in (
            (None, BETTER_BASELINE, ""),
            (race.SUPERVISED, "the supervised stack", ", which is due to the unlabelled rows"),
        ):
            total = race.race_summary(race.paired_differences(results, measure, against)).set_index(
                "classifier"
            )
            safe = total.loc[race.SAFE]
            counts = [int(safe[key]) for key in ("better", "worse", "better_holm", "worse_holm")]
            yield (
                f"{quantity.capitalize()} of the safe stack compared with {words}: "
                f"{safe['mean'] * PERCENT:+.2f} {unit} on average{due}; better on "
                f"{counted(counts[0], 'data set')} and worse on {counts[1]} ({counts[2]} and "
                f"{counts[3]} with Holm's correction), largest mean loss "
                f"{safe['largest_loss'] * PERCENT:+.2f}."
            )


def draw(folder: Path, name: str, figure: "Figure", caption: str, numbers: PageTable) -> str:
    """Save a figure, and return it as HTML with its numbers."""
    save_figure(figure, folder / "figures", name)
    return picture(figure, caption, numbers.to_html())


def _with_the_twins_loss(summary: DataFrame) -> DataFrame:
    """Return the part of a summary whose losses can be compared with the twin's."""
    twin_loss = summary.loc[summary["classifier"] == twin_of(summary), "loss"].iloc[0]
    return summary[summary["loss"] == twin_loss]


def _write_page(run: Run, judgment: Iterable[str], sections: list[Section]) -> list[str]:
    """Write the page of an experiment: a summary in words, sections, and what was run."""
    words = [*judgment, *filter(None, [failed_sentence(run.results)])]
    of_plan = {name for method in run.plan.methods for name in method.sees_by_name}
    further = [name for name in run.results["classifier"].unique() if name not in of_plan]
    was_run = provenance(run.folder, further)
    return write_page(run.folder, run.plan.title, words, sections, was_run, run.missing)


def write_page(
    folder: Path,
    title: str,
    words: Iterable[str],
    sections: Iterable[Section],
    was_run: Iterable[str],
    missing: Sequence[str] = (),
) -> list[str]:
    """Write ``report.html``: a summary in words, sections, and what was run; return the words.

    ``missing`` are the names of the data sets that were not found.
    """
    words = list(words)
    if missing:
        words.append(f"Not run, because the data were not found: {', '.join(missing)}.")
    summary = ("Summary", list(map(paragraph, words)))
    page = html_page(title, [summary, *sections, ("What was run", was_run)])
    write_file(folder / "report.html", page)
    return words


def write_number_race_report(folder: Path, results: DataFrame) -> list[str]:
    """Write results, tables and the page of the race; return what to print."""
    table_of_ratios = race.ratios(results)
    write_file(folder / "results.parquet", results.to_parquet(index=False))
    write_file(folder / "summary.csv", number_race_summary(results).round(6).to_csv(index=False))
    numbers = table_of_ratios["n_labeled"].unique().tolist()
    tables = {number: number_race_table(results, number) for number in numbers}
    for number, table in tables.items():
        write_table_files(folder / "tables", table, f"safe-regression-{number}")
    sections = [(f"{number} labels", [table.to_html()]) for number, table in tables.items()]
    snapshot = read_snapshot(folder)
    was_run = [paragraph(_number_run_sentence(results, snapshot)), *data_and_versions(snapshot)]
    words = write_page(folder, NUMBER_TITLE, number_race_sentences(results), sections, was_run)
    return [*(table.to_text() for table in tables.values()), *words]


def number_race_summary(results: DataFrame) -> DataFrame:
    """Return the ratios of all models to ridge, and of the safe stack to the supervised one."""
    ratios = race.ratios(results).assign(reference="ridge")
    due = race.ratios(results, race.SUPERVISED).assign(reference=race.SUPERVISED)
    due = due[due["model"] == race.SAFE]
    return DataFrame([*ratios.to_dict("records"), *due.to_dict("records")])


def number_race_table(results: DataFrame, n_labeled: int) -> PageTable:
    """Return the ratios of all models to ridge regression with a number of labels."""
    chosen = results[results["n_labeled"] == n_labeled]
    ratios_to_ridge, due = race.ratios(chosen), race.ratios(chosen, race.SUPERVISED)
    names = [
        name for name in ratios_to_ridge["model"].unique() if name not in ("ridge", race.BASELINE)
    ]
    rows = []
    for dataset, group in ratios_to_ridge.groupby("dataset", sort=False):
        row = group.set_index("model")
        of_rows = due[(due["dataset"] == dataset) & (due["model"] == race.SAFE)].iloc[0]
        ridge = f"{group['reference_mean'].iloc[0]:.3g}"
        cells = (_ratio_cell(row.loc[name]) for name in names)
        rows.append((dataset, ridge, *cells, _ratio_cell(of_rows)))
    totals = race.race_totals(ratios_to_ridge).set_index("model").loc[names]
    of_rows = race.race_totals(due).set_index("model").loc[race.SAFE]
    columns = [*(totals.loc[name] for name in names), of_rows]
    foot = [
        ("Geometric mean", "", *(f"{total['mean']:.3f}" for total in columns)),
        (
            "Better / worse (Holm)",
            "",
            *(f"{int(total['better'])} / {int(total['worse'])}" for total in columns),
        ),
        ("Largest", "", *(f"{total['largest']:.3f}" for total in columns)),
    ]
    return PageTable.of(
        f"RMSE on test rows with {n_labeled} labels, as a ratio to that of tuned ridge regression; "
        f"means over {ratios_to_ridge['repeats'].max()} repeats. The last column is what "
        "unlabelled rows contribute. Bold: better, underlined: worse (paired t-test of the "
        f"logarithm, Holm's correction, {race.FAMILY_LEVEL:.0%}).",
        ("Problem", "RMSE of ridge", *names, UNLABELED_COLUMN),
        rows,
        foot,
    )


def _ratio_cell(row: Series) -> Cell:
    sure = row["p_holm"] <= race.FAMILY_LEVEL
    return Cell(f"{row['ratio']:.3f}", bold=sure and row["t"] < 0, underline=sure and row["t"] > 0)


def number_race_sentences(results: DataFrame) -> Iterator[str]:
    """Describe how the safe stack compares with ridge and with the supervised stack."""
    for against, words in (
        (race.BASELINE, "tuned ridge regression"),
        (race.SUPERVISED, "the supervised stack, which is due to the unlabelled rows"),
    ):
        totals = race.race_totals(race.ratios(results, against))
        for _, row in totals[totals["model"] == race.SAFE].iterrows():
            yield (
                f"{int(row['n_labeled'])} labels: the RMSE of the safe stack is "
                f"{row['mean']:.3f} times that of {words}; significantly better on "
                f"{counted(int(row['better']), 'problem')} and worse on {int(row['worse'])}, "
                f"largest mean ratio {row['largest']:.3f}."
            )


def _number_run_sentence(results: DataFrame, snapshot: dict[str, object]) -> str:
    config = snapshot["config"]
    assert isinstance(config, dict)
    design = config["safe_regression"]
    return (
        f"{results['dataset'].nunique()} problems, {results['repeat'].nunique()} repeats. "
        f"{design['training_share']:.0%} of the rows are for training, of which at most "
        f"{design['most_unlabeled']} are unlabelled; the others are for testing. Simulated "
        f"problems are drawn anew in every repeat, with {design['n_rows']} rows."
    )
