"""The common parts of methods: parameters, the docstring of ``fit``, predictions, ``score``.

scikit-learn validates parameters by the ``_parameter_constraints`` of a class. Here they follow
from the names of its parameters: one name means one thing, with one range unless a class differs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import get_annotations, signature
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics.pairwise import kernel_metrics
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from primum._sklearn import (
    HasMethods,
    Interval,
    LinearClassifierMixin,
    StrOptions,
    check_sample_weight,
    get_namespace,
    get_namespace_and_device,
)
from primum._typing import AnyArray, Floats, Index
from primum._warnings import said, warn
from primum.labellings.sets import nearest_shares
from primum.reading.data import on_this_machine
from primum.reading.labels import read_labels, refuse_masked
from primum.reading.targets import read_targets
from primum.rows import to_numpy

Fit = TypeVar("Fit", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=BaseEstimator)

# Valid values of parameters that many estimators have.
NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]
AT_LEAST_ONE = [Interval(Integral, 1, None, closed="left")]
N_JOBS = [*AT_LEAST_ONE, Interval(Integral, None, -1, closed="right"), None]


def documented_fit(
    *, dense: bool = False, in_memory: bool = False, weights: str = ""
) -> Callable[[Fit], Fit]:
    """Give a ``fit`` method the shared docstring, adapted to the rows that it accepts.

    ``weights`` is a note on sample weights.
    """

    def document(fit: Fit) -> Fit:
        text = DOCSTRING.replace("{more}", IN_MEMORY if in_memory else OUT_OF_CORE)
        text = text.replace("{weights}", f"\n            {weights}" if weights else "")
        text = text.replace("{sparse}", "" if dense else SPARSE)
        fit.__doc__ = text.replace("array-like or sparse matrix", "array-like") if dense else text
        return fit

    return document


DOCSTRING = """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.{sparse}
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : {more}
            A pipeline transforms them only if its ``transform_input`` names them. For
            cross-validation, wrap them in UnlabeledRows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X in the loss: an integer weight counts a row that many
            times.{weights}

        Returns
        -------
        self
            The fitted estimator.
        """
SPARSE = " Sparse rows are not densified as a whole."
IN_MEMORY = """array-like or sparse matrix of shape (n_more, n_features), default=None
            Further unlabelled rows, each of weight 1, in memory. Supervised classifiers ignore
            them."""
OUT_OF_CORE = """array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1. A Parquet file or folder, or a Dask array or
            DataFrame, is processed out of core, block by block, in a few passes; estimators that
            store a label for every row need these rows in memory."""


def unfitted_like(estimator: BaseEstimator, kind: type[Kind], **parameters: Any) -> Kind:
    """Return an unfitted estimator of a class, with the parameters that both have unless given.

    It gets the number and the names of the features, if the first estimator has them.
    """
    current, names = estimator.get_params(deep=False), signature(kind).parameters
    copy = kind(**({name: current[name] for name in names if name in current} | parameters))
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(copy, name, getattr(estimator, name))
    return copy


def copy_feature_names(source: BaseEstimator, target: BaseEstimator) -> None:
    """Give a supervised twin the feature names of the estimator that fits it, if there are any."""
    if hasattr(source, "feature_names_in_"):
        target.feature_names_in_ = source.feature_names_in_


OTHERWISE = "raise tol, standardise the features or raise alpha"


def convergence_advice(max_iter: int, *, reached: bool, otherwise: str = OTHERWISE) -> str:
    """Return advice on a search that stopped short of its tolerance.

    ``reached`` is whether it stopped at ``max_iter``; otherwise it could make no further progress.
    """
    if reached:
        return f"raise max_iter (now {max_iter}) or tol"
    return f"rounding limits it, so {otherwise}"


def warn_short_of_tol(
    estimator: Any, n_iter: int, where: str, *, otherwise: str = OTHERWISE
) -> None:
    """Warn that a search stopped short of its tolerance, which follows ``where`` in the message."""
    reached = n_iter >= estimator.max_iter
    advice = convergence_advice(estimator.max_iter, reached=reached, otherwise=otherwise)
    warn(
        f"{type(estimator).__name__} stopped after {n_iter} iterations {where} "
        f"tol={estimator.tol:.1e}; {advice}.",
        ConvergenceWarning,
    )


@contextmanager
def fitting(estimator: BaseEstimator, *, warm_start: bool = False) -> Iterator[None]:
    """Delete the fitted attributes of an earlier fit, unless this one starts from them.

    A fit that fails leaves an unfitted estimator: its incomplete attributes are of no use and must
    not be mixed with those of an earlier fit.
    """
    for name in () if warm_start else fitted_attributes(estimator):
        delattr(estimator, name)
    token = said.set(set())  # a fit issues no warning twice
    try:
        yield
    except BaseException:
        for name in fitted_attributes(estimator):
            delattr(estimator, name)
        raise
    finally:
        said.reset(token)


def fitted_attributes(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the fitted attributes: those whose names end with an underscore."""
    named = vars(estimator).items()
    return {name: value for name, value in named if name.endswith("_") and name[0] != "_"}


