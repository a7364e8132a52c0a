"""Tuned estimators: the same scores and choices as a grid search over the plain ones."""

import pickle

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, check_scoring, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from generate import several_classes, two_classes
from primum import (
    ICLSClassifier,
    ICLSClassifierCV,
    LeastSquaresClassifier,
    LeastSquaresClassifierCV,
)
from primum.reading.folds import SemiSupervisedSplit

ALPHAS, METRICS = (0.003, 0.1, 3.0), (0.0, 0.2, 1.0)


def brier(y, probability, sample_weight=None):
    """Return the Brier score as documented, of labels 0, 1, ..."""
    if probability.ndim == 1:  # scikit-learn passes that of the second class
        probability = np.column_stack([1 - probability, probability])
    one_hot = np.eye(probability.shape[1])[y]
    squares = ((probability - one_hot) ** 2).sum(axis=1)
    if probability.shape[1] == 2:
        squares = squares / 2
    return -np.average(squares, weights=sample_weight)


brier_scorer = make_scorer(brier, response_method="predict_proba")


def partly_labelled(n_labeled=30, n_unlabeled=60, d=4, n_classes=2, seed=0):
    if n_classes == 2:
        X, y, X_u, _ = two_classes(n_labeled, n_unlabeled, d, seed=seed)
    else:
        X, y, X_u, _ = several_classes(n_labeled, n_unlabeled, d, n_classes, seed=seed)
    order = np.random.default_rng(seed).permutation(n_labeled + n_unlabeled)
    return np.vstack([X, X_u])[order], np.r_[y, np.full(n_unlabeled, -1)][order]


def grid_search(cv=3, scoring=brier_scorer, alphas=ALPHAS, metrics=METRICS, **parameters):
    if not isinstance(cv, list):
        cv = SemiSupervisedSplit(cv)
    grid = {"alpha": alphas, "metric": metrics}
    return GridSearchCV(ICLSClassifier(**parameters), grid, cv=cv, scoring=scoring)


def assert_same_search(tuned, search, n_splits=3):
    for number in range(n_splits):
        key = f"split{number}_test_score"
        np.testing.assert_allclose(
            tuned.cv_results_[key], search.cv_results_[key], rtol=0, atol=1e-8
        )
    for key in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(
            tuned.cv_results_[key], search.cv_results_[key], rtol=0, atol=1e-8
        )
    assert tuned.cv_results_["params"] == search.cv_results_["params"]
    for key in (key for key in search.cv_results_ if key.startswith("param_")):
        np.testing.assert_array_equal(tuned.cv_results_[key], search.cv_results_[key])
    assert tuned.best_score_ == pytest.approx(search.best_score_, abs=1e-8)
    if np.sum(search.cv_results_["mean_test_score"] > search.best_score_ - 1e-10) == 1:
        assert tuned.best_params_ == search.best_params_
    else:  # the search chooses by rounding, we the first
        assert tuned.best_index_ <= search.best_index_


