"""What a fit leaves behind, in every estimator: classes, solvers, ties, and early ends admitted."""

import inspect
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from generate import two_classes
from primum import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    L2SVMClassifier,
    LeastSquaresClassifier,
    S4VMClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
    USMClassifier,
    WellSVMClassifier,
)
from primum.equations import normal as equations
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.methods.svm.base import LinearMachine

LEAST_SQUARES = [
    LeastSquaresClassifier(),
    USMClassifier(),
    EMLeastSquaresClassifier(),
    EMLeastSquaresClassifier("hard"),
    ICLSClassifier(),
]
TRANSDUCTIVE = [
    TSVMClassifier("switching"),
    TSVMClassifier("annealing"),
    TSVMClassifier("cccp"),
    S4VMClassifier(n_init=8),
    WellSVMClassifier(),
]
MACHINES = [L2SVMClassifier(), *TRANSDUCTIVE]
SELF_LEARNING = [SelfLearningClassifier(), SelfLearningClassifier(LogisticRegression())]
EVERY = [*LEAST_SQUARES, *MACHINES, *SELF_LEARNING]


def each(estimators):
    return pytest.mark.parametrize("clf", estimators, ids=str)


def partly_labelled(n=60, L=20, d=3):
    """Return rows in random order, their labels (-1: unknown) and the true ones."""
    X, y, X_u, y_u = two_classes(L, n - L, d)
    order = np.random.default_rng(0).permutation(n)
    truth = np.r_[y, y_u][order]
    return np.vstack([X, X_u])[order], np.where(order < L, truth, -1), truth


# One meaning of transduction_


@each([*TRANSDUCTIVE, *SELF_LEARNING])
def test_transduction_is_the_class_of_every_row_given(clf):
    X, y, _ = partly_labelled()
    more = two_classes(2, 30, 3, seed=1)[2]
    names = np.array(["no", "yes"])
    labels = np.where(y < 0, None, names[y])
    found = clone(clf).fit(X, labels, X_unlabeled=more).transduction_
    assert found.shape == (90,)
    assert found.dtype == names.dtype
    np.testing.assert_array_equal(found[:60][y >= 0], names[y[y >= 0]])
    # The rows that were given apart are in the same order and have the classes they had in X.
    together = clone(clf).fit(np.vstack([X, more]), np.r_[labels, np.full(30, None)])
    np.testing.assert_array_equal(found, together.transduction_)


@each([*TRANSDUCTIVE, *SELF_LEARNING])
def test_rows_without_weight_have_a_known_or_a_predicted_class(clf):
    X, y, truth = partly_labelled()
    weight = np.ones(60)
    known, unknown = np.flatnonzero(y >= 0)[:3], np.flatnonzero(y < 0)[:10]
    weight[known] = weight[unknown] = 0.0
    fitted = clone(clf).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(fitted.transduction_[known], truth[known])
    np.testing.assert_array_equal(fitted.transduction_[unknown], fitted.predict(X[unknown]))


# The class share


@each([TSVMClassifier("switching"), TSVMClassifier("annealing"), S4VMClassifier(n_init=8)])
def test_the_class_share_counts_rows_whatever_their_weight(clf):
    X, _, X_u, _ = two_classes(20, 50, 3)
    y = np.tile([0, 1], 10)
    fitted = clone(clf).fit(X, y, X_u, sample_weight=np.where(y, 9.0, 1.0))
    if isinstance(clf, S4VMClassifier):
        np.testing.assert_array_equal((fitted.separators_ > 0).sum(axis=1), 25)
    else:
        assert fitted.n_positive_ == 25


# The chosen solver


@each(LEAST_SQUARES[:4])
def test_how_least_squares_was_solved(clf, monkeypatch):
    X, y, _ = partly_labelled()
    assert clone(clf).fit(X, y).solver_ == "normal_equations"
    X, y, _ = partly_labelled(n=30, d=40)
    assert clone(clf).fit(X, y).solver_ == "row_space"
    monkeypatch.setattr(equations, "MAX_FORMED_COLUMNS", 0)
    monkeypatch.setattr(equations, "MAX_FACTORISED_NUMBERS", 0)
    assert clone(clf).fit(sparse.csr_array(X), y).solver_ == "conjugate_gradients"


