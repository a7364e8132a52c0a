"""Arrays of other libraries, computed where they live.

scikit-learn dispatches to other libraries only if SCIPY_ARRAY_API was set before SciPy was
imported: ``make test`` runs these tests, and scikit-learn's own, in a run of pytest for them alone.
They use array-api-strict, which has nothing but the standard and whose second device stands for a
GPU, and PyTorch where it is installed.
"""

import importlib
import os
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import sklearn

from generate import several_classes
from primum import (
    EMLeastSquaresClassifier,
    HealyWestmacottClassifier,
    ICLSClassifier,
    ICLSRegressor,
    L2SVMClassifier,
    LeastSquaresClassifier,
    LeastSquaresRegressor,
    SelfLearningClassifier,
    TSVMClassifier,
    USMClassifier,
)
from primum._sklearn import ARRAY_API
from primum.labellings import StreamedColumns
from primum.rows import to_numpy

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("SCIPY_ARRAY_API") != "1", reason="make test runs it, with SCIPY_ARRAY_API=1"
    ),
    pytest.mark.skipif(not ARRAY_API, reason="needs scikit-learn 1.9"),
]
# What runs on a device that NumPy cannot read runs on that of NumPy.
HOMES = [
    pytest.param(("array_api_strict", "CPU_DEVICE"), marks=pytest.mark.slow),
    pytest.param(("array_api_strict", "device1")),
    pytest.param(("torch", "cpu")),
]


@pytest.fixture(params=[home for home in HOMES if find_spec(home.values[0][0])], ids=" on ".join)
def asarray(request):
    library, device = request.param
    xp = importlib.import_module(library)
    device = xp.Device(device) if library == "array_api_strict" else xp.device(device)
    return lambda values: xp.asarray(values, device=device)


@pytest.fixture(params=["formed", "streamed"])
def columns(request, monkeypatch):
    if request.param == "streamed":
        monkeypatch.setattr("primum.labellings.implicit.MAX_FORMED_NUMBERS", 0)
        monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 512)
        monkeypatch.setattr("primum.rows.array.BLOCK_NUMBERS", 2**13)


def problem(U=6_000, d=5, L=10):
    rng = np.random.default_rng(0)
    y = np.r_[0, 1, rng.integers(0, 2, L - 2)]
    X, X_u = rng.normal(size=(L, d)), rng.normal(size=(U, d))
    X[:, 0] += y
    return X, y, X_u


FAMILY = [
    LeastSquaresClassifier(),
    USMClassifier(alpha=0.1),
    EMLeastSquaresClassifier("soft"),
    EMLeastSquaresClassifier("hard"),
    HealyWestmacottClassifier(tol=1e-3),
    ICLSClassifier(),
    ICLSClassifier(metric="all"),
    ICLSClassifier(metric=0.2),
    ICLSClassifier(fit_intercept=False),
]


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("clf", FAMILY, ids=str)
def test_the_same_answer_in_the_same_library(clf, asarray):
    X, y, X_u = problem()
    expected = sklearn.clone(clf).fit(X, y, X_unlabeled=X_u)
    with sklearn.config_context(array_api_dispatch=True):
        fitted = sklearn.clone(clf).fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))
        predicted = fitted.predict(asarray(X_u))
        chances = fitted.predict_proba(asarray(X_u))
        for array in (fitted.coef_, fitted.intercept_, predicted, chances):
            assert type(array) is type(asarray(X))
    np.testing.assert_allclose(to_numpy(fitted.coef_), expected.coef_, atol=1e-10)
    np.testing.assert_array_equal(to_numpy(predicted), expected.predict(X_u))
    np.testing.assert_allclose(to_numpy(chances), expected.predict_proba(X_u), atol=1e-10)
    if hasattr(expected, "certificate_"):
        assert fitted.certificate_.converged
        soft = to_numpy(fitted.soft_labels_)
        np.testing.assert_allclose(soft, expected.soft_labels_, atol=1e-8)


