"""Agreement of the generative classifiers with the answers of the authors' R package."""

from types import SimpleNamespace

import numpy as np
import pytest

from likelihoods import mean_log_likelihood
from primum import (
    EMLDAClassifier,
    ICLDAClassifier,
    LDAClassifier,
    MomentConstrainedLDAClassifier,
    SingularCovarianceWarning,
)
from reference import arrays, reference_problems, rssl_answer

each_problem = pytest.mark.parametrize("name", reference_problems())


@each_problem
def test_supervised(name):
    problem = reference_problems()[name]
    X, y, _, _, X_test = arrays(problem)
    nearest = LDAClassifier("spherical", prior="equal").fit(X, y)
    answer = rssl_answer(problem, "nearest_mean")
    assert_same_model(nearest, answer)
    np.testing.assert_array_equal(nearest.predict(X_test), answer["pred_test"])
    answer = rssl_answer(problem, "lda")
    if name == "sonar_few":  # fewer rows than features: RSSL has no predictions
        with pytest.warns(SingularCovarianceWarning, match="rank 18 for 60 features"):
            assert_same_model(LDAClassifier().fit(X, y), answer)
        return
    lda = LDAClassifier().fit(X, y)
    assert_same_model(lda, answer)
    np.testing.assert_array_equal(lda.predict(X_test), answer["pred_test"])


def assert_same_model(clf, answer):
    """Class 1 comes first in RSSL's answers."""
    np.testing.assert_allclose(clf.means_[::-1], answer["means"], atol=1e-8)
    np.testing.assert_allclose(clf.covariance_, answer["sigma"], atol=1e-8)
    np.testing.assert_allclose(clf.prior_[::-1], answer["prior"], atol=1e-8)


def model_of(answer):
    """Return RSSL's model with the attributes of ours."""
    return SimpleNamespace(
        means_=answer["means"][::-1], covariance_=answer["sigma"], prior_=answer["prior"][::-1]
    )


@each_problem
@pytest.mark.parametrize(("kind", "method"), [("spherical", "em_nearest_mean"), ("full", "em_lda")])
def test_em(name, kind, method):
    """Both end in the same local maximum, and our likelihood is never the lower one."""
    problem = reference_problems()[name]
    X, y, X_u, _, X_test = arrays(problem)
    answer = rssl_answer(problem, method)
    clf = EMLDAClassifier(kind, tol=1e-13).fit(X, y, X_u)
    if answer is None:  # fewer labels than features: RSSL starts from a singular covariance
        assert (name, clf.supervised_.rank_, clf.rank_) == ("sonar_few", 18, 60)
        return
    theirs = mean_log_likelihood(model_of(answer), X, y, X_u)
    assert theirs - 1e-11 < clf.log_likelihood_ < theirs + 1e-6
    np.testing.assert_array_equal(clf.predict(X_test), answer["pred_test"])
    np.testing.assert_allclose(clf.soft_labels_, answer["responsibilities_u"], atol=0.01)


@each_problem
def test_moment_constraints(name):
    problem = reference_problems()[name]
    X, y, X_u, _, X_test = arrays(problem)
    nearest = MomentConstrainedLDAClassifier("spherical").fit(X, y, X_u)
    answer = rssl_answer(problem, "mc_nearest_mean")
    assert_same_model(nearest, answer)
    np.testing.assert_array_equal(nearest.predict(X_test), answer["pred_test"])
    answer = rssl_answer(problem, "mc_lda")
    mean = np.vstack([X, X_u]).mean(axis=0)
    answer["means"] = answer["means"] + mean  # RSSL centres the features on all rows
    if name == "sonar_few":
        return assert_singular_constraint(X, y, X_u, model_of(answer))
    lda = MomentConstrainedLDAClassifier().fit(X, y, X_u)
    assert_same_model(lda, answer)
    np.testing.assert_array_equal(lda.predict(X_test), answer["pred_test"])


def assert_singular_constraint(X, y, X_u, theirs):
    """With fewer labels than features our model has the moments of all rows, RSSL's has not.

    They are compared on the range of the labelled covariance.
    """
    with pytest.warns(SingularCovarianceWarning, match="rank 18 for 60 features"):
        ours = MomentConstrainedLDAClassifier().fit(X, y, X_u)
    scale = X.std(axis=0)
    kept = np.linalg.svd((X - X.mean(axis=0)) / scale, full_matrices=False)[2][:19].T
    reader = kept / scale[:, None]
    expected = np.cov((np.vstack([X, X_u]) @ reader).T, bias=True)

    def violation(model):
        centered = model.means_ - model.prior_ @ model.means_
        total = model.covariance_ + (centered.T * model.prior_) @ centered
        return np.abs(reader.T @ total @ reader - expected).max()

    assert violation(ours) < 1e-10
    assert violation(theirs) > 0.1


@each_problem
def test_implicit_constraints(name):
    """Our likelihood on the labelled rows is the higher one: RSSL stops a little early."""
    problem = reference_problems()[name]
    X, y, X_u, _, X_test = arrays(problem)
    answer = rssl_answer(problem, "ic_lda")
    clf = ICLDAClassifier().fit(X, y, X_u)
    if answer is None:  # fewer labels than features: RSSL starts from a singular covariance
        assert (name, clf.supervised_.rank_, clf.rank_) == ("sonar_few", 18, 60)
        return
    theirs = mean_log_likelihood(model_of(answer), X, y)
    assert theirs < clf.log_likelihood_ < theirs + 0.01
    near = ICLDAClassifier(n_init=1).fit(X, y, X_u)  # RSSL has a single start, too
    assert theirs < near.log_likelihood_ < theirs + 1e-6
    np.testing.assert_array_equal(near.predict(X_test), answer["pred_test"])
