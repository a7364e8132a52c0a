"""The labelled loss as a distance in coordinates."""

import numpy as np
import pytest

from primum.equations import CentredKernel, equations_of, kernel_features
from primum.equations.coordinates import coordinates_of
from primum.labellings import (
    LeastSquaresFamily,
    implicit,
    implicit_problems,
    kernel_family,
    kernel_problem,
)
from primum.labellings.implicit import labeled_loss
from primum.rows import ArrayRows, LabeledRows


@pytest.mark.parametrize("n_labeled", [3, 8, 9, 30])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_the_distance_is_the_labelled_loss(rng, n_labeled, n_classes, weighted, alpha):
    X, gamma = rng.normal(size=(80, 8)) + 3.0, rng.normal(size=9)
    y, weight = rng.normal(size=n_labeled), rng.uniform(0.5, 2.0, n_labeled)
    if n_classes > 2:
        y, gamma = rng.normal(size=(n_labeled, n_classes)), rng.normal(size=(9, n_classes))
    labeled = LabeledRows(X[:n_labeled], y, weight if weighted else None)
    coordinates = coordinates_of([ArrayRows(X)], alpha=0.0, fit_intercept=True)
    coef, intercept = coordinates.decode(gamma)
    squares = (labeled.X @ coef + intercept - y) ** 2
    loss = np.sum(labeled.root**2 * squares.T) + labeled.total * alpha * np.sum(coef**2)
    family = LeastSquaresFamily(coordinates, labeled, coordinates.design(ArrayRows(X)))
    found = labeled_loss(family, alpha)
    distance = np.sum((found.W @ gamma - found.goal) ** 2)
    assert distance + found.rest == pytest.approx(loss, rel=1e-10)


def test_the_metric_and_the_basis_have_a_triangular_product(rng):
    X = rng.normal(size=(80, 8))
    labeled = LabeledRows(X[:20], rng.normal(size=20))
    coordinates = coordinates_of([ArrayRows(X)], alpha=0.0, fit_intercept=True)
    family = LeastSquaresFamily(coordinates, labeled, coordinates.design(ArrayRows(X)))
    B = labeled_loss(family, 0.0).W @ coordinates.full_basis.T
    assert B.shape == (9, 9)
    assert not np.triu(B, 1).any()


def linear_and_kernel_problems(metric):
    """Yield functions that state the problem of a metric for rows and for a kernel."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:20, 0] > 0).astype(float)
    labeled, others = LabeledRows(X[:20], y), ArrayRows(X[20:])
    equations = equations_of([labeled.rows, others], alpha=0.01, fit_intercept=True)
    family = LeastSquaresFamily(equations, labeled, equations.design(others))
    yield lambda: next(implicit_problems(family, 0.01, (np.ones(3), 0.0), [metric]))
    features = kernel_features(CentredKernel(X @ X.T, None, True))
    of_kernel = kernel_family(features, y, 0.01)
    twin = (np.zeros(features.rows.shape[1]), 0.0)
    yield lambda: kernel_problem(of_kernel, metric=metric, alpha_labeled=0.01, supervised=twin)


def test_an_unknown_metric_is_an_error():
    for problem in linear_and_kernel_problems("new"):
        with pytest.raises(ValueError, match="Unknown metric 'new': pass a number from 0 to 1 or"):
            problem()


def test_a_metric_without_its_matrix_is_an_error(monkeypatch):
    monkeypatch.setitem(implicit.METRIC_SHARES, "new", np.nan)
    for problem in linear_and_kernel_problems("new"):
        with pytest.raises(ValueError, match="'new' has no matrix W for these models"):
            problem()