def predicted_classes(decisions: Any, classes: AnyArray) -> Any:
    """Return the class of every row.

    For two classes, with one decision value per row, it is the second if the value is at least
    0; for more, the class with the largest value, and the first of them if several are equal. The
    classes are on the device of the decision values, unless they are not numbers.
    """
    values = to_numpy(decisions)
    codes = (values >= 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
    predicted = classes[codes]
    if isinstance(decisions, np.ndarray) or classes.dtype.kind not in "biuf":
        return predicted
    xp, _, device = get_namespace_and_device(decisions)
    return xp.asarray(predicted, device=device)


def nearest_probabilities(decisions: Any) -> Any:
    """Return the probabilities nearest to the scores behind least-squares decision values."""
    if decisions.ndim == 2:
        return nearest_shares(decisions)
    xp, _ = get_namespace(decisions)
    second = xp.clip(decisions + 0.5, 0.0, 1.0)
    return xp.stack([1.0 - second, second], axis=1)


def logistic_probabilities(scores: Floats) -> Floats:
    """Return the probabilities of log-odds (n,) of two classes, or log-posteriors (n, K)."""
    if scores.ndim == 2:
        return np.asarray(softmax(scores, axis=1))
    return np.column_stack([expit(-scores), expit(scores)])


class ClassPredictionMixin(LinearClassifierMixin):
    """A linear classifier that predicts the second of two classes if a decision value is 0.

    scikit-learn assigns such ties to the first class; in the paper a score of 1/2 is class 1.
    """

    classes_: AnyArray

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            The decision values, ``X @ coef_.T + intercept_``.
        """
        refuse_masked(X, "X")
        return super().decision_function(X)

    def predict(self, X: Any) -> Any:
        """Return the predicted class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            For two classes, the second if the decision function is at least 0; for more, the
            class with the largest decision value, and the first of them if several are equal.
        """
        return predicted_classes(self.decision_function(X), self.classes_)


class KnownLabelsScoreMixin:
    """A ``score`` that ignores rows with unknown labels.

    Counting them as errors would bias the score of every partly labelled test fold.
    """

    _measure: ClassVar[Callable[..., float]] = staticmethod(accuracy_score)

    @staticmethod
    def _known_of(y: Any, n_rows: int) -> tuple[Index, AnyArray]:
        """Return the rows whose label is known, and these labels."""
        labels = read_labels(y, n_rows, multi_class=True, one_class=True)
        return labels.labeled, labels.values

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy over the rows whose label is known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels; unknown ones are marked as in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            The fraction of correct predictions.
        """
        predicted = np.asarray(on_this_machine(self.predict(X)))  # type: ignore[attr-defined]
        labeled, truth = self._known_of(on_this_machine(y), len(predicted))
        if sample_weight is not None:
            refuse_masked(sample_weight, "sample_weight")
            weight = check_sample_weight(on_this_machine(sample_weight), predicted)
            sample_weight = weight[labeled]
        return float(self._measure(truth, predicted[labeled], sample_weight=sample_weight))


class KnownTargetsScoreMixin(KnownLabelsScoreMixin):
    """A ``score`` of predicted numbers that ignores rows with unknown targets."""

    _measure = staticmethod(r2_score)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2, the coefficient of determination, over the rows whose target is known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets; unknown ones are marked as in ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        float
            1 for perfect predictions, 0 for predictions as good as the mean of the targets.
        """
        return super().score(X, y, sample_weight)

    @staticmethod
    def _known_of(y: Any, n_rows: int) -> tuple[Index, AnyArray]:
        targets = read_targets(y, n_rows)
        return targets.labeled, targets.targets


def _has(method: str) -> Callable[[Any], bool]:
    """Return a check that a wrapped classifier has a method; its error says why not."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self._kind), method)
        return True

    return check


class WrapperMixin:
    """Predictions of the classifier ``estimator_`` that a method wraps."""

    estimator: Any
    estimator_: Any
    # A method that returns validated new rows as ``estimator_`` takes them.
    _rows_for_estimator: Any

    @property
    def _kind(self) -> Any:
        """The unfitted classifier, to find out what it supports."""
        raise NotImplementedError

    def _weight_options(self, sample_weight: Any) -> dict[str, Any]:
        """Return the weights as an argument of the classifier's ``fit``, if there are any."""
        if sample_weight is None:
            return {}
        if not has_fit_parameter(self._kind, "sample_weight"):
            raise ValueError(
                f"sample_weight was passed, but {type(self._kind).__name__} does not support it: "
                "omit it or use another estimator."
            )
        return {"sample_weight": sample_weight}

    def _predict_with(self, method: str, X: Any) -> AnyArray:
        check_is_fitted(self)
        return np.asarray(getattr(self.estimator_, method)(self._rows_for_estimator(X)))

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            The classes.
        """
        return self._predict_with("predict", X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> AnyArray:
        """Return the class probabilities of the classifier, if it has them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``.
        """
        return self._predict_with("predict_proba", X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> AnyArray:
        """Return the decision values of the classifier, if it has them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The decision values.
        """
        return self._predict_with("decision_function", X)


# More values that many parameters have, ...
POSITIVE = [Interval(Real, 0, None, closed="neither")]
YES_OR_NO = ["boolean"]

# ... and those of each parameter, which means the same in all estimators.
PARAMETER_RANGES: dict[str, list[Any]] = {
    "alpha": POSITIVE,
    "alpha_labeled": [*NOT_NEGATIVE, None],
    "alphas": ["array-like"],
    "bounds": ["array-like", None],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "covariance": [StrOptions({"full", "spherical"})],
    "cv": ["cv_object"],
    "degree": NOT_NEGATIVE,
    "estimator": [HasMethods(["fit", "predict"]), None],
    "fit_intercept": YES_OR_NO,
    "gamma": [StrOptions({"scale"}), *POSITIVE, None],
    "graph_alpha": NOT_NEGATIVE,
    "graph_neighbors": AT_LEAST_ONE,
    "graph_normalized": YES_OR_NO,
    "graph_power": AT_LEAST_ONE,
    "graph_ratio": NOT_NEGATIVE,
    "graph_weights": [StrOptions({"binary", "heat"})],
    "kernel": [StrOptions(set(kernel_metrics())), callable],
    "kernel_params": [dict, None],
    "max_iter": AT_LEAST_ONE,
    "max_search_rows": [*AT_LEAST_ONE, None],
    "metrics": ["array-like"],
    "n_init": AT_LEAST_ONE,
    "n_jobs": N_JOBS,
    "penalize_intercept": YES_OR_NO,
    "prior": [StrOptions({"equal"}), dict, "array-like", None],
    "prior_level": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state"],
    "scoring": [str, callable, None],
    "shuffle": YES_OR_NO,
    "tol": NOT_NEGATIVE,
    "unlabeled_weight": POSITIVE,
    "warm_start": YES_OR_NO,
}


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def with_parameters(cls: type[Kind]) -> type[Kind]:
    """Make the annotated attributes of a class the parameters of its constructor.

    They are those of its decorated bases and its own, as in a dataclass, and passed by name unless
    a field says otherwise. Annotations of other bases are only types. ``_ranges`` are the
    constraints of a class and of its subclasses that differ from the table.
    """
    if fitted := [name for name in get_annotations(cls) if name.endswith("_")]:
        raise TypeError(
            f"{cls.__name__} annotates {', '.join(fitted)}, which would become parameters of its "
            "constructor: declare the types of fitted attributes in fit."
        )
    dataclass(eq=False, repr=False, match_args=False, kw_only=True)(cls)
    ranges = dict(PARAMETER_RANGES)
    for kind in reversed(cls.__mro__):
        ranges |= vars(kind).get("_ranges", {})
    names = [name for name in signature(cls.__init__).parameters if name != "self"]
    if unknown := [name for name in names if name not in ranges]:
        raise TypeError(
            f"{cls.__name__} has no range for {', '.join(unknown)}, so scikit-learn would not "
            "check it: add it to PARAMETER_RANGES or to _ranges of the class."
        )
    cls._parameter_constraints = {name: ranges[name] for name in names}
    return cls
