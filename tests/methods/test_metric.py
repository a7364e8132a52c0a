"""The metric between ICLS and the projected estimator, and which model its limit takes."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from generate import hard_cases, two_classes
from primum import ICLSClassifier, LeastSquaresClassifier, UndeterminedModelWarning
from primum.labellings import implicit
from primum_lab.as_published import PublishedICLS
from reference_solver import solving

CASES = hard_cases()
MANY_STEPS = ("L < d", "ridge on all rows only")  # of L-BFGS-B: ten thousand
LIMIT = {"metric": "labeled"}
SHARES = [0.01, 0.1, 0.5, 1.0]


def design(X):
    return np.column_stack([np.ones(len(X)), X])


def parameters(clf):
    return np.r_[clf.intercept_ + 0.5, clf.coef_[0]]


def metric_matrix(X, n_labeled, share, alpha):
    """Return H_s for coefficients with a leading intercept, with plain NumPy."""
    D = design(X)
    labeled, every = D[:n_labeled].T @ D[:n_labeled] / n_labeled, D.T @ D / len(D)
    ridge = alpha * np.diag(np.r_[0.0, np.ones(X.shape[1])])
    return (1 - share) * (labeled + ridge) + share * (every + ridge)


def random_problem(seed, max_features=7):
    rng = np.random.default_rng(seed)
    L, U, d = rng.integers(3, 14), rng.integers(1, 25), rng.integers(1, max_features)
    X = rng.normal(size=(L + U, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d)
    truth = np.r_[0, 1, rng.integers(0, 2, L + U - 2)]
    return X, truth, L


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("n_problems", [50, pytest.param(150, marks=pytest.mark.slow)])
def test_never_further_from_the_true_model_than_the_twin(share, alpha, n_problems):
    """The theorem, in each of eight settings, whatever the true labels are."""
    for seed in range(n_problems):
        X, truth, L = random_problem(seed)
        y = np.r_[truth[:L], np.full(len(X) - L, -1)]
        clf = ICLSClassifier(alpha, metric=share).fit(X, y)
        oracle = parameters(LeastSquaresClassifier(alpha).fit(X, truth))
        H = metric_matrix(X, L, share, alpha)

        def distance(model, H=H, oracle=oracle):
            step = parameters(model) - oracle
            return step @ H @ step

        assert distance(clf) <= distance(clf.supervised_) * (1 + 1e-7) + 1e-9, seed


def test_with_a_ridge_the_promise_is_about_the_penalised_loss():
    """The squared loss alone can rise; the penalised one cannot."""
    worse = []
    for seed in range(200):
        X, truth, L = random_problem(seed)
        y = np.r_[truth[:L], np.full(len(X) - L, -1)]
        clf = ICLSClassifier(0.3, metric="all").fit(X, y)
        losses = np.array(
            [
                (np.mean((design(X) @ beta - truth) ** 2), 0.3 * beta[1:] @ beta[1:])
                for beta in (parameters(clf), parameters(clf.supervised_))
            ]
        )
        assert losses[0].sum() <= losses[1].sum() + 1e-9
        worse.append(losses[0, 0] > losses[1, 0] + 1e-9)
    assert any(worse)


@pytest.mark.filterwarnings("ignore:ICLSClassifier stopped:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("metric", ["labeled", 0.03, "all"])
@pytest.mark.parametrize(
    ("case", "solvers"),
    [
        *((case, ("scale", "reference")) for case in CASES),
        *((case, ("lbfgsb",)) for case in CASES if case not in MANY_STEPS),
        *(pytest.param(case, ("lbfgsb",), marks=pytest.mark.slow) for case in MANY_STEPS),
    ],
)
def test_all_solvers_give_one_model(case, metric, solvers):
    X, y, X_u, more = CASES[case]
    rows = np.vstack([X, X_u])

    def scores(solver):
        with pytest.MonkeyPatch.context() as patch, solving(solver) as name:
            clf = ICLSClassifier(metric=metric, solver=name, tol=1e-12, **more)
            if solver == "scale":
                patch.setattr(implicit, "MAX_FORMED_NUMBERS", 0)
            return clf.fit(X, y, X_unlabeled=X_u).decision_function(rows)

    expected = scores("newton")
    for solver in solvers:
        assert np.sqrt(np.mean((scores(solver) - expected) ** 2)) <= 1e-6, solver


@pytest.mark.parametrize("seed", range(10))
def test_the_tie_break_does_not_matter_where_labels_determine_the_model(seed):
    X, y, X_u, _ = two_classes(20, 100, 6, seed=seed)
    twin, half = (
        PublishedICLS(tie_break=t, rcond=None).fit(X, y, X_unlabeled=X_u) for t in ("twin", "half")
    )
    np.testing.assert_array_equal(twin.coef_, half.coef_)
    assert twin.certificate_.determined
    assert twin.certificate_.tie_break is None
    assert twin.certificate_.distance_gap is None


@pytest.mark.parametrize("n_labeled", [4, 10, 14])
@pytest.mark.parametrize("seed", range(5))
def test_the_tie_break_is_the_limit_of_the_metrics(seed, n_labeled):
    X, y, X_u, _ = two_classes(n_labeled, 60, 15, seed=seed, separation=2.0)
    limit = ICLSClassifier(tol=1e-13, metric="labeled").fit(X, y, X_unlabeled=X_u)
    near = ICLSClassifier(metric=1e-7, tol=1e-13).fit(X, y, X_unlabeled=X_u)
    rows = np.vstack([X, X_u])
    np.testing.assert_allclose(
        limit.decision_function(rows), near.decision_function(rows), atol=3e-4
    )


@pytest.mark.parametrize("seed", range(20))
def test_no_labelling_with_the_same_loss_is_nearer_to_the_twin(seed):
    """The labelling closest to 1/2 has the same labelled loss: it must respect the bound."""
    X, y, X_u, _ = two_classes(8, 60, 15, seed=seed)
    proof = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u).certificate_
    other = PublishedICLS(rcond=None).fit(X, y, X_unlabeled=X_u).certificate_
    assert proof.converged
    assert not proof.determined
    assert other.objective == pytest.approx(proof.objective, abs=1e-9)
    assert other.distance >= proof.distance - proof.distance_gap
    assert (proof.tie_break, other.tie_break) == ("twin", "half")


@pytest.mark.parametrize("weighted", [False, True])
def test_a_twin_that_is_possible_is_returned(weighted):
    X, y, X_u, _ = two_classes(6, 200, 20, seed=3)
    weight = np.linspace(0.5, 2, 6) if weighted else None
    clf = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u, sample_weight=weight)
    proof = clf.certificate_
    assert (proof.moved, proof.changed, proof.determined) == (False, 0, False)
    np.testing.assert_allclose(clf.coef_, clf.supervised_.coef_, atol=1e-5)


def test_labels_that_the_model_leaves_open_are_closest_to_half():
    """Many labellings give one model: the nearest to 1/2 is ``clip(1/2 + D v)`` for some v."""
    X, y, X_u, _ = two_classes(6, 200, 20, seed=3)
    clf = ICLSClassifier(tol=1e-12, metric="labeled").fit(X, y, X_unlabeled=X_u)
    q, D = clf.soft_labels_, design(X_u)
    inside = (q > 0) & (q < 1)
    assert inside.sum() > 21
    v = np.linalg.lstsq(D[inside], q[inside] - 0.5)[0]
    np.testing.assert_allclose(q, np.clip(0.5 + D @ v, 0, 1), atol=1e-5)


@pytest.mark.parametrize("metric", ["labeled", 0.1])
@pytest.mark.parametrize("n_labeled", [5, 12, 18])
def test_many_rows_give_the_same_model_as_few(n_labeled, metric):
    """The solver for many rows against the one in memory, with fewer labels than features."""
    X, y, X_u, _ = two_classes(n_labeled, 30_000, 16, seed=1, separation=2.0)
    scale = ICLSClassifier(metric=metric).fit(X, y, X_unlabeled=X_u)
    assert scale.solver_ == "scale"
    assert scale.certificate_.converged
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(implicit, "MAX_FORMED_ROWS", 10**6)
        newton = ICLSClassifier(metric=metric).fit(X, y, X_unlabeled=X_u)
    assert newton.solver_ == "newton"
    difference = scale.decision_function(X_u) - newton.decision_function(X_u)
    assert np.sqrt(np.mean(difference**2)) < 1e-4
    assert scale.certificate_.moved == newton.certificate_.moved


@pytest.mark.parametrize(
    ("d", "n_labeled", "n_unlabeled"), [(300, 10, 17_000), (200, 199, 12_800), (80, 10, 16_400)]
)
def test_loss_and_tie_break_agree_on_how_rows_are_visited(d, n_labeled, n_unlabeled):
    """Few dimensions suggest one way of visiting the rows, many another."""
    X, y, X_u, _ = two_classes(n_labeled, n_unlabeled, d)
    assert ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u).certificate_.converged


@pytest.mark.parametrize("seed", [3, *range(10, 18)])
def test_a_loss_that_is_reached_only_on_the_border(seed):
    """Binary features: the labels are fitted perfectly by few labellings, far from the twin."""
    X = np.random.default_rng(seed).integers(0, 2, size=(403, 3)).astype(float)
    X[:3] = np.eye(3)[::-1]
    y = np.r_[0, 1, 0, np.full(400, -1)]
    limit, near = (
        ICLSClassifier(metric="labeled").fit(X, y),
        ICLSClassifier(metric=1e-9, tol=1e-12).fit(X, y),
    )
    assert limit.certificate_.converged
    np.testing.assert_allclose(limit.decision_function(X), near.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("seed", [64, 232, 403, 5526])
def test_a_loss_that_is_not_exact_enough_is_minimised_again(seed):
    """Streamed rows: at the tolerance itself, one row too many seems to be undecided."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(4, 40))
    n_labeled = int(rng.integers(2, d + 1))
    X = rng.normal(size=(n_labeled + 17_000, d))
    X[n_labeled:] = X[n_labeled:] * rng.uniform(0.1, 2) + rng.normal(size=d) * 2
    y = rng.permutation(np.arange(n_labeled) % 2)
    clf = ICLSClassifier(metric="labeled").fit(X[:n_labeled], y, X_unlabeled=X[n_labeled:])
    assert clf.solver_ == "scale"
    assert clf.certificate_.converged