SEVERAL = [clf for clf in FAMILY if sklearn.utils.get_tags(clf).classifier_tags.multi_class]


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("clf", SEVERAL, ids=str)
def test_several_classes_have_the_same_answer_in_the_same_library(clf, asarray):
    X, y, X_u, _ = several_classes(30, 600, 5, 4)
    weight = np.linspace(1.0, 2.0, 30)
    expected = sklearn.clone(clf).fit(X, y, X_unlabeled=X_u, sample_weight=weight)
    with sklearn.config_context(array_api_dispatch=True):
        fitted = sklearn.clone(clf).fit(asarray(X), asarray(y), asarray(X_u), sample_weight=weight)
        for method in ("predict", "predict_proba", "decision_function"):
            found, values = getattr(fitted, method)(asarray(X_u)), getattr(expected, method)(X_u)
            assert type(found) is type(asarray(X))
            np.testing.assert_allclose(to_numpy(found), values, atol=1e-7)
    np.testing.assert_allclose(to_numpy(fitted.coef_), expected.coef_, atol=1e-7)
    if hasattr(expected, "soft_labels_"):
        soft = to_numpy(fitted.soft_labels_)
        np.testing.assert_allclose(soft, expected.soft_labels_, atol=1e-7)


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("n_classes", [2, 4])
def test_partial_labels_have_the_same_answer_in_the_same_library(n_classes, asarray):
    X, y, X_u, _ = several_classes(30, 3000, 5, n_classes, separation=0.5)
    rows, labels = np.vstack([X, X_u[:2000]]), np.r_[y, np.full(2000, -1)]
    rng = np.random.default_rng(0)
    if n_classes == 2:
        name, values = "label_bounds", np.sort(rng.random((len(rows), 2)), axis=1)
        values[:30] = np.nan
    else:
        name, values = "possible", rng.random((len(rows), n_classes)) < 0.8
        values[np.arange(30), y] = values[:, :2] = True
    weight = rng.integers(0, 3, len(rows)) + (labels >= 0)
    given = {"sample_weight": weight}
    expected = ICLSClassifier().fit(rows, labels, X_u[2000:], **{name: values}, **given)
    with sklearn.config_context(array_api_dispatch=True):
        there = (asarray(rows), asarray(labels), asarray(X_u[2000:]))
        fitted = ICLSClassifier().fit(*there, **{name: asarray(values)}, **given)
    assert fitted.certificate_.converged
    np.testing.assert_allclose(to_numpy(fitted.coef_), expected.coef_, atol=1e-7)
    np.testing.assert_allclose(to_numpy(fitted.soft_labels_), expected.soft_labels_, atol=1e-6)


# More rows than ``columns_of`` forms M for: these fits read the rows in passes, as large ones do.
MANY = 20_000
KNOWN_OF_ROWS = [(), ("sample_weight", "possible")]


@pytest.mark.parametrize("prior", [None, "confidence", [0.25, 0.3, 0.45]], ids=str)
@pytest.mark.parametrize("names", KNOWN_OF_ROWS, ids=["rows only", "weights and masks"])
def test_several_classes_and_many_rows(names, prior, asarray):
    X, y, X_u, _ = several_classes(60, MANY, 5, 3, separation=0.5)
    rows, labels = np.vstack([X, X_u]), np.r_[y, np.full(MANY, -1)]
    rng = np.random.default_rng(0)
    possible = rng.random((len(rows), 3)) < 0.8
    possible[np.arange(60), y] = possible[:, :2] = True
    weight = rng.integers(0, 3, len(rows)) + (labels >= 0)
    given = {name: {"sample_weight": weight, "possible": possible}[name] for name in names}
    clf = ICLSClassifier(solver="scale", prior=prior)
    expected = sklearn.clone(clf).fit(rows, labels, **given)
    with sklearn.config_context(array_api_dispatch=True):
        given = {name: asarray(values) for name, values in given.items()}
        fitted = sklearn.clone(clf).fit(asarray(rows), asarray(labels), **given)
        chances = fitted.predict_proba(asarray(X_u))
    assert fitted.solver_ == "scale"
    assert fitted.certificate_.converged
    for found, values in (
        (fitted.coef_, expected.coef_),
        (fitted.intercept_, expected.intercept_),
        (chances, expected.predict_proba(X_u)),
    ):
        assert type(found) is type(asarray(X))
        np.testing.assert_allclose(to_numpy(found), values, rtol=0, atol=1e-8)


