"""The target of a comparison: classes or numbers.

Rows, folds, fits and verdicts are the same for both. Only the target knows what differs: how
unknown labels are marked, how predictions are read, stored, averaged and shown, the default scoring
and models, and how many labels are enough.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import stats
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from primum._sklearn import CLASSIFIER, REGRESSOR
from primum._typing import AnyArray, Floats, Index, Mask
from primum._words import listed
from primum.comparison.card import (
    NumberCard,
    NumberChanges,
    card_of,
    changes_of,
    number_card_of,
    number_changes_of,
)
from primum.comparison.rare_classes import DROP, GROUP, RareClasses
from primum.comparison.words import STACK, show_loss
from primum.judging.difference import EQUIVALENT_SHARE, PRACTICAL_EQUIVALENCE
from primum.judging.drift import options_in_words
from primum.judging.losses import (
    RMSE,
    Loss,
    Measure,
    Predictions,
    full_scoring,
    number_measure,
    predicted_codes,
    read_number_scoring,
    read_scoring,
)
from primum.judging.objectives import ACCURACY, Objective, positive_code, read_objective
from primum.judging.words import Alert, OwnVerdict
from primum.methods import ICLSClassifierCV, ICLSRegressorCV, SelfLearningClassifier, TSVMClassifier
from primum.pages.page import Cell, PageTable
from primum.reading.classifiers import Entry, NamedClassifier, class_scores, last_step
from primum.reading.known import SAY_NUMBERS, Known, TargetKind, drawn_labels
from primum.reading.labels import MAX_CODES, KnownLabels
from primum.reading.targets import KnownTargets
from primum.safe.candidates import BASELINE as DEFAULT_BASELINE
from primum.safe.candidates import CANDIDATES, NUMBER_CANDIDATES
from primum.safe.candidates.alone import CandidateClassifier, CandidateRegressor
from primum.safe.candidates.baselines import (
    TunedLogisticClassifier,
    TunedRidgeClassifier,
    TunedRidgeRegressor,
)
from primum.safe.candidates.packages import ON_REQUEST, classifier_on_request, regressor_on_request
from primum.safe.candidates.trees import (
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
)
from primum.safe.classifier import SafeClassifier
from primum.safe.regressor import SafeRegressor

if TYPE_CHECKING:
    from primum.comparison.result import Comparison

# Grids as coarse as that of logistic regression, because tuning is repeated in every training set.
FEW_ALPHAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
FEW_METRICS = (0.0, 0.5)
# A smaller grid for several classes, with which a fit takes many times as long.
SEVERAL_CLASSES_GRID = ((1e-2, 1e-1, 1.0), (0.0,))
# Types of the baselines that safe stacks have under the same name.
OF_STACK: dict[str, type] = {
    "ridge": TunedRidgeClassifier,
    "logistic": TunedLogisticClassifier,
    **dict.fromkeys(ON_REQUEST, CandidateClassifier),
}
OF_NUMBER_STACK: dict[str, type] = {
    "ridge": TunedRidgeRegressor,
    **dict.fromkeys(ON_REQUEST, CandidateRegressor),
}
# The fewest labelled rows of a class: one is held out, and tuning splits two again.
MIN_LABELS_TO_TUNE, MIN_LABELS = 3, 2
# The fewest labelled numbers: a ridge is tuned with at least two rows in each of two folds.
MIN_NUMBERS_TO_TUNE = 6
# A class is rare with at most this share of the labels, and has few labels below this number: both
# make its errors invisible in an accuracy.
RARE_SHARE, FEW_LABELS = 0.1, 20
# The probability, for all classes together, of as few labels in one of several equal classes, up to
# which chance does not explain them.
MAX_CHANCE = 0.05
# Quantiles of known numbers that a table shows.
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
# Digits of stored scores: enough to find the largest score, and to judge by scores, whose losses
# are shown with three digits.
PROBE_DIGITS, HELD_OUT_DIGITS = 3, 6
# Predictions of held-out rows: classes or numbers, and scores of classes.
Predicted = tuple[list[Any], list[list[float]] | None]


def default_baselines() -> list[tuple[str, Any]]:
    """Return tuned ridge and logistic regression, the same models as those of a safe stack."""
    return [("ridge", TunedRidgeClassifier()), ("logistic", TunedLogisticClassifier())]


def default_methods(
    inner: int, n_classes: int, scoring: Any, baseline: Any = DEFAULT_BASELINE
) -> list[tuple[str, Any, bool]]:
    """Return the safe stack, given its baseline, and the other methods, tuned in ``inner`` folds.

    The last two are supervised alternatives to the baseline, which show whether another kind of
    model is better than a linear one with unlabelled rows.
    """
    grid = (FEW_ALPHAS, FEW_METRICS) if n_classes == 2 else SEVERAL_CLASSES_GRID
    methods = [
        ("safe stack", SafeClassifier(baseline=baseline, scoring=scoring), True),
        ("ICLS", ICLSClassifierCV(*grid, cv=inner), True),
        ("self-learning", SelfLearningClassifier(LogisticRegression()), True),
    ]
    if n_classes == 2:
        methods.append(("TSVM", TSVMClassifier("annealing", alpha=0.1), True))
    alternatives = (("forest", ForestClassifier()), ("boosting", BoostingClassifier()))
    return [*methods, *((name, estimator, False) for name, estimator in alternatives)]


def stack_baseline(baselines: Sequence[Entry]) -> Any:
    """Return the baselines of a comparison as the baseline of its safe stack.

    "Safe" refers to the model with which everything is compared. The stack has ridge and logistic
    regression, and models on request, by name. A classifier without scores cannot be part of a
    stack, whose baseline is then the default one.
    """
    if not all(map(has_scores, baselines)):
        return DEFAULT_BASELINE
    parts = [_in_stack(entry, OF_STACK, CANDIDATES) for entry in baselines]
    return DEFAULT_BASELINE if parts == list(DEFAULT_BASELINE) else parts


def has_scores(entry: Entry) -> bool:
    """Return whether a classifier has scores, which a part of a stack needs."""
    return any(hasattr(entry.estimator, name) for name in ("predict_proba", "decision_function"))


def number_baseline(baselines: Sequence[Entry]) -> Any:
    """Return the baselines of a comparison of numbers as the baseline of its safe stack."""
    parts = [_in_stack(entry, OF_NUMBER_STACK, NUMBER_CANDIDATES) for entry in baselines]
    return "ridge" if parts == ["ridge"] else parts


def _in_stack(entry: Entry, of_stack: Mapping[str, type], used_names: Collection[str]) -> Any:
    """Return a baseline's name, if a stack has it, or else (free name, model)."""
    model = entry.estimator  # with the steps before it, if it is a pipeline
    if isinstance(model, of_stack.get(entry.name, ())):
        return entry.name
    return f"{entry.name} (baseline)" if entry.name in used_names else entry.name, model


