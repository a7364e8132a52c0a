"""Columns that may give a numeric target away.

As for classes (``remarks``), a column that predicts well is mostly a good one, so a column is named
only if something else would be hard to explain:

* it is the target in other units: its values and the targets have nearly the same order;
* by it alone nearly all of the variance is explained, and by all other columns together it is not.

By a column alone, a labelled row has the mean target of the two rows with the next smaller and the
next larger value. By the other columns, it has the target that a forest predicts which is fitted
to other labelled rows.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from primum._typing import AnyArray, Floats
from primum.tables.columns import Column
from primum.tables.preparation import preparing

if TYPE_CHECKING:
    import pandas as pd

# Fewer rows may be in the same order by chance.
LEAST_ROWS = 20
# The rank correlation from which on two orders are nearly the same.
SAME_ORDER = 0.9995
# Of the variance, a column alone explains nearly all, and the others by far not all.
NEARLY_ALL, NOT_NEARLY_ALL = 0.95, 0.5
# More rows add nothing but time.
MAX_ROWS = 2000
N_FOLDS, N_TREES = 3, 25


def in_other_units(X: "pd.DataFrame", y: Floats, columns: Sequence[Column]) -> list[str]:
    """Return the numeric columns that have the order of the target.

    Parameters
    ----------
    X : DataFrame
        The features of labelled rows, read as their kinds say.
    y : array of shape (n_rows,)
        Their targets.
    columns : sequence of Column
        What the table contains.

    Returns
    -------
    list of str
        Their names.
    """
    if len(y) < LEAST_ROWS:
        return []
    found = []
    for column in columns:
        values = _numbers(X[column.name])
        if values is None or np.isnan(values).any() or len(np.unique(values)) < LEAST_ROWS:
            continue
        if abs(float(stats.spearmanr(values, y)[0])) >= SAME_ORDER:
            found.append(column.name)
    return found


def telling_columns(
    X: "pd.DataFrame", y: Floats, columns: Sequence[Column], missing: Sequence[str]
) -> Iterator[str]:
    """Yield what is remarkable about the one column that tells the target, as a sentence.

    Parameters
    ----------
    X : DataFrame
        The features of labelled rows, read as their kinds say.
    y : array of shape (n_rows,)
        Their targets.
    columns : sequence of Column
        The features.
    missing : sequence of str
        Markers of missing cells.
    """
    if len(y) < LEAST_ROWS or len(columns) < 2:
        return
    alone = {column.name: _explained_alone(X[column.name], y) for column in columns}
    telling = [column for column in columns if alone[column.name] >= NEARLY_ALL]
    # Of two such columns, each is among the others of the other one.
    if len(telling) != 1:
        return
    rest = [column for column in columns if column is not telling[0]]
    by_others = _explained_by_forest(X, y, rest, missing)
    if by_others <= NOT_NEARLY_ALL:
        name = telling[0].name
        yield (
            f"The column {name!r} may give the target away: it alone explains "
            f"{alone[name]:.0%} of the variance, and all other columns together "
            f"{max(by_others, 0.0):.0%}."
        )


def _numbers(values: "pd.Series") -> Floats | None:
    cells: AnyArray = values.to_numpy()
    return None if cells.dtype == object else cells.astype(float)


def _explained_alone(values: "pd.Series", y: Floats) -> float:
    """Return the share of the variance that a column of numbers explains alone; 0 for others."""
    numbers = _numbers(values)
    if numbers is None or np.isnan(numbers).any() or len(np.unique(numbers)) < LEAST_ROWS:
        return 0.0
    ordered = y[np.argsort(numbers, kind="stable")]
    guess = (ordered[:-2] + ordered[2:]) / 2
    return 1 - float(np.mean((ordered[1:-1] - guess) ** 2) / np.var(y))


def _explained_by_forest(
    X: "pd.DataFrame", y: Floats, columns: Sequence[Column], missing: Sequence[str]
) -> float:
    """Return the share of the variance that a forest explains by some columns."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.metrics import r2_score
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    rows = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    model = make_pipeline(
        preparing(columns, missing), RandomForestRegressor(N_TREES, random_state=0)
    )
    guess = cross_val_predict(model, X.iloc[rows], y[rows], cv=KFold(N_FOLDS))
    return float(r2_score(y[rows], guess))
