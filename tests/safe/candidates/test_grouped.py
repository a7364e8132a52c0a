"""Penalties that are chosen by leaving out groups of rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from primum import SafeClassifier
from primum.reading.folds import tuning_folds
from primum.safe.candidates.linear import RIDGES, fit_logistic, fit_ridge, inner_folds
from primum.safe.candidates.paths import Principal, ridge_path
from primum.safe.rows import Targets

N_GROUPS, N_COPIES = 12, 5


def near_copies(seed=0, weighted=False):
    """Return rows in groups of near copies, whose classes do not depend on the features."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(N_GROUPS), N_COPIES))
    X = rng.normal(size=(N_GROUPS, 8))[groups] + 0.01 * rng.normal(size=(len(groups), 8))
    weight = rng.uniform(0.5, 2, len(groups)) if weighted else None
    return X, Targets.of_classes((np.arange(N_GROUPS) % 2)[groups], 2, weight, groups)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_errors_are_those_of_fits_without_the_group(weighted, container):
    X, labels = near_copies(weighted=weighted)
    weight = np.ones(len(X)) if labels.weight is None else labels.weight
    penalties, expected = RIDGES[::5], []
    for penalty in penalties:
        total = 0.0
        for group in range(N_GROUPS):
            out = labels.groups == group
            ridge = Ridge(penalty).fit(X[~out], labels.values[~out], sample_weight=weight[~out])
            squares = (labels.values[out] - ridge.predict(X[out])) ** 2
            total += float(np.sum(weight[out, None] * squares))
        expected.append(total / (2 * weight.sum()))
    rows = Principal.of(container(X), labels.weight)
    *_, found = ridge_path(rows, labels.values, penalties, labels.groups)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_near_copies_do_not_hide_that_nothing_is_to_be_learnt():
    X, labels = near_copies()
    alone = Targets.of_classes(labels.y, 2)
    for fit in (lambda own: fit_ridge(X, own)[0], lambda own: fit_logistic(X, own)):
        size, of_groups = (np.abs(fit(own).coef).max() for own in (alone, labels))
        assert of_groups < size / 10


def test_inner_folds_keep_groups_together():
    _, labels = near_copies()
    folds = inner_folds(labels)
    assert len(folds) == 5
    for train, test in folds:
        assert not set(labels.groups[train]) & set(labels.groups[test])
        assert set(labels.y[train]) == set(labels.y[test]) == {0, 1}


def test_a_class_in_one_group_is_tuned_by_rows_and_a_warning_says_so():
    codes, groups = np.repeat([0, 1], 10), np.r_[np.zeros(10), np.arange(10)]
    with pytest.warns(UserWarning, match="Groups were split to choose a penalty, because some"):
        assert tuning_folds(5, codes, groups) == []
    with pytest.warns(UserWarning, match="Groups were split"):
        assert len(inner_folds(Targets.of_classes(codes, 2, None, groups))) == 5


def test_the_safe_choice_tunes_its_baseline_in_groups():
    X, labels = near_copies()
    plain, grouped = (
        SafeClassifier(["ridge", "logistic"], n_repeats=1, random_state=0).fit(
            X, labels.y, groups=groups
        )
        for groups in (None, labels.groups)
    )
    assert np.ptp(grouped.baseline_.predict_proba(X)) < np.ptp(plain.baseline_.predict_proba(X)) / 5
