"""User-supplied models: fitting them to partly labelled rows, and reading their scores.

Labels are class codes 0, 1, ... with -1 for unknown ones, or numbers with NaN for unknown ones. An
entry that uses unlabelled rows is fitted to all rows, with these markers; any other entry only to
the labelled rows. A classifier fitted to codes is wrapped so that it predicts class names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit, softmax
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from primum._sklearn import count_rows, take_rows
from primum._typing import AnyArray, Floats, Mask
from primum.reading.labels import read_labels

# How far probabilities in single precision may be off 0 or 1: their rounding, and that of the sums
# that a model normalises, with room to spare.
MAX_PROBABILITY_ROUNDING = 1e-4


def last_step(estimator: Any) -> Any:
    """Return the model at the end of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def known_mask(y: AnyArray) -> Mask:
    """Return which labels are known: not -1 among codes, not NaN among numbers, not None."""
    if y.dtype.kind == "f":
        return ~np.isnan(y)
    if y.dtype.kind == "O":
        return np.array([label is not None for label in y], dtype=bool)
    return y != -1 if y.dtype.kind in "iu" else np.ones(len(y), dtype=bool)


@dataclass(frozen=True)
class Entry:
    """A named classifier or regressor, and whether it is fitted to the unlabelled rows too."""

    name: str
    estimator: Any
    uses_unlabeled: bool = True

    @property
    def takes_weights(self) -> bool:
        """Whether the model's ``fit`` accepts ``sample_weight``."""
        return bool(has_fit_parameter(self.estimator, "sample_weight"))

    @property
    def weighs_rows(self) -> bool:
        """Whether it can be fitted to weighted rows, even inside a pipeline or an average."""
        last = last_step(self.estimator)
        inside = getattr(last, "estimator", None)
        return _accepts_weights(last) and (inside is None or _accepts_weights(last_step(inside)))

    @property
    def is_of_primum(self) -> bool:
        """Whether it can be fitted to class names, with None for unknown ones."""
        return type(last_step(self.estimator)).__module__.startswith("primum.")

    def seeded(self, seed: int) -> "Entry":
        """Return the entry with a seed for every random_state that is None."""
        estimator = clone(self.estimator)
        left_open = [
            name
            for name, value in sorted(estimator.get_params(deep=True).items())
            if value is None and name.split("__")[-1] == "random_state"
        ]
        return replace(self, estimator=estimator.set_params(**dict.fromkeys(left_open, seed)))

    def fit(self, X: Any, codes: Any, weight: Floats | None = None, **options: Any) -> Any:
        """Return a clone fitted to rows with class codes or numbers; unknown ones are -1 or NaN.

        ``weight`` are the weights of the rows, ``options`` further arguments of its ``fit``.
        """
        codes = np.asarray(codes)
        if not self.uses_unlabeled:
            labeled = np.flatnonzero(known_mask(codes))
            X = take_rows(X, labeled)
            codes = codes[labeled]
            weight = None if weight is None else weight[labeled]
        if weight is not None:
            options |= self._weighted(weight)
        with config_context(enable_metadata_routing=False):  # the options have one destination
            return self.fitted(X, codes, **options)

    def fitted(self, X: Any, codes: Any, **options: Any) -> Any:
        """Return a clone fitted to exactly these rows and codes, with options of its ``fit``."""
        # The model gets a copy: if it alters its rows, it must not alter the caller's.
        try:
            fitted = clone(self.estimator).fit(X.copy(), codes, **options)
        except ValueError as problem:
            if "Input y contains NaN" in str(problem):
                raise ValueError(
                    f"{self.name!r} does not accept NaN, which marks unlabelled rows: if it cannot "
                    "learn from them, pass (name, estimator, False)."
                ) from problem
            raise
        if -1 in getattr(fitted, "classes_", ()):
            raise ValueError(
                f"{self.name!r} treats -1, the marker of unlabelled rows, as a class: it cannot "
                "learn from unlabelled rows, so pass (name, estimator, False)."
            )
        return fitted

    def _weighted(self, weight: Floats) -> dict[str, Floats]:
        """Return the sample weights by argument name; a pipeline has one argument per step.

        Raise an error if the classifier does not support them.
        """
        steps = dict(getattr(self.estimator, "steps", [("", self.estimator)]))
        classifier = last_step(self.estimator)
        if not _accepts_weights(classifier):
            raise ValueError(
                f"sample_weight is given, but {self.name!r} ({type(classifier).__name__}) does "
                "not support sample weights: leave it out, or pass no weights."
            )
        accepting = [name for name, step in steps.items() if _accepts_weights(step)]
        return {f"{name}__sample_weight" if name else "sample_weight": weight for name in accepting}


def _accepts_weights(step: Any) -> bool:
    from sklearn.ensemble import VotingClassifier

    if isinstance(step, VotingClassifier):  # which passes them on
        return all(_accepts_weights(part) for _, part in step.estimators)
    return hasattr(step, "fit") and has_fit_parameter(step, "sample_weight")


