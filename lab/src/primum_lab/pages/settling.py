"""The report of the study of settling: labels needed, wrong answers, and what labels teach.

An order is one random order of the rows of one fit, labelled until the question is settled. Given
the fit, orders are independent, and each is wrong with a probability of at most alpha. So the
number of wrong orders in any group of fits is at most binomial, and a group is marked if its number
would be exceeded or reached in fewer than 1% of such groups.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame, Series
from scipy.stats import binom

from primum._files import write_file
from primum._words import counted
from primum.comparison.store import read_snapshot
from primum.judging.error_bounds import OPEN
from primum.judging.words import CANNOT_TELL, HARM, HELP, NO_DIFFERENCE
from primum.pages.page import Cell, PageTable, paragraph
from primum.pages.pictures import COLORS, new_figure
from primum_lab import settling
from primum_lab.pages.experiment import Section, data_and_versions
from primum_lab.pages.reproduction import PERCENT, draw, write_page, write_table_files
from primum_lab.pages.results import dataset_title

TITLE = "From cannot tell to an answer: labels where two models differ"
# Numbers of labels at which the share of settled questions is reported: none, few and many.
LABEL_COUNTS = (0, 30, 100)
# The upper ends of bins of the share of rows on which two models differ, in percentage points:
# from what makes no practical difference to what differs widely.
SHARE_BINS = (1.0, 3.0, 6.0, 12.0)
SHARE_NAMES = ("up to 1%", "1 to 3%", "3 to 6%", "6 to 12%", "more than 12%")
CHANGE_NAMES = (
    *("better by more than 4", "better by 2 to 4", "better by 1 to 2", "within 1"),
    *("worse by 1 to 2", "worse by more than 2"),
)
VERDICTS = {CANNOT_TELL: "cannot tell", NO_DIFFERENCE: "no difference", HELP: "help", HARM: "harm"}
MODELS = {"baseline": "the baseline", "supervised": "the supervised stack"}
ARM_NAMES = {
    settling.BEFORE: "none",
    settling.DIFFERENT: "rows where the models differ",
    settling.UNMARKED: "the same, not marked as chosen",
    settling.RANDOM: "random rows",
    settling.UNCERTAIN: "most uncertain rows",
}
# A group of orders is marked if its number of wrong ones, or more, is less probable than this, so
# that few are marked by chance.
SUSPICIOUS_PROBABILITY = 0.01
# The curves of the figure, by the columns they are drawn from: name, colour and line.
CURVES = {
    "needed": ("rows where the models differ", COLORS["ICLS"], "-"),
    "not_worse": ("the same, until known to be not worse", COLORS["oracle"], ":"),
    "random": ("random rows", COLORS["supervised"], "--"),
}
# Numbers of labels on the axis of the figure, whose scale is logarithmic, and its size in inches.
LABEL_TICKS = (0, 10, 30, 100, 300, 1000)
FIGURE_WIDTH, FIGURE_HEIGHT = 6.4, 3.8


def questions_of(results: DataFrame) -> DataFrame:
    """Return the rows of single questions, with shares in points and the bins of the tables."""
    rows = results[results["kind"] == settling.ORDER]
    share, points = (
        PERCENT * rows[name] / rows["n_unlabeled"] for name in ("n_different", "change")
    )
    # The middle bin includes its ends, as the answer "no difference" does.
    change_bin = sum((points >= edge).astype(int) for edge in (-4.0, -2.0, -1.0))
    return rows.assign(
        wrong=rows["wrong"].astype(bool),
        share=share,
        points=points,
        share_bin=np.searchsorted(SHARE_BINS, share),
        change_bin=change_bin + (points > 1.0) + (points > 2.0),
    )


def group_numbers(orders: DataFrame) -> dict[str, Any]:
    """Return the numbers of a group of orders, as in ``summary.csv``."""
    needing = orders[orders["needed"] > 0]
    low, median, high = _quantiles(needing["needed"])
    not_worse = orders[orders["points"] <= 1.0]
    return {
        "fits": len(orders.groupby(["dataset", "repeat", "against"])),
        "orders": len(orders),
        "open_verdicts": float(np.mean(orders["verdict"] == CANNOT_TELL)),
        "share_different": float(orders["share"].mean()),
        "change": float(orders["points"].mean()),
        **{f"settled_{n}": float(np.mean(orders["needed"] <= n)) for n in LABEL_COUNTS},
        **{f"settled_{n}_random": float(np.mean(orders["random"] <= n)) for n in LABEL_COUNTS[1:]},
        **{f"not_worse_{n}": _share(not_worse["not_worse"] <= n) for n in LABEL_COUNTS},
        "orders_needing_labels": len(needing),
        "labels_low": low,
        "labels_median": median,
        "labels_high": high,
        "random_median": _quantiles(needing["random"])[1],
        "sign_test_finds": _share(needing["sign_test"] != OPEN),
        "wrong": int(orders["wrong"].sum()),
        "not_worse_wrong": int(orders["not_worse_wrong"].astype(bool).sum()),
        "more_than_plain": int(np.sum(orders["needed"] > orders["plain"])),
    }


def _quantiles(labels: Series) -> list[float]:
    """Return the 10%, 50% and 90% quantiles of the number of labels."""
    shares = (0.1, 0.5, 0.9)
    return [float(labels.quantile(share)) for share in shares] if len(labels) else [np.nan] * 3


def _share(holds: Series) -> float:
    return float(holds.mean()) if len(holds) else float("nan")


def summarize_settling(results: DataFrame) -> DataFrame:
    """Return the numbers of every data set and question, one row each."""
    orders = questions_of(results)
    return DataFrame(
        {"dataset": name, "against": against, **group_numbers(part)}
        for (name, against), part in orders.groupby(["dataset", "against"], sort=False)
    )


def exceeds(wrong: int, orders: int, alpha: float) -> bool:
    """Return whether the number of wrong orders is improbable if each is wrong with alpha."""
    return bool(binom.sf(wrong - 1, orders, alpha) < SUSPICIOUS_PROBABILITY) if orders else False


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{share:.0%}"


def _labels(numbers: Mapping[str, Any]) -> Cell:
    low, median, high = (numbers[f"labels_{key}"] for key in ("low", "median", "high"))
    if np.isnan(median):
        return Cell("0", value=0.0)
    return Cell(f"{median:.0f} ({low:.0f} to {high:.0f})", value=median)


def _wrong(numbers: Mapping[str, Any], alpha: float) -> Cell:
    wrong, orders = numbers["wrong"], numbers["orders_needing_labels"]
    marked = exceeds(wrong, orders, alpha)
    return Cell(f"{wrong} of {orders:,}", underline=marked, value=wrong / max(orders, 1))


GROUP_HEADER = (
    *("Fits", "Settled with 0 labels", "Settled with 30", "Settled with 100", "Labels needed"),
    *("Not worse with 0", "Not worse with 30", "Not worse with 100"),
    *("Random labels needed", "Sign test finds a difference", "Wrong"),
)
GROUP_CAPTION = (
    "Shares are those of orders, and all of them are settled with the labels of all rows where the "
    "models differ. Labels needed: the median (first and last tenth) of the orders that need any; "
    "beside it, the median number of random labels for the same answer. Not worse: of the orders "
    "where that is true. Sign test: how often an exact test on as many random labels finds a "
    "difference at all. Wrong: orders whose first answer is not the truth, of those that need "
    "labels; underlined if there are too many for a probability of {alpha:.0%}."
)


def _group_cells(numbers: Mapping[str, Any], alpha: float) -> tuple[Cell | str | int, ...]:
    """Return the cells of a group of orders."""
    random = numbers["random_median"]
    return (
        numbers["fits"],
        *(_percent(numbers[f"settled_{n}"]) for n in LABEL_COUNTS),
        _labels(numbers),
        *(_percent(numbers[f"not_worse_{n}"]) for n in LABEL_COUNTS),
        "–" if np.isnan(random) else f"{random:.0f}",
        _percent(numbers["sign_test_finds"]),
        _wrong(numbers, alpha),
    )


def verdicts_table(results: DataFrame, alpha: float) -> PageTable:
    """Return what labels settle, by question and by the verdict of cross-validation."""
    orders = questions_of(results)
    rows = []
    for against in settling.AGAINST:
        for verdict, words in VERDICTS.items():
            part = orders[(orders["against"] == against) & (orders["verdict"] == verdict)]
            if len(part):
                cells = _group_cells(group_numbers(part), alpha)
                rows.append((MODELS[against], words, *cells))
    caption = (
        "What labels settle, by the model that the safe stack is compared with and by the verdict "
        f"of cross-validation. {GROUP_CAPTION.format(alpha=alpha)}"
    )
    return PageTable.of(caption, ("Compared with", "Cross-validated", *GROUP_HEADER), rows)


def labels_table(results: DataFrame, alpha: float) -> PageTable:
    """Return what labels settle, by the share of rows that differ and the true change."""
    rows = []
    for (share, change), part in questions_of(results).groupby(["share_bin", "change_bin"]):
        names = (
            Cell(SHARE_NAMES[share], value=float(share)),
            Cell(CHANGE_NAMES[change], value=float(change)),
        )
        rows.append((*names, *_group_cells(group_numbers(part), alpha)))
    caption = (
        "What labels settle, by the share of rows on which the two models differ and by the true "
        "change of the error on these rows, in points, for both questions. "
        f"{GROUP_CAPTION.format(alpha=alpha)}"
    )
    return PageTable.of(caption, ("Rows that differ", "Truth", *GROUP_HEADER), rows)


def problems_table(results: DataFrame, alpha: float) -> PageTable:
    """Return what labels settle on every data set, for both questions."""
    orders = questions_of(results)
    rows = []
    for name, part in orders.groupby("dataset", sort=False):
        numbers = group_numbers(part)
        shown = (
            *(dataset_title(str(name)), _percent(numbers["open_verdicts"])),
            *(f"{numbers['share_different']:.1f}%", f"{numbers['change']:+.1f}"),
        )
        rows.append((*shown, *_group_cells(numbers, alpha)))
    caption = (
        "What labels settle on every problem, for both questions. Open: verdicts of "
        "cross-validation that cannot tell. Differ and change: means of the share of rows that "
        f"differ and of the true change, in points. {GROUP_CAPTION.format(alpha=alpha)}"
    )
    return PageTable.of(caption, ("Problem", "Open", "Differ", "Change", *GROUP_HEADER), rows)


def model_numbers(results: DataFrame, n_different: int = 0) -> DataFrame:
    """Return mean errors by what was labelled, and their differences from random rows, in points.

    The models of a fit must differ on at least ``n_different`` rows.
    """
    rows = results[(results["kind"] == settling.MODEL) & (results["n_different"] >= n_different)]
    of_arms = []
    for arm in settling.ARMS if len(rows) else ():
        numbers: dict[str, Any] = {"arm": arm}
        for measure in ("error", "error_own"):
            table = PERCENT * rows.pivot(index=["dataset", "repeat"], columns="arm", values=measure)
            change = table[arm] - table[settling.RANDOM]
            numbers |= {
                "fits": len(table),
                measure: table[arm].mean(),
                f"{measure}_se": table[arm].std() / np.sqrt(len(table)),
                f"{measure}_change": change.mean(),
                f"{measure}_change_se": change.std() / np.sqrt(len(change)),
            }
        of_arms.append(numbers)
    return DataFrame(of_arms)


def model_table(results: DataFrame, n_further: int) -> PageTable:
    """Return the errors after further labels, for all fits and for those with many rows of D."""
    rows = []
    for which, least in (("all", 0), (f"{n_further} rows or more differ", n_further)):
        for _, row in model_numbers(results, least).iterrows():
            cells = [f"{row[key]:.1f} ± {row[f'{key}_se']:.1f}" for key in ("error", "error_own")]
            keys = ("error_change", "error_own_change")
            same = row["arm"] == settling.RANDOM
            changes = ["" if same else f"{row[k]:+.2f} ± {row[f'{k}_se']:.2f}" for k in keys]
            names = (ARM_NAMES[row["arm"]], which, row["fits"])
            rows.append((*names, cells[0], changes[0], cells[1], changes[1]))
    caption = (
        f"Error of the safe stack, in %, fitted again with {n_further} further labels, ± standard "
        "errors of the means over fits; differences are paired. Common rows: unlabelled rows that "
        "nobody has labelled. Own rows: unlabelled rows that this one has not labelled, "
        "which differ from arm to arm, because uncertain rows and those on which models differ are "
        f"harder than others. Where fewer than {n_further} rows differ, random ones are added. "
        "Labels that were not drawn at random are marked as chosen and never held out, unless it "
        "says otherwise."
    )
    header = (
        *("Labels of", "Fits", "Number", "Error, common rows", "Common rows, minus random"),
        *("Error, own rows", "Own rows, minus random"),
    )
    return PageTable.of(caption, header, rows)


def settled_curves(results: DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, for open verdicts, the share of orders that are settled with up to n labels."""
    orders = questions_of(results)
    chosen = orders[orders["verdict"] == CANNOT_TELL]
    n_labels = np.arange(LABEL_TICKS[-1] + 1)
    curves = {}
    for column in CURVES:
        needed = np.sort(chosen[column].dropna().to_numpy(dtype=float))
        curves[column] = n_labels, np.searchsorted(needed, n_labels, side="right") / len(chosen)
    return curves


