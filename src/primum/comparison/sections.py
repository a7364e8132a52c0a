"""The sections of a comparison's report below its answer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from primum._words import counted
from primum.comparison.identity import distributions_of
from primum.comparison.plan import classifier_name, last_step
from primum.comparison.store import package_versions
from primum.comparison.words import estimation, with_article
from primum.judging.losses import ERROR, Measure
from primum.judging.words import Verdict, capitalised, interval_level, percent, percent_of_level
from primum.pages.blocks import Block, Bullets, Chart, Folded, Text
from primum.pages.charts import Series, line_chart
from primum.pages.tables import Cell, Table

ANSWERS = {
    "help": "better",
    "no_difference": "no practical difference",
    "harm": "worse",
    "cannot_tell": "cannot tell",
}
AXES = {
    "n_unlabeled": "Number of unlabelled rows",
    "n_labeled": "Number of labelled training rows",
}
# More rows would hide the rest of the report.
MAX_ROWS = 50
MAX_COEFFICIENTS = 30


def compared_methods(result: Any) -> list[Any]:
    """Return the methods that were compared with the baseline."""
    return [method for method in result.methods if method.verdict is not None]


def unit_of(measure: Measure) -> str:
    """Return the unit of changes in parentheses, if there is one."""
    return f" ({measure.unit.strip()})" if measure.unit else ""


def show_level(loss: float, measure: Measure) -> str:
    """Return a loss, in per cent if its changes are in points."""
    sign = "%" if measure.unit == ERROR.unit else ""
    return f"{loss * measure.scale:.{measure.digits}f}{sign}"


def _probability(value: float) -> Cell:
    return Cell(percent(value), value=value)


def data_section(result: Any) -> list[Block]:
    """Return the number of rows of every class, groups and drift."""
    table = result.plan.table
    counts = np.bincount(table.labels.codes, minlength=len(table.labels.classes))
    rows = [
        (Cell(str(name)), Cell(f"{count:,}", value=count), Cell(f"{count / counts.sum():.0%}"))
        for name, count in zip(table.labels.classes, counts, strict=True)
    ]
    text = (
        f"{table.n_labeled:,} rows have a label and {table.n_unlabeled:,} have none; there are "
        f"{table.X.shape[1]:,} columns of features."
    )
    if table.groups is not None:
        n_groups = len(np.unique(table.groups[table.labels.labeled].astype(str)))
        text += f" The labelled rows belong to {n_groups:,} groups, which are never split."
    caption = "Labelled rows by class. Share: of the labelled rows."
    return [
        Text(text),
        Table(caption, ("Class", "Labelled rows", "Share"), tuple(rows)),
        *(Text(sentence) for sentence in _drift_sentences(result.drift)),
    ]


def _drift_sentences(drift: Any) -> Iterator[str]:
    if drift is None:
        yield (
            "It was not tested whether labelled and unlabelled rows come from the same "
            "distribution: there are fewer than ten rows (or groups) of one kind."
        )
    elif drift.found:
        yield drift.text
    else:
        yield (
            "No visible difference between labelled and unlabelled rows was found: a classifier "
            f"tells them apart with {drift.accuracy:.0%} accuracy, where 50% is chance."
        )


def methods_section(result: Any) -> list[Block]:
    """Return the table of all methods, and what their answers mean."""
    measure = result.loss.measure
    rows = [_method_row(method, result.recommended, measure) for method in result.methods]
    name = capitalised(measure.name)
    percentage = " (%)" if measure.unit == ERROR.unit else ""
    compared = compared_methods(result)
    needed = compared[0].verdict.level if compared else result.level
    level, share = percent_of_level(needed), percent_of_level(interval_level(needed))
    table = Table(
        f"{name} on held-out rows, and its change from the tuned baseline{unit_of(measure)}; lower "
        "is better. Observed change: the difference of the two means. Estimated change: "
        f"{estimation(result.loss.scoring)}. Interval: contains the true change with {share} "
        "probability. P: probability. Bold: recommended.",
        (
            *("Method", "Unlabelled rows", f"{name}{percentage}"),
            *("Observed change", "Estimated change", f"{share} interval"),
            *("P(better)", "P(no difference)", "P(worse)", "Answer"),
        ),
        tuple(rows),
    )
    names = [entry.name for entry in result.plan.baselines]
    parts = f"the average of {' and '.join(names)}" if len(names) > 1 else names[0]
    explained = (
        f"The tuned baseline ({parts}) is fitted to the labelled rows alone. A method is called "
        f"better or worse only if the probability of that is at least {level}; differences of up "
        f"to {measure.show_limit(result.equivalence)} count as none."
    )
    return [Text(explained), table]


def _method_row(method: Any, recommended: str, measure: Measure) -> tuple[Cell, ...]:
    loss = method.loss * measure.scale
    known = (
        Cell(method.name, bold=method.name == recommended),
        Cell("used" if method.uses_unlabeled else "not used"),
        Cell(f"{loss:.{measure.digits}f}", value=loss),
    )
    if method.verdict is None:
        return (*known, *(Cell("–") for _ in range(7)))
    odds = method.verdict.probabilities
    return (
        *known,
        _signed(method.observed_change, measure),
        *_change_cells(method.verdict, measure),
        *map(_probability, (odds.help, odds.no_difference, odds.harm)),
        Cell(ANSWERS[method.verdict.answer]),
    )


def _change_cells(verdict: Verdict, measure: Measure) -> tuple[Cell, Cell]:
    low, high = (round(v * measure.scale, measure.digits) + 0.0 for v in verdict.interval)
    digits = measure.digits
    return (
        _signed(verdict.change, measure),
        Cell(f"{low:+.{digits}f} to {high:+.{digits}f}", value=verdict.interval[0]),
    )


def _signed(change: float, measure: Measure) -> Cell:
    shown = round(change * measure.scale, measure.digits) + 0.0
    return Cell(f"{shown:+.{measure.digits}f}", value=change)


def harm_section(result: Any) -> list[Block]:
    """Return harm against the baseline and against the same method without unlabelled rows."""
    stacks = {entry.name for entry in result.plan.cross_fitted}
    found: list[tuple[str, str, Verdict, Measure]] = []
    for method in compared_methods(result):
        found.append((method.name, "the tuned baseline", method.verdict, result.loss.measure))
        if method.twin is not None:
            is_stack = method.name in stacks
            twin = "the supervised stack" if is_stack else "itself without unlabelled rows"
            found.append((method.name, twin, method.twin, method.twin_measure))
    if not found:
        return []
    table = Table(
        "P(worse): the probability that the method is worse by more than the difference that "
        "counts as none. The comparison with the tuned baseline decides which model to use; that "
        "with the same method without unlabelled rows shows what these contribute.",
        ("Method", "Compared with", "P(worse)", "Estimated change", "Interval", "Loss", "Answer"),
        tuple(_harm_row(*one) for one in found),
    )
    return [table, Folded("In words", Bullets([verdict.text for _, _, verdict, _ in found]))]


def _harm_row(name: str, other: str, verdict: Verdict, measure: Measure) -> tuple[Cell, ...]:
    return (
        Cell(name),
        Cell(other),
        _probability(verdict.probabilities.harm),
        *_change_cells(verdict, measure),
        Cell(f"{measure.name}{unit_of(measure)}"),
        Cell(ANSWERS[verdict.answer]),
    )


def curves_section(result: Any) -> list[Block]:
    """Return the learning curves, over unlabelled and over labelled rows."""
    axes = dict.fromkeys(point["axis"] for point in result.curves)
    return [_curve_chart(result, axis) for axis in axes]


def _curve_chart(result: Any, axis: str) -> Chart:
    measure = result.loss.measure
    points = [point for point in result.curves if point["axis"] == axis]
    names = list(dict.fromkeys(point["name"] for point in points))
    series = [
        Series(
            name,
            [
                (p["n"], p["loss"] * measure.scale, _known(p["standard_error"]) * measure.scale)
                for p in points
                if p["name"] == name
            ],
        )
        for name in names
    ]
    unit = " (%)" if measure.unit == ERROR.unit else ""
    what = f"{capitalised(measure.name)}{unit}"
    caption = (
        f"{what} on held-out rows against the {AXES[axis].lower()}. Lines are means over the "
        "splits of one repeat; bands are one standard error on either side."
    )
    once = [entry.name for entry in result.plan.cross_fitted if entry.name in names]
    if once and axis == "n_unlabeled":
        caption += (
            f" The curve of {' and '.join(map(with_article, once))} is the baseline's "
            f"{measure.name} plus the observed change; its band is the standard error of that "
            "change."
        )
    ends = "; ".join(
        f"{curve.name}: {curve.points[0][1]:.3g} at {curve.points[0][0]:,} rows, "
        f"{curve.points[-1][1]:.3g} at {curve.points[-1][0]:,}"
        for curve in series
    )
    drawing = line_chart(series, AXES[axis], what, f"{what} by {AXES[axis].lower()}. {ends}.")
    return Chart(drawing, caption, _curve_table(series, AXES[axis], what))


def _known(standard_error: float) -> float:
    """Return a standard error, or 0 where a single split has none: no band is drawn."""
    return 0.0 if np.isnan(standard_error) else standard_error


def _curve_table(series: Sequence[Series], x_label: str, what: str) -> Table:
    sizes = sorted({x for curve in series for x, _, _ in curve.points})
    known = [
        {x: f"{y:.3g} ± {e:.2g}" if e else f"{y:.3g}" for x, y, e in curve.points}
        for curve in series
    ]
    rows = [
        (Cell(f"{size:,}", value=size), *(Cell(texts.get(size, "–")) for texts in known))
        for size in sizes
    ]
    header = (x_label, *(curve.name for curve in series))
    return Table(f"{what} ± standard error.", header, tuple(rows))


def changed_section(result: Any) -> list[Block]:
    """Return which unlabelled rows a method and the baseline classify differently."""
    shares, blocks, rows_changed = _changed_shares(result), list[Block](), list[Block]()
    try:
        if result.changed is not None:
            blocks, rows_changed = _changed_rows(result.changed)
    except ValueError as reason:  # an average of baselines that cannot be fitted as one model
        blocks.append(Text(f"It is not known which predictions change. {reason}"))
    if shares:
        rows = tuple((Cell(n), Cell(f"{share:.1%}", value=share)) for n, share in shares.items())
        n_rows = counted(len(result.plan.probe), "unlabelled row")
        caption = (
            "Share of the unlabelled rows for which a method and the tuned baseline predict "
            f"different classes: mean over all splits, on {n_rows}."
        )
        blocks.append(Table(caption, ("Method", "Predictions changed"), rows))
    return [*blocks, *rows_changed]


def _changed_rows(changed: Any) -> tuple[list[Block], list[Block]]:
    """Return the rows that change: by pair of classes, and one by one."""
    text = (
        f"Fitted to all rows, {with_article(changed.method)} and the tuned baseline predict "
        f"different classes for {changed.n_changed:,} of "
        f"{counted(changed.n_compared, 'unlabelled row')}."
    )
    if not changed.n_changed:
        return [Text(text)], []
    pairs = tuple((Cell(old), Cell(new), Cell(f"{n:,}", value=n)) for old, new, n in changed.counts)
    listed = tuple(
        (Cell(str(row.row + 1) if row.id is None else row.id), Cell(row.baseline), Cell(row.method))
        for row in changed.rows[:MAX_ROWS]
    )
    by_id = changed.rows[0].id is not None
    first = (
        f"The first {len(listed)} of these rows. "
        f"{'Row: its id' if by_id else 'Row: its number, from 1'}."
    )
    header = ("By the tuned baseline", f"By {with_article(changed.method)}")
    by_class = Table("Unlabelled rows by predicted class.", (*header, "Rows"), pairs)
    return [Text(text), by_class], [Folded("Which rows", Table(first, ("Row", *header), listed))]


def _changed_shares(result: Any) -> dict[str, float]:
    """Return the share of changed predictions of every method that was fitted in all splits."""
    judged = {method.name for method in compared_methods(result)}
    entries = result.plan.split_entries if len(result.plan.probe) else ()
    return {entry.name: result.changed_share(entry) for entry in entries if entry.name in judged}


def coefficients_section(result: Any) -> list[Block]:
    """Return the largest coefficients of a linear baseline with their direction."""
    found = result.coefficients
    if not found:
        return []
    rows = tuple(
        (Cell(one.feature), Cell(one.direction), Cell(f"{one.value:+.3g}", value=one.value))
        for one in found[:MAX_COEFFICIENTS]
    )
    which = f"The {len(rows)} largest of {len(found)}" if len(found) > len(rows) else "All"
    caption = (
        f"{which} coefficients of the {found[0].model} baseline, fitted to all labelled rows, "
        "largest first. Direction: what a larger value of the feature, or belonging to that "
        "category, means for the prediction. Numbers are scaled to unit variance first. "
        "Coefficients describe the model, not causes."
    )
    return [Table(caption, ("Feature", "Direction", "Coefficient"), rows)]


def columns_section(result: Any) -> list[Block]:
    """Return what was done to every column of the table."""
    if not result.columns:
        return []
    rows = [
        (
            Cell(str(column.name)),
            Cell(column.kind),
            Cell("used" if column.used else "not used"),
            Cell(column.action),
            Cell(column.note or ""),
        )
        for column in result.columns
    ]
    caption = (
        "Columns of the table and how they are prepared. Means, scales, medians and categories are "
        "learnt in every training set, never from held-out rows."
    )
    header = ("Column", "Kind", "Used", "What is done", "Note")
    return [Table(caption, header, tuple(rows))]


def left_out_section(result: Any) -> list[Block]:
    """Return failed fits, what the time budget left out, and the notes and warnings of fits."""
    sentences = list(dict.fromkeys([*result.left_out, *_notes(result)]))
    warned = Counter(
        (classifier_name(unit[0]), record["note"])
        for unit, record in result.records.done.items()
        if record["predicted"] is not None and record.get("note")
    )
    sentences += [
        f"{name} warned in {count} {'fit' if count == 1 else 'fits'}: {note}"
        for (name, note), count in warned.items()
    ]
    if not sentences:
        return [Text("No fit failed, and nothing was left out.")]
    shown = sentences[:MAX_ROWS]
    more = len(sentences) - len(shown)
    return [Bullets([*shown, *([f"{more} more are not shown."] if more else [])])]


def _notes(result: Any) -> Iterator[str]:
    for unit, record in result.records.done.items():
        for note in record.get("notes") or ():
            yield f"{unit[0].partition('/')[2]}: {note}"


def run_section(result: Any) -> list[Block]:
    """Return the design, the seed, the estimators and the versions."""
    plan = result.plan
    # A time budget may have left out repeats and methods.
    repeats = -(-len(result.splits) // plan.n_folds)
    times = f", {repeats} times" if repeats > 1 else ""
    design = (
        f"The labelled rows were split into {plan.n_folds} folds{times}. Every classifier was "
        "fitted to the training folds, with all unlabelled rows if it uses them, and judged on the "
        "held-out fold."
    )
    judged = {method.name for method in result.methods}
    fitted = [with_article(entry.name) for entry in plan.cross_fitted if entry.name in judged]
    once = " and ".join(fitted)
    if once:
        design += f" {capitalised(once)} was fitted once and judged by cross-fitted scores."
    settings = (
        f"Seed: {plan.seed}. Scoring: {result.loss.scoring}. Practical equivalence: "
        f"{result.equivalence:g}. Level: {result.level:g}. Time: {result.records.seconds:.0f} "
        "seconds."
    )
    versions = package_versions(distributions_of([entry.estimator for entry in plan.entries]))
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return [
        Text(design),
        Text(settings),
        _fits_table(result),
        Text(f"Versions: {listed}."),
    ]


def _fits_table(result: Any) -> Table:
    """Return the classifiers with the time of their fits and the p-values of their differences."""
    found = {method.name: method for method in result.methods}
    rows = []
    for entry in result.plan.entries:
        method = found.get(entry.name)
        p_value = None if method is None else method.p_value
        rows.append(
            (
                Cell(entry.name),
                Cell("–" if method is None else f"{method.seconds:.2g}"),
                Cell("–" if method is None else str(method.n_splits)),
                Cell("–" if p_value is None else f"{p_value:.2g}"),
                Cell(" ".join(repr(last_step(entry.estimator)).split())),
            )
        )
    return Table(
        "Classifiers, each fitted to the prepared columns. Time: mean of one fit and its "
        "predictions. p: two-sided p-value of the difference from the tuned baseline, adjusted for "
        "the number of methods by Holm's method.",
        ("Name", "Time (s)", "Splits", "p (Holm)", "Classifier"),
        tuple(rows),
    )
