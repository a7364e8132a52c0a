"""Agreement of the generative classifiers with the answers of the authors' R package."""

import numpy as np
import pytest

from primum import LDAClassifier, SingularCovarianceWarning
from reference import arrays, full_problems, rssl_answer

each_problem = pytest.mark.parametrize("name", full_problems())


@each_problem
def test_supervised(name):
    problem = full_problems()[name]
    X, y, _, _, X_test = arrays(problem)
    nearest = LDAClassifier("spherical", priors="equal").fit(X, y)
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
    np.testing.assert_allclose(clf.priors_[::-1], answer["prior"], atol=1e-8)