def read_entries(entries: Sequence[Any], name: str, *, uses_unlabeled: bool = True) -> list[Entry]:
    """Return the entries of a list of (name, estimator) or (name, estimator, uses_unlabeled).

    ``name`` is the name of the parameter, and ``uses_unlabeled`` the value that a pair implies.
    """
    read = []
    for item in entries:
        if isinstance(item, Entry):
            read.append(item)
            continue
        if not (
            isinstance(item, tuple | list) and len(item) in (2, 3) and isinstance(item[0], str)
        ):
            raise ValueError(
                f"{name} must be a list of (name, estimator) or (name, estimator, uses_unlabeled), "
                f"but one of its items is {item!r}."
            )
        read.append(Entry(item[0], item[1], bool(item[2]) if len(item) == 3 else uses_unlabeled))
    if not read:
        raise ValueError(f"{name} is empty: pass at least one (name, estimator).")
    names = [entry.name for entry in read]
    if twice := sorted({one for one in names if names.count(one) > 1}):
        raise ValueError(f"The names in {name} must be unique, but {twice[0]!r} is used twice.")
    for entry in read:
        if not (hasattr(entry.estimator, "fit") and hasattr(entry.estimator, "predict")):
            raise ValueError(
                f"{name} must contain classifiers, but {entry.name!r} is "
                f"{entry.estimator!r}, which lacks fit or predict."
            )
        if isinstance(entry.estimator, type):
            raise ValueError(
                f"{name} must contain classifiers, but {entry.name!r} is the class "
                f"{entry.estimator.__name__}: pass an instance, {entry.estimator.__name__}()."
            )
    return read


@dataclass(frozen=True)
class LogScorer:
    """A scorer for classifiers with probabilities: minus the log loss, at the cost of a prediction.

    It equals scikit-learn's "neg_log_loss" for a classifier that knows all classes, but does not
    check y again at every call, which would take longer than a fit to few rows.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.metrics import get_scorer
    >>> from primum.reading.classifiers import LogScorer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
    >>> clf = LogisticRegression().fit(X, y)
    >>> bool(abs(LogScorer()(clf, X, y) - get_scorer("neg_log_loss")(clf, X, y)) < 1e-12)
    True
    """

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean logarithm of the probability of the true class."""
        scores, truth = estimator.predict_proba(X), np.searchsorted(estimator.classes_, y)
        of_truth = np.maximum(scores[np.arange(len(truth)), truth], np.finfo(float).eps)
        return float(np.average(np.log(of_truth), weights=sample_weight))


def class_scores(fitted: Any, X: Any, n_classes: int, name: str = "") -> Floats:
    """Return scores in [0, 1], one column per class, which add up to 1 in every row.

    They are the probabilities of ``predict_proba`` or, without it, the decision values mapped by
    the logistic function. The classifier was fitted to class codes; a class that it has not seen
    has the score 0. ``name`` is that of the classifier in messages. The classifier gets a copy of
    the rows, because it may alter them, as StandardScaler(copy=False) does.
    """
    name = repr(name) if name else type(fitted).__name__
    X = X.copy()
    if hasattr(fitted, "predict_proba"):
        scores = np.asarray(fitted.predict_proba(X), dtype=float)
    elif hasattr(fitted, "decision_function"):
        values = np.asarray(fitted.decision_function(X), dtype=float)
        if values.ndim == 1:
            second = expit(values)
            scores = np.column_stack([1 - second, second])
        else:  # in logarithms, because all values of a row may underflow
            scores = softmax(log_expit(values), axis=1)
    else:
        raise ValueError(
            f"{name} has neither predict_proba nor decision_function: use a "
            "classifier with scores, for example inside CalibratedClassifierCV."
        )
    columns = np.zeros((len(scores), n_classes))
    seen_classes = np.asarray(fitted.classes_, dtype=np.intp)
    if scores.ndim != 2 or scores.shape[1] != len(seen_classes):
        raise ValueError(
            f"{name} returned scores of the shape {scores.shape} for {len(seen_classes)} classes"
        )
    if bad := np.count_nonzero(~np.isfinite(scores).all(axis=1)):
        raise ValueError(f"{name} returned scores that are not finite for {bad} rows")
    off = max(-scores.min(initial=0.0), np.abs(scores.sum(axis=1) - 1).max(initial=0.0))
    if off > MAX_PROBABILITY_ROUNDING:
        raise ValueError(
            f"{name} returned scores that are not probabilities: some are below 0, or those of a "
            f"row do not add up to 1 (by {off:.2g})"
        )
    columns[:, seen_classes] = scores
    return columns


def _has(method: str) -> Callable[["NamedClassifier"], bool]:
    """Return a check that the classifier, fitted or not, has a method."""
    return lambda self: hasattr(getattr(self, "classifier_", self.classifier), method)


def named(fitted: Any, classes: AnyArray) -> "NamedClassifier":
    """Wrap a classifier that was fitted to class codes so that it predicts class names."""
    classifier = NamedClassifier(fitted)
    classifier.classes_, classifier.classifier_ = classes, fitted
    return classifier


class NamedClassifier(ClassifierMixin, BaseEstimator):
    """A wrapper that lets a classifier for class codes and -1 learn from class names and None.

    Such classifiers are scikit-learn's LabelSpreading and SelfTrainingClassifier.

    Examples
    --------
    >>> from primum.reading.classifiers import NamedClassifier
    >>> from sklearn.semi_supervised import LabelSpreading
    >>> clf = NamedClassifier(LabelSpreading()).fit([[0.0], [1.0], [0.1]], ["a", "b", None])
    >>> clf.predict([[0.9]]).tolist()
    ['b']
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to rows X (n, d) and classes y (n,); None, NaN or, among integers, -1 if unknown."""
        labels = read_labels(y, count_rows(X), multi_class=True)
        codes = np.full(count_rows(X), -1)
        codes[labels.labeled] = labels.codes
        self.classes_ = labels.classes
        self.classifier_ = clone(self.classifier).fit(X, codes)
        return self

    def predict(self, X: Any) -> AnyArray:
        """Return the names (n,) of the predicted classes."""
        return np.asarray(self.classes_[np.asarray(self.classifier_.predict(X), dtype=np.intp)])

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities (n, n_classes) of the classes."""
        return np.asarray(self.classifier_.predict_proba(X))

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> Floats:
        """Return the decision values (n,) or (n, n_classes)."""
        return np.asarray(self.classifier_.decision_function(X))
