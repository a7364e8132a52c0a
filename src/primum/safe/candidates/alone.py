"""A supervised candidate of the safe choice as a classifier or regressor, for comparisons."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._typing import AnyArray, Floats
from primum.reading.targets import TargetScale
from primum.safe.candidates.base import CandidateModel
from primum.safe.rows import Targets


class CandidateClassifier(ClassifierMixin, BaseEstimator):
    """A supervised candidate of the safe choice as a classifier of its own.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Seed of whatever is random.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    model_ : CandidateModel
        The fitted candidate.
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    @abstractmethod
    def _fitted(self, X: Any, labels: Targets) -> CandidateModel:
        """Return the candidate fitted to rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the candidate.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; None: 1.

        Returns
        -------
        self
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.model_ = self._fitted(X, Targets.of_classes(codes, len(self.classes_), weight))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            One column per class.
        """
        check_is_fitted(self)
        return self.model_.predict(
            validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        )

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            Names of classes.
        """
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class CandidateRegressor(RegressorMixin, BaseEstimator):
    """A supervised candidate of the safe choice as a regressor of its own.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Seed of whatever is random.

    Attributes
    ----------
    model_ : CandidateModel
        The fitted candidate, which predicts standardised numbers.
    target_mean_, target_scale_ : float
        Mean and standard deviation of the targets.
    """

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    @abstractmethod
    def _fitted(self, X: Any, numbers: Targets) -> CandidateModel:
        """Return the candidate fitted to rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the candidate.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; None: 1.

        Returns
        -------
        self
            The fitted regressor.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        numbers = np.asarray(y, dtype=np.float64)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        targets = Targets.of_numbers(numbers, weight)
        assert targets.scale is not None, "the targets are numbers"
        self.target_mean_ = targets.scale.shift
        self.target_scale_ = targets.scale.width
        self.model_ = self._fitted(X, targets)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the predicted numbers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            Numbers.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scale = TargetScale(self.target_mean_, self.target_scale_)
        return np.asarray(scale.restored(self.model_.predict(X)[:, 0]))
