"""The report of the race of the safe choice."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from primum._files import write_file
from primum.evaluation import Plan, differences, failed_sentence, race_summary
from primum.evaluation.race import CRITICAL, SAFE, SUPERVISED
from primum.report.page import html_page, paragraph
from primum.report.provenance import provenance
from primum.report.reproduction import summary_of, write_results, write_table
from primum.report.tables import Cell, Table, dataset_title

if TYPE_CHECKING:
    import pandas as pd

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