class TestSameAsGridSearch:
    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize("d", [4, 40])
    def test_scores_and_choice(self, n_classes, fit_intercept, d):
        X, y = partly_labelled(d=d, n_classes=n_classes)
        tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3, fit_intercept=fit_intercept).fit(X, y)
        search = grid_search(fit_intercept=fit_intercept).fit(X, y)
        assert_same_search(tuned, search)
        np.testing.assert_allclose(tuned.coef_, search.best_estimator_.coef_)
        np.testing.assert_allclose(tuned.predict_proba(X), search.predict_proba(X))

    def test_more_columns_than_rows(self):
        X, y = partly_labelled(20, 30, 80)
        tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(X, y)
        assert_same_search(tuned, grid_search().fit(X, y))

    @pytest.mark.parametrize(
        "scale", [1.0, np.array([1e-5, 1e5, 1.0, 1e3])], ids=["plain", "units"]
    )
    def test_tiny_ridges_and_none(self, scale):
        X, y = partly_labelled()
        alphas, metrics = (0.0, 1e-9, 1e-4), (0.0, 0.5)
        tuned = ICLSClassifierCV(alphas, metrics, cv=3).fit(X * scale, y)
        assert_same_search(tuned, grid_search(alphas=alphas, metrics=metrics).fit(X * scale, y))

    @pytest.mark.filterwarnings("ignore::primum.UndeterminedModelWarning")
    def test_models_that_the_labelled_rows_do_not_determine(self):
        X, y = partly_labelled(12, 60, 20)
        alphas, metrics = (0.0, 0.1), (0.0, 0.2, "euclidean")
        tuned = ICLSClassifierCV(alphas, metrics, cv=3).fit(X, y)
        search = grid_search(alphas=alphas, metrics=metrics).fit(X, y)
        # A tie-break is proven within the root of tol only.
        np.testing.assert_allclose(
            tuned.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], atol=1e-6
        )
        assert tuned.best_params_ == search.best_params_

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_weights(self, n_classes):
        X, y = partly_labelled(n_classes=n_classes)
        weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
        weight[y >= 0] += 1.0
        weight[np.flatnonzero(y >= 0)[5]] = 0.0
        tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(X, y, sample_weight=weight)
        with config_context(enable_metadata_routing=True):
            scoring = make_scorer(brier, response_method="predict_proba")
            scoring.set_score_request(sample_weight=True)
            search = grid_search(scoring=scoring)
            search.estimator.set_fit_request(sample_weight=True)
            search.fit(X, y, sample_weight=weight)
        assert_same_search(tuned, search)
        repeated = np.repeat(np.arange(len(y)), weight.astype(int))
        assert tuned.best_estimator_.fit(X[repeated], y[repeated]).coef_ == pytest.approx(
            tuned.coef_
        )

    def test_sparse_rows(self):
        X, y = partly_labelled(d=12)
        X = np.where(np.abs(X) > 1.2, X, 0.0)
        tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(sparse.csr_array(X), y)
        assert_same_search(tuned, grid_search().fit(X, y))

    def test_further_rows(self):
        X, y = partly_labelled()
        known = y >= 0
        tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(X[known], y[known], X[~known])
        assert_same_search(tuned, grid_search().fit(X, y))
        assert tuned.soft_labels_.shape == (60,)

    @pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc"])
    def test_scorers(self, scoring):
        X, y = partly_labelled()
        tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3, scoring=scoring).fit(X, y)
        assert_same_search(tuned, grid_search(scoring=scoring).fit(X, y))

    def test_fixed_ridge_of_the_labelled_loss(self):
        X, y = partly_labelled()
        tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3, alpha_labeled=0.05).fit(X, y)
        assert_same_search(tuned, grid_search(alpha_labeled=0.05).fit(X, y))

    def test_twin(self):
        X, y = partly_labelled()
        tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(X, y)
        search = GridSearchCV(
            LeastSquaresClassifier(),
            {"alpha": ALPHAS},
            cv=SemiSupervisedSplit(3),
            scoring=brier_scorer,
        ).fit(X, y)
        alone = LeastSquaresClassifierCV(ALPHAS, cv=3).fit(X, y)
        for twin in (tuned.supervised_, alone):
            assert_same_search(twin, search)
            np.testing.assert_allclose(twin.coef_, search.best_estimator_.coef_)
        assert tuned.supervised_.get_params() == alone.get_params()

    def test_parallel_folds(self):
        X, y = partly_labelled()
        # In threads, which start at once; tests/safe/test_classifier.py has processes.
        with joblib.parallel_config("threading"):
            one, two = (ICLSClassifierCV(ALPHAS, METRICS, cv=3, n_jobs=n).fit(X, y) for n in (1, 2))
        np.testing.assert_array_equal(
            one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
        )


