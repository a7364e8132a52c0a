"""Problems for tests: overlapping classes, spoilt in named ways, and partly known labels."""

import numpy as np
from hypothesis import strategies as st

from primum.equations import equations_of
from primum.labellings import LeastSquaresFamily

# With 1e-38 as the only value of a labelled column, the coefficient of the twin would be 1e38.
FEATURES = st.floats(-100, 100, width=32).map(lambda value: round(value, 6))


def two_classes(n_labeled, n_unlabeled, d, *, seed=0, separation=1.0):
    """Return X_labeled, y, X_unlabeled and the unlabelled rows' true labels."""
    rng = np.random.default_rng(seed)
    n = n_labeled + n_unlabeled
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    X = rng.normal(size=(n, d))
    X[:, 0] += separation * y
    return X[:n_labeled], y[:n_labeled], X[n_labeled:], y[n_labeled:]


def several_classes(n_labeled, n_unlabeled, d, n_classes, *, seed=0, separation=2.0):
    """Return the same for Gaussian classes around random means; each has a labelled row."""
    rng = np.random.default_rng(seed)
    n = n_labeled + n_unlabeled
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    X = rng.normal(size=(n, d)) + separation * rng.normal(size=(n_classes, d))[y]
    return X[:n_labeled], y[:n_labeled], X[n_labeled:], y[n_labeled:]


def masked_labels(L=30, U=60, d=3, K=4, *, seed=0, separation=1.0, keep=0.6):
    """Return rows, y, the true labels, and masks that contain them and leave a choice."""
    X, y, X_u, truth = several_classes(L, U, d, K, seed=seed, separation=separation)
    truth = np.r_[y, truth]
    rng = np.random.default_rng(seed)
    possible = rng.random((L + U, K)) < keep
    possible[np.arange(L + U), truth] = True
    possible[np.arange(L + U), (truth + rng.integers(1, K, L + U)) % K] = True
    return np.vstack([X, X_u]), np.r_[y, np.full(U, -1)], truth, possible


def bounded_labels(L=20, U=60, d=3, *, seed=0):
    """Return rows, y, the true labels, and bounds on the unlabelled ones that contain them."""
    X, y, X_u, truth = two_classes(L, U, d, seed=seed)
    rng = np.random.default_rng(seed)
    bounds = np.column_stack([np.minimum(truth, rng.random(U)), np.maximum(truth, rng.random(U))])
    bounds[rng.random(U) < 0.2] = np.nan
    bounds = np.vstack([np.full((L, 2), np.nan), bounds])
    return np.vstack([X, X_u]), np.r_[y, np.full(U, -1)], np.r_[y, truth], bounds


# All targets of ``bounded_targets`` are within these.
BOUNDS = (18.0, 22.0)


def bounded_targets(L=12, U=60, d=4, *, seed=0):
    """Return X, the true targets, y with unknown ones, and the bin of width 1 of every target.

    There is so much noise that most targets are at the ends of their range, and that no possible
    targets give the supervised model.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(L + U, d)) + 0.5
    truth = 20.0 + X @ rng.normal(size=d) + 3.0 * rng.normal(size=L + U)
    truth = np.clip(truth, *BOUNDS)
    low = np.minimum(np.floor(truth), BOUNDS[1] - 1)
    y = np.where(np.arange(L + U) < L, truth, np.nan)
    return X, truth, y, np.column_stack([low, low + 1])


def _collinear(X):
    return np.column_stack([X, 250 * X[:, 0], np.full(len(X), 3.0), X[:, 1]])


def _scaled(X):
    return X * np.array([1e-6, 1e6, 1.0, 1e3, 1e-3])


def hard_cases():
    """Return {name: (X, y, X_unlabeled, parameters)}."""

    def plain(*args, **kwargs):
        return two_classes(*args, **kwargs)[:3]

    def mapped(function, *args, **kwargs):
        X, y, X_u = plain(*args, **kwargs)
        return function(X), y, function(X_u)

    X, y, X_u = plain(10, 60, 5)
    equal = (np.repeat(X[:1], 10, axis=0), y, X_u)
    X, y, X_u = plain(10, 12, 3)
    repeated = (X, y, np.repeat(X_u, 6, axis=0))
    X, y, X_u = plain(10, 60, 3)
    outliers = (X, y, np.vstack([1e3 * X_u[:3], X_u[3:]]))
    cases = {
        "plain": plain(20, 60, 5),
        "L < d": plain(8, 60, 15),
        "L < d, fewer rows": plain(8, 25, 15),
        "L + U < d": plain(8, 10, 30),
        "L = 2": plain(2, 60, 5),
        "U = 0": plain(20, 0, 5),
        "U = 1": plain(20, 1, 5),
        "collinear, constant and duplicated columns": mapped(_collinear, 20, 60, 4),
        "columns scaled by 1e-6 and 1e6": mapped(_scaled, 20, 60, 5),
        "means of 1e6": mapped(lambda X: X + 1e6, 20, 60, 5),
        "supervised solution inside": plain(200, 150, 2, separation=0.1),
        "labelled rows all equal": equal,
        "repeated rows": repeated,
        "outliers": outliers,
        "integers": mapped(np.round, 12, 80, 3),
    }
    hard = {name: (*case, {}) for name, case in cases.items()}
    hard["no intercept"] = (*plain(12, 80, 3), {"fit_intercept": False})
    hard["ridge"] = (*plain(12, 80, 20), {"alpha": 0.1})
    hard["ridge on all rows only"] = (*plain(12, 80, 20), {"alpha": 1e-3, "alpha_labeled": 0.0})
    return hard


def least_squares_family(labeled, unlabeled, *, alpha, fit_intercept):
    """Return the least-squares fits on labelled and unlabelled rows together."""
    parts = [labeled.rows, unlabeled]
    equations = equations_of(parts, alpha=alpha, fit_intercept=fit_intercept)
    return LeastSquaresFamily(equations, labeled, equations.design(unlabeled))
