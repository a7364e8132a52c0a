import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse import issparse
from scipy.stats import norm

from primum import ICLSClassifier, LeastSquaresClassifier, SelfLearningClassifier
from primum.simulated import (
    harmful_clusters,
    harmful_clusters_bayes_error,
    one_feature,
    one_feature_answer,
    sparse_text,
    sparse_text_bayes_error,
    two_gaussians,
    two_gaussians_bayes_error,
)

MANY = 200_000
NOISE = 4 * 0.5 / math.sqrt(MANY)  # four standard errors of a share


@pytest.mark.parametrize("generator", [two_gaussians, harmful_clusters, one_feature])
def test_seeds_repeat(generator):
    X, y = generator(30, random_state=3)
    again, y_again = generator(30, random_state=3)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, generator(30, random_state=4)[0])


@pytest.mark.parametrize(("distance", "prior"), [(2.0, 0.5), (1.0, 0.2), (3.0, 0.9)])
def test_two_gaussians_bayes_error_is_that_of_the_best_rule(distance, prior):
    X, y = two_gaussians(MANY, 3, distance=distance, prior=prior, random_state=0)
    along = X.sum(axis=1) / math.sqrt(3)
    best = along * distance > math.log((1 - prior) / prior)
    assert abs((best != y).mean() - two_gaussians_bayes_error(distance, prior)) < NOISE


def test_two_gaussians_extremes():
    assert two_gaussians_bayes_error(2.0) == pytest.approx(norm.cdf(-1))
    assert two_gaussians_bayes_error(0.0, 0.3) == 0.3
    assert two_gaussians_bayes_error(2.0, 1.0) == 0.0
    with pytest.raises(ValueError, match=r"prior is 1\.5 but must be between 0 and 1"):
        two_gaussians(5, prior=1.5)
    with pytest.raises(ValueError, match="distance is -1 but must be at least 0"):
        two_gaussians_bayes_error(-1)


def test_harmful_clusters_facts():
    X, y = harmful_clusters(MANY, 3, random_state=1)
    assert np.abs(X[:, 1]).min() >= 2  # the gap is empty, 4 wide
    cluster = X[:, 1] > 0
    assert abs((cluster != y).mean() - 0.3) < NOISE
    prior = np.where(cluster, 0.7, 0.3)
    best = X[:, 0] * 2.0 > np.log((1 - prior) / prior)
    assert abs((best != y).mean() - harmful_clusters_bayes_error()) < NOISE
    with pytest.raises(ValueError, match="n_features is 1 but must be at least 2"):
        harmful_clusters(5, 1)


def errors(repeat, n_labeled=10, n_unlabeled=300, n_test=1000):
    """Return test errors and squared losses of supervised, self-learning and ICLS."""
    n = n_labeled + n_unlabeled
    X, y = harmful_clusters(n + n_test, random_state=repeat)
    partly = np.where(np.arange(n) < n_labeled, y[:n], -1)
    found = []
    for model in (LeastSquaresClassifier(), SelfLearningClassifier(), ICLSClassifier()):
        score = model.fit(X[:n], partly).decision_function(X[n:]) + 0.5
        found.append([((score >= 0.5) != y[n:]).mean(), ((score - y[n:]) ** 2).mean()])
    return found


def test_clusters_harm_self_learning_and_not_icls():
    measured = np.array([errors(repeat) for repeat in range(60)])
    supervised, self_learning, icls = measured.mean(axis=0)
    worse = (measured[:, 1:, 0] > measured[:, :1, 0]).mean(axis=0)
    assert self_learning[0] > supervised[0] + 0.04
    assert worse[0] > 0.6
    assert icls[0] <= supervised[0]
    assert icls[1] < supervised[1]
    assert worse[1] < 0.3


def test_one_feature_answer_by_integration():
    means, prior = (-0.5, 1.0), 0.3
    answer = one_feature_answer(means, prior)

    def mean(f):
        return sum(
            w * quad(lambda x, m=m: f(x) * norm.pdf(x - m), -10, 10, points=[0.0])[0]
            for w, m in zip((1 - prior, prior), means, strict=True)
        )

    second = mean(lambda x: x * x)
    low, high = mean(lambda x: min(x, 0)) / second, mean(lambda x: max(x, 0)) / second
    assert answer.second_moment == pytest.approx(second)
    assert answer.interval == pytest.approx((low, high))
    assert low < answer.slope < high
    assert answer.constrain(99.0) == answer.interval[1]
    assert answer.constrain(answer.slope) == answer.slope


def test_one_feature_sample_agrees_with_its_answer():
    X, y = one_feature(MANY, prior=0.4, random_state=2)
    x, answer = X[:, 0], one_feature_answer(prior=0.4)
    assert (x @ y) / (x @ x) == pytest.approx(answer.slope, abs=0.005)
    for slope in (-1.0, answer.slope, 2.0):
        assert ((slope * x - y) ** 2).mean() == pytest.approx(answer.risk(slope), rel=0.01)
        assert answer.risk(answer.slope) <= answer.risk(slope)


def test_one_feature_theorem():
    """Never worse than supervised, and better on average, for unlimited unlabelled rows."""
    answer = one_feature_answer()
    X, y = one_feature(3000, random_state=5)
    supervised = (X[:, 0] * y).reshape(-1, 3).sum(axis=1) / (X**2).reshape(-1, 3).sum(axis=1)
    gains = [answer.risk(b) - answer.risk(answer.constrain(b)) for b in supervised]
    assert min(gains) >= 0
    assert np.mean(gains) > 0.01


def test_icls_approaches_the_constrained_slope():
    answer = one_feature_answer()
    X, _ = one_feature(4000, random_state=6)
    X[:2, 0] = [0.1, 0.2]  # two rows of class 1 close to zero: a slope far outside the interval
    y = np.full(len(X), -1)
    y[:2] = [1, 1]
    y[2], X[2] = 0, 0.0  # a row at zero names the other class and says nothing of the slope
    fitted = ICLSClassifier(fit_intercept=False).fit(X, y)
    assert fitted.supervised_.coef_[0, 0] == pytest.approx(6.0)
    assert fitted.coef_[0, 0] == pytest.approx(answer.constrain(6.0), abs=0.03)


def test_sparse_text_shape_and_counts():
    X, y = sparse_text(500, 2000, 0.01, random_state=0)
    assert issparse(X)
    assert X.format == "csr"
    assert X.dtype == np.float64
    assert X.shape == (500, 2000)
    assert X.has_canonical_format
    assert set(X.sum(axis=1)) == {20.0}
    assert 0.9 * 0.01 < X.nnz / (500 * 2000) <= 0.01
    assert set(y) == {0, 1}
    again, _ = sparse_text(500, 2000, 0.01, random_state=0)
    assert (again != X).nnz == 0


@pytest.mark.parametrize("words", [1, 4, 5])
def test_sparse_text_bayes_error_is_that_of_the_best_rule(words):
    X, y = sparse_text(50_000, 100, words / 100, purity=0.8, random_state=1)
    lead = X[:, 50:].sum(axis=1) - X[:, :50].sum(axis=1)
    error = ((lead > 0) != y)[lead != 0].sum() + (lead == 0).sum() / 2
    expected = sparse_text_bayes_error(100, words / 100, purity=0.8)
    assert error / len(y) == pytest.approx(expected, abs=0.008)


def test_sparse_text_refuses_bad_sizes():
    with pytest.raises(ValueError, match="n_features is 7 but must be even"):
        sparse_text(5, 7)
    with pytest.raises(ValueError, match="density is 2 but must be between 0 and 1"):
        sparse_text(5, 8, 2)
