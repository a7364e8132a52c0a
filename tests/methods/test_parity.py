"""Agreement with the answers of the authors' R package on fixed problems."""

import numpy as np
import pytest

from generate import least_squares_family
from primum import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    KernelLeastSquaresClassifier,
    LeastSquaresClassifier,
    SelfLearningClassifier,
    USMClassifier,
)
from primum.labellings import implicit_problems
from primum.rows import ArrayRows, LabeledRows
from primum.solvers import solve
from primum_lab.as_published import PublishedICLS
from reference import arrays, reference_problems

PROBLEMS = reference_problems()
FULL_RANK = [name for name in PROBLEMS if name != "sonar_few"]


def distance(clf, problem, method):
    """Return the largest difference in scores of the test rows."""
    *_, X_test = arrays(problem)
    expected = np.array(problem["methods"][method]["decision_test"])
    return np.abs(clf.decision_function(X_test) + 0.5 - expected).max()


@pytest.mark.parametrize("name", PROBLEMS)
def test_closed_forms(name):
    problem = PROBLEMS[name]
    X, y, X_u, y_u, _ = arrays(problem)
    everything, truth = np.vstack([X, X_u]), np.concatenate([y, y_u])
    supervised = LeastSquaresClassifier().fit(X, y)
    ridge = LeastSquaresClassifier(alpha=0.1).fit(X, y)
    oracle = LeastSquaresClassifier().fit(everything, truth)
    usm = USMClassifier().fit(X, y, X_unlabeled=X_u)
    assert distance(supervised, problem, "least_squares") < 1e-8
    assert distance(ridge, problem, "least_squares_ridge") < 1e-8
    assert distance(oracle, problem, "oracle") < 1e-8
    assert distance(usm, problem, "usm") < 1e-8


@pytest.mark.parametrize("name", PROBLEMS)
def test_kernel_least_squares(name):
    """RSSL fits centred labels without an intercept, to features standardised on labelled rows."""
    problem = PROBLEMS[name]
    X, y, _, _, X_test = arrays(problem)
    mean, deviation = X.mean(axis=0), X.std(axis=0, ddof=1)
    rows, new = (X - mean) / deviation, (X_test - mean) / deviation
    clf = KernelLeastSquaresClassifier(0.01, gamma=0.05, fit_intercept=False)
    # A fit is linear in the labels: the fit to ones is that to y plus that to 1 - y.
    of_y, of_rest = (clf.fit(rows, z).decision_function(new) + 0.5 for z in (y, 1 - y))
    found = of_y - y.mean() * (of_y + of_rest) + y.mean()
    expected = problem["methods"]["kernel_ls"]["decision_test"]
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("name", PROBLEMS)
def test_self_learning(name):
    X, y, X_u, _, X_test = arrays(PROBLEMS[name])
    clf = SelfLearningClassifier().fit(X, y, X_unlabeled=X_u)
    expected = PROBLEMS[name]["methods"]["self_learning"]["pred_test"]
    np.testing.assert_array_equal(clf.predict(X_test), expected)


@pytest.mark.parametrize("name", FULL_RANK)
def test_icls_with_full_column_rank(name):
    problem = PROBLEMS[name]
    X, y, X_u, _, _ = arrays(problem)
    icls = ICLSClassifier(metric="labeled").fit(X, y, X_unlabeled=X_u)
    assert distance(icls, problem, "icls_qp") < 1e-6
    assert distance(icls, problem, "icls_lbfgs") < 5e-3
    ridge = ICLSClassifier(alpha=0.05, alpha_labeled=0.0, metric="labeled").fit(
        X, y, X_unlabeled=X_u
    )
    assert distance(ridge, problem, "icls_ridge") < 5e-3


@pytest.mark.parametrize("name", FULL_RANK)
@pytest.mark.parametrize(
    ("metric", "method"),
    [("all", "icls_projection_semisupervised"), ("euclidean", "icls_projection_euclidean")],
)
def test_projections(name, metric, method):
    X, y, X_u, _, _ = arrays(PROBLEMS[name])
    clf = ICLSClassifier(metric=metric).fit(X, y, X_unlabeled=X_u)
    assert distance(clf, PROBLEMS[name], method) < 1e-6


@pytest.mark.skipif("sonar_few" not in PROBLEMS, reason="needs the real data of ../shared")
class TestFewerLabelsThanFeatures:
    """Several labellings are optimal: with ``tie_break="half"``, the one closest to 1/2.

    L-BFGS-B, started at 1/2, nearly finds that one.
    """

    problem = PROBLEMS.get("sonar_few")

    def test_icls(self):
        X, y, X_u, _, _ = arrays(self.problem)
        icls = PublishedICLS(rcond=None).fit(X, y, X_unlabeled=X_u)
        assert distance(icls, self.problem, "icls_lbfgs") < 5e-3
        assert icls.certificate_.labeled_loss < 1e-12

    @pytest.mark.parametrize(
        ("metric", "method"),
        [("all", "icls_projection_semisupervised"), ("euclidean", "icls_projection_euclidean")],
    )
    def test_projections_of_the_same_supervised_solution(self, metric, method):
        # RSSL projects another of the many supervised solutions than ours: the shortest one,
        # intercept included, with the features centred on all rows.
        X, y, X_u, _, X_test = arrays(self.problem)
        mean = np.vstack([X, X_u]).mean(axis=0)
        theta = np.linalg.pinv(np.column_stack([np.ones(len(X)), X - mean])) @ y
        labeled = LabeledRows(X, y.astype(float))
        family = least_squares_family(labeled, ArrayRows(X_u), alpha=0.0, fit_intercept=True)
        supervised = (theta[1:], theta[0] - mean @ theta[1:])
        problem = next(implicit_problems(family, 0.0, supervised, [metric]))
        q = solve(problem, solver="newton", tol=1e-10, max_iter=1000).labels
        coef, intercept = family.equations.decode(family.gamma(q))
        expected = self.problem["methods"][method]["decision_test"]
        np.testing.assert_allclose(X_test @ coef + intercept, expected, atol=1e-6)


@pytest.mark.parametrize("name", FULL_RANK)
def test_em(name):
    problem = PROBLEMS[name]
    X, y, X_u, _, _ = arrays(problem)
    soft = EMLeastSquaresClassifier().fit(X, y, X_unlabeled=X_u)
    hard = EMLeastSquaresClassifier("hard").fit(X, y, X_unlabeled=X_u)
    assert distance(soft, problem, "em_least_squares_soft") < 1e-5
    assert distance(hard, problem, "em_least_squares_hard") < 1e-8


@pytest.mark.parametrize("name", PROBLEMS)
def test_em_objective_is_no_higher(name):
    problem = PROBLEMS[name]
    X, y, X_u, _, _ = arrays(problem)

    def objective(q):
        rows, labels = np.vstack([X, X_u]), np.concatenate([y, q])
        rows = np.column_stack([np.ones(len(rows)), rows])
        return np.sum((rows @ np.linalg.lstsq(rows, labels)[0] - labels) ** 2)

    theirs = np.array(problem["methods"]["em_least_squares_soft"]["responsibilities_u"])
    ours = EMLeastSquaresClassifier().fit(X, y, X_unlabeled=X_u).soft_labels_
    assert objective(ours) <= objective(theirs.reshape(-1)) + 1e-6