def settled_figure(results: DataFrame) -> Any:
    """Draw the share of open questions that are settled against the number of labels."""
    figure = new_figure(FIGURE_WIDTH, FIGURE_HEIGHT)
    axes = figure.add_subplot()
    for column, (n_labels, share) in settled_curves(results).items():
        name, color, line = CURVES[column]
        axes.step(n_labels, share, line, where="post", color=color, label=name, linewidth=1.8)
    axes.set_xscale("symlog", linthresh=10, linscale=0.6)
    axes.set_xticks(LABEL_TICKS, [str(tick) for tick in LABEL_TICKS])
    axes.minorticks_off()
    axes.set(xlim=(0, LABEL_TICKS[-1]), ylim=(0, 1.02))
    axes.set(xlabel="number of labels", ylabel="open questions settled")
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(axis="y", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(title="Labels of", frameon=False, loc="outside upper left")
    return figure


def figure_table(results: DataFrame) -> PageTable:
    """Return the numbers of the figure."""
    curves = settled_curves(results)
    rows = [
        (Cell(f"{n:,}", value=n), *(f"{share[n]:.1%}" for _, share in curves.values()))
        for n in LABEL_TICKS
    ]
    return PageTable.of(
        "Share of open questions settled.",
        ("Labels", *(name for name, _, _ in CURVES.values())),
        rows,
    )


def sentences(results: DataFrame, alpha: float) -> Iterator[str]:
    """Describe the findings."""
    orders = questions_of(results)
    numbers = group_numbers(orders)
    yield from _on_open_questions(orders)
    needing = numbers["orders_needing_labels"]
    yield (
        f"Wrong answers, stopping at the first settled moment: {numbers['wrong']} of the "
        f"{needing:,} orders that need labels ({numbers['wrong'] / max(needing, 1):.1%}; at most "
        f'{alpha:.0%} is claimed). {_of_cells(orders, alpha)} "Not worse" was wrong in '
        f"{numbers['not_worse_wrong']} orders."
    )
    both = results[results["kind"] == settling.BOTH]
    asked = both[both["needed"] > 0]
    yield (
        "Both questions together, at a shared level: "
        f"{np.mean(both['needed'] <= 0):.0%} settled with no label, "
        f"{np.mean(both['needed'] <= 30):.0%} with 30, {np.mean(both['needed'] <= 100):.0%} with "
        f"100; one of the two wrong in {int(asked['wrong'].astype(bool).sum())} of {len(asked):,} "
        "orders that need labels."
    )
    n_more = numbers["more_than_plain"]
    yield (
        "Orders that need more labels than the plain formula, without running intersection: "
        f"{n_more} of {numbers['orders']:,}."
    )
    yield from _on_models(results)


def _on_open_questions(orders: DataFrame) -> Iterator[str]:
    """Describe how often cross-validation cannot tell, and what labels settle then."""
    fits = orders.drop_duplicates(["dataset", "repeat", "against"])
    is_open = orders["verdict"] == CANNOT_TELL
    n_open = int((fits["verdict"] == CANNOT_TELL).sum())
    numbers = group_numbers(orders[is_open])
    yield (
        f"The cross-validated verdict is open in {n_open} of {len(fits):,} questions. Of these, "
        f"{numbers['settled_0']:.0%} are settled with no label, {numbers['settled_30']:.0%} with "
        f"at most 30 labels where the models differ, {numbers['settled_100']:.0%} with at most "
        "100, and all with the labels of all such rows. With 30 and 100 random labels, they are "
        f"{numbers['settled_30_random']:.0%} and {numbers['settled_100_random']:.0%}."
    )
    yield (
        f'Of the open questions whose answer is at least "not worse", that is known of '
        f"{numbers['not_worse_0']:.0%} with no label, of {numbers['not_worse_30']:.0%} with 30, "
        f"and of {numbers['not_worse_100']:.0%} with 100."
    )
    yield (
        f"Where labels are needed, the median is {numbers['labels_median']:.0f} chosen labels and "
        f"{numbers['random_median']:.0f} random ones for the same answer. With as many random "
        "labels as chosen ones, an exact sign test finds a difference in "
        f"{_percent(numbers['sign_test_finds'])} of the orders."
    )


def _of_cells(orders: DataFrame, alpha: float) -> str:
    """Describe the cells of the table of labels with the most wrong answers."""
    needing = orders[orders["needed"] > 0]
    cells = needing.groupby(["share_bin", "change_bin"])["wrong"].agg(["sum", "size"])
    if not len(cells):
        return ""
    above = cells[cells["sum"] > alpha * cells["size"]]
    marked = sum(exceeds(int(a), int(b), alpha) for a, b in cells.to_numpy())
    worst = cells.loc[(cells["sum"] / cells["size"]).idxmax()]
    return (
        f"Of {counted(len(cells), 'cell')} by share and truth, {len(above)} "
        f"{'has' if len(above) == 1 else 'have'} more than {alpha:.0%}, {marked} of them more "
        f"than chance explains; the largest share is {int(worst['sum'])} of "
        f"{int(worst['size']):,} orders."
    )


def _on_models(results: DataFrame) -> Iterator[str]:
    """Describe what further labels do to the model."""
    if not (results["kind"] == settling.MODEL).any():
        return
    table = model_numbers(results).set_index("arm")
    listed = ", ".join(
        f"{ARM_NAMES[arm]} {table.loc[arm, 'error']:.1f}%"
        for arm in settling.ARMS
        if arm != settling.BEFORE
    )
    change, se = table.loc[settling.DIFFERENT, ["error_change", "error_change_se"]]
    yield (
        f"The model fitted again with further labels, {int(table['fits'].iloc[0])} fits, error on "
        f"rows that nobody has labelled: {listed}; before "
        f"{table.loc[settling.BEFORE, 'error']:.1f}%. Rows where the models differ against random "
        f"rows: {change:+.2f} points (standard error {se:.2f})."
    )


def write_settling_report(folder: Path, results: DataFrame, missing: Sequence[str]) -> list[str]:
    """Write the results, the tables, the figure and the page; return what to print."""
    snapshot = read_snapshot(folder)
    design = snapshot["config"]["settling"]
    alpha = float(design["alpha"])
    write_file(folder / "results.parquet", results.convert_dtypes().to_parquet(index=False))
    write_file(folder / "summary.csv", summarize_settling(results).round(6).to_csv(index=False))
    tables = {
        "verdicts": verdicts_table(results, alpha),
        "labels": labels_table(results, alpha),
        "datasets": problems_table(results, alpha),
    }
    if (results["kind"] == settling.MODEL).any():
        tables["model"] = model_table(results, int(design["n_further"]))
    for name, table in tables.items():
        write_table_files(folder / "tables", table, f"settling-{name}")
    was_run = [paragraph(run_sentence(design, results)), *data_and_versions(snapshot)]
    sections = _sections(folder, results, tables)
    words = write_page(folder, TITLE, sentences(results, alpha), sections, was_run, missing)
    return [tables["verdicts"].to_text(), *words]


def _sections(folder: Path, results: DataFrame, tables: Mapping[str, PageTable]) -> list[Section]:
    """Return the figure and the tables, each with its heading."""
    headings = {
        "verdicts": "By the verdict of cross-validation",
        "labels": "By the share of rows that differ, and the truth",
        "datasets": "By problem",
        "model": "What further labels do to the model",
    }
    sections: list[Section] = []
    if (questions_of(results)["verdict"] == CANNOT_TELL).any():
        caption = (
            "Share of the questions that cross-validation leaves open which are settled, against "
            "the number of labels: of rows where the two models differ, and of random rows, with "
            "the same bounds. Dotted: the share known to be not worse; the others are worse."
        )
        drawing = draw(folder, "settled", settled_figure(results), caption, figure_table(results))
        sections.append(("Labels and answers", [drawing]))
    return [*sections, *((headings[name], [table.to_html()]) for name, table in tables.items())]


def run_sentence(design: Mapping[str, Any], results: DataFrame) -> str:
    """Return a description of what was run."""
    orders = questions_of(results)
    refits = results[results["kind"] == settling.MODEL]
    return (
        f"{orders['dataset'].nunique()} problems, {orders['repeat'].nunique()} random splits each "
        f"({refits['repeat'].nunique()} with further labels), {design['n_labeled']} labelled rows, "
        f"at most {design['most_unlabeled']:,} unlabelled ones, {design['n_orders']} random orders "
        f"of every fit. The safe stack has the candidates {', '.join(design['candidates'])}, each "
        f"scored by 5 folds {counted(design['cv_repeats'], 'time')}. Answers have the level "
        f"{1 - design['alpha']:.0%}, and changes of up to {design['margin']:.0%} of the rows count "
        "as no difference. The simulations draw new rows in every split."
    )
