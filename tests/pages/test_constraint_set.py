import numpy as np
import pytest

from generate import two_classes
from primum import ICLSClassifier, LeastSquaresClassifier
from primum.pages import constraint_set
from primum.pages.pictures import plot_constraint_set


def inside(polygon, points):
    """Tell which points lie in a closed, anti-clockwise, convex polygon."""
    edges = np.diff(polygon, axis=0)
    to_points = points[:, None, :] - polygon[:-1]
    cross = edges[:, 0] * to_points[..., 1] - edges[:, 1] * to_points[..., 0]
    return (cross >= -1e-9).all(axis=1)


def two_parameters(fit_intercept):
    X, y, X_u, y_u = two_classes(6, 30, 1 if fit_intercept else 2, seed=4)
    return X + 0.5, y, X_u + 0.5, y_u


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_polygon_holds_exactly_the_models_of_all_labellings(rng, fit_intercept):
    X, y, X_u, _ = two_parameters(fit_intercept)
    clf = ICLSClassifier(fit_intercept=fit_intercept).fit(X, y, X_unlabeled=X_u)
    polygon = constraint_set(clf, X, y, X_u)
    D = np.vstack([X, X_u])
    if fit_intercept:
        D = np.column_stack([np.ones(len(D)), D])
    labellings = np.vstack([rng.uniform(size=(50, 30)), rng.integers(0, 2, (50, 30))])
    betas = np.array([np.linalg.lstsq(D, np.r_[y, q])[0] for q in labellings])
    assert inside(polygon, betas).all()
    found = np.r_[[clf.intercept_[0] + 0.5] * fit_intercept, clf.coef_[0]]
    assert inside(polygon, found[None]).all()
    assert not inside(polygon, betas[:1] + 10 * np.ptp(polygon, axis=0)).any()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_polygon_picture_names_its_parts(fit_intercept):
    X, y, X_u, y_u = two_parameters(fit_intercept)
    clf = ICLSClassifier(fit_intercept=fit_intercept).fit(X, y, X_unlabeled=X_u)
    oracle = LeastSquaresClassifier(fit_intercept=fit_intercept)
    oracle.fit(np.vstack([X, X_u]), np.r_[y, y_u])
    ax = plot_constraint_set(clf, X, y, X_u, oracle=oracle)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [r"$C_\beta$", "supervised", "ICLS", "oracle"]


def test_interval_picture():
    X, y, X_u, _ = two_classes(6, 30, 1, seed=4)
    clf = ICLSClassifier(fit_intercept=False).fit(X, y, X_unlabeled=X_u)
    ends = constraint_set(clf, X, y, X_u).ravel()
    total = np.sum(np.vstack([X, X_u]) ** 2)
    expected = [(X.T @ y + part.sum()) / total for part in (X_u[X_u < 0], X_u[X_u > 0])]
    np.testing.assert_allclose(ends, np.ravel(expected))
    ax = plot_constraint_set(clf, X, y, X_u)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["supervised loss", r"$C_\beta$", "supervised", "ICLS"]


def test_three_parameters_are_refused():
    X, y, X_u, _ = two_classes(10, 30, 2)
    clf = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    with pytest.raises(ValueError, match="one or two parameters, not 3"):
        plot_constraint_set(clf, X, y, X_u)


def test_several_classes_have_no_such_set():
    X, y = np.arange(12.0)[:, None], np.r_[[0, 1, 2] * 2, [-1] * 6]
    clf = ICLSClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"computed for two classes, .* but y has 3: keep two of"):
        plot_constraint_set(clf, X, y)
