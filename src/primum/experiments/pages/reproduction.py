"""The reports of the paper's experiments.

The report of the race of the safe choice.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._files import write_file
from primum.comparison.workers import rng_for
from primum.experiments.datasets.loading import Dataset
from primum.experiments.pages.experiment import provenance
from primum.experiments.pages.figures import (
    curve_caption,
    curves_figure,
    curves_table,
    save_figure,
    z_figure,
    z_table,
)
from primum.experiments.pages.local_optima import local_optima_sentences, minima_table, paired_folds
from primum.experiments.pages.tables import dataset_title, datasets_table, error_table
from primum.experiments.paper import Plan, most_moved
from primum.experiments.published import (
    KEYS,
    agreement,
    compare_with_published,
    ordering_claims,
    stand_in_sentence,
)
from primum.experiments.race import CRITICAL, SAFE, SUPERVISED, differences, race_summary
from primum.experiments.summary import failed_sentence, summarize, twin_of
from primum.pages.page import html_page, paragraph, picture
from primum.pages.pictures import plot_constraint_set, score_parameters
from primum.pages.tables import Cell, Table
from primum.simulated import one_feature

if TYPE_CHECKING:
    import pandas as pd


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
# The measure of each learning-curve figure, by target of the command line.
CURVES = {"error-curves": "error", "loss-curves": "loss_test", "time-curves": "seconds"}


def summary_of(plan: Plan, results: "pd.DataFrame") -> "pd.DataFrame":
    """Return the summary of results, with the published values where there are any."""
    summary = summarize(results, curve=plan.curve)
    if plan.published is None:
        return summary.assign(published_mean=np.nan, z=np.nan)
    return compare_with_published(summary, plan.published)


def write_results(folder: Path, results: "pd.DataFrame", summary: "pd.DataFrame") -> None:
    """Write ``results.parquet`` and ``summary.csv``."""
    write_file(folder / "results.parquet", results.to_parquet(index=False))
    keys = [key for key in KEYS if key in summary]
    columns = summary[[*keys, *COLUMNS, *FURTHER_COLUMNS]]
    write_file(folder / "summary.csv", columns.to_csv(index=False))


def write_table(folder: Path, table: Table, name: str) -> None:
    """Write a table as text, Markdown, LaTeX and HTML."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "txt": table.to_text(),
        "md": table.to_markdown(),
        "tex": table.to_latex(),
        "html": html_page(name, [(name, [table.to_html()])]),
    }
    for kind, text in texts.items():
        write_file(folder / f"{name}.{kind}", text + "\n")


def write_datasets_report(folder: Path, datasets: Sequence[Dataset]) -> list[str]:
    """Write Table 1."""
    table = datasets_table(datasets)
    write_table(folder, table, "table1")
    _write_page(folder, "Data sets (Table 1)", [("Data sets", [table.to_html()])])
    return [table.to_text()]


def write_table_report(
    folder: Path, plan: Plan, results: "pd.DataFrame", missing: Sequence[str], name: str
) -> list[str]:
    """Write everything about a cross-validation table; return what to print."""
    summary = summary_of(plan, results)
    write_results(folder, results, summary)
    error = error_table(summary)
    loss = error_table(_with_the_twins_loss(summary), "loss_test")
    write_table(folder / "tables", error, f"{name}-error")
    write_table(folder / "tables", loss, f"{name}-loss")
    words = [*_judgement(plan, summary), *_remarks(results, missing)]
    sections = [
        ("Summary", [paragraph(text) for text in words]),
        ("Classification error", [error.to_html()]),
        ("Loss on test rows", [loss.to_html()]),
        *_agreement_sections(folder, summary),
    ]
    folds = paired_folds(results)
    optima = list(local_optima_sentences(folds, summary)) if len(folds) else []
    if optima:
        minima = minima_table(folds)
        write_table(folder / "tables", minima, f"{name}-minima")
        sections.append(("Local optima of the TSVM", [*map(paragraph, optima), minima.to_html()]))
    _write_page(folder, plan.title, [*sections, _what_was_run(folder, plan, results)])
    return [error.to_text(), *words, *optima]


def _judgement(plan: Plan, summary: "pd.DataFrame") -> Iterator[str]:
    """Describe how well a table agrees with the published one, with caveats."""
    for measure in JUDGED:
        yield agreement(summary, measure).sentence()
    if plan.published and plan.reconstructed:
        for measure in JUDGED:
            yield stand_in_sentence(summary, plan.published, measure, *plan.reconstructed)
    if {"ICLS", "Self-Learning"} <= set(summary["classifier"]):
        yield from (claim.sentence() for claim in ordering_claims(summary))
    if plan.remark:
        yield plan.remark