def test_a_barely_reachable_twin_is_proven():
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 1400)
    X = rng.normal(size=(1400, 60)) + np.where(truth, 0.25, -0.25)[:, None]
    proof = (
        ICLSClassifier(metric="labeled").fit(X[:25], truth[:25], X_unlabeled=X[25:]).certificate_
    )
    assert proof.converged
    assert proof.distance_gap < 1e-6


@pytest.fixture(params=["parquet", "dask", "sparse"])
def stored(request, tmp_path):
    """Return a function that stores rows elsewhere than in a dense array."""
    if request.param == "sparse":
        return sparse.csr_array
    if request.param == "dask":
        da = pytest.importorskip("dask.array")
        return lambda X: da.from_array(X, chunks=(7000, -1))

    def write(X):
        pd.DataFrame(X).rename(columns=str).to_parquet(tmp_path / "rows.parquet")
        return tmp_path / "rows.parquet"

    return write


@pytest.mark.parametrize("metric", ["labeled", 0.1, 1.0])
@pytest.mark.parametrize("n_labeled", [5, 12])
def test_rows_stored_elsewhere_give_the_same_model(stored, n_labeled, metric):
    X, y, X_u, _ = two_classes(n_labeled, 30_000, 16, seed=1, separation=2.0)
    here = ICLSClassifier(metric=metric).fit(X, y, X_unlabeled=X_u)
    there = ICLSClassifier(metric=metric).fit(X, y, X_unlabeled=stored(X_u))
    assert there.certificate_.converged
    assert there.certificate_.tie_break == here.certificate_.tie_break
    difference = there.decision_function(X_u) - here.decision_function(X_u)
    assert np.sqrt(np.mean(difference**2)) < 1e-5


