"""The scikit-learn contract, for every estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from generate import several_classes, two_classes
from primum import (
    ContrastivePessimisticLDAClassifier,
    EMLDAClassifier,
    EMLeastSquaresClassifier,
    EntropyLogisticClassifier,
    ICLDAClassifier,
    ICLSClassifier,
    ICLSRegressor,
    KernelICLSClassifier,
    KernelLeastSquaresClassifier,
    L2SVMClassifier,
    LaplacianLeastSquaresClassifier,
    LDAClassifier,
    LeastSquaresClassifier,
    LeastSquaresRegressor,
    ManifoldClassifier,
    MomentConstrainedLDAClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
)
from primum.methods.registry import METHODS, method_of

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
# Parameters other than the default ones, or instead of them.
CLASSIFIERS = [
    LeastSquaresClassifier(alpha=0.1, fit_intercept=False),
    EMLeastSquaresClassifier(labels="hard"),
    SelfLearningClassifier(LogisticRegression(max_iter=10_000)),
    ICLSClassifier(alpha=0.1),
    ICLSClassifier(metric="all"),
    ICLSClassifier(metric="euclidean", solver="lbfgsb"),
    KernelLeastSquaresClassifier(alpha=0.1, kernel="linear", fit_intercept=False),
    KernelICLSClassifier(alpha=0.1, kernel="laplacian", metric="all"),
    L2SVMClassifier(alpha=0.01, costs="sum", penalize_intercept=True),
    SelfLearningClassifier(L2SVMClassifier()),
    TSVMClassifier("annealing"),
    TSVMClassifier("cccp"),
    EntropyLogisticClassifier(1.0, alpha=0.1, fit_intercept=False),
    LDAClassifier("spherical", prior="equal"),
    EMLDAClassifier("spherical", unlabeled_weight=0.5),
    LaplacianLeastSquaresClassifier(kernel="linear", graph_weights="heat", graph_power=2),
    ManifoldClassifier(SVC(kernel="precomputed", tol=1e-8)),
    MomentConstrainedLDAClassifier("spherical"),
    ICLDAClassifier(tol=1e-7),
    ICLDAClassifier("spherical", prior="equal", tol=1e-7),
    ContrastivePessimisticLDAClassifier(tol=1e-7),
    ContrastivePessimisticLDAClassifier("spherical"),
]
REGRESSORS = [
    LeastSquaresRegressor(alpha=0.1, fit_intercept=False),
    ICLSRegressor(alpha=0.1, bounds=(-1e6, 1e6)),
    ICLSRegressor(metric="all", fit_intercept=False),
    ICLSRegressor(metric=0.2, solver="lbfgsb"),
]
# With these parameters only: the default ones take long, or are not exact enough for some checks.
NOT_AS_DEFAULT = ("ManifoldClassifier", "ICLDAClassifier", "ContrastivePessimisticLDAClassifier")


def registered(methods=METHODS):
    """Return all methods of the registry, with the default parameters; tuned ones have own tests.

    A new method joins all tests of this file by its line there.
    """
    plain = [m for m in methods if not m.name.endswith("CV") and m.name not in NOT_AS_DEFAULT]
    return [estimator for m in plain if hasattr(estimator := m.load()(), "predict")]


ESTIMATORS = [*filter(is_classifier, registered()), *CLASSIFIERS]
REGRESSORS = [*filter(is_regressor, registered()), *REGRESSORS]


def first_of_each_class(estimators):
    """Return the first of every class, and the others."""
    first = list({type(one): one for one in estimators[::-1]}.values())
    return first[::-1], [one for one in estimators if one not in first]


FIRST, OTHERS = first_of_each_class([*ESTIMATORS, *REGRESSORS])
each_regressor = pytest.mark.parametrize("reg", REGRESSORS, ids=str)
each_estimator = pytest.mark.parametrize("clf", ESTIMATORS, ids=str)
SEVERAL = [clf for clf in ESTIMATORS if get_tags(clf).classifier_tags.multi_class]
with_two_and_several_classes = pytest.mark.parametrize(
    ("clf", "n_classes"),
    [(clf, 2) for clf in ESTIMATORS] + [(clf, 4) for clf in SEVERAL if clf in FIRST],
    ids=str,
)


def problem(n_labeled, n_unlabeled, d, n_classes, *, seed=0):
    if n_classes == 2:
        return two_classes(n_labeled, n_unlabeled, d, seed=seed)
    return several_classes(n_labeled, n_unlabeled, d, n_classes, seed=seed)


def expected_failures(estimator):
    if is_regressor(estimator):
        return {}
    failures = {
        "check_classifiers_classes": "it uses -1 as a class, which means unknown here; "
        "test_classes_of_any_type checks the same with other names"
    }
    if SKLEARN < (1, 7):
        reason = "before 1.7 it gives a binary classifier other labels beside the weights"
        failures["check_sample_weight_equivalence_on_dense_data"] = reason
        failures["check_sample_weight_equivalence_on_sparse_data"] = reason
    return failures


def first_of_each_class(estimators):
    """Return the first of every class, and the others."""
    first = list({type(one): one for one in estimators[::-1]}.values())
    return first[::-1], [one for one in estimators if one not in first]


FIRST, OTHERS = first_of_each_class([*ESTIMATORS, *REGRESSORS])


# Some checks have rows whose features are collinear within the classes.
@pytest.mark.filterwarnings("ignore::primum.SingularCovarianceWarning")
@parametrize_with_checks(FIRST, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Other parameters of the same classes, which all other tests of this file have too.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::primum.SingularCovarianceWarning")
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks_with_other_parameters(estimator, check):
    check(estimator)


CLASS_NAMES = {
    "strings": (np.array(["maybe", "no", "perhaps", "yes"]), None),
    "objects": (np.array(["maybe", "no", "perhaps", "yes"], dtype=object), None),
    "integers": (np.array([3, 7, 8, 11]), -1),
    "floats": (np.array([-1.0, 1.0, 2.0, 3.0]), np.nan),
    "booleans": (np.array([False, True]), None),
}


# One function reads the labels for all estimators, so every kind is tried once for each of their
# types with two classes, and one kind with several.
KINDS = [(clf, 2, kind) for clf in FIRST if not is_regressor(clf) for kind in CLASS_NAMES]
KINDS += [(clf, 4, "strings") for clf in SEVERAL]


@pytest.mark.parametrize(("clf", "n_classes", "kind"), KINDS, ids=str)
def test_classes_of_any_type(clf, n_classes, kind):
    """The replacement for check_classifiers_classes: names of classes change nothing else."""
    X, y, X_u, _ = problem(20, 30, 3, n_classes)
    names, unknown = CLASS_NAMES[kind]
    names = names[:n_classes]
    expected = clone(clf).fit(np.vstack([X, X_u]), np.r_[y, np.full(30, -1)])
    labels = names[y].tolist() + [unknown] * 30
    if kind in ("integers", "floats"):
        labels = np.array(labels)
    fitted = clone(clf).fit(np.vstack([X, X_u]), labels)
    np.testing.assert_array_equal(fitted.classes_, names)
    np.testing.assert_array_equal(fitted.predict(X_u), names[expected.predict(X_u)])
    np.testing.assert_array_equal(fitted.decision_function(X_u), expected.decision_function(X_u))
    assert set(fitted.predict(X_u).tolist()) <= set(names.tolist())


@each_estimator
@pytest.mark.parametrize(
    "make",
    [
        lambda y: pd.Series(np.where(y < 0, None, y), dtype="Int64"),
        lambda y: pd.Series(np.where(y < 0, np.nan, y)),
        lambda y: pd.Series(["no", "yes"])[np.abs(y)].reset_index(drop=True).where(y >= 0),
        lambda y: pd.Series(np.where(y < 0, None, np.array(["no", "yes"])[y]), dtype="category"),
        lambda y: pd.Series(np.where(y < 0, None, y == 1), dtype="boolean"),
    ],
    ids=["Int64", "float", "string", "category", "boolean"],
)
def test_pandas_labels(clf, make):
    X, y, X_u, _ = two_classes(20, 30, 3)
    X, y = np.vstack([X, X_u]), np.r_[y, np.full(30, -1)]
    expected = clone(clf).fit(X, y)
    fitted = clone(clf).fit(X, make(y))
    np.testing.assert_array_equal(fitted.decision_function(X), expected.decision_function(X))


@with_two_and_several_classes
def test_unlabelled_rows_in_y_or_apart(clf, n_classes):
    X, y, X_u, _ = problem(20, 30, 3, n_classes)
    mixed = np.random.default_rng(0).permutation(50)
    together = clone(clf).fit(np.vstack([X, X_u])[mixed], np.r_[y, np.full(30, -1)][mixed])
    apart = clone(clf).fit(X, y, X_u)
    np.testing.assert_allclose(
        together.decision_function(X_u), apart.decision_function(X_u), atol=1e-5
    )


@each_estimator
def test_swapping_the_classes_only_changes_the_sign(clf):
    X, y, X_u, _ = two_classes(20, 60, 3, seed=3)
    X, y = np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]
    if not getattr(clf, "fit_intercept", True):
        pytest.skip("without intercept the coding of the classes matters")
    swapped = np.where(y < 0, -1, 1 - y)
    scores, opposite = (clone(clf).fit(X, labels).decision_function(X) for labels in (y, swapped))
    np.testing.assert_allclose(scores, -opposite, atol=1e-5)


@pytest.mark.parametrize("clf", SEVERAL, ids=str)
def test_permuting_several_classes_permutes_the_columns(clf):
    X, y, X_u, _ = several_classes(20, 60, 3, 4, seed=3)
    X, y = np.vstack([X, X_u]), np.r_[y, np.full(60, -1)]
    order = np.array([2, 0, 3, 1])
    scores = clone(clf).fit(X, y).decision_function(X)
    permuted = clone(clf).fit(X, np.where(y < 0, -1, order[y])).decision_function(X)
    np.testing.assert_allclose(permuted[:, order], scores, atol=1e-5)


@with_two_and_several_classes
def test_probabilities_are_valid_and_agree_with_predict(clf, n_classes):
    X, y, X_u, _ = problem(20, 60, 3, n_classes)
    fitted = clone(clf).fit(X, y)
    if not hasattr(fitted, "predict_proba"):
        pytest.skip("a margin is no probability")
    probability = fitted.predict_proba(5 * X_u)
    assert probability.shape == (60, n_classes)
    assert probability.min() >= 0
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.classes_[probability.argmax(1)], fitted.predict(5 * X_u))


@with_two_and_several_classes
def test_pipeline_search_pickle_and_names(clf, n_classes):
    X, y, *_ = problem(80, 0, 3, n_classes)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler(), clone(clf)).set_output(transform="pandas")
    pipeline.fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    copy = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(copy.predict(frame), pipeline.predict(frame))
    assert np.isfinite(cross_val_score(pipeline, frame, y, cv=2, error_score="raise")).all()


@with_two_and_several_classes
def test_skops_and_clone(clf, n_classes):
    """A stored model and a refitted clone predict the same; only types of primum need trust."""
    X, y, X_u, _ = problem(20, 30, 3, n_classes)
    fitted = clone(clf).fit(X, y, X_u)
    stored = skops.io.dumps(fitted)
    untrusted = skops.io.get_untrusted_types(data=stored)
    assert all(name.startswith("primum.") for name in untrusted), untrusted
    expected = fitted.decision_function(X_u)
    read = skops.io.loads(stored, trusted=untrusted)
    np.testing.assert_array_equal(read.decision_function(X_u), expected)
    np.testing.assert_array_equal(clone(fitted).fit(X, y, X_u).decision_function(X_u), expected)


def test_search_scores_only_known_labels():
    X, y, X_u, _ = two_classes(40, 200, 3, separation=4.0)
    X, y = np.vstack([X, X_u]), np.r_[y, np.full(200, -1)]
    search = GridSearchCV(ICLSClassifier(), {"alpha": [0.0, 0.1], "metric": ["labeled", "all"]})
    search.fit(X, y)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.certificate_.converged


@with_two_and_several_classes
def test_score_leaves_unknown_labels_out(clf, n_classes):
    X, y, X_u, _ = problem(40, 20, 3, n_classes)
    fitted = clone(clf).fit(X, y)
    expected = np.mean(fitted.predict(X) == y)
    assert fitted.score(np.vstack([X, X_u]), np.r_[y, np.full(20, -1)]) == pytest.approx(expected)
    of_one = np.mean(fitted.predict(X[y == 1]) == 1)
    assert fitted.score(X[y == 1], y[y == 1]) == pytest.approx(of_one)
    with pytest.raises(ValueError, match="No row is labelled"):
        fitted.score(X, np.full(40, -1))


def test_further_rows_through_a_pipeline():
    """With metadata routing scikit-learn transforms them; without it they are passed as given."""
    X, y, X_u, _ = two_classes(40, 200, 3)
    X, X_u = 7 + 3 * X, 7 + 3 * X_u
    with config_context(enable_metadata_routing=True):
        clf = ICLSClassifier(alpha=0.1).set_fit_request(X_unlabeled=True)
        pipeline = Pipeline(
            [("scale", StandardScaler()), ("clf", clf)], transform_input=["X_unlabeled"]
        ).fit(X, y, X_unlabeled=X_u)
    scaler = StandardScaler().fit(X)
    expected = ICLSClassifier(alpha=0.1).fit(
        scaler.transform(X), y, X_unlabeled=scaler.transform(X_u)
    )
    np.testing.assert_allclose(pipeline[-1].coef_, expected.coef_)


@each_estimator
def test_the_twin_knows_the_feature_names(clf):
    X, y, *_ = two_classes(40, 20, 3)
    rows = pd.DataFrame(X, columns=list("abc"))
    fitted = clone(clf).fit(rows, np.r_[y[:30], np.full(10, -1)])
    if not method_of(type(clf).__name__).supervised:
        assert fitted.supervised_.predict(rows).shape == (len(X),)


@with_two_and_several_classes
def test_float32_rows_are_summed_in_double_precision(clf, n_classes):
    X, y, X_u, _ = problem(20, 60, 3, n_classes)
    X, X_u = X.astype(np.float32), X_u.astype(np.float32)
    y = np.r_[y, np.full(60, -1)]
    single = clone(clf).fit(np.vstack([X, X_u]), y)
    double = clone(clf).fit(np.vstack([X, X_u]).astype(np.float64), y)
    foreign = isinstance(getattr(clf, "estimator", None), LogisticRegression)
    np.testing.assert_allclose(
        single.decision_function(X_u.astype(np.float64)),
        double.decision_function(X_u.astype(np.float64)),
        atol=1e-4 if foreign else 1e-10,
    )


def partly_known():
    """Return rows, targets within (-100, 100), and the same with unknown ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    truth = np.clip(X @ [20.0, -10.0, 5.0] + 20 * rng.normal(size=50), -99, 99)
    return X, truth, np.where(np.arange(50) < 20, truth, np.nan)


