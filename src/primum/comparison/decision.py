"""Decision rules: classifiers that follow costs of errors, and the rule of the recommended model.

A rule is chosen inside every training set, in folds of its labelled rows, with all unlabelled rows
in training. The averaged baseline has one rule, so that it is one classifier. Methods that judge
themselves choose their rule on their cross-fitted scores.

For the recommended model, precision and recall are shown over the threshold. Every labelled row
counts once, with the mean of its held-out scores over the repeats. Recall and precision are rates
among the rows of the class and among the rows predicted as the class; their intervals are those of
``primum.judging.intervals``. The interval of the threshold comes from a bootstrap: rows, or groups
if rows belong together, are drawn with replacement, and the rule is chosen again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.pipeline import Pipeline

from primum._typing import AnyArray, Floats, Index, Mask, PlainRecord
from primum.comparison.card import FEW_LABELS
from primum.comparison.plan import rng_for
from primum.comparison.records import HeldOutPredictions
from primum.judging.intervals import design_effect, rate_interval, row_means, tails_of
from primum.judging.objectives import ACCURACY, COST, EVEN_SCORE, Objective, shown_score, tuned_rule
from primum.judging.words import capitalised, interval_level, judges_itself, percent_of_level
from primum.pages.charts import BandedCurve, threshold_chart
from primum.pages.page import Cell, Chart, PageBlock, PageTable, Text
from primum.reading.classifiers import Entry, last_step
from primum.safe.decision import TunedDecisionClassifierCV

if TYPE_CHECKING:
    from primum.comparison.answer import Answer
    from primum.comparison.result import Comparison


def with_rules(entries: Sequence[Entry], objective: Objective, n_folds: int) -> list[Entry]:
    """Return the entries with decision rules, chosen in ``n_folds`` folds.

    Entries without scores stay as they are.
    """
    return [_with_rule(entry, objective, n_folds) for entry in entries]


def baseline_with_rule(entries: Sequence[Entry], objective: Objective, n_folds: int) -> list[Entry]:
    """Return the mean of several baselines' probabilities as one baseline with a rule."""
    if len(entries) == 1:
        return with_rules(entries, objective, n_folds)
    lacking = [entry.name for entry in entries if not hasattr(entry.estimator, "predict_proba")]
    if lacking:
        raise ValueError(
            f"The baseline {lacking[0]!r} has no predict_proba, so costs cannot choose the "
            "class that the average of the baselines predicts: calibrate it with "
            "CalibratedClassifierCV."
        )
    parts = [(_name_of_part(entry.name), last_step(entry.estimator)) for entry in entries]
    average = _in_place(entries[0].estimator, VotingClassifier(parts, voting="soft"))
    name = " and ".join(entry.name for entry in entries)
    return with_rules([Entry(name, average, False)], objective, n_folds)


def _with_rule(entry: Entry, objective: Objective, n_folds: int) -> Entry:
    last = last_step(entry.estimator)
    has_scores = hasattr(last, "predict_proba") or hasattr(last, "decision_function")
    if judges_itself(last) or not has_scores:
        return entry
    ruled = TunedDecisionClassifierCV(
        last, scoring=objective, uses_unlabeled=entry.uses_unlabeled, cv=n_folds
    )
    return replace(entry, estimator=_in_place(entry.estimator, ruled))


def _in_place(estimator: Any, last: Any) -> Any:
    """Return a classifier, or a pipeline, with another last step."""
    if not hasattr(estimator, "steps"):
        return last
    *before, (name, _) = estimator.steps
    return Pipeline([*before, (name, last)])


def is_ruled(classifier: Any) -> bool:
    """Return whether a classifier has a decision rule that a comparison gave it."""
    return isinstance(classifier, TunedDecisionClassifierCV)


def fitted_parts(model: Any, name: str) -> list[tuple[str, Any]]:
    """Return a fitted model by name, or the parts of an average that has a rule."""
    last = last_step(model)
    if not is_ruled(last):
        return [(name, model)]
    inside = last.estimator_
    parts = [(name, inside)]
    if isinstance(inside, VotingClassifier):
        parts = [(part, inside.named_estimators_[part]) for part, _ in inside.estimators]
    return [(part, _in_place(model, fitted)) for part, fitted in parts]


def _name_of_part(name: str) -> str:
    return name.replace("__", "_")  # scikit-learn refuses double underscores in names


# Resamples of the rows for the band around the curve of a threshold, enough for its width, and
# thresholds of the curve: twentieths, in addition to half as many quantiles of the scores.
N_RESAMPLES = 200
N_THRESHOLDS = 21


@dataclass(frozen=True)
class ThresholdPoint:
    """Precision and recall at a threshold, with intervals; None if nothing is predicted."""

    threshold: float
    recall: tuple[float, float, float]
    precision: tuple[float, float, float] | None


