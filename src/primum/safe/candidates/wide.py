"""Rows with more features than a candidate can use, such as texts.

Sparse rows of more than MAX_WIDE_COLUMNS columns are reduced for the candidates that use unlabelled
rows: to SVD_RANK components, by a truncated singular value decomposition of all rows, labelled
or not. With fifty components, graphs, kernels and constraints cost no more than for a table. Their
supervised counterparts must not see these components, which are learnt from unlabelled rows, and
receive the columns. So the difference between the two is what the unlabelled rows contribute,
components included.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from primum._typing import Floats, Index
from primum.safe.candidates.base import (
    Affine,
    Candidate,
    CandidateModel,
    Fitted,
    LinearModel,
    Prepared,
    Scaling,
    SharedRows,
    as_given,
)

# Sparse rows with more columns than the first number are reduced, to the second: graphs and kernels
# then cost no more than for a table.
MAX_WIDE_COLUMNS, SVD_RANK = 1000, 50
# With more rows, the components are those of a random sample, which takes seconds to decompose.
MAX_COMPONENT_ROWS = 20_000


@dataclass(frozen=True)
class ReducedModel(CandidateModel):
    """A model of components."""

    reduction: Affine
    model: CandidateModel

    def predict(self, X: Any) -> Floats:  # noqa: D102
        return self.model.predict(self.reduction.transform(X))


@dataclass(frozen=True)
class PreparedReduced(Prepared[Fitted]):
    """A candidate that is prepared for the components of rows."""

    reduction: Affine
    prepared: Prepared[Fitted]

    @property
    def note(self) -> str:  # type: ignore[override]
        """What was approximated."""
        return self.prepared.note

    def fit(self, train: Index, labels: Fitted) -> CandidateModel:  # noqa: D102
        model = self.prepared.fit(train, labels)
        if isinstance(model, LinearModel):
            return self.reduction.then(model)
        return ReducedModel(self.reduction, model)

    def held_out(self, train: Index, test: Index, labels: Fitted) -> Floats:  # noqa: D102
        return self.prepared.held_out(train, test, labels)


def prepared_for(rows: SharedRows, candidate: Candidate[Fitted]) -> Prepared[Fitted]:
    """Return a candidate prepared for rows, or for their components if they are too wide."""
    if not candidate.reduces or rows.reduced is None or rows.reduction is None:
        return candidate.prepare(rows)
    return PreparedReduced(rows.reduction, candidate.prepare(rows.reduced))


def with_reduced(rows: SharedRows) -> SharedRows:
    """Return rows with their components, if they are sparse and too wide."""
    too_wide = rows.labeled.shape[1] > MAX_WIDE_COLUMNS and sparse.issparse(rows.labeled)
    if not too_wide or rows.unlabeled.shape[0] == 0:
        return rows
    sample = rows.with_at_most(max(MAX_COMPONENT_ROWS - rows.n_labeled, 0))
    change = find_reduction(sample.all, rows.seed, rows.scaling)
    labeled, unlabeled = change.transform(rows.labeled), change.transform(rows.unlabeled)
    reduced = replace(rows, labeled=labeled, unlabeled=unlabeled, columns=None, scaling=as_given)
    return replace(rows, reduced=reduced, reduction=change)


def find_reduction(X: Any, seed: int, scaling: Scaling = as_given) -> Affine:
    """Return the first components of sparse rows, without whitening."""
    from sklearn.decomposition import TruncatedSVD

    change = scaling(X)
    n_components = min(SVD_RANK, X.shape[0], X.shape[1] - 1)
    with np.errstate(invalid="ignore"):  # shares of the variance of equal rows, which is 0
        svd = TruncatedSVD(n_components, random_state=seed).fit(change.transform(X))
    return Affine(change.scale, np.zeros(n_components), svd.components_.T)
