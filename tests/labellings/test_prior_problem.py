"""The proof of a fit with a prior: every dual point bounds the objective of every labelling."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from primum.labellings.prior import ShareBounds
from primum.labellings.prior_problem import judge_with_prior, with_prior
from primum.labellings.problem import FormedColumns, LabelProblem
from primum.labellings.sets import Simplex


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(3, 5),
    intercept=st.booleans(),
    size=st.sampled_from([0.0, 1e-6, 1.0, 100.0]),
)
@settings(max_examples=50)
def test_every_dual_point_gives_a_bound(seed, n_classes, intercept, size):
    """Without a row of ones in M, the problem with the prior adds one."""
    rng = np.random.default_rng(seed)
    M, T = rng.normal(size=(3, 30)), 10 * rng.normal(size=(3, n_classes))
    M[0] = 1.0 if intercept else M[0]
    T -= T.mean(axis=1, keepdims=True)
    plain = LabelProblem(FormedColumns(M), T, Simplex(n_classes))
    share = rng.dirichlet(np.full(n_classes, 3.0))
    shares = ShareBounds(np.maximum(share - 0.1, 0.0), np.minimum(share + 0.1, 1.0))
    problem = with_prior(plain, shares, 30.0)
    assert (problem.prior.extended is None) is intercept

    def labelling():
        Q = rng.dirichlet(np.full(n_classes, 0.5), size=30)
        return share + min(1.0, 0.1 / np.abs(Q.mean(axis=0) - share).max()) * (Q - share)

    def objective(Q):
        residual = M @ (Q - 1.0 / n_classes) - T
        return 0.5 * np.sum(residual**2)

    nu = size * rng.normal(size=n_classes)
    xi = size * rng.normal(size=(len(problem.prior.direction), n_classes))
    Q = labelling()
    judged, s = judge_with_prior(problem, Q, nu - nu.mean(), dual=xi)
    np.testing.assert_allclose(s, Q.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(judged.objective, objective(Q), rtol=1e-9)
    least = min(objective(labelling()) for _ in range(20))
    assert judged.objective - judged.gap <= least + 1e-9 * (1 + abs(least))
    # A point that proves more lowers the gap, and no other raises it.
    assert judged.gap <= judge_with_prior(problem, Q, nu - nu.mean())[0].gap