class TestFolds:
    @settings(max_examples=15, deadline=None)
    @given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 3))
    def test_held_out_labels_change_nothing_but_their_score(self, seed, n_classes):
        """A scorer sees the fold's predictions, which must not depend on the held-out labels."""
        X, y = partly_labelled(20, 25, 3, n_classes, seed)
        rng = np.random.default_rng(seed)
        known = np.flatnonzero(y >= 0)
        held_out = rng.choice(known, 4, replace=False)
        train = np.setdiff1d(known, held_out)
        changed = y.copy()
        changed[held_out] = rng.integers(0, n_classes, 4)
        seen = []

        def record(clf, X, y):
            seen.append(clf.decision_function(X))
            return 0.0

        if len(np.unique(y[train])) < n_classes:
            return
        for labels in (y, changed):
            tuned = ICLSClassifierCV((0.01, 1.0), (0.0, 1.0), cv=[(train, held_out)])
            tuned.set_params(scoring=record).fit(X, labels)
        before, after = np.split(np.array(seen), 2)
        np.testing.assert_array_equal(before, after)

    def test_the_order_of_the_rows_of_a_fold_does_not_matter(self):
        """Also if the first and the last are as far apart as if they were consecutive."""
        X, y, X_u, _ = two_classes(40, 60, 3, seed=1)
        held_out = np.array([3, 6, 9, 10, 15, 21, 30, 33, 38, 12])
        train = np.setdiff1d(np.arange(40), held_out)
        assert held_out[-1] - held_out[0] + 1 == len(held_out)
        scores = [
            ICLSClassifierCV(ALPHAS, METRICS, cv=[(train, test)]).fit(X, y, X_u).cv_results_
            for test in (held_out, np.sort(held_out))
        ]
        np.testing.assert_allclose(*(found["mean_test_score"] for found in scores), rtol=1e-12)

    def test_splitters_iterables_and_groups(self):
        X, y = partly_labelled()
        known = np.flatnonzero(y >= 0)
        groups = np.arange(len(y)) % 5
        splits = list(SemiSupervisedSplit(3).split(X, y))
        pairs = [(np.intersect1d(train, known), test) for train, test in splits]
        results = [
            ICLSClassifierCV(ALPHAS, METRICS, cv=cv).fit(X, y).cv_results_["mean_test_score"]
            for cv in (3, StratifiedKFold(3), SemiSupervisedSplit(3), splits, pairs)
        ]
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0])
        by_group = ICLSClassifierCV(ALPHAS, METRICS, cv=GroupKFold(5)).fit(X, y, groups=groups)
        assert by_group.n_splits_ == 5
        search = grid_search(GroupKFold(5)).fit(X, y, groups=groups)
        assert_same_search(by_group, search, 5)

    def test_shuffling(self):
        X, y = partly_labelled()

        def scores(cv=3, **parameters):
            tuned = LeastSquaresClassifierCV(ALPHAS, cv=cv, **parameters).fit(X, y)
            return tuned.cv_results_["split0_test_score"]

        shuffled = scores(shuffle=True, random_state=0)
        np.testing.assert_array_equal(shuffled, scores(shuffle=True, random_state=0))
        assert (shuffled != scores()).any()
        with pytest.raises(ValueError, match="shuffle=True needs a number of folds"):
            scores(ShuffleSplit(3), shuffle=True)


def test_one_point_is_the_plain_estimator():
    X, y = partly_labelled()
    tuned = ICLSClassifierCV([0.1], [0.2], cv=3).fit(X, y)
    plain = ICLSClassifier(0.1, metric=0.2).fit(X, y)
    assert (tuned.alpha_, tuned.metric_) == (0.1, 0.2)
    np.testing.assert_array_equal(tuned.coef_, plain.coef_)
    np.testing.assert_array_equal(tuned.soft_labels_, plain.soft_labels_)
    np.testing.assert_array_equal(tuned.predict(X), plain.predict(X))
    assert str(tuned.certificate_) == str(plain.certificate_)
    assert tuned.score(X, y) == plain.score(X, y)


def test_no_unlabelled_rows():
    X, y, *_ = two_classes(30, 0, 4)
    tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(X, y)
    np.testing.assert_allclose(
        tuned.cv_results_["mean_test_score"].reshape(3, 3),
        np.repeat(tuned.supervised_.cv_results_["mean_test_score"][:, None], 3, axis=1),
    )


def test_of_equal_scores_the_first_is_chosen():
    """With many labels the supervised twin can be attained, and all metrics give it."""
    X, y = partly_labelled(200, 20, 2)
    tuned = ICLSClassifierCV([0.1], [1.0, 0.5, 0.0, 0.2], cv=3).fit(X, y)
    assert tuned.supervised_.best_score_ == pytest.approx(tuned.best_score_)
    assert tuned.cv_results_["rank_test_score"].tolist() == [1, 1, 1, 1]
    assert tuned.metric_ == 1.0


def test_clone_and_pickle():
    X, y = partly_labelled()
    tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3).fit(X, y)
    copy = pickle.loads(pickle.dumps(tuned))
    np.testing.assert_array_equal(copy.predict_proba(X), tuned.predict_proba(X))
    again = clone(tuned).fit(X, y)
    np.testing.assert_array_equal(again.coef_, tuned.coef_)
    with pytest.raises(ValueError, match="alphas is empty"):
        again.set_params(alphas=[]).fit(X, y)
    assert not hasattr(again, "coef_")


