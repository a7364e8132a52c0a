"""The paper's two illustrations, drawn from actual fits.

Two parameters: the exact set C_beta, a polygon, with the supervised solution, the constrained
solution and, if given, the oracle. One parameter: the supervised loss as a curve, and C_beta as an
interval below it.
"""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from primum._optional import needed
from primum._typing import Floats
from primum.estimators import ICLSClassifier, LeastSquaresClassifier
from primum.estimators._data import read_training_data
from primum.estimators.constraint_set import constraint_set
from primum.labellings import LabeledRows

# Okabe and Ito's palette, which colour-blind readers can distinguish.
COLORS = {"C_beta": "#56B4E9", "supervised": "#D55E00", "ICLS": "#0072B2", "oracle": "#009E73"}


def plot_constraint_set(
    clf: ICLSClassifier,
    X: Any,
    y: Any,
    X_unlabeled: Any = None,
    *,
    oracle: LeastSquaresClassifier | None = None,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw C_beta with the supervised and the constrained solution.

    Parameters
    ----------
    clf : ICLSClassifier
        Fitted to the rows passed here, of two classes, with one or two parameters (features plus
        intercept).
    X, y, X_unlabeled : array-like
        As passed to ``clf.fit``.
    oracle : LeastSquaresClassifier, default=None
        Fitted to the same rows with all labels known; drawn if given.
    sample_weight : array-like, default=None
        As passed to ``clf.fit``.
    ax : matplotlib Axes, default=None
        Where to draw; None creates a new figure.

    Returns
    -------
    matplotlib Axes
        The axes.

    Examples
    --------
    >>> from primum import ICLSClassifier
    >>> from primum.report import plot_constraint_set
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, -1, -1]
    >>> clf = ICLSClassifier().fit(X, y)
    >>> plot_constraint_set(clf, X, y).get_xlabel()
    'intercept'
    """
    check_is_fitted(clf)
    vertices = constraint_set(clf, X, y, X_unlabeled, sample_weight)
    points = {"supervised": score_parameters(clf.supervised_), "ICLS": score_parameters(clf)}
    if oracle is not None:
        points["oracle"] = score_parameters(oracle)
    if ax is None:
        ax = _new_axes()
    if vertices.shape[1] == 1:
        labeled = read_training_data(clone(clf), X, y, X_unlabeled, sample_weight).labeled
        _draw_interval(ax, vertices[:, 0], points, labeled, clf.supervised_.alpha)
    else:
        _draw_polygon(ax, vertices, points, clf.fit_intercept)
    ax.legend(frameon=False)
    return ax


def score_parameters(clf: Any) -> Floats:
    """Return the parameters of the score, intercept first."""
    coef, intercept = clf._score_parameters
    return np.concatenate([[intercept], coef]) if clf.fit_intercept else coef


def _new_axes() -> Any:
    with needed("Figures"):
        from matplotlib.figure import Figure
    return Figure(figsize=(6, 4.5), layout="constrained").add_subplot()


def _draw_polygon(ax: Any, vertices: Floats, points: dict[str, Floats], intercept: bool) -> None:
    color = COLORS["C_beta"]
    ax.fill(*vertices.T, facecolor=color, alpha=0.3, edgecolor=color, label=r"$C_\beta$")
    start, end = points["supervised"], points["ICLS"]
    ax.plot([start[0], end[0]], [start[1], end[1]], color="0.6", linestyle=":", zorder=2)
    for (name, (x, y)), marker in zip(points.items(), "osD", strict=False):
        ax.plot(x, y, marker, color=COLORS[name], markersize=8, label=name, zorder=3)
    names = ("intercept", "coefficient") if intercept else ("coefficient 1", "coefficient 2")
    ax.set(xlabel=names[0], ylabel=names[1])


def _draw_interval(
    ax: Any, ends: Floats, points: dict[str, Floats], labeled: LabeledRows, alpha: float
) -> None:
    at = np.array([point[0] for point in points.values()])
    low, high = min(ends.min(), at.min()), max(ends.max(), at.max())
    margin = 0.2 * (high - low) or 1.0
    beta = np.linspace(low - margin, high + margin, 200)

    def loss(values: Floats) -> Floats:
        squares = (values[:, None] * labeled.X[:, 0] - labeled.y) ** 2
        return np.average(squares, axis=1, weights=labeled.weight) + alpha * values**2

    ax.plot(beta, loss(beta), color="0.2", label="supervised loss")
    ax.axvspan(*ends, color=COLORS["C_beta"], alpha=0.3, label=r"$C_\beta$")
    for (name, value), marker in zip(points.items(), "osD", strict=False):
        ax.plot(value[0], loss(value[:1])[0], marker, color=COLORS[name], markersize=8, label=name)
    ax.set(xlabel="coefficient", ylabel="mean squared loss on the labelled rows")
