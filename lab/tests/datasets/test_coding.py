import numpy as np
import pytest

from primum_lab.datasets.loading import code, fingerprint, pca99, z_score


def test_z_score_has_n_minus_1():
    Z = z_score(np.random.default_rng(0).normal(3, 5, (40, 3)))
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(Z.var(axis=0, ddof=1), 1)


def test_z_score_refuses_what_has_none():
    with pytest.raises(ValueError, match="Column 1 of X is constant"):
        z_score(np.array([[1.0, 2.0], [3.0, 2.0]]))
    with pytest.raises(ValueError, match="at least two rows"):
        z_score(np.ones((1, 2)))


def test_pca99_counts_directions():
    rng = np.random.default_rng(1)
    Q, _ = np.linalg.qr(rng.normal(size=(200, 3)))
    Q -= Q.mean(axis=0)
    X = np.column_stack([Q[:, 0], -2 * Q[:, 0], Q[:, 1], Q[:, 2], Q[:, 0] + 5])
    assert pca99(X) == 3
    assert pca99(X, share=0.5) == 1


def test_missing_values_are_filled_before_levels_are_coded():
    raw = np.array(
        [[5, 40, 1, 1, np.nan], [4, np.nan, 2, 1, 3], [4, 60, np.nan, 2, 1], [4, 50, 2, 1, 3.0]]
    )
    X, names = code("mammography", raw, ("BIRADS", "Age", "Shape", "Margin", "Density"))
    assert names == ("Age", "Density", "Shape=2", "Margin=2")
    np.testing.assert_array_equal(X[:, 0], [40, 50, 60, 50])
    np.testing.assert_array_equal(X[:, 1], [3, 3, 1, 3])
    np.testing.assert_array_equal(X[:, 2], [0, 1, 1, 1])
    np.testing.assert_array_equal(X[:, 3], [0, 0, 1, 0])


def test_fingerprint_sees_everything_but_storage():
    X, codes = np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1])
    known = fingerprint(X, codes)
    assert fingerprint(np.asfortranarray(X), codes.astype(np.int8)) == known
    assert fingerprint(np.where(X == 0, -0.0, X), codes) == known
    changed = X.copy()
    changed[2, 1] = np.nextafter(changed[2, 1], 99)
    others = [(changed, codes), (X[::-1], codes), (X, 1 - codes), (X[:, ::-1], codes)]
    others += [(X.reshape(3, 4), codes)]
    assert known not in [fingerprint(*other) for other in others]