def _agreement_sections(folder: Path, summary: "pd.DataFrame") -> Iterator[tuple[str, list[str]]]:
    """Draw z if there are enough repeats for it."""
    if summary["z"].notna().any():
        scatter = z_figure(summary)
        save_figure(scatter, folder / "figures", "z")
        numbers = z_table(summary).to_html()
        yield "Agreement with the published values", [picture(scatter, Z_CAPTION, numbers)]


def write_curves_report(
    folder: Path,
    plan: Plan,
    results: "pd.DataFrame",
    missing: Sequence[str],
) -> list[str]:
    """Write the learning curves and all their figures; return what to print."""
    summary = summary_of(plan, results)
    write_results(folder, results, summary)
    words = [agreement(summary, m).sentence() for m in JUDGED]
    words += [plan.remark] * bool(plan.remark)
    words += _remarks(results, missing)
    sections: list[tuple[str, list[str]]] = [("Summary", [paragraph(text) for text in words])]
    for target, measure in CURVES.items():
        shown = _with_the_twins_loss(summary) if measure == "loss_test" else summary
        drawn = [name for name in shown["classifier"].unique() if name not in plan.undrawn]
        figure = curves_figure(shown, measure, classifiers=drawn)
        save_figure(figure, folder / "figures", target)
        numbers = curves_table(shown, measure, classifiers=drawn).to_html()
        drawing = picture(figure, curve_caption(shown, measure), numbers)
        sections.append((target.replace("-", " ").capitalize(), [drawing]))
    sections += _agreement_sections(folder, summary)
    _write_page(folder, plan.title, [*sections, _what_was_run(folder, plan, results)])
    return words


def write_peaking_report(
    folder: Path, plan: Plan, results: "pd.DataFrame", missing: Sequence[str]
) -> list[str]:
    """Write the peaking figure and its zoom; return what to print."""
    summary = summary_of(plan, results)
    write_results(folder, results, summary)
    words = [*_peaks(summary, results), *_remarks(results, missing)]
    sections = [("Summary", [paragraph(text) for text in words])]
    for name, largest in (("peaking", None), ("peaking-zoom", 25)):
        figure = curves_figure(summary, "error", log_scale=False, largest=largest)
        save_figure(figure, folder / "figures", name)
        numbers = curves_table(summary, "error", largest=largest).to_html()
        drawing = picture(figure, curve_caption(summary, "error"), numbers)
        sections.append((name.replace("-", ", ").capitalize(), [drawing]))
    _write_page(folder, plan.title, [*sections, _what_was_run(folder, plan, results)])
    return words


def _peaks(summary: "pd.DataFrame", results: "pd.DataFrame") -> Iterator[str]:
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
        save_figure(figure, folder / "figures", name)
        models = {"supervised": drawn.clf.supervised_, "ICLS": drawn.clf, "oracle": drawn.oracle}
        parts.append(picture(figure, caption, _parameters_table(models).to_html()))
    _write_page(folder, "Illustrations", [("Models of one and two parameters", parts)])
    return [f"Drew both illustrations in {folder / 'figures'}."]


def _parameters_table(models: Mapping[str, Any]) -> Table:
    """Return the parameters of models, intercept first if there are two."""
    values = {name: score_parameters(model) for name, model in models.items()}
    two = len(values["ICLS"]) == 2
    rows = [
        (Cell(name), *(Cell(f"{value:.4f}") for value in parameters))
        for name, parameters in values.items()
    ]
    header = ("Model", *(("Intercept", "Coefficient") if two else ("Coefficient",)))
    return Table("Parameters of the models that are drawn.", header, tuple(rows))


def _with_the_twins_loss(summary: "pd.DataFrame") -> "pd.DataFrame":
    """Return the part of a summary whose losses can be compared with the twin's."""
    own = summary.loc[summary["classifier"] == twin_of(summary), "loss"].iloc[0]
    return summary[summary["loss"] == own]


def _what_was_run(folder: Path, plan: Plan, results: "pd.DataFrame") -> tuple[str, Sequence[str]]:
    of_plan = {method.name for method in plan.methods}
    further = [name for name in results["classifier"].unique() if name not in of_plan]
    return "What was run", list(provenance(folder, further))


