"""What a comparison claims: scores that are undefined or not finite, copies, twins, tables."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import LeaveOneOut, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.semi_supervised import LabelSpreading

import primum
from generate import two_classes
from primum import LeastSquaresClassifier, SafeClassifier, SelfLearningClassifier

pytestmark = pytest.mark.usefixtures("quick_drift")

QUICK = {
    "baseline": [("ridge", LeastSquaresClassifier(alpha=0.1)), ("logistic", LogisticRegression())],
    "n_repeats": 1,
    "curves": False,
    "verbose": False,
}
NEIGHBOURS = [("neighbours", KNeighborsClassifier(), False)]


def partly(n_labeled=40, n_unlabeled=60, **options):
    X, y, X_u, _ = two_classes(n_labeled, n_unlabeled, 3, **options)
    return np.vstack([X, X_u]), np.r_[y, np.full(n_unlabeled, -1)]


def test_a_score_that_is_undefined_in_splits_is_computed_from_all_of_them():
    X, y = partly(20)
    result = primum.compare(X, y, **QUICK, methods=NEIGHBOURS, scoring="roc_auc", cv=LeaveOneOut())
    records = [result.records.done["all/neighbours", number] for number in range(20)]
    scores = np.array([record.scores[0][1] for record in records])
    found = result.table.loc["neighbours"]
    assert found["loss"] == pytest.approx(-roc_auc_score(y[:20], scores))
    difference = result.methods[-1].verdict.difference
    assert difference.mean == pytest.approx(found["observed change"])
    assert difference.degrees_of_freedom == 19
    json.dumps(result.to_dict(), allow_nan=False)


def test_scores_that_are_not_finite_are_a_failure():
    """A graph of neighbours has parts without a label, for which it has no probabilities."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(10.0), 10)[:, None] * 50 + rng.normal(size=(100, 2))
    y = np.where(np.arange(100) % 10 < 3, np.arange(100) % 2, -1)
    spreading = LabelSpreading(kernel="knn", n_neighbors=3)
    methods = [("graph", spreading), *NEIGHBOURS]
    result = primum.compare(X, y, **QUICK, methods=methods, cv=TimeSeriesSplit(4))
    assert "graph" not in result.table.index
    assert "'graph' returned scores that are not finite for" in result.failures[0].reason
    assert result.recommended != "graph"
    assert 'Not judged, because fits failed (`failures` says why): "graph".' in result.verdict