@dataclass(frozen=True)
class PredictedTarget:
    """What both kinds of targets share.

    Attributes
    ----------
    known : KnownLabels or KnownTargets
        The labels, and where labelled and unlabelled rows are.
    kind : TargetKind
        Classes or numbers, and how that was decided.
    """

    known: Known
    kind: TargetKind

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return self.known.n_rows

    def with_known(self, known: Known) -> Self:
        """Return the same target with other labels."""
        return replace(self, known=known)

    def drawn(self, chosen: Mask | None) -> Self:
        """Return the target without labels that were chosen."""
        return replace(self, known=drawn_labels(self.known, chosen))

    def to_dict(self) -> dict[str, Any]:
        """Return the kind of the target as plain JSON values."""
        return {"target_kind": self.kind.word, "recognised": self.kind.how}


@dataclass(frozen=True)
class ClassTarget(PredictedTarget):
    """A target of classes: codes 0, 1, ..., and -1 where unknown; baselines average their scores.

    Attributes
    ----------
    known : KnownLabels
        The labels.
    kind : TargetKind
        Classes, and how that was decided.
    default_scoring : str
        The scoring, unless the user names another one.
    default_equivalence : float
        The practical equivalence, unless the user sets another one.
    learner : {"classifier", "regressor"}
        Kind of the models.
    stack : str
        Name of the estimator that is called the safe stack.
    limits : (float, float) or None
        The range that is certain to contain all numbers; None if it is not known.
    shift_options : str
        The remedies if labelled and unlabelled rows differ, in a sentence.
    why_not_settled : str
        Why labels of chosen rows cannot settle a comparison, in a sentence; empty if they can.
    on_request, card, changes : callable
        Return the model of a name in ``ON_REQUEST``; the card of a method; and the unlabelled rows
        for which the predictions of a method and the baseline differ.
    changed_in_words : (str, str)
        Names of ``changed`` for the caption and for the header of a table.
    rare : RareClasses or None
        The classes that were grouped or left out, because they have too few labels.
    """

    known: KnownLabels
    rare: RareClasses | None = None
    default_scoring = "accuracy"
    default_equivalence = PRACTICAL_EQUIVALENCE
    learner = CLASSIFIER
    stack = STACK
    limits = None
    shift_options = options_in_words(numeric=False)
    why_not_settled = ""
    on_request = staticmethod(classifier_on_request)
    card = staticmethod(card_of)
    changes = staticmethod(changes_of)
    changed_in_words = (
        "Share of the unlabelled rows for which a method and the baseline predict different "
        "classes",
        "Predictions changed",
    )

    @cached_property
    def y(self) -> AnyArray:
        """The labels of all rows in the form that models of a split are fitted to."""
        codes = np.full(self.n_rows, -1)
        codes[self.known.labeled] = self.known.codes
        return codes

    @property
    def names(self) -> AnyArray:
        """The labels of all rows in the form that the final model is fitted to."""
        names = np.full(self.n_rows, None, dtype=object)
        names[self.known.labeled] = self.known.values
        return names

    @property
    def class_names(self) -> list[Any]:
        """The classes; empty for numbers."""
        return list(self.classes.tolist())

    def score_names(self, n_scores: int) -> list[str]:
        """Return the classes whose scores a linear model has; of two classes, only the second."""
        names = [str(name) for name in self.class_names]
        return names[1:] if n_scores == 1 else names

    def with_names(self, reason: str) -> str:
        """Return the error text of a fit with class codes replaced by names."""

        def name_of_code(match: re.Match[str]) -> str:
            code = int(match[1])
            return f"class {self.class_names[code]!r}" if code < len(self.classes) else match[0]

        return re.sub(r"\bclass (\d+)\b", name_of_code, reason)

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        rare = None if self.rare is None else self.rare.to_dict()
        return super().to_dict() | {
            "classes": [str(name) for name in self.classes],
            "rare_classes": rare,
        }

    @property
    def truth(self) -> AnyArray:
        """The known labels against which predictions are judged: class codes, or numbers."""
        return self.known.codes

    @property
    def classes(self) -> AnyArray:
        """Names of the classes; None for numbers."""
        return self.known.classes

    def judged_by(self, scoring: Any, cost: Any, positive: Any) -> Any:
        """Return what models are judged by: a scoring or, for classes, an objective."""
        scoring = self.default_scoring if scoring is None else scoring
        objective = read_objective(scoring, self.classes, cost, positive)
        return scoring if objective is None else objective

    def loss(self, judged: Any, positive: Any) -> Loss:
        """Return the loss for a result of ``judged_by``."""
        loss = read_scoring(judged, self.classes)
        if positive is None or isinstance(judged, Objective):
            return loss
        code = positive_code(positive, self.classes)  # only the report uses it
        return replace(loss, objective=Objective(ACCURACY, positive=code))

    def relative_to(self, baseline_loss: float) -> float | None:
        """Return the loss of which the practical equivalence is a share; None if it is absolute."""
        return None

    def limit_in_words(self, equivalence: float, baseline_loss: float, measure: Measure) -> str:
        """Return the largest change of the loss that makes no practical difference."""
        return measure.show_limit(equivalence)

    def can_judge(self, loss: Loss, predictions: Predictions) -> bool:
        """Return whether predictions have the scores of classes that a loss needs."""
        of_classes = loss.of_rows is not None and not loss.needs_scores
        return of_classes or predictions.scores is not None

    def default_baselines(self) -> list[tuple[str, Any]]:
        """Return tuned supervised models."""
        return default_baselines()

    def default_methods(
        self, inner: int, scoring: Any, baselines: Sequence[Entry]
    ) -> list[tuple[str, Any, bool]]:
        """Return the methods that are compared, tuned in ``inner`` folds."""
        return default_methods(inner, len(self.classes), scoring, stack_baseline(baselines))

    def stack_baseline(self, baselines: Sequence[Entry]) -> Any:
        """Return the baselines as the baseline of a safe stack; None if one has no scores."""
        return stack_baseline(baselines) if all(map(has_scores, baselines)) else None

    def check_sizes(self, chosen: Mask | None, *models: Any) -> None:
        """Raise an error if there are too few labels to compare on.

        ``models`` are the baselines and methods; those given by name are defaults, which are tuned.
        """
        labels, at_random = self.known, "" if chosen is None else ", drawn at random"
        needed = labels_needed(*models)
        counts = labels.counts.tolist()
        rare = [
            f"{name!r} ({count})"
            for name, count in zip(labels.classes.tolist(), counts, strict=True)
            if count < needed
        ]
        if not rare:
            return
        few = f"Class {rare[0]} has" if len(rare) == 1 else f"Classes {listed(rare)} have"
        n_few, n_kept = sum(n for n in counts if n < needed), len(counts) - len(rare)
        ways = []
        if n_few >= needed and n_kept:
            ways.append(f"pass rare_classes={GROUP!r} to predict them as one class")
        if n_kept > 1:  # of two classes, neither can be left out
            say = "rare_classes=" if ways else "pass rare_classes="
            ways.append(f"{say}{DROP!r} to count their rows as unlabelled")
        other = "".join(f", or {way}" for way in ways)
        are_numbers = labels.classes.dtype.kind in "iu"
        if ways and are_numbers and (len(rare) > len(counts) / 2 or len(counts) > MAX_CODES):
            other += f" (if they are measurements, pass {SAY_NUMBERS})"
        raise ValueError(
            f"{few} fewer than {needed} labelled rows{at_random}, which a comparison needs of "
            f"every class to hold some out and learn from the others: label more rows{at_random}"
            f"{other}."
        )

    def too_few_to_tune(self, counts: Index) -> str:
        """Return why nothing can be tuned, given numbers of training rows by split and stratum."""
        rarest = self.classes.tolist()[int(counts.min(axis=0).argmin())]
        return (
            f"Some training set has only one labelled row of class {rarest!r}, with which nothing "
            "can be tuned: label more rows of it (three are the least), or empty its labels, so "
            "that its rows count as unlabelled."
        )

    def predict(self, fitted: Any, X: Any, name: str) -> Predicted:
        """Return the predicted codes and, if a classifier has them, the scores of rows."""
        has_scores = hasattr(fitted, "predict_proba") or hasattr(fitted, "decision_function")
        scores = class_scores(fitted, X, len(self.classes), name).tolist() if has_scores else None
        return np.asarray(fitted.predict(X)).astype(int).tolist(), scores

    def cross_fitted(self, judged: OwnVerdict) -> Predicted:
        """Return the held-out predictions of a model that judged itself."""
        predicted = predicted_codes(judged.scores) if judged.predicted is None else judged.predicted
        return predicted.tolist(), np.round(judged.scores, HELD_OUT_DIGITS).tolist()

    def predict_stored(self, model: Any, X: Any) -> AnyArray:
        """Return the predicted classes as codes, in the order of the model's classes."""
        return np.searchsorted(model.classes_, model.predict(X))

    def stored(self, values: Sequence[Any]) -> AnyArray:
        """Return stored predictions as an array."""
        return np.array(values, dtype=np.intp)

    def kept_of_baseline(self, fitted: Any, X: Any, name: str) -> list[list[float]] | None:
        """Return what is stored of a baseline for unlabelled rows, besides its predictions."""
        scores = class_scores(fitted, X, len(self.classes), name)
        rounded: list[list[float]] = np.round(scores, PROBE_DIGITS).tolist()
        return rounded

    def averaged(self, parts: Sequence[Predictions]) -> Predictions:
        """Return the predictions of the average of several baselines."""
        scores = np.mean([_needed_scores(part) for part in parts], axis=0)
        return Predictions(parts[0].truth, scores.argmax(axis=1), scores)

    def changed(self, scores: Sequence[Any], probes: Sequence[Any], predicted: AnyArray) -> float:
        """Return how much a method changes the baseline's predictions of unlabelled rows.

        Parameters
        ----------
        scores, probes : sequence
            What is kept of the baselines, and what they predict, in every split.
        predicted : array of shape (n_splits, n_rows)
            What the method predicts.

        Returns
        -------
        float
            The share of rows for which the two predict different classes.
        """
        if len(probes) == 1:
            return float((np.array(probes[0]) != predicted).mean(axis=1).mean())
        mean = np.mean([np.array(one) for one in scores], axis=0)
        return float((mean.argmax(axis=2) != predicted).mean(axis=1).mean())

    def can_be_averaged(self, baselines: Sequence[Entry]) -> bool:
        """Return whether the average of the baselines is a model of its own."""
        return len(baselines) == 1 or all(hasattr(b.estimator, "predict_proba") for b in baselines)

    def average(self, parts: Sequence[tuple[str, Any]]) -> Any:
        """Return the mean of the probabilities of several classifiers as one classifier."""
        return VotingClassifier(list(parts), voting="soft")

    def deployable(self, entry: Entry) -> Entry:
        """Return an entry that can be fitted to the names of classes, with None where unknown."""
        last = last_step(entry.estimator)
        if not entry.uses_unlabeled or entry.is_of_primum:
            return entry
        named: Any = NamedClassifier(last)
        if last is not entry.estimator:
            *before, (name, _) = entry.estimator.steps
            named = Pipeline([*before, (name, named)])
        return Entry(entry.name, named, True)

    def check_label_shift(self) -> None:
        """Raise an error if ``shift="label"`` does not apply to the target."""

    def show_changed(self, changed: float) -> str:
        """Return a result of ``changed`` as text."""
        return f"{changed:.1%}"

    def labels_table(self, result: "Comparison") -> PageTable:
        """Return the known labels of a comparison, without chosen ones, as a table."""
        counts = self.known.counts
        rows = [
            (str(name), Cell.of(count), f"{count / counts.sum():.0%}")
            for name, count in zip(self.classes, counts, strict=True)
        ]
        without = ", without chosen ones" if result.plan.table.n_chosen else ""
        caption = f"Labelled rows by class{without}. Share: of the labelled rows{without}."
        return PageTable.of(caption, ("Class", "Labelled rows", "Share"), rows)

    def alerts(self, loss: Loss) -> list[Alert]:
        """Return an alert that errors say little, if a class is rare and has few labels.

        Of many classes none is frequent, so a rare one also has fewer labels than any would have by
        chance if all were equally frequent.
        """
        counts, names = self.known.counts, self.class_names
        rarest, total = int(counts.argmin()), int(counts.sum())
        count = int(counts[rarest])
        if loss.scoring != "accuracy" or count > RARE_SHARE * total or count >= FEW_LABELS:
            return []
        if len(names) * stats.binom.cdf(count, total, 1 / len(names)) > MAX_CHANCE:
            return []
        name, other = names[rarest], names[int(counts.argmax())]
        also = "balanced_accuracy"
        if len(names) == 2:
            also = f"average_precision with positive={name!r} (--positive)"
        text = (
            f"Only {count} of the {total} labelled rows are of class {name!r}: a model that never "
            f"predicts it has an error of {show_loss(count / total, loss.measure)}, so that a "
            "verdict on errors says little about it. If it matters, say what errors cost (cost= of "
            f"compare, --cost '{name}:{other}=5'), or compare by the scoring {also}, and label "
            "more rows of it."
        )
        return [Alert("rare class", text)]

    @property
    def in_short(self) -> str:
        """The target in a few words: "3 classes"."""
        return f"{len(self.classes)} classes"

    @property
    def in_words(self) -> str:
        """The known labels, as part of a sentence."""
        names, counts = self.classes.tolist(), self.known.counts.tolist()
        return listed(
            [f"{str(name)!r}: {count}" for name, count in zip(names, counts, strict=True)]
        )


