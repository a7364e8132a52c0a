"""What a comparison predicts: classes or numbers.

Rows, folds, fits and verdicts are the same for both. What differs is asked of the target: how
unknown labels are marked, how predictions are read, stored and averaged, which scoring and which
models are the default, and how many labels are enough.

    classes    codes 0, 1, ..., -1 where unknown; scores of classes are averaged
    numbers    NaN where unknown; predictions are averaged
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import Pipeline

from primum._sklearn import CLASSIFIER, REGRESSOR, logistic_regression_cv
from primum._typing import AnyArray, Floats, Index, Mask
from primum._words import listed
from primum.comparison.words import STACK
from primum.judging.difference import EQUIVALENT_SHARE, PRACTICAL_EQUIVALENCE
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
from primum.judging.words import OwnVerdict
from primum.methods import (
    ICLSClassifierCV,
    ICLSRegressorCV,
    LeastSquaresClassifierCV,
    LeastSquaresRegressorCV,
    SelfLearningClassifier,
    TSVMClassifier,
)
from primum.reading.classifiers import Entry, NamedClassifier, class_scores, last_step
from primum.reading.known import SAY_NUMBERS, Known, TargetKind, drawn_labels
from primum.reading.labels import MAX_CODES, KnownLabels
from primum.reading.targets import KnownTargets
from primum.safe import SafeClassifier, SafeRegressor
from primum.safe.candidates import BASELINE as DEFAULT_BASELINE
from primum.safe.candidates import CANDIDATES, NUMBER_CANDIDATES
from primum.safe.candidates.alone import CandidateClassifier, CandidateRegressor
from primum.safe.candidates.packages import (
    ON_REQUEST,
    classifier_on_request,
    regressor_on_request,
)
from primum.safe.candidates.trees import (
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
)

# Grids as coarse as that of logistic regression: tuning is repeated in every training set.
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
METRICS = (0.0, 0.5)
# With several classes a fit takes many times as long.
SEVERAL_CLASSES = ((1e-2, 1e-1, 1.0), (0.0,))
# The types of baselines that the safe stacks have by the same name.
OF_STACK: dict[str, type] = {
    "ridge": LeastSquaresClassifierCV,
    "logistic": LogisticRegressionCV,
    **dict.fromkeys(ON_REQUEST, CandidateClassifier),
}
OF_NUMBER_STACK: dict[str, type] = {
    "ridge": LeastSquaresRegressorCV,
    **dict.fromkeys(ON_REQUEST, CandidateRegressor),
}
# Labelled rows of a class: one is held out, and two are split again where something is tuned.
LEAST_TO_TUNE, LEAST = 3, 2
# Of numbers, a ridge is tuned with at least two rows in each of two folds.
LEAST_NUMBERS = 6
# Digits of stored scores: enough to say which class is the largest, and to judge by them.
PROBE_DIGITS, HELD_OUT_DIGITS = 3, 6
# Predictions of held-out rows: classes or numbers, and scores of classes.
Predicted = tuple[list[Any], list[list[float]] | None]


def default_baselines(inner: int) -> list[tuple[str, Any]]:
    """Return ridge and logistic regression, tuned in ``inner`` folds."""
    logistic = logistic_regression_cv(
        Cs=[1e-3, 1e-2, 1e-1, 1.0, 10.0], cv=inner, max_iter=1000, scoring="neg_log_loss"
    )
    return [("ridge", LeastSquaresClassifierCV(cv=inner)), ("logistic", logistic)]


def default_methods(
    inner: int, n_classes: int, scoring: Any, baseline: Any = DEFAULT_BASELINE
) -> list[tuple[str, Any, bool]]:
    """Return the safe stack, given its baseline, and the other methods, tuned in ``inner`` folds.

    The last two are supervised alternatives to the baseline: without them, nobody would know
    whether a model of another kind is better than unlabelled rows can make a linear one.
    """
    grid = (PENALTIES, METRICS) if n_classes == 2 else SEVERAL_CLASSES
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

    "Safe" means against the model with which everything is compared. The stack has its own ridge
    and logistic regression, and those on request, by name. A classifier without scores cannot be
    part of a stack, whose baseline is then the default one.
    """
    if not all(map(has_scores, baselines)):
        return DEFAULT_BASELINE
    parts = [_in_stack(entry, OF_STACK, CANDIDATES) for entry in baselines]
    return DEFAULT_BASELINE if parts == list(DEFAULT_BASELINE) else parts