def bounded(reg):
    return clone(reg) if not hasattr(reg, "bounds") else clone(reg).set_params(bounds=(-100, 100))


@each_regressor
def test_rows_of_unknown_target_in_y_or_apart(reg):
    X, _, y = partly_known()
    mixed = np.random.default_rng(0).permutation(50)
    together = bounded(reg).fit(X[mixed], y[mixed])
    apart = bounded(reg).fit(X[:20], y[:20], X[20:])
    np.testing.assert_allclose(together.predict(X), apart.predict(X), atol=1e-4)


@each_regressor
def test_regressors_in_pipelines_with_names_and_pickle(reg):
    X, truth, y = partly_known()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler(), bounded(reg)).set_output(transform="pandas")
    pipeline.fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    copy = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(copy.predict(frame), pipeline.predict(frame))
    assert np.isfinite(cross_val_score(pipeline, frame, truth, error_score="raise")).all()
    if hasattr(pipeline[-1], "supervised_"):
        pipeline[-1].supervised_.predict(pipeline[:-1].transform(frame))


@each_regressor
def test_regressors_sum_float32_rows_in_double_precision(reg):
    X, _, y = partly_known()
    single, X = bounded(reg).fit(X.astype(np.float32), y), X.astype(np.float32).astype(float)
    double = bounded(reg).fit(X, y)
    np.testing.assert_allclose(single.predict(X), double.predict(X), atol=1e-8)
