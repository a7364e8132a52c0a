"""What is proven about ICLS, as properties of arbitrary data."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from generate import FEATURES
from primum import ICLSClassifier, LeastSquaresClassifier


@st.composite
def partly_labelled(draw, max_features, max_rows=40):
    """Draw X, the true labels, and y with unknown labels; both classes are labelled."""
    n, d = draw(st.integers(3, max_rows)), draw(st.integers(1, max_features))
    kind = draw(st.sampled_from(["any", "gaussian", "few values"]))
    if kind == "any":
        X = draw(arrays(np.float64, (n, d), elements=FEATURES))
    else:
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        X = rng.normal(size=(n, d)) if kind == "gaussian" else rng.integers(-2, 3, (n, d)) * 1.0
    truth = draw(arrays(np.int64, n, elements=st.integers(0, 1)))
    unknown = draw(arrays(np.bool_, n))
    y = np.where(unknown, -1, truth)
    assume(len(np.unique(y[y >= 0])) == 2)
    return X, truth, y


def squared_loss(clf, X, y):
    return np.mean((clf.decision_function(X) + 0.5 - y) ** 2)


@given(partly_labelled(max_features=1))
def test_one_feature_never_worse_than_supervised(problem):
    X, truth, y = problem
    clf = ICLSClassifier(fit_intercept=False, metric="labeled").fit(X, y)
    supervised = squared_loss(clf.supervised_, X, truth)
    assert squared_loss(clf, X, truth) <= supervised * (1 + 1e-9) + 1e-9


@given(partly_labelled(max_features=6), st.booleans())
def test_projection_never_worse_than_supervised(problem, fit_intercept):
    X, truth, y = problem
    clf = ICLSClassifier(metric="all", fit_intercept=fit_intercept).fit(X, y)
    supervised = squared_loss(clf.supervised_, X, truth)
    assert squared_loss(clf, X, truth) <= supervised * (1 + 1e-6) + 1e-6


@given(partly_labelled(max_features=4), st.sampled_from([0.0, 0.1]), st.data())
def test_labelled_loss_lies_between_supervised_and_any_labelling(problem, alpha, data):
    X, truth, y = problem
    known = y >= 0
    clf = ICLSClassifier(alpha=alpha, metric="labeled").fit(X, y)
    proof = clf.certificate_
    twin = clf.supervised_.coef_[0]
    lowest = squared_loss(clf.supervised_, X[known], y[known]) + alpha * twin @ twin
    own = squared_loss(clf, X[known], y[known]) + alpha * clf.coef_[0] @ clf.coef_[0]
    assert own == pytest.approx(proof.objective, abs=1e-7)
    assert own >= lowest - 1e-9
    guess = data.draw(arrays(np.int64, len(y), elements=st.integers(0, 1)))
    for labelling in (truth, np.where(known, y, guess)):
        other = LeastSquaresClassifier(alpha=alpha).fit(X, labelling) if _two(labelling) else None
        if other is not None:
            loss = squared_loss(other, X[known], y[known]) + alpha * other.coef_[0] @ other.coef_[0]
            assert loss >= proof.lower_bound - 1e-9


def _two(labels):
    return len(np.unique(labels)) == 2


@pytest.mark.parametrize("metric", ["labeled", "all", "euclidean"])
@given(seed=st.integers(0, 2**32 - 1))
def test_random_labellings_respect_the_lower_bound(metric, seed):
    """Recomputed from scratch with NumPy: the certificate's own algebra is not used."""
    rng = np.random.default_rng(seed)
    L, U, d = rng.integers(3, 12), rng.integers(1, 15), rng.integers(1, 5)
    X = rng.normal(size=(L + U, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d)
    y = np.r_[0, 1, rng.integers(0, 2, L - 2)]
    clf = ICLSClassifier(metric=metric).fit(X[:L], y, X_unlabeled=X[L:])
    D = np.column_stack([np.ones(L + U), X - X.mean(axis=0)])
    twin = clf.supervised_
    beta_sup = np.r_[twin.intercept_ + 0.5 + X.mean(axis=0) @ twin.coef_[0], twin.coef_[0]]
    for _ in range(5):
        q = rng.uniform(-0.3, 1.3, U).clip(0, 1)
        beta = np.linalg.lstsq(D, np.r_[y, q])[0]
        objective = {
            "labeled": np.sum((D[:L] @ beta - y) ** 2),
            "all": np.sum((D @ (beta - beta_sup)) ** 2) * L / (L + U),
            "euclidean": np.sum((beta - beta_sup) ** 2),
        }[metric] / L
        assert objective >= clf.certificate_.lower_bound - 1e-9