def has_scores(entry: Entry) -> bool:
    """Return whether a classifier has scores, without which it cannot be part of a stack."""
    return any(hasattr(entry.estimator, name) for name in ("predict_proba", "decision_function"))


def number_baseline(baselines: Sequence[Entry]) -> Any:
    """Return the baselines of a comparison of numbers as the baseline of its safe stack."""
    parts = [_in_stack(entry, OF_NUMBER_STACK, NUMBER_CANDIDATES) for entry in baselines]
    return "ridge" if parts == ["ridge"] else parts


def _in_stack(entry: Entry, of_stack: Mapping[str, type], taken: Collection[str]) -> Any:
    """Return a baseline by its name, if a stack has it, or with a name that is not taken."""
    model = entry.estimator  # with the steps before it, if it is a pipeline
    if isinstance(model, of_stack.get(entry.name, ())):
        return entry.name
    return f"{entry.name} (baseline)" if entry.name in taken else entry.name, model


class Target(ABC):
    """What is predicted, and what is known of it.

    Attributes
    ----------
    known : KnownLabels or KnownTargets
        The labels, and where labelled and unlabelled rows are.
    kind : TargetKind
        Classes or numbers, and how that was found out.
    default_scoring : str
        How predictions are judged if nothing else is said.
    default_equivalence : float
        The practical equivalence if nothing else is said.
    learner : {"classifier", "regressor"}
        What models are called.
    stack : str
        Name of the estimator that is called the safe stack.
    """

    known: Known
    kind: TargetKind
    default_scoring: str
    default_equivalence: float
    learner: str
    stack: str

    @property
    @abstractmethod
    def y(self) -> AnyArray:
        """The labels of all rows as models of a split are fitted to them."""

    @property
    @abstractmethod
    def names(self) -> AnyArray:
        """The labels of all rows as the final model is fitted to them."""

    @property
    def known_names(self) -> AnyArray:
        """The known labels as the final model is fitted to them."""
        return self.truth if self.classes is None else self.classes[self.truth]

    @property
    @abstractmethod
    def truth(self) -> AnyArray:
        """The known labels as predictions are judged by them: class codes, or numbers."""

    @property
    @abstractmethod
    def classes(self) -> AnyArray | None:
        """Names of the classes; None: numbers are predicted."""

    @property
    def unit(self) -> str:
        """The unit of numbers."""
        return ""

    @property
    def digits(self) -> int:
        """Digits after the decimal point with which numbers are shown."""
        return 0

    @property
    def limits(self) -> tuple[float, float] | None:
        """Between which numbers are certain to be; None if that is not known."""
        return None

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return len(self.known.labeled) + len(self.known.unlabeled)

    @property
    def is_told(self) -> bool:
        """Whether somebody said what is predicted, and it was not recognised."""
        return self.kind.told

    @abstractmethod
    def with_known(self, known: Any) -> Self:
        """Return the same target with other labels."""

    @abstractmethod
    def of_kind(self, kind: TargetKind) -> Self:
        """Return the same target with other words on how its kind was recognised."""

    @abstractmethod
    def drawn(self, chosen: Mask | None) -> Self:
        """Return the target without labels that were chosen."""

    @abstractmethod
    def judged_by(self, scoring: Any, cost: Any, positive: Any) -> Any:
        """Return by what models are judged: a scoring or, of classes, an objective."""

    @abstractmethod
    def loss(self, judged: Any, positive: Any) -> Loss:
        """Return the loss of what ``judged_by`` returned."""

    @abstractmethod
    def limit(self, equivalence: float, baseline_loss: float) -> float:
        """Return the largest change of the loss that makes no practical difference."""

    @abstractmethod
    def limit_in_words(self, equivalence: float, baseline_loss: float, measure: Measure) -> str:
        """Return the same in words."""

    @abstractmethod
    def default_baselines(self, inner: int) -> list[tuple[str, Any]]:
        """Return supervised models, tuned in ``inner`` folds."""

    @abstractmethod
    def default_methods(
        self, inner: int, scoring: Any, baselines: Sequence[Entry]
    ) -> list[tuple[str, Any, bool]]:
        """Return the methods that are compared, tuned in ``inner`` folds."""

    @abstractmethod
    def stack_baseline(self, baselines: Sequence[Entry]) -> Any:
        """Return the baselines as that of a safe stack; None if they cannot be."""

    @abstractmethod
    def on_request(self, name: str) -> Any:
        """Return the model of a name in ``ON_REQUEST``."""

    @abstractmethod
    def check_sizes(self, chosen: Mask | None, *models: Any) -> None:
        """Raise an error if there are too few labels to compare on.

        ``models`` are the baselines and the methods; default ones, which are names, are tuned.
        """

    @abstractmethod
    def too_few_to_tune(self, counts: Index) -> str:
        """Return why nothing can be tuned, given how many rows of each stratum splits train on."""

    @abstractmethod
    def predict(self, fitted: Any, X: Any, name: str) -> Predicted:
        """Return what a model of a split predicts for rows."""

    @abstractmethod
    def cross_fitted(self, own: OwnVerdict) -> Predicted:
        """Return the held-out predictions of a model that judged itself."""

    @abstractmethod
    def predict_stored(self, model: Any, X: Any) -> AnyArray:
        """Return what a model fitted to ``names`` predicts, as it is stored."""

    @abstractmethod
    def stored(self, values: Sequence[Any]) -> AnyArray:
        """Return stored predictions as an array."""

    @abstractmethod
    def kept_of_baseline(self, fitted: Any, X: Any, name: str) -> list[list[float]] | None:
        """Return what is kept of a baseline for unlabelled rows, beside its predictions."""

    @abstractmethod
    def averaged(self, parts: Sequence[Predictions]) -> Predictions:
        """Return the predictions of the average of several baselines."""

    @abstractmethod
    def changed(self, kept: Sequence[Any], probes: Sequence[Any], own: AnyArray) -> float:
        """Return how much a method changes the baseline's predictions of unlabelled rows.

        Parameters
        ----------
        kept, probes : sequence
            What is kept of the baselines, and what they predict, in every split.
        own : array of shape (n_splits, n_rows)
            What the method predicts.
        """

    @abstractmethod
    def can_be_averaged(self, baselines: Sequence[Entry]) -> bool:
        """Return whether the average of the baselines is a model of its own."""

    @abstractmethod
    def average(self, parts: Sequence[tuple[str, Any]]) -> Any:
        """Return the average of several models as one model."""

    @abstractmethod
    def deployable(self, entry: Entry) -> Entry:
        """Return an entry that can be fitted to ``names``."""

    @property
    @abstractmethod
    def in_short(self) -> str:
        """What is predicted, in a few words: "3 classes"."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """The known labels, as part of a sentence."""


@dataclass(frozen=True)
class ClassTarget(Target):
    """Classes to predict.

    Attributes
    ----------
    known : KnownLabels
        The labels.
    kind : TargetKind
        That they are classes, and how that was found out.
    """

    known: KnownLabels
    kind: TargetKind
    default_scoring = "accuracy"
    default_equivalence = PRACTICAL_EQUIVALENCE
    learner = CLASSIFIER
    stack = STACK

    @cached_property
    def y(self) -> AnyArray:  # noqa: D102
        codes = np.full(self.n_rows, -1)
        codes[self.known.labeled] = self.known.codes
        return codes

    @property
    def names(self) -> AnyArray:  # noqa: D102
        names = np.full(self.n_rows, None, dtype=object)
        names[self.known.labeled] = self.known.classes[self.known.codes]
        return names

    @property
    def truth(self) -> AnyArray:  # noqa: D102
        return self.known.codes

    @property
    def classes(self) -> AnyArray:  # noqa: D102
        return self.known.classes

    def with_known(self, known: Any) -> Self:  # noqa: D102
        return replace(self, known=known)

    def of_kind(self, kind: TargetKind) -> Self:  # noqa: D102
        return replace(self, kind=kind)

    def drawn(self, chosen: Mask | None) -> Self:  # noqa: D102
        return replace(self, known=drawn_labels(self.known, chosen))

    def judged_by(self, scoring: Any, cost: Any, positive: Any) -> Any:  # noqa: D102
        scoring = self.default_scoring if scoring is None else scoring
        objective = read_objective(scoring, self.classes, cost, positive)
        return scoring if objective is None else objective

    def loss(self, judged: Any, positive: Any) -> Loss:  # noqa: D102
        loss = read_scoring(judged, self.classes)
        if positive is None or isinstance(judged, Objective):
            return loss
        code = positive_code(positive, self.classes)  # only the report is about it
        return replace(loss, objective=Objective(ACCURACY, positive=code))

    def limit(self, equivalence: float, baseline_loss: float) -> float:  # noqa: D102
        return equivalence

    def limit_in_words(  # noqa: D102
        self, equivalence: float, baseline_loss: float, measure: Measure
    ) -> str:
        return measure.show_limit(equivalence)

    def default_baselines(self, inner: int) -> list[tuple[str, Any]]:  # noqa: D102
        return default_baselines(inner)

    def default_methods(  # noqa: D102
        self, inner: int, scoring: Any, baselines: Sequence[Entry]
    ) -> list[tuple[str, Any, bool]]:
        return default_methods(inner, len(self.classes), scoring, stack_baseline(baselines))

    def stack_baseline(self, baselines: Sequence[Entry]) -> Any:  # noqa: D102
        return stack_baseline(baselines) if all(map(has_scores, baselines)) else None

    def on_request(self, name: str) -> Any:  # noqa: D102
        return classifier_on_request(name)

    def check_sizes(self, chosen: Mask | None, *models: Any) -> None:  # noqa: D102
        labels, at_random = self.known, "" if chosen is None else ", drawn at random"
        needed = LEAST_TO_TUNE if any(map(_has_default, models)) else LEAST
        counts = labels.counts.tolist()
        rare = [
            f"{name!r} ({count})"
            for name, count in zip(labels.classes.tolist(), counts, strict=True)
            if count < needed
        ]
        if not rare:
            return
        few = f"Class {rare[0]} has" if len(rare) == 1 else f"Classes {listed(rare)} have"
        # Of two classes, none can be done without.
        other = ", or empty these labels, so that their rows count as unlabelled"
        are_numbers = labels.classes.dtype.kind in "iu"
        if are_numbers and (len(rare) > len(counts) / 2 or len(counts) > MAX_CODES):
            other += f" (if they are measurements, pass {SAY_NUMBERS})"
        raise ValueError(
            f"{few} fewer than {needed} labelled rows{at_random}, which a comparison needs of "
            f"every class to hold some out and learn from the others: label more rows{at_random}"
            f"{other if len(counts) - len(rare) > 1 else ''}."
        )

    def too_few_to_tune(self, counts: Index) -> str:  # noqa: D102
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

    def cross_fitted(self, own: OwnVerdict) -> Predicted:  # noqa: D102
        predicted = predicted_codes(own.scores) if own.predicted is None else own.predicted
        return predicted.tolist(), np.round(own.scores, HELD_OUT_DIGITS).tolist()

    def predict_stored(self, model: Any, X: Any) -> AnyArray:
        """Return the predicted classes as codes, in the order of the model's classes."""
        return np.searchsorted(model.classes_, model.predict(X))

    def stored(self, values: Sequence[Any]) -> AnyArray:  # noqa: D102
        return np.array(values, dtype=np.intp)

    def kept_of_baseline(  # noqa: D102
        self, fitted: Any, X: Any, name: str
    ) -> list[list[float]] | None:
        scores = class_scores(fitted, X, len(self.classes), name)
        kept: list[list[float]] = np.round(scores, PROBE_DIGITS).tolist()
        return kept

    def averaged(self, parts: Sequence[Predictions]) -> Predictions:  # noqa: D102
        scores = np.mean([_needed_scores(part) for part in parts], axis=0)
        return Predictions(parts[0].truth, scores.argmax(axis=1), scores)

    def changed(self, kept: Sequence[Any], probes: Sequence[Any], own: AnyArray) -> float:
        """Return the share of rows for which two models predict different classes."""
        if len(probes) == 1:
            return float((np.array(probes[0]) != own).mean(axis=1).mean())
        scores = np.mean([np.array(one) for one in kept], axis=0)
        return float((scores.argmax(axis=2) != own).mean(axis=1).mean())

    def can_be_averaged(self, baselines: Sequence[Entry]) -> bool:  # noqa: D102
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

    @property
    def in_short(self) -> str:  # noqa: D102
        return f"{len(self.classes)} classes"

    @property
    def in_words(self) -> str:  # noqa: D102
        names, counts = self.classes.tolist(), self.known.counts.tolist()
        return listed(
            [f"{str(name)!r}: {count}" for name, count in zip(names, counts, strict=True)]
        )