@pytest.mark.parametrize("clf", SEVERAL, ids=str)
def test_every_method_with_several_classes_and_many_rows(clf, asarray):
    X, y, X_u, _ = several_classes(60, MANY, 5, 3, separation=0.5)
    expected = sklearn.clone(clf).fit(X, y, X_u)
    with sklearn.config_context(array_api_dispatch=True):
        fitted = sklearn.clone(clf).fit(asarray(X), asarray(y), asarray(X_u))
        scores = fitted.decision_function(asarray(X_u))
    np.testing.assert_allclose(to_numpy(fitted.coef_), expected.coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(to_numpy(scores), expected.decision_function(X_u), atol=1e-8)


def test_a_prior_may_be_an_array_of_the_same_library(asarray):
    X, y, X_u, _ = several_classes(60, 500, 5, 3, separation=0.5)
    shares = np.array([0.25, 0.3, 0.45])
    expected = ICLSClassifier(prior=shares).fit(X, y, X_u)
    with sklearn.config_context(array_api_dispatch=True):
        clf = ICLSClassifier(prior=asarray(shares)).fit(asarray(X), asarray(y), asarray(X_u))
    np.testing.assert_allclose(to_numpy(clf.coef_), expected.coef_, rtol=0, atol=1e-8)


@pytest.mark.usefixtures("columns")
def test_rows_scattered_in_one_array_single_precision_and_weights(asarray):
    X, y, X_u = problem()
    order = np.random.default_rng(1).permutation(len(X) + len(X_u))
    rows = np.vstack([X, X_u]).astype(np.float32)[order]
    labels = np.r_[y, np.full(len(X_u), -1)][order]
    weight = np.random.default_rng(2).integers(0, 3, len(rows)) + (labels >= 0)
    expected = ICLSClassifier().fit(rows.astype(float), labels, sample_weight=weight)
    with sklearn.config_context(array_api_dispatch=True):
        weight = asarray(weight.astype(np.float32))
        fitted = ICLSClassifier().fit(asarray(rows), asarray(labels), sample_weight=weight)
        assert fitted.coef_.dtype == asarray(rows.astype(float)).dtype
        scores = fitted.decision_function(asarray(rows))
        assert scores.dtype == fitted.coef_.dtype
    np.testing.assert_allclose(to_numpy(scores), expected.decision_function(rows), atol=1e-6)
    np.testing.assert_allclose(to_numpy(fitted.coef_), expected.coef_, atol=1e-6)
    assert fitted.certificate_.converged


@pytest.fixture
def precisions(monkeypatch):
    """Stream all rows; whether each pass of the solver was in single precision."""
    monkeypatch.setattr("primum.labellings.implicit.MAX_FORMED_NUMBERS", 0)
    monkeypatch.setattr("primum.solvers.sample.MIN_SAMPLE_ROWS", 512)
    monkeypatch.setattr("primum.rows.array.BLOCK_NUMBERS", 2**13)
    used, sweep = [], StreamedColumns.sweep

    def recorded(*args):
        used.append(args[-1])
        return sweep(*args)

    monkeypatch.setattr(StreamedColumns, "sweep", recorded)
    return used


def assert_same_optimum(fitted, expected):
    ours, theirs = fitted.certificate_, expected.certificate_
    assert ours.converged
    assert abs(ours.objective - theirs.objective) <= ours.gap + theirs.gap + 1e-11
    assert abs(ours.changed - theirs.changed) <= 2
    # The labelled loss is within its tolerance, so scores and coefficients are within its root.
    np.testing.assert_allclose(to_numpy(fitted.coef_), expected.coef_, atol=ours.tol**0.5)
    assert ours.shift == pytest.approx(theirs.shift, abs=ours.tol**0.5)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_labeled", [40, 400], ids=["moved", "nearly feasible"])
def test_the_search_is_in_single_precision_for_such_rows(n_labeled, n_classes, asarray, precisions):
    X, y, X_u, _ = several_classes(n_labeled, 6_000, 5, n_classes, separation=0.5)
    X, X_u = X.astype(np.float32), X_u.astype(np.float32)
    expected = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    assert not any(precisions)
    precisions.clear()
    with sklearn.config_context(array_api_dispatch=True):
        fitted = ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))
    assert precisions[0]
    assert_same_optimum(fitted, expected)