@dataclass(frozen=True)
class Decision(PlainRecord):
    """The decision rule of a model of two classes, on held-out rows.

    Attributes
    ----------
    positive : str
        The class that is predicted if its score is at least the threshold.
    threshold : float
        The threshold of the model fitted to all rows.
    interval : (float, float) or None
        Interval of the threshold over resamples of the labelled rows; None if it is not chosen, or
        if too few rows could be held out.
    level : float
        The probability of the intervals.
    n_positive : int
        Number of labelled rows of that class.
    points : tuple of ThresholdPoint
        Precision and recall: value, lower and upper end.
    """

    positive: str
    threshold: float
    interval: tuple[float, float] | None
    level: float
    n_positive: int
    points: tuple[ThresholdPoint, ...]


def decision_of(result: "Comparison", model: Any) -> Decision | None:
    """Return the rule of the recommended model, with its precision and recall on held-out rows.

    Parameters
    ----------
    result : Comparison
        The comparison.
    model : classifier
        The recommended one, fitted to all rows: the last step of a pipeline.

    Returns
    -------
    Decision or None
        None if there are more than two classes, if nothing says which is positive, or without
        scores.
    """
    objective, held_out = result.loss.objective, result.records.held_out(result.recommended)
    if objective is None or objective.positive is None or held_out is None:
        return None
    if held_out.all.scores is None or held_out.all.scores.shape[1] != 2:
        return None
    rows, scores, codes = _by_row(held_out)
    table = result.plan.table
    units = rows if table.groups is None else table.groups[table.labels.labeled][rows]
    truth, of_positive = codes == objective.positive, scores[:, objective.positive]
    chosen = getattr(model, "threshold_", None)
    threshold = EVEN_SCORE if chosen is None else float(chosen)
    grid = _grid(of_positive, threshold)
    level, interval = interval_level(result.level), None
    if objective.has_rule and getattr(getattr(model, "rule_", None), "tuned", True):
        draws = _resamples(units, rng_for(result.plan.seed, "threshold"))
        weight = table.weight_of(table.labels.labeled[rows])
        thresholds = [_threshold(objective, scores, codes, weight, draw) for draw in draws]
        interval = _ends([threshold, *(one for one in thresholds if one is not None)], level)
    return Decision(
        *(str(table.labels.classes.tolist()[objective.positive]), threshold, interval, level),
        int(truth.sum()),
        tuple(_points(of_positive, truth, grid, None if table.groups is None else units, level)),
    )


def _by_row(held_out: HeldOutPredictions) -> tuple[Index, Floats, Index]:
    """Return the rows, their mean scores over repeats, and their classes."""
    every = held_out.all
    assert every.scores is not None
    columns = [row_means(held_out.rows, column)[1] for column in every.scores.T]
    rows, codes = row_means(held_out.rows, every.truth)
    return rows, np.column_stack(columns), codes.astype(np.intp)


