"""Chosen labels in a comparison: every model trains on them, and none is judged by them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

import primum
from generate import two_classes
from primum import ICLSClassifier, LeastSquaresClassifier, SafeClassifier, TSVMClassifier
from primum.comparison.compare import alerts_on_data, drift_of
from primum.comparison.data import read_data
from primum.comparison.plan import Plan, identity_of_fits, make_folds, missing_points, plan_fits
from primum.comparison.repeat import code_of
from primum.comparison.run import fit_entry
from primum.comparison.store import ResultsError
from primum.comparison.words import NEW_QUESTION
from primum.reading.classifiers import Entry
from primum.reading.known import drawn_confidence

pytestmark = pytest.mark.usefixtures("quick_drift")

SAFE = SafeClassifier(["spreading"], baseline="ridge", cv=3, n_repeats=1)
QUICK = {
    "baseline": [("ridge", LeastSquaresClassifier(alpha=0.1))],
    "methods": [("safe", SAFE), ("neighbours", KNeighborsClassifier(), False)],
    "n_repeats": 1,
    "curves": False,
    "verbose": False,
}


def partly(n_labeled=40, n_unlabeled=60, seed=0):
    """Return X, y with -1 for unknown labels, and twelve labelled rows."""
    X, y, more, _ = two_classes(n_labeled, n_unlabeled, 3, seed=seed, separation=1.5)
    chosen = np.sort(np.random.default_rng(seed).permutation(n_labeled)[:12])
    return np.concatenate([X, more]), np.append(y, np.full(n_unlabeled, -1)), chosen


def as_table(X, y, chosen):
    """Return a table with a column that marks the chosen rows."""
    marks = np.where(np.isin(np.arange(len(y)), chosen), "yes", None)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    names = np.array(["no", "yes", None], dtype=object)[y]
    return frame.assign(kind=names, primum_chosen=marks, primum_row=np.arange(len(y)))


def found(result):
    """Return what a comparison has found, without what depends on the time or the wording."""
    table = result.table.drop(columns="seconds")
    return table, [fit.held_out for fit in result.records.cross_fitted.values()]


def assert_same(first, second):
    pd.testing.assert_frame_equal(found(first)[0], found(second)[0])
    assert found(first)[1] == found(second)[1]


def test_marking_nobody_changes_nothing():
    X, y, _ = partly()
    plain = primum.compare(X, y, **QUICK)
    marked = primum.compare(X, y, chosen=np.arange(100) >= 40, **QUICK)
    assert_same(plain, marked)
    assert plain.verdict == marked.verdict
    assert identity_of_fits(plain.plan) == identity_of_fits(marked.plan)


def test_no_fold_holds_out_chosen_rows_and_every_one_trains_on_them():
    X, y, chosen = partly()
    result = primum.compare(X, y, chosen=chosen, **QUICK)
    labels = result.plan.table.labels
    for fold in result.plan.folds[0]:
        assert not np.isin(chosen, labels.labeled[fold.test]).any()
        assert np.isin(chosen, labels.labeled[fold.train]).all()
    (own,) = result.records.cross_fitted.values()
    assert sorted(own.held_out.rows) == np.setdiff1d(np.arange(40), chosen).tolist()
    assert "28 labelled rows, and 12 chosen ones for training only" in result.verdict
    assert result.to_dict()["n_chosen"] == 12
    (alert,) = (alert for alert in result.alerts if alert.kind == "chosen")
    assert alert.text.startswith("12 of the 40 labels were chosen, for example from primum's sheet")
    assert alert.text.endswith("so the errors shown here can be several points too high.")
    assert result.headline.certain.endswith(NEW_QUESTION)
    assert "28 labelled, 12 chosen and 60 unlabelled rows" in repr(result)
    assert "12 labels were not drawn at random, but chosen" in result.to_html()
    assert "chosen=chosen" in code_of(result.call)
    counts = [one.n_labeled for one in result.model_card.classes]
    drawn = np.setdiff1d(np.arange(40), chosen)
    assert counts == np.bincount(y[drawn]).tolist()
    assert result.model_card.guessing == pytest.approx(min(counts) / 28)


def test_chosen_rows_are_those_that_explicit_splits_always_train_on():
    X, y, chosen = partly()
    drawn = np.setdiff1d(np.arange(40), chosen)
    parts = list(StratifiedKFold(3).split(X[drawn], y[drawn]))
    pairs = [(np.sort(np.append(chosen, drawn[a])), drawn[b]) for a, b in parts]
    by_splitter = primum.compare(X, y, chosen=chosen, cv=StratifiedKFold(3), **QUICK)
    assert_same(by_splitter, primum.compare(X, y, cv=pairs, **QUICK))
    assert_same(by_splitter, primum.compare(X, y, chosen=chosen, cv=pairs, **QUICK))


@pytest.mark.parametrize("named", [None, "primum_chosen", "checked"])
def test_a_column_marks_chosen_rows_and_is_no_feature(named):
    X, y, chosen = partly()
    frame = as_table(X, y, chosen)
    if named == "checked":
        frame = frame.rename(columns={"primum_chosen": named})
    result = primum.compare(frame, target="kind", chosen=named, **QUICK)
    by_mask = primum.compare(frame[["a", "b", "c", "kind"]], target="kind", chosen=chosen, **QUICK)
    assert_same(result, by_mask)
    used = [column.name for column in result.columns if column.used]
    assert used == ["a", "b", "c"]
    assert ("chosen='checked'" in code_of(result.call)) == (named == "checked")
    assert "chosen=chosen" in code_of(by_mask.call)
    assert "chosen=chosen" not in code_of(result.call)
    assert result.fit_recommended().predict(frame[["a", "b", "c"]][:2]).shape == (2,)


def test_further_rows_of_a_table_have_no_chosen_labels():
    X, y, chosen = partly()
    frame = as_table(X, y, chosen)
    more = frame[["a", "b", "c"]][60:].reset_index(drop=True)
    result = primum.compare(frame[:60], X_unlabeled=more, target="kind", **QUICK)
    assert_same(result, primum.compare(frame, target="kind", **QUICK))
    again = frame.drop(columns=["primum_chosen", "primum_row"])
    by_index = primum.compare(again[:60], X_unlabeled=more, target="kind", chosen=chosen, **QUICK)
    assert_same(result, by_index)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"chosen": "kind"}, "chosen='kind' names a column of a table: pass target too, or a mask"),
        ({"chosen": [0, 0]}, "chosen names row 0 of X twice"),
        ({"chosen": np.arange(40)}, "All labelled rows of class 0 (20) were chosen"),
    ],
)
def test_what_cannot_be_chosen(arguments, message):
    X, y, _ = partly()
    with pytest.raises(ValueError) as caught:
        primum.compare(X, np.where(y < 0, -1, np.arange(100) % 2), **QUICK, **arguments)
    assert message in str(caught.value)


def test_too_few_labels_drawn_at_random():
    X, y, _ = partly()
    chosen = np.flatnonzero(y == 1)[:-2]
    message = "Class 1 \\(2\\) has fewer than 3 labelled rows, drawn at random, which a comparison"
    with pytest.raises(ValueError, match=message):
        primum.compare(X, y, chosen=chosen, curves=False, verbose=False)


def test_learning_curves_have_all_chosen_rows_at_every_point():
    X, y, chosen = partly(120)
    entries = [Entry("logistic", LogisticRegression(), False)]
    table = read_data(X, y, chosen=chosen)
    plan = Plan(table, entries, [], make_folds(table, None, 3, 0), curves=True)
    tasks = [task for tasks in plan_fits(plan) for task in tasks if "n_labeled" in task.stage]
    assert tasks
    for task in tasks:
        assert np.isin(chosen, task.train).all()
        size = int(task.stage.partition("=")[2])
        assert abs(len(task.train) - size) <= 2
    few = read_data(X[40:], y[40:], chosen=np.arange(12))
    plan = Plan(few, entries, [], make_folds(few, None, 3, 0), curves=True)
    assert "needs 80 of them, and there are 68" in missing_points(plan)[0]


def test_chosen_rows_count_as_unlabelled_where_labels_are_taken_for_random():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X[60:] = X[60 + np.argsort(-X[60:, 0])]
    y = np.where(np.arange(400) < 140, rng.integers(0, 2, 400), -1)
    chosen = np.arange(60, 140)
    assert drift_of(read_data(X, y), None, 0).found
    assert not drift_of(read_data(X, y, chosen=chosen), None, 0).found
    person = np.append(rng.integers(0, 80, 300), np.repeat(80 + np.arange(5), 20))
    y = np.where((np.arange(400) < 40) | (person >= 80), 0, -1)
    y[:20] = 1
    marked = read_data(person[:, None].astype(float), y, chosen=np.flatnonzero(person >= 80))
    assert alerts_on_data(read_data(person[:, None].astype(float), y), False)
    assert alerts_on_data(marked, False) == []


def test_a_folder_with_other_chosen_rows_is_refused(tmp_path):
    X, y, chosen = partly()
    settings = {**QUICK, "methods": QUICK["methods"][1:], "folder": tmp_path / "a"}
    primum.compare(X, y, chosen=chosen, **settings)
    with pytest.raises(ResultsError, match="chosen"):
        primum.compare(X, y, resume=True, **settings)


def test_shares_that_methods_assume_are_those_of_drawn_labels():
    X, y, _ = partly()
    chosen = np.zeros(100, dtype=bool)
    chosen[np.flatnonzero(y == 1)[:12]] = True
    drawn = np.mean(y[:40][~chosen[:40]])
    tsvm = fit_entry(Entry("tsvm", TSVMClassifier(alpha=0.1)), X, y, None, chosen)
    assert tsvm.prior == pytest.approx(drawn)
    assert np.mean(tsvm.transduction_[40:]) == pytest.approx(drawn, abs=1 / 60)
    icls = fit_entry(Entry("icls", ICLSClassifier(0.1, prior="confidence")), X, y, None, chosen)
    expected = drawn_confidence(y[:40], chosen[:40], 2, 60, 0.95)
    np.testing.assert_allclose(icls.prior_, expected)
    names = np.array(["a", "b", None], dtype=object)[y]
    by_name = fit_entry(
        Entry("icls", ICLSClassifier(0.1, prior="confidence")), X, names, None, chosen
    )
    np.testing.assert_allclose(by_name.prior_, expected)
    given = fit_entry(Entry("icls", ICLSClassifier(0.1, prior=[0.5, 0.5])), X, y, None, chosen)
    assert given.prior == [0.5, 0.5]


def test_nested_fits_of_the_safe_stack_train_on_chosen_rows():
    X, y, chosen = partly()
    settings = {**QUICK, "methods": QUICK["methods"][:1]}
    result = primum.compare(X, y, chosen=chosen, nested=True, cv=2, **settings)
    assert result.failures == []