def test_copies_of_few_rows_break_ties_outside_memory_too():
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(0).integers(0, 3, size=(20_004, 5)).astype(float)
    y = [0, 1, 0, 1]
    here = ICLSClassifier(metric="labeled").fit(X[:4], y, X_unlabeled=X[4:])
    there = ICLSClassifier(metric="labeled").fit(
        X[:4], y, X_unlabeled=da.from_array(X[4:], chunks=(5000, -1))
    )
    assert there.certificate_.converged
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-4)


@pytest.mark.parametrize("tie_break", ["half", "twin"])
@pytest.mark.parametrize("tol", [1e-8, 1e-12])
def test_the_order_of_rows_does_not_matter(tie_break, tol):
    X = np.random.default_rng(0).normal(size=(2000, 40))
    y = np.r_[np.arange(8) % 2, np.full(1992, -1)]
    order = np.r_[np.arange(8), 8 + np.random.default_rng(1).permutation(1992)]
    one = PublishedICLS(tie_break=tie_break, tol=tol, rcond=None).fit(X, y)
    other = PublishedICLS(tie_break=tie_break, tol=tol, rcond=None).fit(X[order], y)
    np.testing.assert_allclose(other.soft_labels_, one.soft_labels_[order[8:] - 8], atol=1e-7)