@each(MACHINES)
def test_how_the_machine_was_solved(clf, monkeypatch):
    X, y, _ = partly_labelled()
    assert clone(clf).fit(X, y).solver_ == "primal"
    monkeypatch.setattr("primum.methods.svm.newton.MAX_DUAL_ROWS", 0)
    assert clone(clf).fit(sparse.csr_array(X), y).solver_ == "conjugate_gradients"
    if not isinstance(clf, WellSVMClassifier):
        X, y, _ = partly_labelled(n=30, d=40)
        assert clone(clf).fit(X, y).solver_ == "dual"


# Arguments of fit


@each(EVERY)
def test_arguments_of_fit_have_one_order(clf):
    parameters = inspect.signature(clf.fit).parameters
    assert list(parameters)[:4] == ["X", "y", "X_unlabeled", "sample_weight"]
    by_name = [parameter.kind for parameter in parameters.values()][3:]
    assert set(by_name) == {inspect.Parameter.KEYWORD_ONLY}


def test_the_supervised_machine_checks_and_ignores_further_rows(tmp_path):
    X, y, X_u, _ = two_classes(20, 30, 3)
    expected = L2SVMClassifier().fit(X, y).coef_
    np.testing.assert_array_equal(L2SVMClassifier().fit(X, y, X_u).coef_, expected)
    frame = pd.DataFrame(X_u, columns=["a", "b", "c"])
    frame.to_parquet(tmp_path / "rows.parquet")
    clf = L2SVMClassifier().fit(X, y, tmp_path / "rows.parquet")
    np.testing.assert_array_equal(clf.coef_, expected)
    with pytest.raises(ValueError, match="X_unlabeled has 2 features but X has 3"):
        L2SVMClassifier().fit(X, y, X_u[:, :2])


# Ties


def with_ties(clf):
    """Return the estimator with the decision function ``x_0``, and rows with ties."""
    X, y, _ = partly_labelled()
    fitted = clone(clf).fit(X, np.where(y < 0, None, np.array(["no", "yes"])[y]))
    fitted.coef_, fitted.intercept_ = np.eye(1, 3), np.zeros(1)
    rows = np.zeros((4, 3))
    rows[:, 0] = [0.0, -0.0, 5e-324, -5e-324]
    return fitted, rows


SECOND = ["yes", "yes", "yes", "no"]


@each([*LEAST_SQUARES, *MACHINES])
def test_ties_go_to_the_second_class(clf, tmp_path):
    fitted, rows = with_ties(clf)
    for kind in (np.asarray, sparse.csr_array, lambda X: X.astype(np.float64).tolist()):
        assert fitted.predict(kind(rows)).tolist() == SECOND
    if not isinstance(clf, LeastSquaresBase):
        return
    pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(tmp_path / "rows.parquet")
    assert fitted.predict(tmp_path / "rows.parquet").tolist() == SECOND
    dask_array = pytest.importorskip("dask.array")
    lazy = fitted.predict(dask_array.from_array(rows, chunks=(2, 3)))
    assert lazy.compute().tolist() == SECOND


def test_a_tie_among_hard_labels():
    half, below = 0.5, np.nextafter(0.5, 0.0)
    labels = EMLeastSquaresClassifier("hard")._relabel(np.array([half, below]))
    assert labels.tolist() == [1.0, 0.0]


# A fit that fails


def fitted_attributes(clf):
    return [name for name in vars(clf) if name.endswith("_") and not name.startswith("_")]