def copies(seed=0):
    """Return 30 random points with random classes, each four times with a little noise."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(30), 4)
    X = rng.normal(size=(30, 3))[groups] + 0.01 * rng.normal(size=(120, 3))
    return X, rng.integers(0, 2, 30)[groups], groups


def test_copies_of_a_row_are_no_evidence():
    X, y, groups = copies()
    X_u = np.random.default_rng(1).normal(size=(40, 3))
    methods = [("near", KNeighborsClassifier(1), False), ("safe", SafeClassifier(["spreading"]))]
    told = primum.compare(X, y, X_u, **QUICK, methods=methods, independent_rows=True)
    assert "help" in set(told.table["answer"])
    result = primum.compare(X, y, X_u, **QUICK, methods=methods, groups=groups)
    assert "help" not in set(result.table["answer"])
    assert result.recommended != "near"
    assert "120 labelled rows in 30 groups" in result.methods[-1].verdict.text
    assert result.methods[-1].verdict.difference.n_rows == 30


class Indifferent(LogisticRegression):
    """A method that ignores the unlabelled rows, and so is its own supervised twin."""

    def fit(self, X, y):
        super().fit(X[y >= 0], y[y >= 0])
        self.supervised_ = LogisticRegression().fit(X[y >= 0], y[y >= 0])
        return self


@pytest.mark.parametrize(("n_unlabeled", "answer"), [(60, "cannot_tell"), (300, "no_difference")])
def test_a_method_that_is_its_twin_makes_no_difference(n_unlabeled, answer):
    """The same classes in 60 rows do not show that fewer than one in a hundred others differ."""
    X, y = partly(n_unlabeled=n_unlabeled, separation=1.0)
    result = primum.compare(X, y, **QUICK, methods=[("same", Indifferent())])
    twin = result.methods[-1].twin
    assert twin.answer == answer
    assert twin.disagreement.n_different == 0
    assert twin.change == pytest.approx(0, abs=1e-4)
    shown = result.table.loc["same", "estimated change to its twin"]
    assert shown == pytest.approx(twin.change, abs=1e-9)


def balanced(predicted, truth):
    return 1 - balanced_accuracy_score(truth, predicted)


def test_a_balanced_error_is_that_of_all_held_out_rows():
    """In a fold without a row of some class, it would be the error of the others."""
    X, y = partly(20)
    options = {"methods": NEIGHBOURS, "scoring": "balanced_accuracy", "cv": LeaveOneOut()}
    result = primum.compare(X, y, **QUICK, **options)
    predicted = [result.records.done["all/neighbours", n].predicted[0] for n in range(20)]
    assert result.table.loc["neighbours", "loss"] == pytest.approx(balanced(predicted, y[:20]))


def test_a_twin_that_hardly_differs_is_bounded_by_the_disagreement():
    X, y = partly(100, 300, separation=4.0)
    result = primum.compare(X, y, **QUICK, methods=[("self", SelfLearningClassifier())])
    twin = result.methods[-1].twin
    records = [result.records.done["all/self", number] for number in range(5)]
    share = np.mean([np.array(r.probe) != np.array(r.twin_probe) for r in records])
    assert twin.disagreement.share == pytest.approx(share)
    assert max(map(abs, twin.interval)) <= share + 0.05


def test_the_table_has_the_observed_and_the_estimated_change():
    X, y = partly()
    result = primum.compare(X, y, **QUICK, methods=NEIGHBOURS)
    row, baseline = result.table.loc["neighbours"], result.table.loc["baseline"]
    assert row["observed change"] == pytest.approx(row["loss"] - baseline["loss"])
    verdict = result.methods[-1].verdict
    assert row["estimated change"] == pytest.approx(verdict.change)
    assert verdict.difference.mean == pytest.approx(row["observed change"])


def test_a_change_of_another_loss_is_the_observed_one_shrunk_towards_0():
    X, y = partly()
    groups = np.arange(len(y)) // 3
    options = {**QUICK, "methods": NEIGHBOURS, "scoring": "neg_brier_score"}
    for result in (primum.compare(X, y, **options), primum.compare(X, y, **options, groups=groups)):
        row = result.table.loc["neighbours"]
        estimated, observed = row["estimated change"], row["observed change"]
        assert abs(estimated) <= abs(observed)
        assert estimated * observed >= 0


def test_the_loss_of_the_safe_stack_is_relative_to_the_baseline():
    X, y = partly()
    safe = SafeClassifier(["spreading"], random_state=0)
    result = primum.compare(X, y, **QUICK, methods=[("safe", safe)], prepare=None)
    row, baseline = result.table.loc["safe"], result.table.loc["baseline"]
    report = safe.fit(X, y).report_
    error = dict(zip(report["model"], report["error"], strict=True))
    observed = error["safe stack"] - error["baseline"]
    assert row["observed change"] == pytest.approx(observed)
    assert row["loss"] == pytest.approx(max(baseline["loss"] + observed, 0))


def test_names_of_users_are_not_capitalised_and_the_safe_stack_is_explained():
    X, y = partly()
    result = primum.compare(X, y, **QUICK, methods=[("icls", primum.ICLSClassifier(0.1))])
    assert '"icls"' in result.verdict
    safe = SafeClassifier(["spreading"], random_state=0)
    other = primum.compare(X, y, **QUICK, methods=[("safe stack", safe)])
    assert "the safe stack (SafeClassifier)" in other.verdict.lower().replace("safec", "SafeC")


@pytest.mark.parametrize("numeric", [False, True])
def test_nothing_is_claimed_where_labelled_rows_are_near_copies(numeric):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(15, 2)), 4, axis=0)
    X = np.r_[X + 1e-6 * rng.normal(size=X.shape), rng.normal(size=(200, 2))]
    y = np.full(260, np.nan) if numeric else np.full(260, -1)
    y[:60] = np.repeat(rng.normal(size=15) if numeric else rng.integers(0, 2, 15), 4)
    near = KNeighborsRegressor(1) if numeric else KNeighborsClassifier(1)
    given = {"methods": [("near", near, False)], "n_repeats": 1, "curves": False, "verbose": False}
    given["target_kind"] = "numbers" if numeric else "classes"
    found = primum.compare(X, y, **given)
    assert found.claims_withheld
    assert found.recommended == "baseline"
    assert found.verdict.startswith("Warning: The labelled rows seem to contain copies or near")
    assert "pass groups=; if no rows belong together, pass independent_rows=True." in found.verdict
    assert found.headline.next_step.startswith("Say which rows belong together, or that none do")
    told = primum.compare(X, y, independent_rows=True, **given)
    assert (told.claims_withheld, told.recommended) == (False, "near")