def test_rows_in_files(tmp_path):
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    X, y = partly_labelled()
    known = y >= 0
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame[~known].to_parquet(tmp_path / "rows.parquet", index=False)
    tuned = ICLSClassifierCV(ALPHAS, METRICS, cv=3)
    tuned.fit(frame[known], y[known], tmp_path / "rows.parquet")
    assert_same_search(tuned, grid_search().fit(X, y))
    labels = tuned.soft_labels(tmp_path / "rows.parquet")
    np.testing.assert_allclose(labels, tuned.best_estimator_.fit(X, y).soft_labels_, atol=1e-6)
    assert tuned.feature_names_in_.tolist() == list("abcd")


def wide_rows(n_rows=90, n_columns=70, n_labeled=30):
    rng = np.random.default_rng(0)
    truth = np.arange(n_rows) % 2
    X = sparse.csr_array(rng.poisson(0.2, (n_rows, n_columns)) + truth[:, None] * np.eye(1, 70))
    return X, np.where(np.arange(n_rows) < n_labeled, truth, -1)


@pytest.mark.parametrize("outside", [False, True], ids=["in X", "in X_unlabeled"])
def test_wide_rows_are_searched_with_a_sample_and_fitted_as_a_whole(monkeypatch, outside):
    monkeypatch.setattr("primum.methods.least_squares.grid_search.MAX_NARROW_SIZE", 40)
    X, y = wide_rows()
    grid = {"alphas": [0.01, 0.1, 1.0], "metrics": [0.0, 0.5], "cv": 3}
    split = (X[:50], y[:50], X[50:]) if outside else (X, y)
    clf = ICLSClassifierCV(**grid, max_search_rows=20).fit(*split)
    sample = 30 + np.sort(np.random.default_rng(0).choice(60, 20, replace=False))
    rows = np.concatenate([np.arange(30), sample])
    small = ICLSClassifierCV(**grid).fit(X[rows], y[rows])  # at most MAX_NARROW_SIZE rows
    np.testing.assert_allclose(
        clf.cv_results_["mean_test_score"], small.cv_results_["mean_test_score"], rtol=1e-9
    )
    assert clf.soft_labels_.shape == (60,)
    plain = ICLSClassifier(**clf.best_params_).fit(X, y)
    np.testing.assert_allclose(clf.coef_, plain.coef_, atol=1e-6)


@pytest.mark.parametrize("most", [None, 60])
def test_wide_rows_are_searched_as_a_whole_if_asked(monkeypatch, most):
    X, y = wide_rows()
    grid = {"alphas": [0.01, 1.0], "metrics": [0.0], "cv": 3}
    whole = ICLSClassifierCV(**grid).fit(X, y)
    monkeypatch.setattr("primum.methods.least_squares.grid_search.MAX_NARROW_SIZE", 40)
    clf = ICLSClassifierCV(**grid, max_search_rows=most).fit(X, y)
    assert np.array_equal(clf.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])


def test_partial_labels_of_the_sample_are_its_own(monkeypatch):
    monkeypatch.setattr("primum.methods.least_squares.grid_search.MAX_NARROW_SIZE", 40)
    X, y = wide_rows()
    y[:30] = np.arange(30) % 3
    possible = np.ones((90, 3), dtype=bool)
    possible[np.arange(30, 90), np.arange(30, 90) % 3] = False  # two classes, other ones in each
    grid = {"alphas": [0.01, 0.1], "metrics": [0.0, 0.5], "cv": 3}
    clf = ICLSClassifierCV(**grid, max_search_rows=20).fit(X, y, possible=possible)
    sample = 30 + np.sort(np.random.default_rng(0).choice(60, 20, replace=False))
    rows = np.concatenate([np.arange(30), sample])
    small = ICLSClassifierCV(**grid).fit(X[rows], y[rows], possible=possible[rows])
    scores, same = (one.cv_results_["mean_test_score"] for one in (clf, small))
    np.testing.assert_allclose(scores, same, rtol=1e-6)
    other = ICLSClassifierCV(**grid).fit(X[rows], y[rows], possible=possible[: len(rows)])
    assert np.abs(scores - other.cv_results_["mean_test_score"]).max() > 1e-4