class TestCertificate:
    """What it says, in numbers and in words."""

    @pytest.mark.parametrize("alpha", [0.0, 0.01, 10.0])
    @pytest.mark.parametrize("metric", ["labeled", 0.1, "all", "euclidean"])
    def test_the_shift_is_that_of_the_scores(self, alpha, metric, rng):
        X = rng.normal(size=(60, 3)) * 1e-2
        y = np.r_[np.tile([0, 1], 6), np.full(48, -1)]
        clf = ICLSClassifier(alpha, alpha_labeled=0, metric=metric).fit(X, y)
        scores = np.array([m.decision_function(X) for m in (clf, clf.supervised_)])
        shift = np.sqrt(np.mean((scores[0] - scores[1]) ** 2))
        assert clf.certificate_.shift == pytest.approx(shift, abs=1e-12)
        step = clf.coef_ - clf.supervised_.coef_
        assert clf.certificate_.distance == pytest.approx(shift**2 + alpha * np.sum(step**2))
        changed = (scores[0] >= 0) != (scores[1] >= 0)
        assert clf.certificate_.changed == changed[12:].sum()

    def test_unconverged_fits_have_moved_if_the_twin_is_impossible(self):
        X, y, X_u, _ = two_classes(40, 300, 30)
        with pytest.warns(ConvergenceWarning):
            clf = ICLSClassifier(max_iter=1, metric="labeled").fit(X, y, X_unlabeled=X_u)
        proof = clf.certificate_
        assert (proof.converged, proof.supervised_feasible, proof.moved) == (False, False, True)
        assert "did not reach its tolerance" in str(proof)

    def test_a_large_tolerance_leaves_it_open_whether_the_fit_moved(self, rng):
        X, y = rng.normal(size=(40, 3)), np.r_[np.arange(10) % 2, np.full(30, -1)]
        proof = ICLSClassifier(tol=1e-2, solver="lbfgsb", metric="labeled").fit(X, y).certificate_
        assert proof.converged
        assert proof.moved is None or proof.shift > 10 * proof.gap**0.5 or proof.shift < 1e-4

    def test_a_shift_within_the_tolerance_is_not_called_the_twin(self):
        X = np.random.default_rng(1).normal(size=(40, 3))
        y = np.r_[np.arange(10) % 2, np.full(30, -1)]
        proof = ICLSClassifier(tol=1e-3, solver="lbfgsb", metric="labeled").fit(X, y).certificate_
        assert proof.converged
        assert proof.shift > 0.01
        assert proof.moved is None

    def test_without_unlabelled_rows_nothing_moves(self, rng):
        X, y = rng.normal(size=(10, 3)), np.arange(10) % 2
        proof = ICLSClassifier(1.0, alpha_labeled=0.0, metric="labeled").fit(X, y).certificate_
        assert proof.moved is False
        assert "There are no unlabelled rows." in str(proof)

    def test_it_says_what_moved(self):
        X, y, X_u, _ = two_classes(8, 400, 6)
        clf = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u)
        text = str(clf.certificate_)
        assert "No possible labelling of the 400 unlabelled rows can lower it by more than" in text
        assert "The model is unique." in text
        changed = np.sum(clf.predict(X_u) != clf.supervised_.predict(X_u))
        assert f"{changed} of 400 predictions differ from the twin's" in text

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({}, "Loss on the labelled rows: "),
            ({"alpha": 1.0}, "Penalised loss on the labelled rows: "),
            ({"metric": 0.3}, "Squared distance to the twin: "),
            ({"metric": "euclidean"}, "the coefficients and the twin's, per labelled row: "),
        ],
        ids=str,
    )
    def test_it_names_what_was_minimised(self, parameters, words):
        X, y, X_u, _ = two_classes(12, 100, 4)
        proof = ICLSClassifier(**parameters).fit(X, y, X_unlabeled=X_u).certificate_
        assert f"{words}{proof.objective:.6g}. No possible labelling" in str(proof)

    def test_it_does_not_deny_changes_within_the_tolerance(self):
        X, y, X_u, _ = two_classes(12, 100, 4)
        proof = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u).certificate_
        same = str(replace(proof, moved=False, changed=3)).splitlines()[-1]
        assert "within the tolerance, it is the supervised twin, although 3 of 100" in same

    def test_rounding_is_no_penalty(self):
        X, y, X_u, _ = two_classes(12, 100, 4)
        proof = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u).certificate_
        exact = replace(proof, objective=1.2e-16, labeled_loss=3.9e-24, gap=0.0)
        assert str(exact).startswith("Loss on the labelled rows")

    def test_the_tolerance_is_absolute_plus_relative(self):
        X, y, X_u, _ = two_classes(12, 100, 4)
        proof = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u).certificate_
        larger = replace(proof, objective=0.5, gap=1.4e-8)
        assert "by more than 1.4e-08 (proven; tolerance 1.5e-08)" in str(larger)

    def test_it_says_how_a_tie_was_broken(self):
        X, y, X_u, _ = two_classes(6, 200, 20, seed=3)
        twin, half = (
            str(PublishedICLS(tie_break=tie, rcond=None).fit(X, y, X_unlabeled=X_u).certificate_)
            for tie in ("twin", "half")
        )
        assert "alone do not determine the model" in twin
        assert "nearest to the twin was chosen" in twin
        assert "did not move the model: it is the supervised twin" in twin
        assert "labels closest to 1/2 was chosen, which is often worse than the twin" in half


