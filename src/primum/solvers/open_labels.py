"""Linear systems in the directions in which labels can still move.

Rows that share their directions E (a face, K x e) have curvature ``E E'`` and contribute

    E E' (x) G,      G = sum_i w_i m_i m_i'

to the Hessian, however many classes there are. The same sum is ``A A'``, where A has a column
``E_a (x) sqrt(w_i) m_i`` for every row i of the face and every direction a. The smaller of the two
forms is used. Vectors have one entry for each of the r dimensions and each contrast of the classes,
because adding the same number to all classes changes nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, cg

from primum._typing import Floats, Index, Mask
from primum.labellings.prior import HeldDirections
from primum.labellings.problem import ProblemColumns
from primum.labellings.sets import LabelSet, contrasts_of, directions_of, groups, keys_of
from primum.solvers.class_blocks import PROXIMAL_RIDGE, ClassSystem, cost_by_class

# Larger systems (in equations or labels) are solved by conjugate gradients, to this relative
# residual and in at most this many steps: a Gram matrix of this size takes 50 MB, and Newton's
# method only needs a descent direction.
MAX_DIRECT_SIZE, FACE_CG_TOLERANCE, MAX_FACE_CG_STEPS = 2500, 1e-6, 500
# If more labels are undecided than there are equations, sigma is usually small and the system
# well-conditioned. From MIN_ROUGH_SIZE equations on, MAX_ROUGH_STEPS steps of conjugate gradients
# then take less time than a Gram matrix. A relative residual of ROUGH_RESIDUAL suffices for a
# descent direction; if the steps do not reach it, the system is solved exactly.
MIN_ROUGH_SIZE, MAX_ROUGH_STEPS, ROUGH_RESIDUAL = 100, 8, 0.3
# Systems of at least this many labels are solved class by class, if that is less work: smaller ones
# take hardly any time.
MIN_BY_CLASS_SIZE = 600
# Gram matrices of faces that are only added up are in memory this many at a time: enough to fill
# the calls, few enough for the memory.
MAX_FACES_AT_ONCE = 64

# The rows whose labels can move in the same directions, and these as orthonormal columns (K, e);
# K is 1 if a label is one number.
Face = tuple[Index, Floats]


def n_contrasts(labels: LabelSet) -> int:
    """Return the number of directions of one label, 1 if it is a number."""
    return labels.shape[0] - 1 if labels.shape else 1


def flat(labels: LabelSet, xi: Floats) -> Floats:
    """Return Xi (r,) or (r, K) as one vector, contrast by contrast."""
    return (contrasts_of(labels.shape[0]).T @ xi.T).ravel() if labels.shape else xi


def unflat(labels: LabelSet, x: Floats) -> Floats:
    """Return Xi (r,) or (r, K) from one vector: the inverse of ``flat``."""
    if not labels.shape:
        return x
    contrasts = contrasts_of(labels.shape[0])
    return np.asarray(x.reshape(contrasts.shape[1], -1).T @ contrasts.T)


def in_contrasts(labels: LabelSet, directions: Floats) -> Floats:
    """Return directions (K, e) of labels as combinations (K - 1, e) of the contrasts."""
    return contrasts_of(labels.shape[0]).T @ directions if labels.shape else directions


class OpenLabels:
    """The labels that can move within their faces: products with A, and Newton's step.

    A is not formed, because its columns are long. They are ordered face by face and direction by
    direction. A column is ``D (x) m_i``, so the product of two columns is that of their directions
    times that of their rows. ``freedom`` is the number of columns, and ``n_equations`` of rows.
    """

    def __init__(self, columns: ProblemColumns, labels: LabelSet, face: Mask) -> None:
        self.columns, self.labels, self.face = columns, labels, face
        # The rows whose labels can still move, grouped by direction.
        if labels.shape:
            by_key = groups(keys_of(face), 0)
            self.faces: list[Face] = [(rows, directions_of(labels.shape, k)) for k, rows in by_key]
        else:
            rows = face.nonzero()[0]
            self.faces = [(rows, directions_of((), 1))] if len(rows) else []
        self.freedom = sum(len(rows) * D.shape[1] for rows, D in self.faces)
        self.n_equations = columns.shape[0] * (labels.shape[0] - 1 if labels.shape else 1)

    @cached_property
    def rows(self) -> Index:
        """The rows, face by face."""
        rows = [rows for rows, _ in self.faces]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    @cached_property
    def weighted_columns(self) -> Floats:
        """The columns of M that belong to the rows, times the roots of their weights."""
        M, weight = self.columns.take(self.rows), self.columns.weight
        return M if weight is None else M * np.sqrt(weight[self.rows])

    @cached_property
    def row_and_direction(self) -> tuple[Index, Floats]:
        """The row (c,) and the direction (K, c) of each of the c columns of A."""
        where, directions, start = [], [], 0
        for rows, D in self.faces:
            n, e = len(rows), D.shape[1]
            where.append(np.tile(np.arange(start, start + n), e))
            directions.append(np.repeat(D, n, axis=1))
            start += n
        return np.concatenate(where), np.concatenate(directions, axis=1)

    @cached_property
    def mask(self) -> Mask:
        """The classes of every row's face."""
        parts = [np.tile((D != 0).any(axis=1), (len(rows), 1)) for rows, D in self.faces]
        return np.concatenate(parts)

    @cached_property
    def least_norm(self) -> ClassSystem | None:
        """The system for moves of least norm, solved class by class; None if it is singular."""
        G = self.products()
        return ClassSystem.of(G, self.mask, PROXIMAL_RIDGE * float(G.diagonal().max()))

    def by_class_is_faster(self) -> bool:
        """Return whether the system is large, and solving it class by class takes less time."""
        if not self.labels.shape or self.freedom < MIN_BY_CLASS_SIZE:
            return False
        return cost_by_class(self.mask) < self.freedom**3 / 3

    def products(self) -> Floats:
        """Return the inner products of the weighted columns of M."""
        G, weight = self.columns.products(self.rows), self.columns.weight
        if weight is not None:
            root = np.sqrt(weight[self.rows])
            G *= root
            G *= root[:, None]
        return G

    def gram(self) -> Floats:
        """Return ``A'A``."""
        G = self.products()
        if not self.labels.shape:
            return G
        row, D = self.row_and_direction
        S = D.T @ D
        S *= G[row[:, None], row]
        return np.asarray(S)

    def along(self, g: Floats) -> Floats:
        """Return ``A'g``, the components of ``M'g`` along the directions."""
        if not self.labels.shape:
            return np.asarray(g @ self.weighted_columns)
        row, D = self.row_and_direction
        return np.asarray(np.einsum("kc,kc->c", D, (g.T @ self.weighted_columns)[:, row]))

    def sum(self, x: Floats) -> Floats:
        """Return ``A x``, one column per class."""
        if not self.labels.shape:
            return np.asarray(self.weighted_columns @ x)
        moves = [D @ part for (_, D), part in zip(self.faces, self.split(x), strict=True)]
        return self.weighted_columns @ np.concatenate(moves, axis=1).T

    def along_flat(self, b: Floats) -> Floats:
        """Return ``A'b`` for a flat vector, or for several as columns."""
        if b.ndim == 1:
            return self.along(unflat(self.labels, b))
        return np.array([self.along(unflat(self.labels, column)) for column in b.T]).T

    def sum_flat(self, x: Floats) -> Floats:
        """Return ``A x``, flat, for one vector or for several as columns."""
        if x.ndim == 1:
            return flat(self.labels, self.sum(x))
        return np.array([flat(self.labels, self.sum(column)) for column in x.T]).T

    def matrix(self) -> Floats:
        """Return A for unweighted rows, face by face and direction by direction."""
        parts = [
            np.kron(in_contrasts(self.labels, D), self.columns.take(rows)) for rows, D in self.faces
        ]
        return np.concatenate(parts, axis=1)

    def split(self, x: Floats) -> list[Floats]:
        """Split x into the parts of the faces, each as (directions, rows)."""
        parts = np.split(x, np.cumsum([len(rows) * D.shape[1] for rows, D in self.faces])[:-1])
        both = zip(parts, self.faces, strict=True)
        return [part.reshape(-1, len(rows)) for part, (rows, _) in both]

    def components(self, values: Floats) -> Floats:
        """Return the components of values of all rows along the directions of their faces."""
        values = values[:, None] if values.ndim == 1 else values
        return np.concatenate([(D.T @ values[rows].T).ravel() for rows, D in self.faces])

    def grams(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[Floats, Floats]]:
        """Yield the directions and the Gram matrix of some faces: not all need be in memory."""
        return ((D, self.columns.gram(rows)) for rows, D in self.faces[start:stop])

    def hessian(self) -> Floats:
        """Return ``sum E E' (x) G``, in contrasts."""
        if not self.labels.shape:  # one face, in the only direction
            return self.columns.gram(self.rows)
        H: Floats | float = 0.0
        for start in range(0, len(self.faces), MAX_FACES_AT_ONCE):
            H = H + _assembled(self.labels, list(self.grams(start, start + MAX_FACES_AT_ONCE)))
        return np.asarray(H)

    def newton_direction(
        self, sigma: float, g: Floats, held: HeldDirections | None = None, *, exact: bool = False
    ) -> Floats:
        """Solve ``(I + sigma Hessian) direction = -g`` in the smaller of the two spaces.

        In the directions ``held`` by a prior, their curvature takes the place of I. Unless
        ``exact`` is True, the relative residual may be as large as ``ROUGH_RESIDUAL``.
        """
        labels, size = self.labels, self.n_equations
        if self.freedom == 0:
            return -g if held is None else unflat(labels, _released(held, -flat(labels, g)))

        # More labels than equations: a system in the equations.
        if self.freedom > size:
            if not labels.shape and held is None and size >= MIN_ROUGH_SIZE and not exact:
                inside = np.zeros(self.columns.shape[1])  # a product costs less than copying most
                inside[self.faces[0][0]] = sigma  # of M

                def roughly(x: Floats) -> Floats:
                    return x + self.columns.accumulate(inside * self.columns.project(x))

                operator = LinearOperator((size, size), matvec=roughly, dtype=np.float64)
                # SciPy looks at the residual before a step, so the last step needs one more.
                x, left = cg(operator, -g, rtol=ROUGH_RESIDUAL, maxiter=MAX_ROUGH_STEPS + 1)
                if not left:
                    return np.asarray(x)
            if labels.shape and size > MAX_DIRECT_SIZE and held is None:

                def by_rows(x: Floats) -> Floats:  # two products with M, whatever the faces
                    return x + sigma * flat(labels, self.sum(self.along(unflat(labels, x))))

                b = flat(labels, -g)
                return unflat(labels, _solve_by_cg(labels, by_rows, self.grams(), sigma, b))
            b = -flat(labels, g)
            return unflat(labels, solve_hessian(labels, list(self.grams()), sigma, b, held))

        # Fewer labels than equations: a system in the labels, perhaps class by class.
        if labels.shape and held is None and self.by_class_is_faster():
            system = ClassSystem.of(self.products(), self.mask, 1.0 / sigma)
            if system is not None:
                M = self.weighted_columns
                return M @ system.solve(np.asarray(M.T @ g)) - g
        S = self.gram()
        S.reshape(-1)[:: len(S) + 1] += 1.0 / sigma
        direction = self.sum(solve_positive(S, self.along(g), overwrite=held is None)) - g
        if held is None:
            return direction

        # The curvature of held directions takes the place of I (Sherman, Morrison, Woodbury).
        V, kept, across = held.directions, 1.0 - held.curvature, self.along_flat(held.directions)
        inner = solve_positive(S, across)
        E = kept * (across.T @ inner) + held.curvature * np.eye(V.shape[1])
        step, rest = flat(labels, direction), V - self.sum_flat(inner)
        return unflat(labels, step + rest @ solve_positive(E, kept * (V.T @ step)))


