"""Problems of several metrics at once are those of each metric."""

import numpy as np
import pytest

from generate import least_squares_family, several_classes, two_classes
from primum.labellings.implicit import implicit_problems
from primum.reading.labels import targets_of
from primum.rows import ArrayRows, LabeledRows
from primum.solvers import fit_least_squares

METRICS = (0.0, 0.3, 1.0, "labeled", "all", "euclidean")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("alpha", "alpha_labeled"), [(0.1, 0.1), (0.1, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("n_labeled", [30, 6])
def test_same_objectives_gaps_and_ties(n_classes, fit_intercept, alpha, alpha_labeled, n_labeled):
    make = two_classes(n_labeled, 40, 8) if n_classes == 2 else several_classes(n_labeled, 40, 8, 3)
    X, codes, X_u, _ = make
    labeled = LabeledRows(X, targets_of(codes, n_classes), np.linspace(1, 2, n_labeled))
    family = least_squares_family(labeled, ArrayRows(X_u), alpha=alpha, fit_intercept=fit_intercept)
    twin, _ = fit_least_squares(labeled, alpha=alpha_labeled, fit_intercept=fit_intercept)
    together = implicit_problems(family, alpha_labeled, twin, METRICS)
    rng = np.random.default_rng(0)
    for metric, shared in zip(METRICS, together, strict=True):
        (alone,) = implicit_problems(family, alpha_labeled, twin, [metric])
        assert (shared.determined, shared.tie_break) == (alone.determined, alone.tie_break)
        for _ in range(3):
            v = rng.normal(size=(40, 3) if n_classes == 3 else 40)
            q = alone.labels.project(v)
            one, other = shared.judge(q), alone.judge(q)
            assert one.objective == pytest.approx(other.objective, rel=1e-8)
            assert one.gap == pytest.approx(other.gap, rel=1e-8)
