"""Linear systems in the directions in which labels can still move.

Rows that share their directions E (a face, K x e) have curvature ``E E'`` and contribute

    E E' (x) G,      G = sum_i w_i m_i m_i'

to the Hessian, however many classes there are. The same sum is ``A A'``, where A has a column
``E_a (x) sqrt(w_i) m_i`` for every row i of the face and direction a. Which of the two is used
depends on their sizes. Vectors have one entry for each of the r dimensions and each contrast of the
classes, because adding the same number to all classes changes nothing.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg

from primum._typing import Floats
from primum.labellings import SOFT, Columns, Held, LabelProblem, LabelSet
from primum.labellings.sets import Face

# Larger systems are solved by conjugate gradients: to this accuracy, which Newton's method needs
# only to be a descent direction, in at most this many steps.
DIRECT_UP_TO, ACCURACY, STEPS = 2500, 1e-6, 500


def freedom_of(faces: Sequence[Face]) -> int:
    """Return the number of free parameters of the labels."""
    return sum(face.freedom for face in faces)


def n_contrasts(labels: LabelSet) -> int:
    """Return the number of directions of one label, 1 if it is a number."""
    return 1 if labels.contrasts is None else labels.contrasts.shape[1]


def flat(labels: LabelSet, xi: Floats) -> Floats:
    """Return Xi as one vector, contrast by contrast."""
    return xi if labels.contrasts is None else (labels.contrasts.T @ xi.T).ravel()


def unflat(labels: LabelSet, x: Floats) -> Floats:
    """Return Xi from one vector: the inverse of ``flat``."""
    if labels.contrasts is None:
        return x
    n = labels.contrasts.shape[1]
    return np.asarray(x.reshape(n, -1).T @ labels.contrasts.T)


def newton_direction(
    columns: Columns,
    labels: LabelSet,
    faces: Sequence[Face],
    sigma: float,
    g: Floats,
    held: Held | None = None,
) -> Floats:
    """Solve ``(I + sigma Hessian) direction = -g`` in the smaller of the two spaces.

    In the directions ``held`` by a prior, their curvature takes the place of I.
    """
    freedom = freedom_of(faces)
    if freedom == 0:
        return -g if held is None else unflat(labels, _released(held, -flat(labels, g)))
    if freedom > len(g) * n_contrasts(labels):
        grams = [(face.directions, columns.gram(face.rows)) for face in faces]
        return unflat(labels, solve_hessian(labels, grams, sigma, -flat(labels, g), held))
    A, b = stacked(columns, labels, faces, root_weighted=True), flat(labels, g)
    S = A.T @ A
    S.reshape(-1)[:: len(S) + 1] += 1.0 / sigma
    direction = A @ solve_positive(S, b @ A) - b
    if held is not None:
        V, kept = held.directions, 1.0 - held.curvature
        across = A.T @ V
        inner = solve_positive(S, across)
        E = kept * (across.T @ inner) + held.curvature * np.eye(V.shape[1])
        direction += (V - A @ inner) @ solve_positive(E, kept * (V.T @ direction))
    return unflat(labels, direction)


def moved_target(
    problem: LabelProblem, missing: Floats, fitted: Callable[[Floats], Floats], xi: Floats | None
) -> tuple[Floats, Floats]:
    """Return (the target moved along a prior's direction until its active bounds are met, nu).

    ``missing``, flat, is the target minus the M Q from which some labels move, ``fitted`` is the
    change of M Q that a best fit of these labels to a target makes. Multipliers that do not affect
    it are those at Xi.
    """
    held = None if xi is None else problem.held(xi, np.inf)
    if held is None or problem.prior is None or xi is None:
        return missing, np.zeros(0) if xi is None else problem.multipliers(xi)
    V, labels, prior, nu = held.directions, problem.labels, problem.prior, problem.multipliers(xi)
    # From M Q to where it would be with all active shares at their bounds.
    wanted = V.T @ (flat(labels, xi - prior.pull(nu / (1.0 - SOFT))) + missing)
    moved = missing - flat(labels, prior.pull(nu))
    step = np.linalg.lstsq(V.T @ fitted(V), wanted - V.T @ fitted(moved), rcond=None)[0]
    change = V @ step
    nu = nu - (prior.direction @ unflat(labels, change)) / prior.length**2
    return moved + change, np.asarray(nu)


def _released(held: Held, b: Floats) -> Floats:
    """Solve ``(I - (1 - curvature) V V') x = b`` for the directions V."""
    V = held.directions
    return np.asarray(b + (1.0 / held.curvature - 1.0) * (V @ (V.T @ b)))


def stacked(
    columns: Columns, labels: LabelSet, faces: Sequence[Face], *, root_weighted: bool = False
) -> Floats:
    """Return A, with rows weighted or not, face by face and direction by direction."""
    parts = []
    for face in faces:
        M = columns.take(face.rows)
        if root_weighted and columns.weight is not None:
            M = M * np.sqrt(columns.weight[face.rows])
        parts.append(M if labels.contrasts is None else _kron(labels, face.directions, M))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _kron(labels: LabelSet, directions: Floats, M: Floats) -> Floats:
    """Return the Kronecker product of the directions, in contrasts, and M."""
    assert labels.contrasts is not None
    C = labels.contrasts.T @ directions
    product = C[:, None, :, None] * M[None, :, None, :]
    return product.reshape(len(C) * len(M), C.shape[1] * M.shape[1])


def split(x: Floats, faces: Sequence[Face]) -> list[Floats]:
    """Return the part of x of every face, as (directions, rows)."""
    if len(faces) == 1:
        return [x.reshape(-1, len(faces[0].rows))]
    ends = np.cumsum([face.freedom for face in faces])
    parts = np.split(x, ends[:-1])
    return [part.reshape(-1, len(face.rows)) for part, face in zip(parts, faces, strict=True)]


def along_faces(values: Floats, faces: Sequence[Face]) -> Floats:
    """Return the components of values of rows along the directions of their faces."""
    if values.ndim == 1:
        return np.concatenate([values[face.rows] for face in faces])
    return np.concatenate([(face.directions.T @ values[face.rows].T).ravel() for face in faces])


def hessian_of(columns: Columns, labels: LabelSet, faces: Sequence[Face]) -> Floats:
    """Return ``sum E E' (x) G`` of some faces, in contrasts."""
    return _assembled(labels, [(face.directions, columns.gram(face.rows)) for face in faces])


def solve_hessian(
    labels: LabelSet,
    grams: Sequence[tuple[Floats, Floats]],
    sigma: float,
    b: Floats,
    held: Held | None = None,
) -> Floats:
    """Solve ``(I + sigma sum E E' (x) G) x = b`` for pairs (E, G).

    In the directions ``held`` by a prior, their curvature takes the place of I.
    """
    if not grams:
        return b if held is None else _released(held, b)
    if len(b) > DIRECT_UP_TO and labels.contrasts is not None:
        return _solve_by_products(labels, grams, sigma, b, held)
    H = sigma * _assembled(labels, grams)
    H.flat[:: len(H) + 1] += 1.0
    if held is not None:
        H -= (1.0 - held.curvature) * (held.directions @ held.directions.T)
    return solve_positive(H, b)


def _coefficients(labels: LabelSet, grams: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return ``E E'`` of every face, in contrasts."""
    assert labels.contrasts is not None
    parts = [labels.contrasts.T @ directions for directions, _ in grams]
    return np.stack([part @ part.T for part in parts])


def _assembled(labels: LabelSet, grams: Sequence[tuple[Floats, Floats]]) -> Floats:
    if labels.contrasts is None:
        return grams[0][1]
    C, G = _coefficients(labels, grams), np.stack([gram for _, gram in grams])
    k, r = C.shape[1], G.shape[1]
    blocks = np.tensordot(C, G, axes=(0, 0))  # (k, k, r, r)
    return blocks.transpose(0, 2, 1, 3).reshape(k * r, k * r)


def _solve_by_products(
    labels: LabelSet,
    grams: Sequence[tuple[Floats, Floats]],
    sigma: float,
    b: Floats,
    held: Held | None = None,
) -> Floats:
    """Solve by conjugate gradients, preconditioned by the diagonal blocks."""
    C = _coefficients(labels, grams)
    k, r = C.shape[1], len(grams[0][1])

    def product(x: Floats) -> Floats:
        X = x.reshape(k, r)
        parts = (c @ X @ gram for c, (_, gram) in zip(C, grams, strict=True))
        y = x + sigma * sum(parts, np.zeros((k, r))).ravel()
        if held is not None:
            y -= (1.0 - held.curvature) * (held.directions @ (held.directions.T @ x))
        return y

    blocks = [_block_factor(C[:, j, j], grams, sigma) for j in range(k)]

    def precondition(x: Floats) -> Floats:
        parts = zip(blocks, x.reshape(k, r), strict=True)
        return np.concatenate([lapack.dpotrs(factor, part, lower=1)[0] for factor, part in parts])

    shape = (k * r, k * r)
    operator = LinearOperator(shape, matvec=product, dtype=np.float64)
    inverse = LinearOperator(shape, matvec=precondition, dtype=np.float64)
    x, _ = cg(operator, b, rtol=ACCURACY, maxiter=STEPS, M=inverse)
    return np.asarray(x)


def _block_factor(shares: Floats, grams: Sequence[tuple[Floats, Floats]], sigma: float) -> Floats:
    H = sigma * sum(share * gram for share, (_, gram) in zip(shares, grams, strict=True))
    H.flat[:: len(H) + 1] += 1.0
    return np.asarray(lapack.dpotrf(H, lower=1)[0])


def solve_positive(S: Floats, b: Floats) -> Floats:
    """Solve with a positive definite matrix."""
    factor, info = cholesky(S)
    if info != 0:  # singular to working precision: use the minimum-norm solution
        return np.asarray(np.linalg.lstsq(S, b, rcond=None)[0])
    return np.asarray(lapack.dpotrs(factor, b, lower=1)[0])


def cholesky(S: Floats) -> tuple[Floats, int]:
    """Return (lower triangle of the factor of S, LAPACK's info)."""
    # S is symmetric, so its transpose is S in Fortran order. clean=0 leaves arbitrary values in the
    # upper triangle, which is not read; S itself is kept in case it is singular.
    factor, info = lapack.dpotrf(S.T, lower=1, clean=0)
    return factor, int(info)
