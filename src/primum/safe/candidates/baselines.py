"""The baselines of the safe choice, ridge and logistic regression, as estimators of comparisons.

They are the candidates of the stack themselves, for rows that have their scales already. So a stack
is shrunk towards, judged against and replaced by one and the same model.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from primum._typing import Floats
from primum.methods.least_squares.tuning import TakesGroups
from primum.safe.candidates.alone import CandidateClassifier, CandidateRegressor
from primum.safe.candidates.base import CandidateModel, LinearModel
from primum.safe.candidates.linear import logistic, ridge
from primum.safe.rows import Affine, Targets


def unscaled(X: Any) -> Affine:
    """Return the change that leaves rows as they are."""
    return Affine(np.ones(X.shape[1]), np.zeros(X.shape[1]))


class OfGroups(TakesGroups):
    """Base of classifiers that leave out groups of rows together when a penalty is chosen.

    Parameters
    ----------
    groups : array of shape (n_samples,), default=None
        The group of each row that ``fit`` is given; None: every row is one.
    """

    model_: CandidateModel

    def __init__(self, groups: Any = None) -> None:
        self.groups = groups

    def _kept_together(self, targets: Targets) -> Targets:
        if self.groups is None:
            return targets
        return replace(targets, groups=np.unique(self.groups, return_inverse=True)[1])

    @property
    def coef_(self) -> Floats:
        """Coefficients, a row per score; of two classes, those of the second."""
        coef = self._linear.coef.T
        return coef[1:] if len(coef) == 2 else coef

    @property
    def intercept_(self) -> Floats:
        """Intercepts of the same scores."""
        intercept = self._linear.intercept
        return intercept[1:] if len(intercept) == 2 else intercept

    @property
    def _linear(self) -> LinearModel:
        assert isinstance(self.model_, LinearModel), "the candidates are linear"
        return self.model_


class TunedRidgeClassifier(OfGroups, CandidateClassifier):
    """Ridge regression of one-hot labels, its penalty chosen by leave-one-out.

    Parameters
    ----------
    groups : array of shape (n_samples,), default=None
        The group of each row that ``fit`` is given, which are left out together; None: every row
        is one.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    model_ : LinearModel
        The fitted candidate.
    coef_, intercept_ : array of shape (n_scores, n_features), array of shape (n_scores,)
        Coefficients and intercepts; of two classes, those of the second.
    """

    def _fitted(self, X: Any, labels: Targets) -> LinearModel:
        return ridge(X, self._kept_together(labels), 0, unscaled)


class TunedLogisticClassifier(OfGroups, CandidateClassifier):
    """Logistic regression, its penalty chosen by the log loss in stratified folds.

    Parameters
    ----------
    groups : array of shape (n_samples,), default=None
        The group of each row that ``fit`` is given, which the folds keep together; None: every row
        is one.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    model_ : LinearModel
        The fitted candidate.
    coef_, intercept_ : array of shape (n_scores, n_features), array of shape (n_scores,)
        Coefficients and intercepts; of two classes, those of the second.
    """

    def _fitted(self, X: Any, labels: Targets) -> LinearModel:
        return logistic(X, self._kept_together(labels), 0, unscaled)


class TunedRidgeRegressor(OfGroups, CandidateRegressor):
    """Ridge regression of numbers, its penalty chosen by leave-one-out.

    Parameters
    ----------
    groups : array of shape (n_samples,), default=None
        The group of each row that ``fit`` is given, which are left out together; None: every row
        is one.

    Attributes
    ----------
    model_ : LinearModel
        The fitted candidate, which predicts standardised numbers.
    target_mean_, target_scale_ : float
        Mean and standard deviation of the targets.
    coef_, intercept_ : array of shape (1, n_features), array of shape (1,)
        Coefficients and intercept, in units of the target.
    """

    def _fitted(self, X: Any, numbers: Targets) -> LinearModel:
        return ridge(X, self._kept_together(numbers), 0, unscaled)

    @property
    def coef_(self) -> Floats:  # noqa: D102
        return super().coef_ * self.target_scale_

    @property
    def intercept_(self) -> Floats:  # noqa: D102
        return super().intercept_ * self.target_scale_ + self.target_mean_