def test_scorers_see_rows_as_they_were_given():
    pd = pytest.importorskip("pandas")
    X, y = partly_labelled()
    frame, labels = pd.DataFrame(X, columns=list("abcd")), pd.Series(y).map({0: "no", 1: "yes"})

    def score(clf, rows, truth):
        assert list(rows.columns) == list("abcd")
        assert set(truth) <= {"no", "yes"}
        return float(np.mean(clf.predict(rows) == truth))

    tuned = ICLSClassifierCV([0.1, 1.0], [0.2], cv=3, scoring=score).fit(frame, labels)
    plain = ICLSClassifierCV([0.1, 1.0], [0.2], cv=3, scoring="accuracy").fit(X, y)
    np.testing.assert_allclose(
        tuned.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("estimator", [ICLSClassifierCV, LeastSquaresClassifierCV])
def test_score_is_that_of_the_scoring(estimator):
    """Of rows with known labels, like every score of this library; None means accuracy."""
    X, y = partly_labelled()
    known = y >= 0
    weight = np.linspace(1.0, 2.0, len(y))
    for scoring in ("neg_log_loss", "balanced_accuracy", brier_scorer):
        tuned = estimator([0.1], scoring=scoring, cv=3).fit(X, y)
        scorer = check_scoring(tuned, scoring)
        assert tuned.score(X, y) == scorer(tuned, X[known], y[known])
        weighted = tuned.score(X, y, sample_weight=weight)
        assert weighted == scorer(tuned, X[known], y[known], sample_weight=weight[known])
    plain = estimator([0.1], cv=3).fit(X, y)
    assert plain.score(X, y) == np.mean(plain.predict(X[known]) == y[known])


def test_score_routes_the_weights_that_the_scorer_requested():
    X, y = partly_labelled()
    known, weight = y >= 0, np.linspace(1.0, 5.0, len(y))
    with config_context(enable_metadata_routing=True):
        for wanted in (True, False):
            scorer = make_scorer(accuracy_score).set_score_request(sample_weight=wanted)
            tuned = ICLSClassifierCV([0.1], [0.0], scoring=scorer, cv=3).fit(X, y)
            correct = tuned.predict(X[known]) == y[known]
            expected = np.average(correct, weights=weight[known] if wanted else None)
            assert tuned.score(X, y, sample_weight=weight) == pytest.approx(expected, abs=1e-15)


def test_unproven_models_are_counted():
    X, y = partly_labelled()
    tuned = ICLSClassifierCV([0.1], METRICS[:2], cv=3, max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning) as caught:
        tuned.fit(X, y)
    messages = [str(warning.message) for warning in caught]
    assert "6 of the 6 models that ICLSClassifierCV compared are not proven" in messages[0]
    assert "ICLSClassifier stopped after" in messages[1]


@pytest.mark.parametrize("labels", [2, 3, 7])
def test_the_default_number_of_folds_is_that_of_the_smallest_class(labels):
    X, y, X_u, _ = several_classes(60, 20, 3, 3)
    kept = np.concatenate([np.flatnonzero(y == k)[: labels + k] for k in range(3)])
    tuned = ICLSClassifierCV([0.1, 1.0], [0.0]).fit(X[kept], y[kept], X_u)
    assert tuned.n_splits_ == tuned.supervised_.n_splits_ == min(labels, 5)
    explicit = clone(tuned).set_params(cv=min(labels, 5)).fit(X[kept], y[kept], X_u)
    scores = explicit.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(tuned.cv_results_["mean_test_score"], scores)
    for cv in (StratifiedKFold(min(labels, 5)), SemiSupervisedSplit()):
        same = clone(tuned).set_params(cv=cv).fit(X[kept], y[kept], X_u)
        np.testing.assert_array_equal(same.cv_results_["mean_test_score"], scores)


def test_one_label_of_a_class_cannot_be_held_out():
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 1, 1, -1, -1])
    message = "Cross-validation needs at least 2 labelled rows of every class, but class 0 has 1: "
    with pytest.raises(ValueError, match=message + "label more rows"):
        ICLSClassifierCV().fit(X, y)
    with pytest.raises(ValueError, match="cv=5 folds need at least 5 labelled rows of every class"):
        ICLSClassifierCV(cv=5).fit(X, y)


def expected_failures(estimator):
    return {
        "check_classifiers_classes": "it uses -1 as a class, which means unknown here",
    }


@parametrize_with_checks(
    [
        ICLSClassifierCV((0.01, 1.0), (0.0, 1.0), cv=2),
        LeastSquaresClassifierCV((0.01, 1.0), cv=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
