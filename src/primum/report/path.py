"""The scores of a tuned estimator over its grid."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from primum._optional import needed
from primum._typing import Floats
from primum.report.figures import line_styles

TWIN = "supervised"


def plot_path(tuned: Any) -> Any:
    """Draw the mean score over alpha, one line per metric and one for the supervised twin.

    Bands are one standard error of the mean over the folds on either side; it is a rough guide,
    because the training sets overlap. Dots mark the chosen points.

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
    >>> from primum.report import plot_path
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
    with needed("Figures"):
        from matplotlib.figure import Figure
    metrics = list(dict.fromkeys(point["metric"] for point in tuned.cv_results_["params"]))
    styles = line_styles(["Supervised", *(f"metric {metric}" for metric in metrics)])
    twin_color, _ = styles.pop("Supervised")
    figure = Figure(figsize=(6, 4.2), layout="constrained")
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
    axes: Any, tuned: Any, points: Any, name: str, style: tuple[str, str], best: float | None
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


def _standard_error(tuned: Any) -> Floats:
    """Return the standard error of the mean score over the folds; 0 for a single one."""
    folds = tuned.n_splits_
    spread = np.asarray(tuned.cv_results_["std_test_score"])
    return np.asarray(spread / max(folds - 1, 1) ** 0.5)


def _finish(axes: Any, tuned: Any) -> None:
    alphas = np.asarray(tuned.cv_results_["param_alpha"], dtype=float)
    positive = alphas[alphas > 0]
    if len(positive) == len(alphas):
        axes.set_xscale("log")
    elif len(positive):  # 0 has no logarithm: the axis is linear up to the smallest other value
        axes.set_xscale("symlog", linthresh=positive.min())
    scoring = tuned.scoring if isinstance(tuned.scoring, str) else "score"
    default = "minus Brier score" if hasattr(tuned, "classes_") else "minus mean squared error"
    label = default if tuned.scoring is None else scoring
    axes.set(xlabel="alpha", ylabel=f"{label}, mean of {tuned.n_splits_} folds")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
