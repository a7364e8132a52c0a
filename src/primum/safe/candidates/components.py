"""Logistic regression on whitened principal components.

Those of all rows are computed once. Whitening makes directions in which the rows vary little as
large as the others. How many components are used is chosen by the leave-one-out error of a ridge
regression on them, which costs little; the logistic regression on these is tuned as the baseline
is. The counterpart takes the components of the labelled training rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from primum._typing import Floats, Index
from primum.safe.candidates.base import (
    Affine,
    Candidate,
    Labels,
    LinearModel,
    Prepared,
    PreparedRows,
    SharedRows,
    as_dense,
    constant_model,
    standardisation,
)
from primum.safe.candidates.linear import fit_logistic, fit_ridge

NUMBERS = (2, 5, 10, 20, 50)
# Components this much shorter than the longest one are rounding, which whitening would enlarge.
SHORTEST = 1e-10


def find_components(X: Any, seed: int) -> Affine:
    """Return the whitened principal components of rows; sparse rows are not centred."""
    change = standardisation(X)
    lengths, directions, mean = _principal(change.transform(X), seed)
    used = lengths > SHORTEST * lengths.max(initial=0.0)
    whitened = directions[:, used] * (np.sqrt(X.shape[0]) / lengths[used])
    return Affine(change.scale, (change.shift + mean) @ whitened, whitened)


def _principal(X: Any, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return the singular values, directions (in columns) and mean of rows."""
    from sklearn.decomposition import PCA, TruncatedSVD

    n_rows, n_features = X.shape
    most = min(n_rows, n_features, NUMBERS[-1])
    is_sparse = sparse.issparse(X) and n_features > 1
    with np.errstate(invalid="ignore"):  # shares of the variance of equal rows, which is 0
        if is_sparse:
            svd = TruncatedSVD(min(most, n_features - 1), random_state=seed).fit(X)
            return svd.singular_values_, svd.components_.T, np.zeros(n_features)
        pca = PCA(most, random_state=seed).fit(as_dense(X))
    return pca.singular_values_, pca.components_.T, pca.mean_


def fit_components(features: Floats, labels: Labels) -> LinearModel:
    """Return a logistic regression on the first of the features; the others have no weight."""
    n_features = features.shape[1]
    if n_features == 0:  # all rows are equal
        return constant_model(labels.shares, 0)
    numbers = sorted({min(number, n_features) for number in NUMBERS})
    scores = [fit_ridge(features[:, :number], labels)[1] for number in numbers]
    number = numbers[int(np.argmax(scores))]
    model = fit_logistic(features[:, :number], labels)
    coef = np.zeros((n_features, labels.n_classes))
    coef[:number] = model.coef
    return LinearModel(coef, model.intercept, model.probabilities)


@dataclass(frozen=True)
class PreparedComponents(Prepared):
    """The components of all rows, and those of the labelled ones."""

    components: Affine
    features: Floats

    def fit(self, train: Index, labels: Labels) -> LinearModel:  # noqa: D102
        return self.components.then(fit_components(self.features[train], labels.take(train)))

    def held_out(self, train: Index, test: Index, labels: Labels) -> Floats:  # noqa: D102
        return fit_components(self.features[train], labels.take(train)).predict(self.features[test])


class PreparedLabeledComponents(PreparedRows):
    """Components of the labelled training rows."""

    def fit(self, train: Index, labels: Labels) -> LinearModel:  # noqa: D102
        X = self.rows.labeled[train]
        components = find_components(X, self.rows.seed)
        return components.then(fit_components(components.transform(X), labels.take(train)))


class AllComponents(Candidate):
    """Logistic regression on the whitened principal components of all rows."""

    name, uses_unlabeled, counterpart = "components", True, "components (labelled)"

    def prepare(self, rows: SharedRows) -> PreparedComponents:  # noqa: D102
        components = find_components(rows.all, rows.seed)
        return PreparedComponents(components, components.transform(rows.labeled))


class LabeledComponents(Candidate):
    """Logistic regression on the whitened principal components of the labelled rows."""

    name = "components (labelled)"

    def prepare(self, rows: SharedRows) -> PreparedLabeledComponents:  # noqa: D102
        return PreparedLabeledComponents(rows)