def _grid(scores: Floats, threshold: float) -> Floats:
    """Return thresholds over the range of the scores, the chosen one among them."""
    even = np.linspace(0, 1, N_THRESHOLDS)
    spread = np.quantile(scores, np.linspace(0.05, 0.95, N_THRESHOLDS // 2))
    both = np.unique(np.round(np.concatenate([even, spread]), 3))
    return np.unique(np.append(both, np.clip(threshold, 0.0, 1.0)))


def _resamples(units: AnyArray, rng: np.random.Generator) -> list[Index]:
    """Return resamples of rows as positions, with whole units drawn with replacement."""
    names, codes = np.unique(units, return_inverse=True)
    members = [np.flatnonzero(codes == code) for code in range(len(names))]
    return [
        np.concatenate([members[unit] for unit in rng.integers(len(names), size=len(names))])
        for _ in range(N_RESAMPLES)
    ]


def _threshold(
    objective: Objective, scores: Floats, codes: Index, weight: Floats | None, draw: Index
) -> float | None:
    """Return the threshold of resampled rows; None if they have only one class."""
    if len(np.unique(codes[draw])) < 2:
        return None
    of_draw = None if weight is None else weight[draw]
    return tuned_rule(objective, scores[draw], codes[draw], weight=of_draw).threshold


def _ends(values: Sequence[float], level: float) -> tuple[float, float] | None:
    """Return the interval of a threshold, the first value; None without other values."""
    if len(values) < 2:
        return None
    low, high = np.quantile(values[1:], [(1 - level) / 2, (1 + level) / 2])
    return min(float(low), values[0]), max(float(high), values[0])


def _points(
    scores: Floats, truth: Mask, grid: Floats, groups: AnyArray | None, level: float
) -> list[ThresholdPoint]:
    """Return precision and recall at every threshold, with their intervals."""
    points = []
    for threshold in grid.tolist():
        predicted = scores >= threshold
        recall = _rate(predicted[truth], None if groups is None else groups[truth], level)
        precision = _rate(truth[predicted], None if groups is None else groups[predicted], level)
        if recall is not None:
            points.append(ThresholdPoint(threshold, recall, precision))
    return points


def _rate(hits: Mask, groups: AnyArray | None, level: float) -> tuple[float, float, float] | None:
    """Return a share of rows and the ends of its interval; None without rows."""
    if not len(hits):
        return None
    share = float(hits.mean())
    n_rows = len(hits) / design_effect(hits.astype(np.float64) - share, groups)
    return share, *rate_interval(share, n_rows, tails_of(level))


def decision_part(answer: "Answer") -> list[PageBlock]:
    """Return the section of the report on costs and the threshold."""
    text, objective, decision = decision_in_words(answer), answer.objective, answer.decision
    if not text or objective is None:
        return []
    blocks: list[PageBlock] = [Text(text)]
    if objective.cost is not None:
        blocks.append(_cost_table(answer.classes or (), objective))
    if decision is not None:
        blocks.append(_chart(decision))
    return blocks


def decision_in_words(answer: "Answer") -> str:
    """Return, in words, when the recommended model predicts which class; empty without a rule."""
    objective, decision = answer.objective, answer.decision
    if objective is None or not (objective.has_rule or decision):
        return ""
    name = answer.name_in_words(answer.recommended)
    aim = "the costs of errors" if objective.name == COST else objective.scoring
    if decision is None:
        return (
            f"{capitalised(name)} predicts the class that is best for {aim}: scores are calibrated "
            "on rows that were held out, and the class of least expected cost is predicted."
        )
    where = f"its score is at least {shown_score(decision.threshold)}"
    text = f"{capitalised(name)} predicts {decision.positive!r} where {where}."
    if decision.interval is None and objective.has_rule:
        return (
            f"{text} Too few labelled rows of {decision.positive!r} could be held out to say how "
            "certain the threshold is: label more of them."
        )
    if decision.interval is None:
        why = f"{capitalised(aim)} is about the order of the scores, not about a threshold."
        if objective.name == ACCURACY:
            why = "Say what errors cost (cost= of compare, --cost), and it is chosen for that."
        return f"{text} {why}"
    low, high = map(shown_score, decision.interval)
    text += (
        f" The threshold was chosen for {aim}, on scores of rows that were held out. If the "
        f"labelled rows were drawn again, it would be between {low} and {high} (in "
        f"{percent_of_level(decision.level)} of the resamples)."
    )
    if decision.n_positive < FEW_LABELS:
        text += (
            f" There are only {decision.n_positive} labelled rows of {decision.positive!r}: more "
            "would make the threshold more certain."
        )
    return text


def _cost_table(names: Sequence[str], objective: Objective) -> PageTable:
    rows = [
        (name, *(f"{cost:g}" for cost in costs))
        for name, costs in zip(names, objective.cost or (), strict=True)
    ]
    header = ("True class", *(f"predicted {name}" for name in names))
    return PageTable.of("What errors cost.", header, rows)


def _chart(decision: Decision) -> Chart:
    level = percent_of_level(decision.level)
    series = [
        BandedCurve("Recall", [(p.threshold, *p.recall) for p in decision.points]),
        BandedCurve(
            "Precision", [(p.threshold, *p.precision) for p in decision.points if p.precision]
        ),
    ]
    interval = (
        "" if decision.interval is None else " The shaded strip is the interval of the threshold."
    )
    caption = (
        f"Recall and precision of {decision.positive!r} on held-out rows, if it is predicted where "
        f"its score is at least the threshold. Bands are {level} intervals. The vertical line is "
        f"the threshold of the model.{interval}"
    )
    described = (
        f"Recall and precision of {decision.positive} against the threshold, which is "
        f"{shown_score(decision.threshold)}."
    )
    label = f"Threshold of the score of {decision.positive}"
    drawing = threshold_chart(series, decision.threshold, decision.interval, label, described)
    numbers = PageTable.of(
        f"Recall and precision with {level} intervals.",
        ("Threshold", "Recall", "Precision"),
        [
            (Cell.of(p.threshold, ".3g"), _range(p.recall), _range(p.precision))
            for p in decision.points
        ],
    )
    return Chart(drawing, caption, numbers)


def _range(rates: tuple[float, float, float] | None) -> str:
    if rates is None:
        return "–"
    value, low, high = rates
    return f"{value:.0%} ({low:.0%} to {high:.0%})"