def _released(held: HeldDirections, b: Floats) -> Floats:
    """Solve ``(I - (1 - curvature) V V') x = b`` for the directions V."""
    V = held.directions
    return np.asarray(b + (1.0 / held.curvature - 1.0) * (V @ (V.T @ b)))


def _coefficients(labels: LabelSet, grams: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return ``E E'`` of every face, in contrasts."""
    parts = [in_contrasts(labels, directions) for directions, _ in grams]
    return np.stack([part @ part.T for part in parts])


def _assembled(labels: LabelSet, grams: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return ``sum E E' (x) G`` as one matrix, for pairs (E, G)."""
    C, G = _coefficients(labels, grams), np.stack([gram for _, gram in grams])
    k, r = C.shape[1], G.shape[1]
    blocks = np.tensordot(C, G, axes=(0, 0))  # (k, k, r, r)
    return blocks.transpose(0, 2, 1, 3).reshape(k * r, k * r)


def solve_hessian(
    labels: LabelSet,
    grams: Sequence[tuple[Floats, Floats]],
    sigma: float,
    b: Floats,
    held: HeldDirections | None = None,
) -> Floats:
    """Solve ``(I + sigma sum E E' (x) G) x = b`` for pairs (E, G).

    In the directions ``held`` by a prior, their curvature takes the place of I.
    """
    if not grams:
        return b if held is None else _released(held, b)
    if len(b) > MAX_DIRECT_SIZE and labels.shape:
        C = _coefficients(labels, grams)
        k, r = C.shape[1], len(grams[0][1])

        def product(x: Floats) -> Floats:  # one product for each face and contrast
            X = x.reshape(k, r)
            parts = (c @ X @ gram for c, (_, gram) in zip(C, grams, strict=True))
            y = x + sigma * sum(parts, np.zeros((k, r))).ravel()
            if held is not None:
                y -= (1.0 - held.curvature) * (held.directions @ (held.directions.T @ x))
            return y

        return _solve_by_cg(labels, product, grams, sigma, b)
    H = sigma * (_assembled(labels, grams) if labels.shape else grams[0][1])  # one face
    H.flat[:: len(H) + 1] += 1.0
    if held is not None:
        H -= (1.0 - held.curvature) * (held.directions @ held.directions.T)
    return solve_positive(H, b, overwrite=True)


def _solve_by_cg(
    labels: LabelSet,
    product: Callable[[Floats], Floats],
    grams: Iterable[tuple[Floats, Floats]],
    sigma: float,
    b: Floats,
) -> Floats:
    """Solve by conjugate gradients, preconditioned by the diagonal block of every contrast."""
    blocks: list[Floats] = [np.zeros(())] * n_contrasts(labels)
    for directions, gram in grams:
        shares = np.sum(in_contrasts(labels, directions) ** 2, axis=1)
        for j, share in enumerate(shares):
            blocks[j] = blocks[j] + share * gram
    for j, block in enumerate(blocks):
        H = sigma * block
        H.flat[:: len(H) + 1] += 1.0
        blocks[j] = lapack.dpotrf(H, lower=1)[0]

    def precondition(x: Floats) -> Floats:
        parts = zip(blocks, x.reshape(len(blocks), -1), strict=True)
        return np.concatenate([lapack.dpotrs(factor, part, lower=1)[0] for factor, part in parts])

    shape = (len(b), len(b))
    operator = LinearOperator(shape, matvec=product, dtype=np.float64)
    inverse = LinearOperator(shape, matvec=precondition, dtype=np.float64)
    x, _ = cg(operator, b, rtol=FACE_CG_TOLERANCE, maxiter=MAX_FACE_CG_STEPS, M=inverse)
    return np.asarray(x)


def solve_positive(S: Floats, b: Floats, *, overwrite: bool = False) -> Floats:
    """Solve with a positive definite matrix, which may be overwritten."""
    diagonal = S.diagonal().copy() if overwrite else None
    factor, info = cholesky(S, overwrite=overwrite)
    if info == 0:
        return np.asarray(lapack.dpotrs(factor, b, lower=1)[0])
    if diagonal is not None:  # the lower triangle of S is intact
        np.fill_diagonal(S, diagonal)
        S = np.tril(S) + np.tril(S, -1).T
    # Singular to working precision: use the minimum-norm solution.
    return np.asarray(np.linalg.lstsq(S, b, rcond=None)[0])


def cholesky(S: Floats, *, overwrite: bool = False) -> tuple[Floats, int]:
    """Return (lower triangle of the factor of S, LAPACK's info)."""
    # S is symmetric, so its transpose is S in Fortran order. clean=0 leaves arbitrary values in the
    # upper triangle, which is not read.
    factor, info = lapack.dpotrf(S.T, lower=1, clean=0, overwrite_a=overwrite)
    return factor, int(info)
