"""Trees as arrays: the predictions of scikit-learn's, without its types in model files."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from skops.io import get_untrusted_types

from generate import several_classes
from primum.models import StoredModel, load_model, save_model
from primum.models.trusted import TRUSTED
from primum.safe.candidates import trees
from primum.safe.candidates import trees as forest
from primum.safe.candidates.trees import (
    BoostingClassifier,
    ForestClassifier,
    histogram_boosting,
    strongest_columns,
)
from primum.safe.rows import Targets


def problem(n_classes=2, n_rows=60, d=4):
    X, y, X_new, _ = several_classes(n_rows, 200, d, n_classes, separation=0.7)
    return X, y, X_new


def plain_booster(in_leaf):
    options = {"max_iter": 100, "max_leaf_nodes": 8, "max_bins": 63, "early_stopping": False}
    return HistGradientBoostingClassifier(**options, min_samples_leaf=in_leaf, random_state=0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_forest_predicts_as_that_of_scikit_learn(n_classes):
    X, y, X_new = problem(n_classes)
    ours = ForestClassifier(random_state=0).fit(X, y)
    theirs = RandomForestClassifier(100, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X_new), theirs.predict_proba(X_new), atol=1e-12)
    assert (ours.predict(X_new) == theirs.predict(X_new)).all()


@pytest.mark.parametrize(("n_classes", "n_rows", "in_leaf"), [(2, 30, 2), (2, 60, 3), (3, 60, 3)])
def test_a_booster_predicts_as_that_of_scikit_learn(n_classes, n_rows, in_leaf):
    X, y, X_new = problem(n_classes, n_rows)
    ours = BoostingClassifier(random_state=0).fit(X, y)
    theirs = plain_booster(in_leaf).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X_new), theirs.predict_proba(X_new), atol=1e-10)
    assert len(np.unique(ours.predict_proba(X_new), axis=0)) > 10  # it has learnt something


@pytest.mark.parametrize("present", [[0, 2], [0, 1, 3], [2]])
def test_a_booster_gives_absent_classes_no_probability(present):
    """Folds may lack a class; the others have the probabilities of scikit-learn's booster."""
    X, y, X_new = problem(4)
    known = np.isin(y, present)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, known.sum())
    found = histogram_boosting(X[known], Targets.of_classes(y[known], 4, weight), 0).predict(X_new)
    expected = np.zeros((len(X_new), 4))
    if len(present) == 1:
        expected[:, present] = 1.0
    else:
        in_leaf = max(2, known.sum() // 20)
        theirs = plain_booster(in_leaf).fit(X[known], y[known], sample_weight=weight)
        expected[:, present] = theirs.predict_proba(X_new)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("kind", [ForestClassifier, BoostingClassifier])
def test_sparse_rows_and_small_blocks_change_nothing(kind, monkeypatch):
    X, y, X_new = problem()
    expected = kind(random_state=0).fit(X, y).predict_proba(X_new)
    monkeypatch.setattr(forest, "MAX_BLOCK_NUMBERS", 700)
    found = kind(random_state=0).fit(sparse.csr_array(X), y).predict_proba(sparse.csr_array(X_new))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_of_many_columns_the_booster_sees_those_that_differ_most(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 30))
    X[:, 7], X[:, 20] = 1.0, X[:, 20] + 4 * y
    monkeypatch.setattr(trees, "MAX_BOOSTED_COLUMNS", 3)
    columns = strongest_columns(X, y)
    assert len(columns) == 3
    assert 20 in columns
    assert 7 not in columns
    assert (strongest_columns(sparse.csr_array(X), y) == columns).all()
    clf = BoostingClassifier(random_state=0).fit(X, y)
    assert set(clf.model_.feature) <= {0, *columns}  # 0 is that of leaves
    assert (clf.predict(X) == y).mean() > 0.9
    theirs = plain_booster(2).fit(X[:, columns], y)
    np.testing.assert_allclose(clf.predict_proba(X), theirs.predict_proba(X[:, columns]))


@pytest.mark.parametrize("kind", [ForestClassifier, BoostingClassifier])
def test_a_stored_model_has_arrays_only(tmp_path, kind):
    X, y, X_new = problem()
    clf = kind(random_state=0).fit(X, np.array(["no", "yes"])[y])
    save_model(StoredModel(clf), tmp_path / "m.skops")
    types = get_untrusted_types(file=tmp_path / "m.skops")
    assert types
    assert all(name.startswith("primum.") for name in types)
    assert set(types) <= set(TRUSTED)
    again = load_model(tmp_path / "m.skops").estimator
    assert (again.predict_proba(X_new) == clf.predict_proba(X_new)).all()


@pytest.mark.parametrize("kind", [ForestClassifier, BoostingClassifier])
@pytest.mark.parametrize("what", ["feature", "left", "roots"])
def test_nodes_outside_the_arrays_are_refused(tmp_path, kind, what):
    X, y, _ = problem()
    clf = kind(random_state=0).fit(X, y)
    changed = {"left": ("left", "right")}.get(what, (what,))
    wrong = np.full_like(getattr(clf.model_, what), 10**9)
    clf.model_ = replace(clf.model_, **dict.fromkeys(changed, wrong))
    save_model(StoredModel(clf), tmp_path / "m.skops")
    with pytest.raises(ValueError, match="not a valid model, because it cannot predict"):
        load_model(tmp_path / "m.skops")


def test_a_depth_without_end_ends():
    X, y, X_new = problem()
    model = ForestClassifier(random_state=0).fit(X, y).model_
    some = replace(model, depth=10**12, roots=model.roots[:1])
    expected = replace(model, roots=model.roots[:1]).predict(X_new[:2])
    assert (some.predict(X_new[:2]) == expected).all()