def test_the_search_continues_in_double_precision(asarray, precisions):
    """Single precision does not suffice for features that are almost collinear."""
    X, y, X_u = problem(L=20)
    for rows in (X, X_u):
        rows[:, 1] = rows[:, 0] + 3e-6 * rows[:, 1]
    X, X_u = X.astype(np.float32), X_u.astype(np.float32)
    expected = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    precisions.clear()
    with sklearn.config_context(array_api_dispatch=True):
        fitted = ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))
    assert precisions[0]
    assert not precisions[-1]
    assert fitted.certificate_.converged
    scores = X_u @ (to_numpy(fitted.coef_) - expected.coef_).T
    assert np.sqrt(np.mean(scores**2)) < 1e-4


def test_equal_rows_are_found_there_too(asarray, monkeypatch):
    monkeypatch.setattr("primum.labellings.implicit.MAX_FORMED_NUMBERS", 0)
    X, y, X_u = problem(U=100)
    X_u = np.repeat(X_u, 50, axis=0)
    expected = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    with sklearn.config_context(array_api_dispatch=True):
        fitted = ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))
    np.testing.assert_allclose(to_numpy(fitted.coef_), expected.coef_, atol=1e-10)


@pytest.mark.parametrize("weak", [1e-6, 0.0], ids=["nearly", "exactly"])
def test_collinear_rows_are_factorised_where_they_are(weak, asarray, monkeypatch):
    X, y, X_u = problem()
    for rows in (X, X_u):
        rows[:, 1] = 3.0 - rows[:, 0] + weak * rows[:, 1]
    expected = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    fetched = []

    def counted(values):
        fetched.append(np.prod(values.shape))
        return to_numpy(values)

    monkeypatch.setattr("primum.equations.coordinates.to_numpy", counted)
    with sklearn.config_context(array_api_dispatch=True):
        clf = ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))
    assert max(fetched) <= 6 * 6
    np.testing.assert_allclose(to_numpy(clf.coef_), expected.coef_, rtol=1e-6)


def test_a_value_that_is_no_number_is_refused(asarray):
    X, y, X_u = problem()
    X_u[4_321, 2] = np.nan
    with (
        sklearn.config_context(array_api_dispatch=True),
        pytest.raises(ValueError, match="X_unlabeled contains NaN"),
    ):
        ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))


def test_ties_go_to_the_second_class_there_too(asarray):
    X, y, _ = problem()
    rows = np.zeros((3, 5))
    rows[:, 0] = [0.0, 1.0, -1.0]
    with sklearn.config_context(array_api_dispatch=True):
        clf = LeastSquaresClassifier().fit(asarray(X), asarray(y))
        clf.coef_, clf.intercept_ = asarray(np.eye(1, 5)), asarray(np.zeros(1))
        predicted = clf.predict(asarray(rows))
        assert type(predicted) is type(asarray(X))
    assert to_numpy(predicted).tolist() == [1, 1, 0]