class TestWarning:
    """With fewer labels than features and no ridge, a fit that moved says that it may do harm."""

    def fitted(self, n_labeled, **parameters):
        X, y, X_u, _ = two_classes(n_labeled, 400, 20, seed=1)
        return ICLSClassifier(**{"metric": "labeled", **parameters}).fit(X, y, X_unlabeled=X_u)

    def test_it_names_the_numbers(self):
        message = (
            r"^The 12 labelled rows do not determine a model of 20 features, .*: (\d+) of 400 "
            r"predictions changed\. .* pass metric=0\.2 or larger\.$"
        )
        with pytest.warns(UndeterminedModelWarning, match=message):
            self.fitted(12)

    @pytest.mark.parametrize(
        ("n_labeled", "parameters"),
        [
            (30, {}),  # determined
            (3, {}),  # the twin is possible
            (12, {"metric": 0.5}),
            (12, {"metric": "auto"}),
            (12, {"alpha": 0.1}),
        ],
    )
    def test_it_is_silent_elsewhere(self, n_labeled, parameters):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.fitted(n_labeled, **parameters)

    def test_it_is_silent_where_the_other_tie_break_is_asked_for(self):
        X, y, X_u, _ = two_classes(12, 400, 20, seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            PublishedICLS(rcond=None).fit(X, y, X_unlabeled=X_u)


@pytest.mark.parametrize("metric", [-0.1, 1.5, "labelled", None])
def test_other_metrics_are_refused(metric):
    with pytest.raises(ValueError, match="'metric' parameter of ICLSClassifier must be"):
        ICLSClassifier(metric=metric).fit([[0.0], [1.0]], [0, 1])


def digits(one, other):
    X, y = load_digits(return_X_y=True)
    chosen = (y == one) | (y == other)
    X = X[chosen][:, X[chosen].std(axis=0) > 0]
    return StandardScaler().fit_transform(X), (y[chosen] == other).astype(int)


def mean_errors(X, y, n_labeled, splits, **settings):
    """Return the mean test error of the twin and of ICLS in several settings, in points."""
    errors = []
    for seed in range(splits):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        while len(np.unique(y[order[:n_labeled]])) < 2:
            order = rng.permutation(len(y))
        known, rest = order[:n_labeled], order[n_labeled:]
        unknown, test = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        fits = [
            clone(clf).fit(X[known], y[known], X_unlabeled=X[unknown]) for clf in settings.values()
        ]
        models = [fits[0].supervised_, *fits]
        errors.append([1 - model.score(X[test], y[test]) for model in models])
    return dict(zip(["twin", *settings], np.mean(errors, axis=0), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("n_labeled", [10, 20])
@pytest.mark.parametrize("pair", [(2, 5), (4, 9), (3, 8)], ids=str)
def test_no_harm_with_fewer_labels_than_features(pair, n_labeled):
    X, y = digits(*pair)
    found = mean_errors(
        X, y, n_labeled, 40, limit=ICLSClassifier(**LIMIT), half=PublishedICLS(rcond=None)
    )
    assert found["limit"] <= found["twin"] + 0.01
    assert found["half"] > found["twin"] + 0.1  # what the other tie-break costs


@pytest.mark.slow
def test_the_limit_still_costs_some_points_where_a_small_share_does_not():
    X, y = load_breast_cancer(return_X_y=True)
    found = mean_errors(
        StandardScaler().fit_transform(X),
        y,
        10,
        40,
        limit=ICLSClassifier(**LIMIT),
        share=ICLSClassifier(metric=0.1),
    )
    assert found["limit"] > found["twin"] + 0.01
    assert found["share"] <= found["twin"] + 0.02
