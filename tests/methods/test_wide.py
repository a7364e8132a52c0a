"""Wide rows, such as texts: fits and searches in the span of the rows are those to all columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import accuracy_score, make_scorer

from primum import ICLSClassifier, ICLSClassifierCV, ICLSRegressor, ICLSRegressorCV
from primum.equations import normal
from primum.methods.least_squares import grid_search
from primum.solvers import implicit


def texts(n_classes=3, n=60, d=150, n_labeled=15, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    of_class = rng.gamma(0.5, size=(n_classes, d))
    counts = np.stack([rng.multinomial(12, p / p.sum()) for p in of_class[truth]]).astype(float)
    counts /= np.linalg.norm(counts, axis=1, keepdims=True)
    return sparse.csr_array(counts), np.where(np.arange(n) < n_labeled, truth, -1)


def spans_of(monkeypatch, module):
    """Return a list that fills with the spans that a module computes."""
    spans, span_of = [], module.span_of

    def spy(*arguments):
        spans.append(span_of(*arguments))
        return spans[-1]

    monkeypatch.setattr(module, "span_of", spy)
    return spans


def both(monkeypatch, fit):
    """Return a fit to all columns, and one in the span of the rows."""
    spans = spans_of(monkeypatch, implicit)
    known = fit()
    assert spans == []
    monkeypatch.setattr(normal, "MIN_SPAN_NUMBERS", 1)
    monkeypatch.setattr(normal, "MAX_FACTORISED_NUMBERS", 150 * 59)  # 60 x 150 rows are too many
    other = fit()
    assert spans[0] is not None
    return known, other


def assert_same(one, other):
    assert_allclose(other.coef_, one.coef_, atol=1e-7)
    assert_allclose(other.intercept_, one.intercept_, atol=1e-7)
    assert other.certificate_.converged
    assert_allclose(other.certificate_.objective, one.certificate_.objective, atol=1e-9)
    assert_allclose(other.certificate_.shift, one.certificate_.shift, atol=1e-7)
    assert_allclose(other.supervised_.coef_, one.supervised_.coef_, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("metric", ["auto", "labeled", 0.3, "all", "euclidean"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_metric(monkeypatch, n_classes, metric, fit_intercept):
    X, y = texts(n_classes)
    clf = {"alpha": 0.003, "metric": metric, "fit_intercept": fit_intercept}
    one, other = both(monkeypatch, lambda: ICLSClassifier(**clf).fit(X, y))
    assert one.metric_ == other.metric_
    assert_same(one, other)


@pytest.mark.parametrize("kind", [sparse.csr_array, lambda X: X.toarray()], ids=["sparse", "dense"])
def test_weights_further_rows_and_a_prior(monkeypatch, kind):
    X, y = texts()
    weight = np.random.default_rng(0).uniform(0.0, 2.0, 40) * (np.arange(40) % 7 > 0)
    arguments = kind(X[:40]), y[:40], kind(X[40:])

    def fit():
        clf = ICLSClassifier(alpha=0.01, metric=0.3, prior={0: (0.3, 0.35)})
        return clf.fit(*arguments, sample_weight=weight)

    one, other = both(monkeypatch, fit)
    assert_same(one, other)
    assert_allclose(other.soft_labels_, one.soft_labels_, atol=1e-5)


def test_partial_labels(monkeypatch):
    X, y = texts()
    possible = np.ones((60, 3), dtype=bool)
    possible[np.arange(15, 60), np.arange(15, 60) % 3] = False
    fit = lambda: ICLSClassifier(alpha=0.003).fit(X, y, possible=possible)  # noqa: E731
    assert_same(*both(monkeypatch, fit))


def test_label_bounds(monkeypatch):
    X, y = texts(2)
    bounds = np.where(y[:, None] < 0, [[0.1, 0.7]], np.nan)
    fit = lambda: ICLSClassifier(alpha=0.003).fit(X, y, label_bounds=bounds)  # noqa: E731
    assert_same(*both(monkeypatch, fit))


def test_numbers(monkeypatch):
    X, y = texts()
    target = np.where(y >= 0, X.sum(axis=1), np.nan)
    one, other = both(monkeypatch, lambda: ICLSRegressor(alpha=0.01, bounds=(0, 5)).fit(X, target))
    assert_same(one, other)


def test_columns_beyond_those_that_are_factorised(monkeypatch):
    """Without a ridge, inner products do not tell the rank: such rows cannot be fitted."""
    X, y = texts()
    monkeypatch.setattr(normal, "MAX_FACTORISED_NUMBERS", 60**2)
    monkeypatch.setattr(normal, "MAX_FORMED_COLUMNS", 100)
    with pytest.raises(ValueError, match="With 150 features, more than 4096, and so many rows"):
        ICLSClassifier(alpha=0.003).fit(X, y)
    monkeypatch.setattr(normal, "MIN_SPAN_NUMBERS", 1)
    assert ICLSClassifier(alpha=0.003).fit(X, y).certificate_.converged
    with pytest.raises(ValueError, match="and so many rows, this fit cannot be computed"):
        ICLSClassifier().fit(X, y)


def in_span(monkeypatch, fit):
    """Return a search of all columns, and one in the span of the rows."""
    known = fit()
    monkeypatch.setattr(grid_search, "MAX_NARROW_SIZE", 100)
    spans = spans_of(monkeypatch, grid_search)
    other = fit()
    assert spans[0] is not None
    return known, other


GRID = {"alphas": [0.01, 0.1, 1.0], "metrics": [0.0, 0.5, 1.0], "cv": 3}
ACCURACY = make_scorer(accuracy_score)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", [None, ACCURACY], ids=["brier", "scorer"])
def test_a_search_in_the_span_has_the_same_scores(monkeypatch, n_classes, scoring):
    X, y = texts(n_classes)
    order = np.random.default_rng(0).permutation(40)  # labelled rows are anywhere
    weight = np.linspace(0.5, 2.0, 40)

    def fit():
        clf = ICLSClassifierCV(**GRID, scoring=scoring)
        return clf.fit(X[order], y[order], X[40:], sample_weight=weight)

    one, other = in_span(monkeypatch, fit)
    for name in ("mean_test_score", "split2_test_score"):
        assert_allclose(other.cv_results_[name], one.cv_results_[name], atol=1e-9)


def test_a_search_for_numbers_in_the_span(monkeypatch):
    X, y = texts()
    target = np.where(y >= 0, X.sum(axis=1), np.nan)
    reg = ICLSRegressorCV(**GRID, bounds=(0, 5))
    one, other = in_span(monkeypatch, lambda: reg.fit(X, target).cv_results_["mean_test_score"])
    assert_allclose(other, one, atol=1e-9)


def test_scorers_get_models_of_all_columns(monkeypatch):
    monkeypatch.setattr(grid_search, "MAX_NARROW_SIZE", 100)
    X, y = texts()
    seen = []

    def score(clf, rows, truth):
        seen.append((rows.shape[1], clf.coef_.shape[1]))
        return clf.score(rows, truth)

    ICLSClassifierCV(**GRID, scoring=score).fit(X, y)
    assert set(seen) == {(150, 150)}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_soft_labels_of_given_rows_after_a_fit_in_the_span(monkeypatch, n_classes):
    monkeypatch.setattr(normal, "MIN_SPAN_NUMBERS", 1)
    X = np.random.default_rng(0).normal(size=(60, 400)) + 1000  # centres far from 0
    y = np.arange(20) % n_classes
    model = ICLSClassifier(alpha=10.0).fit(X[:20], y, X[20:])
    assert_allclose(model.soft_labels(X[20:]), model.soft_labels_, rtol=0.0, atol=0.0)


def test_targets_of_given_rows_after_a_fit_in_the_span(monkeypatch):
    monkeypatch.setattr(normal, "MIN_SPAN_NUMBERS", 1)
    X = np.random.default_rng(0).normal(size=(60, 400)) + 1000
    model = ICLSRegressor(alpha=10.0, bounds=(900, 1100)).fit(X[:20], X[:20, 0], X[20:])
    assert_allclose(model.targets(X[20:]), model.targets_, rtol=0.0, atol=0.0)
