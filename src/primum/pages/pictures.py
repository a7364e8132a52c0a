"""Pictures of fitted estimators: the paper's two illustrations, and the scores of a search.

With two parameters, ``plot_constraint_set`` draws the exact set C_beta, a polygon, with the
supervised solution, the constrained solution and, if given, the oracle. With one parameter, it
draws the supervised loss as a curve, and C_beta as an interval below it. ``plot_path`` draws the
scores of a tuned estimator over its grid.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from primum._lazy import needed
from primum._typing import Floats, Mask
from primum.methods import ICLSClassifier, ICLSClassifierCV, ICLSRegressorCV, LeastSquaresClassifier
from primum.methods.icls.constraint_set import constraint_set
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.methods.least_squares.tuning import Tuned
from primum.reading.data import read_rows
from primum.rows import LabeledRows

TWIN = "supervised"


def plot_path(tuned: ICLSClassifierCV | ICLSRegressorCV) -> Any:
    """Draw the mean score over alpha, one line per metric and one for the supervised twin.

    Bands are one standard error of the mean over the folds on either side, which is a rough guide
    because training sets overlap. Dots mark the chosen points.

    Parameters
    ----------
    tuned : ICLSClassifierCV or ICLSRegressorCV
        A fitted estimator.

    Returns
    -------
    matplotlib Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ICLSClassifierCV
    >>> from primum.pages.pictures import plot_path
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 100)
    >>> X = rng.normal(size=(100, 2)) + truth[:, None]
    >>> y = np.where(np.arange(100) < 30, truth, -1)
    >>> clf = ICLSClassifierCV(alphas=[0.01, 0.1], metrics=[0, 1], cv=3).fit(X, y)
    >>> plot_path(clf).axes[0].get_xlabel()
    'alpha'
    """
    check_is_fitted(tuned)
    if not hasattr(tuned, "metric_"):
        raise ValueError(
            f"plot_path draws one line per metric, but {type(tuned).__name__} has none: pass an "
            "ICLSClassifierCV or an ICLSRegressorCV, whose twin is drawn beside it."
        )
    metrics = list(dict.fromkeys(point["metric"] for point in tuned.cv_results_["params"]))
    styles = line_styles(["Supervised", *(f"metric {metric}" for metric in metrics)])
    twin_color, _ = styles.pop("Supervised")
    figure = new_figure(6, 4.2)
    axes = figure.add_subplot()
    for metric, style in zip(metrics, styles.values(), strict=True):
        chosen = [point["metric"] == metric for point in tuned.cv_results_["params"]]
        best = tuned.alpha_ if metric == tuned.best_params_["metric"] else None
        _draw_line(axes, tuned, np.array(chosen), f"metric {metric}", style, best)
    twin = tuned.supervised_
    every = np.ones(len(twin.cv_results_["params"]), dtype=bool)
    _draw_line(axes, twin, every, TWIN, (twin_color, "--"), twin.alpha_)
    _finish(axes, tuned)
    return figure


def _draw_line(
    axes: Any,
    tuned: Tuned,
    points: Mask,
    name: str,
    style: tuple[str, str],
    best: float | None,
) -> None:
    results = tuned.cv_results_
    alpha = results["param_alpha"][points].astype(float)
    order = np.argsort(alpha, kind="stable")
    alpha, mean = alpha[order], results["mean_test_score"][points][order]
    error = _standard_error(tuned)[points][order]
    color, line = style
    axes.plot(alpha, mean, line, color=color, label=name, linewidth=1.3)
    axes.fill_between(alpha, mean - error, mean + error, color=color, alpha=0.12, linewidth=0)
    if best is not None:
        axes.plot(best, mean[alpha == best][0], "o", color=color, markersize=7, zorder=3)


def _standard_error(tuned: Tuned) -> Floats:
    """Return the standard error of the mean score over the folds; 0 for a single one."""
    folds = tuned.n_splits_
    spread = np.asarray(tuned.cv_results_["std_test_score"])
    return np.asarray(spread / max(folds - 1, 1) ** 0.5)


def _finish(axes: Any, tuned: Tuned) -> None:
    alphas = np.asarray(tuned.cv_results_["param_alpha"], dtype=float)
    positive = alphas[alphas > 0]
    if len(positive) == len(alphas):
        axes.set_xscale("log")
    elif len(positive):  # 0 has no logarithm: linear up to the smallest other value
        axes.set_xscale("symlog", linthresh=positive.min())
    scoring = tuned.scoring if isinstance(tuned.scoring, str) else "score"
    default = "minus Brier score" if hasattr(tuned, "classes_") else "minus mean squared error"
    label = default if tuned.scoring is None else scoring
    axes.set(xlabel="alpha", ylabel=f"{label}, mean of {tuned.n_splits_} folds")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


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
        A classifier of two classes that was fitted to the rows passed here, with one or two
        parameters (features plus intercept).
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
    >>> from primum.pages.pictures import plot_constraint_set
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
        ax = new_figure(6, 4.5).add_subplot()
    if vertices.shape[1] == 1:
        labeled = read_rows(clone(clf), X, y, X_unlabeled, sample_weight).labeled
        _draw_interval(ax, vertices[:, 0], points, labeled, clf.supervised_.alpha)
    else:
        _draw_polygon(ax, vertices, points, clf.fit_intercept)
    ax.legend(frameon=False)
    return ax


def score_parameters(clf: LeastSquaresBase) -> Floats:
    """Return the parameters of the score of two classes, intercept first."""
    coef = clf.coef_[0]
    return np.concatenate([clf.intercept_ + 0.5, coef]) if clf.fit_intercept else coef


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of a size in inches, with a layout that avoids overlaps."""
    with needed("Figures"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


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


# Okabe and Ito's colours.
STYLES = {
    "Supervised": ("#000000", "-"),
    "Self-Learning": ("#E69F00", "-"),
    "USM": ("#CC79A7", "-"),
    "ICLS": ("#0072B2", "-"),
    "Oracle": ("#009E73", "--"),
    "Projection": ("#56B4E9", "-."),
    "EM-LS": ("#D55E00", ":"),
    "TSVM": ("#D55E00", "-"),
}


def line_styles(classifiers: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and line style for every classifier: its fixed ones, or free ones."""
    styled = [STYLES[name] for name in classifiers if name in STYLES]
    colors = list(dict.fromkeys(color for color, _ in STYLES.values()))
    spare = [style for style in product(colors, ("-", "--", "-.", ":")) if style not in styled]
    # Neighbours differ in colour, and colours without a fixed style come first.
    fixed = {color for color, _ in styled}
    spare.sort(key=lambda style: (("-", "--", "-.", ":").index(style[1]), style[0] in fixed))
    others = [name for name in classifiers if name not in STYLES]
    free = {name: spare[k % len(spare)] for k, name in enumerate(others)}
    return {name: STYLES.get(name) or free[name] for name in classifiers}
