"""Self-learning (McLachlan 1975), around any classifier.

Fit to the labelled rows; label the unlabelled rows with the predictions; refit to all rows;
repeat until no prediction changes. In general this minimises no objective and has no guarantee:
wrong labels can reinforce themselves.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import validate_data

from primum._sklearn import check_parameters, count_rows, take_rows
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats, Index
from primum._warnings import warn
from primum.methods import base
from primum.methods.least_squares.classifier import LeastSquaresClassifier
from primum.reading import data
from primum.reading.data import check_same_columns
from primum.reading.labels import read_labels, refuse_masked, targets_of
from primum.rows import is_outside


def alternate(
    estimator: BaseEstimator,
    fit: Callable[[Any, Any], Any],
    label: Callable[[Any], Any],
    labels: AnyArray,
) -> tuple[Any, Any, int]:
    """Fit to labels and relabel by the fit, until no label changes or after ``max_iter`` rounds.

    ``labels`` (n_unlabeled, ...) are the first ones, and ``fit`` gets the last model, too, or None.
    The number of rounds becomes ``n_iter_`` of the estimator, and if labels still change, a warning
    in its name says so. Return the last model, the labels it was fitted to, and how many of them it
    would still change.
    """
    model = None
    changes = 1
    estimator.n_iter_ = 0
    while model is None or (changes and estimator.n_iter_ < estimator.max_iter):
        model = fit(labels, model)
        before = labels
        labels = label(model)
        changes = int(np.count_nonzero(np.atleast_2d((labels != before).T).any(axis=0)))
        estimator.n_iter_ += 1
    if changes:
        warn(
            f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} rounds with "
            f"{changes} labels still changing; raise max_iter.",
            ConvergenceWarning,
        )
    return model, before, changes


@base.with_parameters
class SelfLearningClassifier(
    base.KnownLabelsScoreMixin,
    base.WrapperMixin,
    MetaEstimatorMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """A classifier refitted to its own predictions for the unlabelled rows. Not safe.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier, with any kind of X that it accepts; None means
        ``LeastSquaresClassifier()``.
    max_iter : int, default=100
        Maximum number of rounds of labelling and refitting.

    Attributes
    ----------
    estimator_ : classifier
        The classifier fitted to all rows.
    supervised_ : classifier
        The classifier fitted to the labelled rows only.
    classes_ : array of shape (n_classes,)
        The classes.
    transduction_ : array of shape (n_samples + n_more,)
        Class of every row, known or inferred: the rows of X, then those of X_unlabeled.
    n_iter_ : int
        Number of rounds.
    termination_condition_ : {"no_change", "max_iter", "no_unlabeled"}
        Why the iteration stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from primum import SelfLearningClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> SelfLearningClassifier(LogisticRegression()).fit(X, y).transduction_
    array([0, 0, 1, 1])
    """

    estimator: Any = field(default=None, kw_only=False)
    max_iter: int = 100

    @base.documented_fit(in_memory=True, weights="They need a classifier that supports weights.")
    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:  # noqa: D102
        with base.fitting(self):
            # The arguments, with further rows after those of X.
            check_parameters(self)
            X = self._read_rows(X, reset=True)
            n = count_rows(X)
            several = get_tags(self).classifier_tags.multi_class
            labels = read_labels(y, n, multi_class=several, method=type(self._kind).__name__)
            self._weight_options(sample_weight)
            weight = data.read_weight(sample_weight, X)
            data.check_every_class_has_weight(labels, weight)
            if X_unlabeled is not None:
                more = self._read_more(X_unlabeled, X)
                X = data.stack_rows([X, more])
                further = np.arange(n, n + count_rows(more))
                labels = replace(labels, unlabeled=np.append(labels.unlabeled, further))
                weight = None if weight is None else np.append(weight, np.ones(len(further)))
            labeled, unlabeled = labels.labeled, labels.unlabeled

            # The supervised classifier, and rounds of labelling and refitting.
            self.classes_ = labels.classes
            with one_blas_thread() if _refits_cheaply(self._kind) else nullcontext():
                self.supervised_ = self.estimator_ = self._fit_supervised(
                    take_rows(X, labeled),
                    None if weight is None else weight[labeled],
                    labels.classes,
                    labels.codes,
                )
                codes = np.empty(len(labeled) + len(unlabeled), dtype=np.intp)
                codes[labeled] = labels.codes
                self.n_iter_ = 1
                self.termination_condition_ = "no_unlabeled"
                if len(unlabeled):
                    X_u = take_rows(X, unlabeled)
                    refit = _refitter(self._kind, X, weight)

                    def fit(guess: Index, _: Any) -> Any:
                        codes[unlabeled] = guess
                        return refit(self.classes_, codes)

                    first = self._codes(self.estimator_, X_u)
                    self.estimator_, _, changes = alternate(
                        self, fit, lambda model: self._codes(model, X_u), first
                    )
                    self.termination_condition_ = "max_iter" if changes else "no_change"
                    if hasattr(self, "feature_names_in_") and not hasattr(X, "columns"):
                        self.supervised_.feature_names_in_ = self.feature_names_in_
            self.transduction_ = labels.classes[codes]
        return self

    def _fit_supervised(
        self, X: Any, weight: Floats | None, classes: AnyArray, codes: Index
    ) -> Any:
        """Return the classifier fitted to the labelled rows, which gives the first labels."""
        return _refitter(self._kind, X, weight)(classes, codes)

    def _codes(self, model: Any, X: Any) -> Index:
        """Return the codes of the classes that a fitted classifier predicts."""
        if not _refits_cheaply(model):
            return np.searchsorted(self.classes_, model.predict(X))
        # The rows are valid, and checking them again in every round would take longer than this.
        decisions = X @ model.coef_.T + model.intercept_
        values = decisions[:, 0] if decisions.shape[1] == 1 else decisions
        return np.asarray(base.predicted_classes(values, np.arange(len(self.classes_))))

    @property
    def _kind(self) -> Any:
        return LeastSquaresClassifier() if self.estimator is None else self.estimator

    def _read_rows(self, X: Any, *, reset: bool) -> Any:
        """Validate X as far as the base estimator does not do so itself."""
        if _refits_cheaply(self._kind):
            return data.read_numpy_rows(self, X, reset=reset)
        if not is_classifier(self._kind):
            raise ValueError(
                f"The estimator of {type(self).__name__} must be a classifier, got "
                f"{type(self._kind).__name__}: pass a scikit-learn classifier."
            )
        if hasattr(X, "iloc"):
            return validate_data(self, X, skip_check_array=True, reset=reset)
        refuse_masked(X, "X")
        return validate_data(
            self, X, dtype=None, accept_sparse="csr", ensure_all_finite=False, reset=reset
        )

    def _read_more(self, X_unlabeled: Any, X: Any) -> Any:
        X_unlabeled = data.given_rows(X_unlabeled)
        if is_outside(X_unlabeled):
            raise data.not_in_memory(self)
        if _refits_cheaply(self._kind):
            return data.read_unlabeled(self, X_unlabeled, X)
        refuse_masked(X_unlabeled, "X_unlabeled")
        check_same_columns(self, X_unlabeled)
        return X_unlabeled if hasattr(X_unlabeled, "shape") else np.asarray(X_unlabeled)

    def _rows_for_estimator(self, X: Any) -> Any:
        return self._read_rows(X, reset=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        wrapped = get_tags(self._kind)
        tags.input_tags = wrapped.input_tags
        if wrapped.classifier_tags is not None:
            tags.classifier_tags = wrapped.classifier_tags
        return tags


def _refits_cheaply(kind: Any) -> bool:
    """Return whether this is a classifier of this library that refits cheaply to other labels."""
    return hasattr(kind, "_refitter")


def _refitter(kind: Any, X: Any, weight: Floats | None) -> Callable[[AnyArray, Index], Any]:
    """Return a function that fits a classifier of this kind to given labels of X.

    A classifier that can do this cheaply, because only the labels change, has a ``_refitter``
    method; any other is fitted from scratch.
    """
    if _refits_cheaply(kind):
        refit = clone(kind)._refitter(X.astype(np.float64, copy=False), weight)
        return lambda classes, codes: refit(classes, targets_of(codes, len(classes)))
    extra = {} if weight is None else {"sample_weight": weight}
    return lambda classes, codes: clone(kind).fit(X, classes[codes], **extra)
