"""Logistic and ridge regression on the features and on whitened principal components.

    ridge         least squares on one-hot labels, its penalty chosen by leave-one-out; scores are
                  moved to the nearest point of the simplex; for numbers, least squares on them
    logistic      multinomial logistic regression, its penalty chosen by the log loss in stratified
                  cross-validation
    components    the same, or ridge regression of numbers, on the first principal components of all
                  rows, which are computed once

Features are standardised by the labelled training rows; sparse ones are scaled but not centred. If
rows belong to groups, leave-one-out leaves out one group at a time, and folds keep groups together.

Whitening makes directions in which the rows vary little as large as the others. The number of
components is chosen by the leave-one-out error of a ridge regression on them, which costs little.
The counterpart uses the components of the labelled training rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold

from primum._typing import Floats, Index
from primum.equations.moments import Moments, gather_moments
from primum.reading.folds import tuning_folds
from primum.rows import ArrayRows, as_dense
from primum.safe.candidates.base import (
    Candidate,
    LinearModel,
    PreparedChanged,
    PreparedRows,
    constant_model,
    least_squares_model,
    linear_model,
)
from primum.safe.candidates.paths import (
    LOGISTIC,
    Principal,
    margin_path,
    multinomial_path,
    ridge_path,
)
from primum.safe.rows import Affine, Scaling, SharedRows, Targets, sampled_note, standardisation

# Penalties half a decade apart, on the sum of squares of standardised features: from hardly any
# shrinking to nearly constant scores.
RIDGES = np.geomspace(1e-3, 1e4, 15)
# A decade apart, as C in scikit-learn: each takes a fit by iteration, so fewer than ridges.
INVERSE_PENALTIES = np.geomspace(1e-4, 1e2, 7)
# Used if the penalty cannot be chosen, because fewer than two classes have two rows: the middle of
# the grid.
DEFAULT_INVERSE_PENALTY = 0.1
# Folds in which a penalty is chosen, at most: as many as the default cv has.
MAX_PENALTY_FOLDS = 5
# Iterations of scikit-learn's solver, at most: its default of 100 is too few for some tables.
MAX_LOGISTIC_STEPS = 1000
# Newton's method is faster than L-BFGS for two classes and at most this many axes.
MAX_NEWTON_AXES = 80
# With more rows, a sample chooses the kernel, because each option takes an eigendecomposition.
MAX_CHOICE_ROWS = 500
# Numbers of components to choose from: a few, each about twice as large as the last.
N_COMPONENTS = (2, 5, 10, 20, 50)
# Components this much shorter than the longest one are rounding, which whitening would enlarge:
# lengths are roots of eigenvalues, so that only half of their digits are correct.
MIN_COMPONENT_LENGTH = 1e-7
# Components of more rows than this, with at most this many columns, come from their moments:
# scikit-learn forms the covariance too, but from a copy of all rows.
MAX_PCA_ROWS, MAX_PCA_COLUMNS = 20_000, 1000


def ridge(X: Any, labels: Targets, seed: int, scaling: Scaling) -> LinearModel:
    """Return ridge regression of one-hot labels, or of numbers."""
    change = scaling(X)
    return fit_ridge(change.transform(X), labels)[0].after(change)


def logistic(X: Any, labels: Targets, seed: int, scaling: Scaling) -> LinearModel:
    """Return logistic regression."""
    change = scaling(X)
    return fit_logistic(change.transform(X), labels).after(change)


def labeled_components(X: Any, labels: Targets, seed: int, scaling: Scaling) -> LinearModel:
    """Return a regression on the whitened principal components of the labelled rows."""
    components = find_components(X, seed, scaling)
    return fit_components(components.transform(X), labels).after(components)


def fit_ridge(X: Any, labels: Targets) -> tuple[LinearModel, float]:
    """Return ridge regression of one-hot labels or numbers, and minus its leave-one-out error."""
    if len(labels) == 1:  # no row is left to leave out
        return constant_model(labels, X.shape[1]), 0.0
    return _best_ridge(Principal.of(X, labels.weight), labels)


def fit_kernel_ridge(gram: Floats, labels: Targets) -> tuple[LinearModel, float]:
    """Return the same in a kernel, as a linear model of kernel values with the given rows."""
    if len(labels) == 1:
        return constant_model(labels, 1), 0.0
    return _best_ridge(Principal.of_gram(gram, labels.weight), labels)


def choose_kernel(
    grams: Sequence[Callable[[Index], Floats]], labels: Targets, seed: int
) -> tuple[int, LinearModel | None]:
    """Return the position of the kernel with the least leave-one-out error, and its model.

    ``grams`` return the kernels among given rows. If there are more than ``MAX_CHOICE_ROWS`` rows,
    a random sample is compared, and the model is None.
    """
    n_rows = len(labels)
    if n_rows <= MAX_CHOICE_ROWS:
        compared = np.arange(n_rows)
    else:
        compared = labels.part(MAX_CHOICE_ROWS / n_rows, seed)
    compared_labels = labels.take(compared)
    fits = [fit_kernel_ridge(gram(compared), compared_labels) for gram in grams]
    best = int(np.argmax([score for _, score in fits]))
    return best, fits[best][0] if n_rows <= MAX_CHOICE_ROWS else None


def _best_ridge(rows: Principal, labels: Targets) -> tuple[LinearModel, float]:
    several = labels.groups is not None and len(np.unique(labels.groups)) > 1
    groups = labels.groups if several else None
    coef, intercept, errors = ridge_path(rows, labels.values, RIDGES, groups)
    return least_squares_model(coef, intercept, labels), -float(errors.min())


def fit_logistic(X: Any, labels: Targets) -> LinearModel:
    """Return a logistic regression whose penalty is chosen by cross-validation."""
    if len(labels.present) == 1:
        return constant_model(labels, X.shape[1])
    folds, rows = inner_folds(labels), Principal.of(X, labels.weight)
    codes = np.searchsorted(labels.present, labels.y)
    if not folds:
        classifier = LogisticRegression(C=DEFAULT_INVERSE_PENALTY, max_iter=MAX_LOGISTIC_STEPS)
        classifier.fit(rows.Z, labels.y, sample_weight=labels.weight)
        w, b = classifier.coef_.T, classifier.intercept_
    elif len(labels.present) == 2 and rows.Z.shape[1] <= MAX_NEWTON_AXES:
        w, b, _ = margin_path(rows, codes, folds, INVERSE_PENALTIES, LOGISTIC)
    else:
        w, b = multinomial_path(rows, codes, folds, INVERSE_PENALTIES)
    coef, intercept = rows.linear(w, b)
    return log_linear_model(coef.T, intercept, labels)


def log_linear_model(coef: Floats, intercept: Floats, labels: Targets) -> LinearModel:
    """Return a model of decision values, one for two classes, for the classes that occur."""
    if len(coef) == 1:
        coef, intercept = np.stack([0.0 * coef[0], coef[0]]), np.append(0.0, intercept)
    return linear_model(coef, intercept, labels, probabilities=True)


def inner_number_folds(numbers: Targets, most: int, seed: int) -> list[tuple[Index, Index]]:
    """Return at most ``most`` shuffled folds; a single row has none."""
    n_rows = len(numbers)
    strata = np.zeros(n_rows, dtype=np.intp)
    if numbers.groups is not None and (folds := tuning_folds(most, strata, numbers.groups)):
        return [(fold.train, fold.test) for fold in folds]
    if n_rows < 2:
        return []
    splitter = KFold(min(most, n_rows), shuffle=True, random_state=seed)
    return list(splitter.split(strata[:, None]))


def inner_folds(labels: Targets, most: int = MAX_PENALTY_FOLDS) -> list[tuple[Index, Index]]:
    """Return at most ``most`` stratified folds; the only row of a class is always trained on.

    There are none if fewer than two classes have several rows. Groups stay together if possible.
    """
    if labels.groups is not None and (folds := tuning_folds(most, labels.y, labels.groups)):
        return [(fold.train, fold.test) for fold in folds]
    counts = np.bincount(labels.y)
    if (counts > 1).sum() < 2:
        return []
    single = np.flatnonzero(counts[labels.y] == 1)
    several = np.flatnonzero(counts[labels.y] > 1)
    n_folds = min(most, int(counts[counts > 1].min()))
    parts = StratifiedKFold(n_folds).split(several[:, None], labels.y[several])
    return [(np.append(several[train], single), several[test]) for train, test in parts]


def find_components(X: Any, seed: int, scaling: Scaling = standardisation) -> Affine:
    """Return the whitened principal components of rows; sparse rows are not centred."""
    change = scaling(X)
    lengths, directions, mean = _principal(change.transform(X), seed)
    used = lengths > MIN_COMPONENT_LENGTH * lengths.max(initial=0.0)
    whitened = directions[:, used] * (np.sqrt(X.shape[0]) / lengths[used])
    return Affine(change.scale, (change.shift + mean) @ whitened, whitened)


def components_of(moments: Moments, scaling: Scaling = standardisation) -> Affine:
    """Return the whitened principal components of dense rows with these moments."""
    spread = np.sqrt(moments.scatter.diagonal() / moments.weight)
    scale = scaling(np.stack([-spread, spread])).scale  # two rows with the variances of all
    n_features = len(scale)
    last = n_features - min(n_features, N_COMPONENTS[-1]), n_features - 1
    squares, directions = eigh(moments.scatter / np.outer(scale, scale), subset_by_index=last)
    lengths, directions = np.sqrt(np.maximum(squares[::-1], 0.0)), directions[:, ::-1]
    used = lengths > MIN_COMPONENT_LENGTH * lengths.max(initial=0.0)
    whitened = directions[:, used] * (np.sqrt(moments.weight) / lengths[used])
    return Affine(scale, (moments.mean / scale) @ whitened, whitened)


def moments_of(rows: SharedRows) -> Moments | None:
    """Return the moments of all rows, if a sample keeps them or dense rows are many; else None."""
    if rows.sampled is not None:
        return rows.sampled.moments
    n_rows, n_features = rows.unlabeled.shape
    if sparse.issparse(rows.labeled) or n_rows <= MAX_PCA_ROWS or n_features > MAX_PCA_COLUMNS:
        return None
    return gather_moments([ArrayRows(rows.labeled), ArrayRows(rows.unlabeled)])


def _principal(X: Any, seed: int) -> tuple[Floats, Floats, Floats]:
    """Return the singular values, directions (in columns) and mean of rows."""
    from sklearn.decomposition import PCA, TruncatedSVD

    n_rows, n_features = X.shape
    most = min(n_rows, n_features, N_COMPONENTS[-1])
    is_sparse = sparse.issparse(X) and n_features > 1
    with np.errstate(invalid="ignore"):  # equal rows have no variance to share
        if is_sparse:
            svd = TruncatedSVD(min(most, n_features - 1), random_state=seed).fit(X)
            return svd.singular_values_, svd.components_.T, np.zeros(n_features)
        pca = PCA(most, random_state=seed).fit(as_dense(X))
    return pca.singular_values_, pca.components_.T, pca.mean_


def fit_components(features: Floats, labels: Targets) -> LinearModel:
    """Return a regression on the first few features; the coefficients of the others are 0.

    It is a logistic regression for classes, and a ridge regression for numbers.
    """
    n_features = features.shape[1]
    if n_features == 0:  # all rows are equal
        return constant_model(labels, 0)
    numbers = sorted({min(number, n_features) for number in N_COMPONENTS})
    fits = [fit_ridge(features[:, :number], labels) for number in numbers]
    best = int(np.argmax([score for _, score in fits]))
    number, model = numbers[best], fits[best][0]
    if labels.are_shares:
        model = fit_logistic(features[:, :number], labels)
    coef = np.zeros((n_features, labels.n_outputs))
    coef[:number] = model.coef
    return replace(model, coef=coef)


def _fit_to_rows(features: Floats, train: Index, labels: Targets) -> LinearModel:
    return fit_components(features[train], labels.take(train))


class AllComponents(Candidate):
    """Logistic or ridge regression on the whitened principal components of all rows."""

    name, uses_unlabeled, counterpart = "components", True, "components (labelled)"
    reduces = True

    def prepare(self, rows: SharedRows) -> PreparedChanged:  # noqa: D102
        moments = moments_of(rows)
        if moments is not None:
            components, note = components_of(moments, rows.scaling), ""
        else:
            components = find_components(rows.all, rows.seed, rows.scaling)
            note = sampled_note(self.name, rows, rows)
        features = components.transform(rows.labeled)
        fits = PreparedRows(features, partial(_fit_to_rows, features))
        return PreparedChanged(components, fits, note)
