"""A fitted stack: the weighted scores of fitted candidates."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._typing import AnyArray, Floats
from primum.estimators._checks import locating_bad_values
from primum.estimators._scoring import KnownLabelsScoreMixin
from primum.selection.candidates import Model

# Rows are scored in blocks, because kernels and neighbours need a number per row and training row.
BLOCK = 4096


class StackPredictionMixin(KnownLabelsScoreMixin):
    """Predictions of a weighted sum of scores.

    The classes that inherit it have the fitted attributes ``classes_``, ``weights_`` and
    ``models_``, the models of all candidates whose weight is not 0.
    """

    classes_: AnyArray
    weights_: dict[str, float]
    models_: dict[str, Model]

    def predict_proba(self, X: Any) -> Floats:
        """Return the score of every class, a number in [0, 1]; those of a row add up to 1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The weighted mean of the scores of the candidates.
        """
        check_is_fitted(self, "models_")
        with locating_bad_values(X, "X"):
            rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return stacked_scores(self.models_, self.weights_, rows)

    def decision_function(self, X: Any) -> Floats:
        """Return the decision values of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            For two classes the score of the second minus 1/2, for more all scores.
        """
        scores = self.predict_proba(X)
        return scores[:, 1] - 0.5 if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted class of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            The class with the largest score. Of two classes with equal scores it is the second, of
            more the first.
        """
        codes = predicted_codes(self.predict_proba(X))
        return np.asarray(self.classes_[codes])

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


class StackedClassifier(StackPredictionMixin, ClassifierMixin, BaseEstimator):
    """A fitted stack of candidates.

    It is part of a fitted SafeClassifier; its own ``fit`` does nothing.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    weights_ : dict of str to float
        The weight of every candidate.
    models_ : dict
        The fitted candidates with a weight above 0.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing: the stack is fitted already.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Ignored.
        y : array-like of shape (n_samples,)
            Ignored.

        Returns
        -------
        self
            The stack.
        """
        return self

    @classmethod
    def _of(cls, parent: Any, weights: dict[str, float], models: dict[str, Model]) -> Any:
        """Return the stack of some of the models, for the features and classes of a parent."""
        stack = cls()
        stack.weights_ = weights
        stack.models_ = {name: models[name] for name, weight in weights.items() if weight > 0}
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(parent, name):
                setattr(stack, name, getattr(parent, name))
        return stack


def stacked_scores(models: dict[str, Model], weights: dict[str, float], X: Any) -> Floats:
    """Return the weighted scores of rows."""
    blocks = [X[start : start + BLOCK] for start in range(0, X.shape[0], BLOCK)]
    return np.concatenate(
        [
            sum(weights[name] * model.predict(block) for name, model in models.items())
            for block in blocks
        ]
    )


def predicted_codes(scores: Floats) -> AnyArray:
    """Return the class codes with the largest scores; the second of two that are equal."""
    if scores.shape[1] == 2:
        return (scores[:, 1] >= scores[:, 0]).astype(np.intp)
    return np.asarray(scores.argmax(axis=1))
