"""Fitted candidates: maps from rows to one score in [0, 1] per class.

They consist of arrays, and can be stored without the estimators that produced them. Those that are
linear are maps of the features as given: standardisation and projections are absorbed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from primum._typing import Floats
from primum.labellings.sets import nearest_shares


class Model(ABC):
    """A fitted candidate."""

    @abstractmethod
    def predict(self, X: Any) -> Floats:
        """Return the scores of rows, (n_rows, n_classes)."""


@dataclass(frozen=True)
class LinearModel(Model):
    """Scores from one linear function per class.

    Attributes
    ----------
    coef : array of shape (n_features, n_classes)
        Coefficients.
    intercept : array of shape (n_classes,)
        Intercepts.
    probabilities : bool
        Whether the linear functions are logarithms of probabilities, up to a constant; otherwise
        they are least-squares scores, which are moved to the nearest point of the simplex.
    """

    coef: Floats
    intercept: Floats
    probabilities: bool

    def predict(self, X: Any) -> Floats:  # noqa: D102
        values = np.asarray(X @ self.coef) + self.intercept
        return np.asarray(softmax(values, axis=1) if self.probabilities else nearest_shares(values))


def constant_model(scores: Floats, n_features: int) -> LinearModel:
    """Return the model that gives all rows the same scores."""
    return LinearModel(np.zeros((n_features, len(scores))), scores, probabilities=False)


def as_dense(X: Any) -> Floats:
    """Return rows as an array."""
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


@dataclass(frozen=True)
class Affine:
    """New features, ``(X / scale) @ directions - shift``; without directions ``X / scale - shift``.

    Sparse rows stay sparse, unless there are directions or a shift.
    """

    scale: Floats
    shift: Floats
    directions: Floats | None = None

    def transform(self, X: Any) -> Any:
        """Return the new features of rows."""
        inverse = 1.0 / self.scale
        scaled: Any = X * inverse if isinstance(X, np.ndarray) else X @ sparse.diags_array(inverse)
        if self.directions is not None:
            scaled = np.asarray(scaled @ self.directions)
        return scaled - self.shift if np.any(self.shift) else scaled

    def then(self, model: LinearModel) -> LinearModel:
        """Return a model of the new features as a model of the features before the change."""
        coef = model.coef if self.directions is None else self.directions @ model.coef
        intercept = model.intercept - self.shift @ model.coef
        return LinearModel(coef / self.scale[:, None], intercept, model.probabilities)


def standardisation(X: Any) -> Affine:
    """Return what standardises features; sparse ones are scaled but not centred."""
    from sklearn.preprocessing import StandardScaler

    centred = not sparse.issparse(X)
    scaler = StandardScaler(with_mean=centred).fit(X)
    shift = scaler.mean_ / scaler.scale_ if centred else np.zeros(X.shape[1])
    return Affine(scaler.scale_, shift)