def _remarks(results: "pd.DataFrame", missing: Sequence[str]) -> Iterator[str]:
    if sentence := failed_sentence(results):
        yield sentence
    if missing:
        yield f"Not run, because the data were not found: {', '.join(missing)}."


def _write_page(folder: Path, title: str, sections: Sequence[tuple[str, Sequence[str]]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "report.html", html_page(title, sections))


# Measure, its name, and the unit in which hundredths of it are shown.
SHOWN = {"error": ("error", "percentage points"), "loss_test": ("Brier score", "hundredths")}
FACTOR = 100.0
BETTER_BASELINE = "the better (in hindsight) of tuned ridge and tuned logistic regression"
TOTALS = {
    "mean": "Mean difference",
    "better": "Better / worse",
    "better_holm": "Better / worse (Holm)",
    "largest_loss": "Largest mean loss",
}


def write_race_report(
    folder: Path, plan: Plan, results: "pd.DataFrame", missing: Sequence[str], name: str
) -> list[str]:
    """Write the tables of a race; return what to print."""
    write_results(folder, results, summary_of(plan, results))
    words = [*_sentences(results)]
    if sentence := failed_sentence(results):
        words.append(sentence)
    if missing:
        words.append(f"Not run, because the data were not found: {', '.join(missing)}.")
    sections = [("Summary", [paragraph(text) for text in words])]
    tables = {measure: race_table(results, measure) for measure in SHOWN}
    for measure, table in tables.items():
        write_table(folder / "tables", table, f"{name}-{measure.removesuffix('_test')}")
        sections.append((SHOWN[measure][0].capitalize(), [table.to_html()]))
    page = html_page(plan.title, [*sections, ("What was run", list(provenance(folder)))])
    write_file(folder / "report.html", page)
    return [tables["error"].to_text(), *words]


def race_table(results: "pd.DataFrame", measure: str = "error") -> Table:
    """Return the differences of all methods from the better baseline, in hundredths."""
    what, unit = SHOWN[measure]
    compared = differences(results, measure)
    names = list(compared["classifier"].unique())
    rows = []
    for dataset, group in compared.groupby("dataset", sort=False):
        found, first = group.set_index("classifier"), group.iloc[0]
        reference = Cell(f"{first['reference_mean'] * FACTOR:.1f} ({first['reference']})")
        cells = (_difference_cell(found.loc[name]) for name in names)
        rows.append((Cell(dataset_title(str(dataset))), reference, *cells))
    totals = race_summary(compared).set_index("classifier")
    foot = tuple(
        (Cell(title), Cell(""), *(Cell(_total(totals.loc[name], key)) for name in names))
        for key, title in TOTALS.items()
    )
    repeats = int(compared["repeats"].max())
    return Table(
        f"Difference in {what} on test rows, in {unit}, from {BETTER_BASELINE}; means over "
        f"{repeats} repeats. Bold: better, underlined: worse (paired t beyond {CRITICAL}).",
        ("Dataset", "Better baseline", *names),
        tuple(rows),
        foot,
    )


def _difference_cell(row: "pd.Series") -> Cell:
    text = f"{row['mean'] * FACTOR:+.1f}"
    return Cell(text, bold=row["t"] < -CRITICAL, underline=row["t"] > CRITICAL)


def _total(row: "pd.Series", key: str) -> str:
    if key in ("mean", "largest_loss"):
        return f"{row[key] * FACTOR:+.2f}"
    return f"{int(row[key])} / {int(row[key.replace('better', 'worse')])}"


def _sentences(results: "pd.DataFrame") -> Iterator[str]:
    """Describe how the safe stack compares with the baselines and with the supervised stack."""
    for measure, (what, unit) in SHOWN.items():
        for against, words, due in (
            (None, BETTER_BASELINE, ""),
            (SUPERVISED, "the supervised stack", ", which is due to the unlabelled rows"),
        ):
            total = race_summary(differences(results, measure, against)).set_index("classifier")
            safe = total.loc[SAFE]
            counts = [int(safe[key]) for key in ("better", "worse", "better_holm", "worse_holm")]
            sets = "data set" if counts[0] == 1 else "data sets"
            yield (
                f"{what.capitalize()} of the safe stack compared with {words}: "
                f"{safe['mean'] * FACTOR:+.2f} {unit} on average{due}; better on {counts[0]} "
                f"{sets} and worse on {counts[1]} ({counts[2]} and {counts[3]} with Holm's "
                f"correction), largest mean loss {safe['largest_loss'] * FACTOR:+.2f}."
            )