@dataclass(frozen=True)
class NumberTarget(Target):
    """Numbers to predict.

    Attributes
    ----------
    known : KnownTargets
        The numbers.
    kind : TargetKind
        That they are numbers, and how that was found out.
    name : str
        Name of the column; empty if there is none.
    """

    known: KnownTargets
    kind: TargetKind
    name: str = ""
    default_scoring = RMSE
    default_equivalence = EQUIVALENT_SHARE
    learner = REGRESSOR
    stack = "SafeRegressor"

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
    def classes(self) -> None:  # noqa: D102
        return None

    @property
    def digits(self) -> int:  # noqa: D102
        return number_measure(RMSE, self.truth).digits

    @property
    def limits(self) -> tuple[float, float] | None:  # noqa: D102
        return self.known.limits

    @property
    def unit(self) -> str:  # noqa: D102
        return f"units of {self.name}" if self.name else ""

    def with_known(self, known: Any) -> Self:  # noqa: D102
        return replace(self, known=known)

    def of_kind(self, kind: TargetKind) -> Self:  # noqa: D102
        return replace(self, kind=kind)

    def drawn(self, chosen: Mask | None) -> Self:  # noqa: D102
        return replace(self, known=drawn_labels(self.known, chosen))

    def judged_by(self, scoring: Any, cost: Any, positive: Any) -> Any:  # noqa: D102
        given = {"cost": cost, "positive": positive}
        if wrong := next((name for name, value in given.items() if value is not None), None):
            raise ValueError(f"{wrong} is for classes, but numbers are predicted: leave it out.")
        return self.default_scoring if scoring is None else full_scoring(scoring)

    def loss(self, judged: Any, positive: Any) -> Loss:  # noqa: D102
        return read_number_scoring(judged, self.truth, self.unit)

    def limit(self, equivalence: float, baseline_loss: float) -> float:  # noqa: D102
        return equivalence * baseline_loss

    def limit_in_words(  # noqa: D102
        self, equivalence: float, baseline_loss: float, measure: Measure
    ) -> str:
        shown = measure.show(self.limit(equivalence, baseline_loss))
        return f"{shown} ({100 * equivalence:g}% of the baseline's {measure.name})"

    def default_baselines(self, inner: int) -> list[tuple[str, Any]]:
        """Return ridge regression, tuned in ``inner`` folds of shuffled rows."""
        return [("ridge", LeastSquaresRegressorCV(cv=inner, shuffle=True))]

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
            tuned = ICLSRegressorCV(PENALTIES, METRICS, bounds=self.limits, cv=inner, shuffle=True)
            methods.append(("ICLS", tuned, True))
        alternatives = (("forest", ForestRegressor()), ("boosting", BoostingRegressor()))
        return [*methods, *((name, estimator, False) for name, estimator in alternatives)]

    def stack_baseline(self, baselines: Sequence[Entry]) -> Any:  # noqa: D102
        return number_baseline(baselines)

    def on_request(self, name: str) -> Any:  # noqa: D102
        return regressor_on_request(name)

    def check_sizes(self, chosen: Mask | None, *models: Any) -> None:  # noqa: D102
        needed = LEAST_NUMBERS if any(map(_has_default, models)) else LEAST
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
        found: list[float] = numbers.tolist()
        return found, None

    def cross_fitted(self, own: OwnVerdict) -> Predicted:  # noqa: D102
        return np.ravel(own.scores).tolist(), None

    def predict_stored(self, model: Any, X: Any) -> AnyArray:  # noqa: D102
        return np.asarray(model.predict(X), dtype=float)

    def stored(self, values: Sequence[Any]) -> AnyArray:  # noqa: D102
        return np.array(values, dtype=float)

    def kept_of_baseline(self, fitted: Any, X: Any, name: str) -> None:  # noqa: D102
        return None

    def averaged(self, parts: Sequence[Predictions]) -> Predictions:  # noqa: D102
        mean = np.mean([part.predicted for part in parts], axis=0)
        return Predictions(parts[0].truth, mean, None)

    def changed(self, kept: Sequence[Any], probes: Sequence[Any], own: AnyArray) -> float:
        """Return the root mean square of the change of predictions, mean over splits."""
        baseline = np.mean([np.array(one) for one in probes], axis=0)
        return float(np.sqrt(((baseline - own) ** 2).mean(axis=1)).mean())

    def can_be_averaged(self, baselines: Sequence[Entry]) -> bool:  # noqa: D102
        return True

    def average(self, parts: Sequence[tuple[str, Any]]) -> Any:
        """Return the mean of the predictions of several regressors as one regressor."""
        return VotingRegressor(list(parts))

    def deployable(self, entry: Entry) -> Entry:  # noqa: D102
        return entry

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


def _has_default(given: Any) -> bool:
    """Return whether some of the given models are default ones, which are given by name."""
    if given is None:
        return False
    return isinstance(given, str) or any(isinstance(entry, str) for entry in given)


def _needed_scores(part: Predictions) -> Floats:
    if part.scores is None:
        raise ValueError("The baselines must have predict_proba or decision_function.")
    return part.scores
