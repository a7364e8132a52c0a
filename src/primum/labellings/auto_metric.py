"""The metric that ``metric="auto"`` stands for.

Where the labelled rows have full column rank, with the column of ones for the intercept, they
determine every coefficient, and the labelled loss is a distance between models: ICLS of the paper.
Where they have not, models that differ along a null direction of the labelled rows have the same
labelled loss, so that only the unlabelled rows decide there. A ridge makes such a model unique, but
along these directions it is still the ridge alone that says how far a model is from its twin. The
mixture with s = 0.2 measures them by all rows. Since the theorem holds for every s, it holds for
whichever of the two is chosen, and the choice depends on the labelled rows alone, never on the
labels.

The rank is that of the labelled rows without their ridge. Their columns are scaled before it is
judged (``coordinates.py``), so the units of the features do not matter. A constant column, or one
that repeats others, lowers it too.
"""

import numpy as np

from primum.equations.coordinates import Coordinates, coordinates_of
from primum.equations.normal import forms_normal_matrix
from primum.labellings.implicit import LabeledLoss, LabeledRows, LeastSquaresFamily
from primum.rows import ArrayRows

AUTO = "auto"
# On average it gains with half as many labels as features, where the labelled loss does most harm
# (``benchmarks/metric.py``).
SHARE_IF_UNDETERMINED = 0.2


def chosen_metric(
    metric: str | float,
    family: LeastSquaresFamily,
    alpha_labeled: float,
    loss: LabeledLoss | None,
) -> str | float:
    """Return the metric of a linear fit; ``loss`` is its labelled loss, if that is factorised."""
    if metric != AUTO:
        return metric
    equations = family.equations
    if loss is not None and not loss.determined:
        return SHARE_IF_UNDETERMINED
    if isinstance(equations, Coordinates) and equations.ridge == 0 and alpha_labeled == 0:
        n_columns, rank = equations.basis.shape
        if rank == n_columns:  # the loss, in coordinates of all columns, is determined: no ridge
            return "labeled"
    return metric_of_rows(metric, family.labeled, equations.fit_intercept)


def metric_of_rows(metric: str | float, labeled: LabeledRows, fit_intercept: bool) -> str | float:
    """Return the metric of a fit to labelled rows, from these rows alone."""
    if metric != AUTO:
        return metric
    return "labeled" if _has_full_column_rank(labeled, fit_intercept) else SHARE_IF_UNDETERMINED


def _has_full_column_rank(labeled: LabeledRows, fit_intercept: bool) -> bool:
    """Return whether rows of positive weight, with the intercept, determine all coefficients.

    Sparse rows of so many columns that their products are not formed count as if they did not.
    """
    X, n_columns = labeled.X, labeled.X.shape[1]
    if labeled.weight is not None and not (labeled.weight > 0).all():
        X = X[np.flatnonzero(labeled.weight > 0)]
    if X.shape[0] < n_columns + int(fit_intercept):
        return False
    if n_columns == 0:
        return True
    rows = ArrayRows(X)
    if not forms_normal_matrix([rows]):
        return False
    found = coordinates_of([rows], alpha=0.0, fit_intercept=fit_intercept)
    return found.basis.shape[1] == n_columns
