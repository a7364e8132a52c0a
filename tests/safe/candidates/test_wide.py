"""Wide sparse rows: what is reduced, for whom, and that nothing else changes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from primum import SafeClassifier
from primum.safe.candidates.base import ReducedModel
from primum.safe.candidates.paths import Principal
from primum.safe.rows import MAX_WIDE_COLUMNS, SVD_RANK, as_given


def topics(n_rows=300, n_words=MAX_WIDE_COLUMNS + 200, seed=0):
    """Return counts of words in documents of two topics, and the topics."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_rows)
    rates = rng.gamma(0.05, size=(2, n_words)) + 0.01
    return sparse.csr_array(rng.poisson(rates[truth]).astype(float)), truth


def test_a_ridge_regression_in_the_space_of_the_rows_is_the_same():
    X, truth = topics(30)
    rows = Principal.of(X, None)
    assert rows.Z.shape[1] <= 30
    direct = Ridge(0.5).fit(X.toarray(), truth)
    model = Ridge(0.5).fit(rows.Z, truth)
    coef, intercept = rows.linear(model.coef_, model.intercept_)
    np.testing.assert_allclose(coef, direct.coef_, atol=1e-8)
    np.testing.assert_allclose(intercept, direct.intercept_, atol=1e-8)


def test_rare_words_weigh_more_and_columns_without_zeros_do_not():
    X = sparse.csr_array([[1.0, 2.0, 0.0], [3.0, 0.0, 0.0], [2.0, 0.0, 1.0]])
    weight = 1 / as_given(X).scale
    np.testing.assert_allclose(weight, [1.0, 1 + np.log(2), 1 + np.log(2)])
    assert (as_given(X.toarray()).scale == 1).all()


@pytest.mark.parametrize("candidate", ["components", "spreading"])
def test_only_candidates_that_use_unlabelled_rows_see_their_components(candidate):
    X, truth = topics()
    y = np.where(np.arange(len(truth)) < 40, truth, -1)
    quick = {"standardize": False, "cv": 3, "n_repeats": 1, "random_state": 0}
    found = SafeClassifier([candidate], **quick).fit(X, y)
    # Other unlabelled rows change the candidate, but no supervised model.
    others = sparse.vstack([X[:40], topics(seed=1)[0][40:]]).tocsr()
    other = SafeClassifier([candidate], **quick).fit(others, y)
    for name in ("baseline_", "supervised_"):
        scores = [getattr(model, name).predict_proba(X) for model in (found, other)]
        np.testing.assert_allclose(*scores, atol=1e-8)
    assert np.abs(found.predict_proba(X) - other.predict_proba(X)).max() > 1e-5
    model = found.models_[candidate]
    assert isinstance(model, ReducedModel) == (candidate == "spreading")
    if isinstance(model, ReducedModel):
        assert model.reduction.directions.shape == (X.shape[1], SVD_RANK)
    assert np.mean(found.predict(X[40:]) == truth[40:]) > 0.9