def test_the_score_counts_known_labels_wherever_they_are(asarray):
    X, y, X_u = problem(L=40)
    truth = np.where(np.arange(40) % 3, y, -1)
    weight = np.linspace(1.0, 2.0, 40)
    expected = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    with sklearn.config_context(array_api_dispatch=True):
        fitted = ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))
        rows = asarray(X)
        assert fitted.score(rows, asarray(truth)) == expected.score(X, truth)
        for labels, weights in ((asarray(truth), asarray(weight)), (truth, weight)):
            weighted = fitted.score(rows, labels, sample_weight=weights)
            assert weighted == expected.score(X, truth, sample_weight=weight)


def test_rows_in_files_are_predicted_and_labelled_by_numpy(asarray, tmp_path):
    X, y, X_u = problem()
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X_u, columns=list("abcde")).to_parquet(path)
    expected = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    with sklearn.config_context(array_api_dispatch=True):
        for more in (asarray(X_u), path):
            fitted = ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=more)
            np.testing.assert_array_equal(fitted.predict(path), expected.predict(X_u))
            np.testing.assert_allclose(
                fitted.predict_proba(path), expected.predict_proba(X_u), atol=1e-10
            )
            soft = fitted.soft_labels(path)
            np.testing.assert_allclose(soft, expected.soft_labels_, atol=1e-8)


def test_soft_labels_of_the_same_rows_are_where_the_rows_are(asarray):
    X, y, X_u = problem()
    with sklearn.config_context(array_api_dispatch=True):
        fitted = ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=asarray(X_u))
        soft = fitted.soft_labels(asarray(X_u))
        assert type(soft) is type(fitted.soft_labels_)
        assert soft.device == fitted.soft_labels_.device
    np.testing.assert_allclose(to_numpy(soft), to_numpy(fitted.soft_labels_), atol=1e-12)


def test_labels_and_weights_may_be_in_another_library(asarray):
    X, y, X_u = problem(L=20)
    weight = np.linspace(1.0, 2.0, 20)
    expected = ICLSClassifier().fit(X, y, X_unlabeled=X_u, sample_weight=weight)
    with sklearn.config_context(array_api_dispatch=True):
        here = ICLSClassifier().fit(asarray(X), y, asarray(X_u), sample_weight=weight)
        there = ICLSClassifier().fit(X, asarray(y), X_u, sample_weight=asarray(weight))
    np.testing.assert_allclose(to_numpy(here.coef_), expected.coef_, atol=1e-10)
    np.testing.assert_array_equal(there.coef_, expected.coef_)


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("n_labeled", [4, 14])
def test_ties_are_broken_as_with_numpy(n_labeled, asarray):
    X, y, X_u = problem(d=20, L=n_labeled)
    expected = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u)
    with sklearn.config_context(array_api_dispatch=True):
        fitted = ICLSClassifier(metric="labeled").fit(
            asarray(X), asarray(y), X_unlabeled=asarray(X_u)
        )
    assert fitted.certificate_.tie_break == "twin"
    assert fitted.certificate_.converged
    np.testing.assert_allclose(to_numpy(fitted.coef_), expected.coef_, atol=1e-6)


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("n_labeled", [4, 14])
def test_ties_between_models_of_several_classes(n_labeled, asarray):
    X, y, X_u, _ = several_classes(n_labeled, 1000, 20, 4, separation=0.5)
    expected = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u)
    with sklearn.config_context(array_api_dispatch=True):
        fitted = ICLSClassifier(metric="labeled").fit(
            asarray(X), asarray(y), X_unlabeled=asarray(X_u)
        )
    assert fitted.certificate_.tie_break == "twin"
    assert fitted.certificate_.converged
    np.testing.assert_allclose(to_numpy(fitted.coef_), expected.coef_, atol=1e-6)


@pytest.mark.parametrize(
    "clf", [L2SVMClassifier(), TSVMClassifier(), SelfLearningClassifier()], ids=str
)
def test_estimators_that_need_numpy_say_so(asarray, clf):
    X, y, _ = problem()
    sentence = rf"{type(clf).__name__} computes with NumPy arrays only, but X is an array of .* on "
    with (
        sklearn.config_context(array_api_dispatch=True),
        pytest.raises(ValueError, match=sentence + ".*: convert it, or use ICLSClassifier or"),
    ):
        clf.fit(asarray(X), y)


