"""The report of the race of the safe choice for numbers."""

from collections.abc import Iterator
from pathlib import Path

from pandas import DataFrame, Series

from primum._files import write_file
from primum._words import counted
from primum.comparison.store import read_snapshot
from primum.experiments.number_race import race_totals, ratios
from primum.experiments.pages.experiment import Section, data_and_versions
from primum.experiments.pages.reproduction import write_table
from primum.experiments.race import BASELINE, LEVEL, SAFE, SUPERVISED
from primum.pages.page import Cell, Table, html_page, paragraph

TITLE = "The safe choice for numbers"
UNLABELED = "safe / supervised"


def write_number_race_report(folder: Path, results: DataFrame) -> list[str]:
    """Write results, tables and the page of the race; return what to print."""
    found = ratios(results)
    write_file(folder / "results.parquet", results.to_parquet(index=False))
    write_file(folder / "summary.csv", summary_of(results).round(6).to_csv(index=False))
    numbers = found["n_labeled"].unique().tolist()
    tables = {number: race_table(results, number) for number in numbers}
    for number, table in tables.items():
        write_table(folder / "tables", table, f"safe-regression-{number}")
    words = list(sentences(results))
    sections: list[Section] = [
        (f"{number} labels", [table.to_html()]) for number, table in tables.items()
    ]
    snapshot = read_snapshot(folder)
    run = [paragraph(_run_sentence(results, snapshot)), *data_and_versions(snapshot)]
    summary: Section = ("Summary", [paragraph(text) for text in words])
    page = html_page(TITLE, [summary, *sections, ("What was run", run)])
    write_file(folder / "report.html", page)
    return [*(table.to_text() for table in tables.values()), *words]


def summary_of(results: DataFrame) -> DataFrame:
    """Return the ratios of all models to ridge, and of the safe stack to the supervised one."""
    own = ratios(results).assign(reference="ridge")
    due = ratios(results, SUPERVISED).assign(reference=SUPERVISED)
    return DataFrame([*own.to_dict("records"), *due[due["model"] == SAFE].to_dict("records")])


def race_table(results: DataFrame, n_labeled: int) -> Table:
    """Return the ratios of all models to ridge regression with a number of labels."""
    chosen = results[results["n_labeled"] == n_labeled]
    found, due = ratios(chosen), ratios(chosen, SUPERVISED)
    names = [name for name in found["model"].unique() if name not in ("ridge", BASELINE)]
    rows = []
    for dataset, group in found.groupby("dataset", sort=False):
        row = group.set_index("model")
        of_rows = due[(due["dataset"] == dataset) & (due["model"] == SAFE)].iloc[0]
        ridge = Cell(f"{group['reference_mean'].iloc[0]:.3g}")
        cells = [_ratio_cell(row.loc[name]) for name in names]
        rows.append((Cell(str(dataset)), ridge, *cells, _ratio_cell(of_rows)))
    totals = race_totals(found).set_index("model").loc[names]
    of_rows = race_totals(due).set_index("model").loc[SAFE]
    columns = [*(totals.loc[name] for name in names), of_rows]
    foot = (
        (Cell("Geometric mean"), Cell(""), *(Cell(f"{one['mean']:.3f}") for one in columns)),
        (
            Cell("Better / worse (Holm)"),
            Cell(""),
            *(Cell(f"{int(one['better'])} / {int(one['worse'])}") for one in columns),
        ),
        (Cell("Largest"), Cell(""), *(Cell(f"{one['largest']:.3f}") for one in columns)),
    )
    return Table(
        f"RMSE on test rows with {n_labeled} labels, as a ratio to that of tuned ridge regression; "
        f"means over {found['repeats'].max()} repeats. The last column is what unlabelled rows "
        "contribute. Bold: better, underlined: worse (paired t-test of the logarithm, Holm's "
        f"correction, {LEVEL:.0%}).",
        ("Problem", "RMSE of ridge", *names, UNLABELED),
        tuple(rows),
        foot,
    )


def _ratio_cell(row: Series) -> Cell:
    sure = row["p_holm"] <= LEVEL
    return Cell(f"{row['ratio']:.3f}", bold=sure and row["t"] < 0, underline=sure and row["t"] > 0)


def sentences(results: DataFrame) -> Iterator[str]:
    """Describe how the safe stack compares with ridge and with the supervised stack."""
    for against, words in (
        (BASELINE, "tuned ridge regression"),
        (SUPERVISED, "the supervised stack, which is due to the unlabelled rows"),
    ):
        totals = race_totals(ratios(results, against))
        for _, row in totals[totals["model"] == SAFE].iterrows():
            yield (
                f"{int(row['n_labeled'])} labels: the RMSE of the safe stack is "
                f"{row['mean']:.3f} times that of {words}; significantly better on "
                f"{counted(int(row['better']), 'problem')} and worse on {int(row['worse'])}, "
                f"largest mean ratio {row['largest']:.3f}."
            )


def _run_sentence(results: DataFrame, snapshot: dict[str, object]) -> str:
    config = snapshot["config"]
    assert isinstance(config, dict)
    design = config["safe_regression"]
    return (
        f"{results['dataset'].nunique()} problems, {results['repeat'].nunique()} repeats. "
        f"{design['training_share']:.0%} of the rows are for training, of which at most "
        f"{design['most_unlabeled']} are unlabelled; the others are for testing. Simulated "
        f"problems are drawn anew in every repeat, with {design['n_rows']} rows."
    )
