"""Equations of several ridges are those of each."""

import numpy as np
import pytest
from scipy import sparse

from primum.equations import RidgePath, equations_of, gather_moments
from primum.rows import ArrayRows

ALPHAS = (0.0, 1e-14, 1e-6, 0.1, 10.0)


def fit(equations, parts, labels):
    sums = sum(
        equations.design(rows).weighted_sum(q) for rows, q in zip(parts, labels, strict=True)
    )
    return equations.decode(equations.solve(sums))


@pytest.mark.parametrize("d", [5, 60])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse", "constant column"])
def test_same_fits(d, fit_intercept, weighted, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, d)) * np.geomspace(1, 100, d) + 3.0
    if kind == "sparse":
        X = sparse.csr_array(np.where(rng.random(X.shape) < 0.3, X, 0.0))
    elif kind == "constant column":
        X[:, 1] = 7.0
    weight = rng.uniform(0.5, 2.0, 40) if weighted else None
    first, last = slice(0, 15), slice(15, 40)
    parts = [
        ArrayRows(X[where], weight=None if weight is None else weight[where])
        for where in (first, last)
    ]
    labels = [rng.random(15), rng.random(25)]
    known = gather_moments(parts[1:])
    for path in (RidgePath(parts, fit_intercept), RidgePath(parts, fit_intercept, known)):
        for alpha in ALPHAS:
            coef, intercept = fit(path.at(alpha), parts, labels)
            plain = equations_of(parts, alpha=alpha, fit_intercept=fit_intercept)
            wanted, level = fit(plain, parts, labels)
            assert path.at(alpha).solver == plain.solver
            np.testing.assert_allclose(coef, wanted, rtol=1e-7, atol=1e-8)
            assert intercept == pytest.approx(level, rel=1e-7, abs=1e-9)