@dataclass(frozen=True)
class NumberTarget(PredictedTarget):
    """A target of numbers: NaN where unknown; baselines average their predictions.

    ``ClassTarget`` describes the members, which both classes have.

    Attributes
    ----------
    known : KnownTargets
        The numbers.
    kind : TargetKind
        Numbers, and how that was decided.
    name : str
        Name of the column; empty if there is none.
    """

    known: KnownTargets
    name: str = ""
    rare = None
    default_scoring = RMSE
    default_equivalence = EQUIVALENT_SHARE
    learner = REGRESSOR
    stack = "SafeRegressor"
    shift_options = options_in_words(numeric=True)
    why_not_settled = (
        "Labels of chosen rows cannot settle which of two models predicts numbers better: two such "
        "models differ on every row, by any amount, so there is no disagreement bound. Label rows "
        "at random, and compare again."
    )
    on_request = staticmethod(regressor_on_request)
    changed_in_words = (
        "Root mean square of the difference between the predictions of a method and of the "
        "baseline for unlabelled rows",
        "Difference",
    )

    @cached_property
    def y(self) -> AnyArray:  # noqa: D102
        values = np.full(self.n_rows, np.nan)
        values[self.known.labeled] = self.known.targets
        return values

    @property
    def names(self) -> AnyArray:  # noqa: D102
        return self.y

    @property
    def truth(self) -> AnyArray:  # noqa: D102
        return self.known.targets

    @property
    def class_names(self) -> list[Any]:  # noqa: D102
        return []

    def score_names(self, n_scores: int) -> list[str]:  # noqa: D102
        return [""] * n_scores

    def with_names(self, reason: str) -> str:  # noqa: D102
        return reason

    def to_dict(self) -> dict[str, Any]:  # noqa: D102
        return super().to_dict() | {"classes": None, "rare_classes": None}

    @property
    def classes(self) -> None:  # noqa: D102
        return None

    @property
    def digits(self) -> int:
        """Digits after the decimal point with which numbers are shown."""
        return number_measure(RMSE, self.truth).digits

    @property
    def limits(self) -> tuple[float, float] | None:  # noqa: D102
        return self.known.limits

    @property
    def unit(self) -> str:
        """The unit of the numbers."""
        return f"units of {self.name}" if self.name else ""

    def judged_by(self, scoring: Any, cost: Any, positive: Any) -> Any:  # noqa: D102
        unusable = {"cost": cost, "positive": positive}
        if wrong := next((name for name, value in unusable.items() if value is not None), None):
            raise ValueError(f"{wrong} is for classes, but numbers are predicted: leave it out.")
        return self.default_scoring if scoring is None else full_scoring(scoring)

    def loss(self, judged: Any, positive: Any) -> Loss:  # noqa: D102
        return read_number_scoring(judged, self.truth, self.unit)

    def relative_to(self, baseline_loss: float) -> float | None:  # noqa: D102
        return baseline_loss

    def limit_in_words(  # noqa: D102
        self, equivalence: float, baseline_loss: float, measure: Measure
    ) -> str:
        shown = measure.show(equivalence * baseline_loss)
        return f"{shown} ({100 * equivalence:g}% of the baseline's {measure.name})"

    def can_judge(self, loss: Loss, predictions: Predictions) -> bool:  # noqa: D102
        return True

    def default_baselines(self) -> list[tuple[str, Any]]:  # noqa: D102
        return [("ridge", TunedRidgeRegressor())]

    def default_methods(
        self, inner: int, scoring: Any, baselines: Sequence[Entry]
    ) -> list[tuple[str, Any, bool]]:
        """Return the methods, tuned in ``inner`` folds; ICLS only if there are bounds.

        The last two are supervised alternatives to the baseline.
        """
        baseline = number_baseline(baselines)
        stack = SafeRegressor(baseline=baseline, scoring=scoring, bounds=self.limits)
        methods: list[tuple[str, Any, bool]] = [("safe stack", stack, True)]
        if self.limits is not None:
            tuned = ICLSRegressorCV(
                FEW_ALPHAS, FEW_METRICS, bounds=self.limits, cv=inner, shuffle=True
            )
            methods.append(("ICLS", tuned, True))
        alternatives = (("forest", ForestRegressor()), ("boosting", BoostingRegressor()))
        return [*methods, *((name, estimator, False) for name, estimator in alternatives)]

    def stack_baseline(self, baselines: Sequence[Entry]) -> Any:  # noqa: D102
        return number_baseline(baselines)

    def check_sizes(self, chosen: Mask | None, *models: Any) -> None:  # noqa: D102
        needed = MIN_NUMBERS_TO_TUNE if any(map(_has_default, models)) else MIN_LABELS
        count, at_random = len(self.known.labeled), "" if chosen is None else ", drawn at random"
        if count < needed:
            raise ValueError(
                f"Only {count} labelled rows{at_random} have a number, and a comparison needs "
                f"{needed} to hold some out and learn from the others: label more "
                f"rows{at_random}."
            )

    def too_few_to_tune(self, counts: Index) -> str:  # noqa: D102
        return (
            f"Some training set has only {int(counts.min())} labelled rows, with which nothing can "
            "be tuned: label more rows, or use splits with larger training sets."
        )

    def predict(self, fitted: Any, X: Any, name: str) -> Predicted:
        """Return the predicted numbers; raise an error if some are not finite."""
        numbers = np.asarray(fitted.predict(X.copy()), dtype=float)
        if numbers.ndim == 2 and numbers.shape[1] == 1:
            numbers = numbers[:, 0]
        if numbers.shape != (X.shape[0],):
            raise ValueError(
                f"{name!r} returned predictions of the shape {numbers.shape} for {X.shape[0]} rows"
            )
        if bad := np.count_nonzero(~np.isfinite(numbers)):
            raise ValueError(f"{name!r} returned predictions that are not finite for {bad} rows")
        predicted: list[float] = numbers.tolist()
        return predicted, None

    def cross_fitted(self, judged: OwnVerdict) -> Predicted:  # noqa: D102
        return np.ravel(judged.scores).tolist(), None

    def predict_stored(self, model: Any, X: Any) -> AnyArray:  # noqa: D102
        return np.asarray(model.predict(X), dtype=float)

    def stored(self, values: Sequence[Any]) -> AnyArray:  # noqa: D102
        return np.array(values, dtype=float)

    def kept_of_baseline(self, fitted: Any, X: Any, name: str) -> None:  # noqa: D102
        return None

    def averaged(self, parts: Sequence[Predictions]) -> Predictions:  # noqa: D102
        mean = np.mean([part.predicted for part in parts], axis=0)
        return Predictions(parts[0].truth, mean, None)

    def changed(self, scores: Sequence[Any], probes: Sequence[Any], predicted: AnyArray) -> float:
        """Return the root mean square of the change of predictions, mean over splits."""
        baseline = np.mean([np.array(one) for one in probes], axis=0)
        return float(np.sqrt(((baseline - predicted) ** 2).mean(axis=1)).mean())

    def can_be_averaged(self, baselines: Sequence[Entry]) -> bool:  # noqa: D102
        return True

    def average(self, parts: Sequence[tuple[str, Any]]) -> Any:
        """Return the mean of the predictions of several regressors as one regressor."""
        return VotingRegressor(list(parts))

    def deployable(self, entry: Entry) -> Entry:  # noqa: D102
        return entry

    def check_label_shift(self) -> None:  # noqa: D102
        raise ValueError(
            "shift='label' weights classes, but numbers are predicted: pass shift='covariate' if "
            "only the features differ, or leave it out."
        )

    def card(self, result: "Comparison", name: str) -> NumberCard | None:  # noqa: D102
        return number_card_of(result, name, self.unit, self.digits)

    def changes(self, result: "Comparison", name: str) -> NumberChanges:  # noqa: D102
        return number_changes_of(result, name, self.digits)

    def show_changed(self, changed: float) -> str:  # noqa: D102
        return f"{float(f'{changed:.3g}'):,.10g}"

    def labels_table(self, result: "Comparison") -> PageTable:
        """Return quantiles of the known numbers, and of predictions for unlabelled rows."""
        without = ", without chosen ones" if result.plan.table.n_chosen else ""
        caption = f"Quantiles of the known numbers{without}."
        rows = [("Labelled rows", *self._quantiles(self.truth))]
        if (card := result.model_card) is not None and result.plan.table.n_unlabeled:
            rows.append(("Predictions", *self._quantiles(result.predicted(card.name))))
            caption += (
                f" Predictions: those of {result.name_in_words(card.name)} for the unlabelled "
                "rows; they usually vary less than the numbers themselves."
            )
        below = (f"{share:.0%} below" for share in QUANTILES[1:-1])
        return PageTable.of(caption, ["", "Smallest", *below, "Largest", "Mean"], rows)

    def _quantiles(self, numbers: Floats) -> list[Cell]:
        """Return quantiles of numbers, and their mean, as cells."""
        values = [*np.quantile(numbers, QUANTILES).tolist(), float(numbers.mean())]
        return [Cell.of(value, f",.{self.digits}f") for value in values]

    def alerts(self, loss: Loss) -> list[Alert]:  # noqa: D102
        return []

    @property
    def in_short(self) -> str:  # noqa: D102
        return f"numbers from {self._shown(0)} to {self._shown(1)}"

    @property
    def in_words(self) -> str:  # noqa: D102
        return f"from {self._shown(0)} to {self._shown(1)}, half of them below {self._shown(0.5)}"

    def _shown(self, share: float) -> str:
        """Return a quantile of the known numbers, without digits that it does not need."""
        text = f"{np.quantile(self.known.targets, share):,.{self.digits}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text


Target = ClassTarget | NumberTarget


def labels_needed(*models: Any) -> int:
    """Return the fewest labels that a class needs, given the baselines and methods."""
    return MIN_LABELS_TO_TUNE if any(map(_has_default, models)) else MIN_LABELS


def _has_default(entries: Any) -> bool:
    """Return whether some of the given models are defaults, which are given by name."""
    if entries is None:
        return False
    return isinstance(entries, str) or any(isinstance(entry, str) for entry in entries)


def _needed_scores(part: Predictions) -> Floats:
    if part.scores is None:
        raise ValueError("The baselines must have predict_proba or decision_function.")
    return part.scores
