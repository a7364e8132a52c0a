"""No fit takes more iterations than its limit, whichever solver it uses."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from generate import several_classes, two_classes
from primum import ICLSClassifier, ICLSRegressor, KernelICLSClassifier
from primum.labellings import implicit
from primum.solvers import newton

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::primum.UndeterminedModelWarning"),
]
LIMITS = [1, 2, 3, 5, 8, 13, 21]


def binary(seed=0, n_labeled=30, n_unlabeled=170, d=3):
    return two_classes(n_labeled, n_unlabeled, d, seed=seed)[:3]


def classes(seed=0):
    return several_classes(40, 200, 3, 4, seed=seed)[:3]


def undetermined():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 20))
    return X[:8], np.arange(8) % 2, X[8:]


FITS = {
    "plain": lambda n: ICLSClassifier(max_iter=n, tol=0.0).fit(*binary()),
    "classes": lambda n: ICLSClassifier(max_iter=n, tol=0.0, alpha=1e-3).fit(*classes()),
    "kernel": lambda n: KernelICLSClassifier(max_iter=n, tol=0.0).fit(*binary()),
    "prior": lambda n: ICLSClassifier(max_iter=n, tol=0.0, alpha=1e-2, prior={0: (0.1, 0.2)}).fit(
        *binary()
    ),
    "prior, no intercept": lambda n: ICLSClassifier(
        max_iter=n, tol=0.0, alpha=1e-2, prior={0: (0.1, 0.2)}, fit_intercept=False
    ).fit(*binary()),
    "twin": lambda n: ICLSClassifier(max_iter=n, tol=1e-14, metric="labeled").fit(*undetermined()),
    "lbfgsb": lambda n: ICLSClassifier(max_iter=n, tol=0.0, alpha=1e-3, solver="lbfgsb").fit(
        *binary()
    ),
    "wide bounds": lambda n: ICLSRegressor(max_iter=n, tol=0.0, alpha=1e-3, bounds=(-1e6, 1e6)).fit(
        *undetermined()
    ),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_iterations_stay_within_their_limit(fit):
    taken = [fit(limit).n_iter_ for limit in LIMITS]
    assert (np.array(taken) <= LIMITS).all(), dict(zip(LIMITS, taken, strict=True))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_iterations_at_scale_stay_within_their_limit(monkeypatch, n_classes):
    monkeypatch.setattr(implicit, "MAX_FORMED_ROWS", 100)
    monkeypatch.setattr(implicit, "FEW_ROWS_PER_DIMENSION", 0)
    X, y, X_u = binary(n_unlabeled=5000) if n_classes == 2 else classes()
    for limit in LIMITS:
        model = ICLSClassifier(max_iter=limit, tol=0.0, alpha=1e-3).fit(X, y, X_u)
        assert model.solver_ == "scale"
        assert model.n_iter_ <= limit


def test_gradients_count_and_are_limited(monkeypatch):
    monkeypatch.setattr(newton, "MIN_LARGE_SIZE", 1)
    monkeypatch.setattr(newton, "MIN_WIDE_SIZE", 1)
    for limit in [1, 10, 30, 60]:
        model = ICLSClassifier(max_iter=limit, tol=0.0, alpha=1e-3).fit(*classes())
        assert model.n_iter_ <= limit


def test_a_search_that_reaches_its_limit_says_so():
    X, y, X_u = binary()
    with pytest.warns(ConvergenceWarning, match="stopped after 3 iterations .* raise max_iter"):
        ICLSClassifier(max_iter=3, tol=1e-14, alpha=1e-3).fit(X, y, X_u)
