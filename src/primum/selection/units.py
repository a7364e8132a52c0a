"""What the statistics of a comparison count: labelled rows, or groups of them.

A score that is not a mean over rows, such as the area under the ROC curve, may be undefined in a
fold: one that holds out no row of some class. The rows that all folds of a repeat hold out are then
scored together, which gives one score per repeat. Its variance comes from the jackknife: with the
score theta of n rows, and theta_i without row i, the pseudo-values

    p_i = n theta - (n - 1) theta_i

take the place of the losses of rows (``statistics``).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primum._typing import AnyArray, Index
from primum.selection.statistics import Difference, resampled_difference


def grouped_difference(
    differences: Sequence[Any],
    folds: Sequence[Any],
    groups: Any,
    *,
    n_groups: int,
) -> Difference:
    """Estimate a difference if rows belong together: groups are counted instead of rows.

    The estimate is the mean over all held-out rows, m, however large their groups are. With the
    sum S_g of the differences of a group, its size n_g and the mean size, the groups contribute

        m + (S_g - n_g m) / mean size,

    whose mean is m and whose variance is that of m as a ratio of two sums over groups.

    Parameters
    ----------
    differences : sequence of arrays
        As in ``resampled_difference``.
    folds : sequence of Fold
        The splits, with positions ``train`` and ``test`` among the labelled rows.
    groups : array of shape (n_labeled,)
        Group of each labelled row.
    n_groups : int
        Number of groups of which rows are held out.

    Returns
    -------
    Difference
        The estimate with its corrected standard error.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    sums, sizes = [], []
    for values, fold in zip(differences, folds, strict=True):
        _, own = np.unique(codes[fold.test], return_inverse=True)
        sums.append(np.bincount(own, values))
        sizes.append(np.bincount(own))
    mean = np.concatenate(sums).sum() / np.concatenate(sizes).sum()
    size = np.concatenate(sizes).mean()
    parts = [mean + (s - n * mean) / size for s, n in zip(sums, sizes, strict=True)]
    n_train = [len(np.unique(codes[fold.train])) for fold in folds]
    return resampled_difference(parts, n_train, n_rows=n_groups)


def repeats_of(tests: Sequence[Index], n_rows: int) -> list[list[int]] | None:
    """Return the numbers of the folds of every repeat, or None if folds do not cover the rows.

    ``tests`` are the rows that the folds hold out. The folds of a repeat, which are consecutive,
    hold out each of the n_rows labelled rows once.
    """
    repeats: list[list[int]] = [[]]
    seen = np.zeros(n_rows, dtype=bool)
    for number, test in enumerate(tests):
        if seen.all():
            repeats.append([])
            seen[:] = False
        if seen[test].any():
            return None
        seen[test] = True
        repeats[-1].append(number)
    return repeats if seen.all() else None


def pooled_difference(
    change: Callable[[Index], float], repeats: Sequence[Index], units: AnyArray, n_train: Any
) -> Difference:
    """Estimate a difference from all held-out rows of a repeat together, by the jackknife.

    Parameters
    ----------
    change : callable
        Positions of held-out rows to the difference of the two losses in them.
    repeats : sequence of arrays
        Positions of the rows that each repeat holds out.
    units : array
        What each held-out row belongs to: the number of the labelled row, or its group.
    n_train : sequence of int
        Number of units that the folds train on.

    Returns
    -------
    Difference
        The mean over repeats, with the corrected standard error.
    """
    means, values = [], []
    for rows in repeats:
        of_row, every = units[rows], change(rows)
        kinds = np.unique(of_row)
        without = np.array([change(rows[of_row != unit]) for unit in kinds])
        means.append(every)
        values.append(len(kinds) * every - (len(kinds) - 1) * without)
    pseudo, n_units = np.concatenate(values), len(np.unique(units))
    if not np.isfinite(pseudo).all():
        raise ValueError(
            "The scoring is undefined without one of the labelled rows, probably the only one of "
            "its class: label more rows of that class, or choose another scoring."
        )
    # As for rows: the variance due to one unit with the largest value observed is added.
    largest = float(np.abs(pseudo).max()) or 1.0
    variance = pseudo.var() * n_units / max(n_units - 1, 1) + largest**2 / n_units
    error = np.sqrt(variance * (1 / len(pseudo) + 1 / float(np.mean(n_train))))
    return Difference(float(np.mean(means)), float(error), max(n_units - 1, 1), n_units)