@each(EVERY)
def test_a_fit_that_fails_late_leaves_an_unfitted_estimator(clf, monkeypatch):
    X, y, _ = partly_labelled()
    clf = clone(clf).fit(X, y)

    def fail(*args):
        raise MemoryError("late")

    for kind in (LeastSquaresBase, LinearMachine):
        monkeypatch.setattr(kind, "_remember", fail)
    monkeypatch.setattr(LogisticRegression, "fit", fail)
    with pytest.raises(MemoryError, match="late"):
        clf.fit(X, y)
    assert fitted_attributes(clf) == []
    with pytest.raises(NotFittedError):
        clf.predict(X)


@each(EVERY)
def test_a_refused_input_leaves_an_unfitted_estimator(clf):
    X, y, _ = partly_labelled()
    clf = clone(clf).fit(X, y)
    with pytest.raises(ValueError, match="X has 60 rows but y has 59 labels"):
        clf.fit(X, y[:-1])
    with pytest.raises(NotFittedError):
        check_is_fitted(clf)


def test_nothing_of_an_earlier_fit_is_left():
    X, y, _ = partly_labelled()
    clf = EMLeastSquaresClassifier().fit(X, y)
    clf.set_params(labels="hard").fit(X, y)
    assert not hasattr(clf, "gap_")


def test_a_warm_start_that_fails_leaves_an_unfitted_estimator():
    X, y, _ = partly_labelled()
    clf = L2SVMClassifier(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        clf.fit(np.full_like(X, np.nan), y)
    assert fitted_attributes(clf) == []


# Searches that end early


@pytest.mark.parametrize(
    ("clf", "limit", "message"),
    [
        (
            TSVMClassifier("cccp", alpha=0.01),
            "tsvm.MAX_CCCP_ROUNDS",
            "stopped after 1 rounds of cccp",
        ),
        (
            TSVMClassifier("annealing", alpha=0.01),
            "search.MAX_ANNEALING_ROUNDS",
            "stopped after 1 rounds of a",
        ),
        (
            WellSVMClassifier(0.01),
            "wellsvm.MAX_REWEIGHTING_ROUNDS",
            "stopped reweighting labellings after 1 rounds with a gap",
        ),
    ],
    ids=str,
)
def test_a_search_that_ends_early_says_so(clf, limit, message, monkeypatch):
    X, y, _ = partly_labelled()
    clone(clf).fit(X, y)  # no warning, which would be an error
    monkeypatch.setattr(f"primum.methods.svm.{limit}", 1)
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        clone(clf).fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}


@each([TSVMClassifier(), TSVMClassifier("annealing"), TSVMClassifier("cccp"), S4VMClassifier()])
def test_any_refit_that_ends_early_is_said(clf, monkeypatch):
    """Also if later ones do not."""
    from primum.methods.svm import newton  # whose functions the searches call by its name

    X, y, _ = partly_labelled()
    minimize, ends = newton.minimize, iter([False])

    def first_is_short(*args, **kwargs):
        return replace(minimize(*args, **kwargs), converged=next(ends, True))

    monkeypatch.setattr(newton, "minimize", first_is_short)
    message = f"{type(clf).__name__} stopped a refit after max_iter=1000 Newton steps"
    with pytest.warns(ConvergenceWarning, match=message):
        clone(clf).fit(X, y)


def test_refits_of_the_mixture_that_end_early_are_said(monkeypatch):
    X, y, _ = partly_labelled()
    monkeypatch.setattr("primum.methods.svm.wellsvm.MAX_REFIT_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="WellSVMClassifier stopped a refit after 1 Newton"):
        WellSVMClassifier(1e-3).fit(X, y)


def test_a_linear_program_that_is_not_solved_is_said(monkeypatch):
    from scipy.optimize import OptimizeResult

    X, y, _ = partly_labelled()
    failed = OptimizeResult(success=False, x=None, message="no luck")
    monkeypatch.setattr("primum.methods.svm.s4vm.linprog", lambda *args, **kwargs: failed)
    with pytest.warns(ConvergenceWarning, match="kept the supervised labels, .*: no luck"):
        clf = S4VMClassifier().fit(X, y)
    np.testing.assert_array_equal(clf.coef_, clf.supervised_.coef_)