def test_rows_in_two_libraries_are_refused(asarray):
    X, y, X_u = problem()
    with sklearn.config_context(array_api_dispatch=True):
        with pytest.raises(
            ValueError, match=r"X is an array of .* on .*, but X_unlabeled is one of NumPy"
        ):
            ICLSClassifier().fit(asarray(X), asarray(y), X_unlabeled=X_u)
        with pytest.raises(
            ValueError, match=r"X is an array of NumPy, but X_unlabeled is one of .* on"
        ):
            ICLSClassifier().fit(X, y, X_unlabeled=asarray(X_u))
        fitted = ICLSClassifier().fit(asarray(X), asarray(y))
        for predict in (fitted.predict, fitted.predict_proba, fitted.decision_function):
            with pytest.raises(ValueError, match="must use the same namespace"):
                predict(X)


def test_names_of_classes_come_back_as_numpy_strings(asarray):
    X, y, _ = problem(L=20)
    names = np.array(["no", "yes"])[y]
    expected = ICLSClassifier().fit(X, names).predict(X)
    with sklearn.config_context(array_api_dispatch=True):
        predicted = ICLSClassifier().fit(asarray(X), names).predict(asarray(X))
    np.testing.assert_array_equal(predicted, expected)


REGRESSORS = [
    LeastSquaresRegressor(),
    ICLSRegressor(bounds=(-1, 1)),
    ICLSRegressor(bounds=(-1, 1), metric="all", fit_intercept=False),
]


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("own", [False, True], ids=["common bounds", "bounds of rows"])
@pytest.mark.parametrize("reg", REGRESSORS, ids=str)
def test_regressors_have_the_same_answer_in_the_same_library(reg, own, asarray, tmp_path):
    """Some of the rows of X have bounds of their own, and then some have a weight of 0."""
    X, y, X_u = problem(U=2_000, L=30)
    targets = np.clip(X[:, 0] + 4.0 * (y - 0.5), -1.0, 1.0)
    targets[6:] = np.nan
    # Labelled rows close together have a steep supervised model, beyond the bounds elsewhere.
    X[:6] *= 0.1
    arguments = {"sample_weight": (np.arange(30) + 1) % 7} if own else {}
    if isinstance(reg, ICLSRegressor) and own:
        bounds = np.where(np.isnan(targets)[:, None], [0.5, 1.0], np.nan)
        arguments["target_bounds"] = bounds
    expected = sklearn.clone(reg).fit(X, targets, X_u, **arguments)
    path = tmp_path / "rows.parquet"
    pd.DataFrame(X_u, columns=list("abcde")).to_parquet(path)
    with sklearn.config_context(array_api_dispatch=True):
        there = {name: asarray(values) for name, values in arguments.items()}
        fitted = sklearn.clone(reg).fit(asarray(X), asarray(targets), asarray(X_u), **there)
        predicted = fitted.predict(asarray(X_u))
        for array in (fitted.coef_, predicted):
            assert type(array) is type(asarray(X))
        np.testing.assert_allclose(fitted.predict(path), expected.predict(X_u), atol=1e-6)
        assert fitted.score(asarray(X), targets) == pytest.approx(expected.score(X, targets))
        with pytest.raises(ValueError, match="must use the same namespace"):
            fitted.predict(X)
        if isinstance(reg, ICLSRegressor):
            assert type(fitted.targets_) is type(asarray(X))
            found = fitted.targets(asarray(X_u))
            np.testing.assert_allclose(to_numpy(found), expected.targets_[24:], atol=1e-4)
    np.testing.assert_allclose(to_numpy(predicted), expected.predict(X_u), atol=1e-6)
    if isinstance(reg, ICLSRegressor):
        assert fitted.certificate_.converged
        assert expected.certificate_.moved
        np.testing.assert_allclose(to_numpy(fitted.targets_), expected.targets_, atol=1e-4)
