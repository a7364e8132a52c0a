"""Measures of a fit, and harm: how often and by how much it is worse than the supervised twin."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import wilcoxon

from primum._typing import Floats, Index

MEASURES = ("error", "loss_labeled", "loss_train", "loss_test", "seconds")
SIGNIFICANCE = 0.01


def error(scores: Floats, y: Index) -> float:
    """Return the fraction of rows on the wrong side of 1/2; a score of 1/2 is class 1."""
    return float(np.mean((scores >= 0.5) != (y == 1)))


def squared_loss(scores: Floats, y: Index) -> float:
    """Return the mean squared difference between scores and labels 0 and 1."""
    return float(np.mean((scores - y) ** 2))


def squared_hinge(scores: Floats, y: Index) -> float:
    """Return the mean squared hinge loss, whose margin extends from score 0 to score 1."""
    return float(np.mean(np.maximum(0.0, 2.0 * np.where(y == 1, 1.0 - scores, scores)) ** 2))


@dataclass(frozen=True)
class Harm:
    """Comparison of a method with its supervised twin, over repeats.

    Attributes
    ----------
    times_worse : int
        Number of repeats in which the method's value is higher.
    share_worse : float
        The same as a fraction of the repeats.
    mean_difference : float
        Mean of method minus twin; if negative, the method helps on average.
    mean_harm : float
        Mean difference over the repeats in which the method is worse; 0 if there is none.
    worst_harm : float
        Largest difference, at least 0.
    p_value : float
        Two-sided Wilcoxon signed-rank test of no difference; 1 if all differences are 0.
    significantly_worse : bool
        Whether it is worse on average with p below 0.01 (underlined in the paper).
    """

    times_worse: int
    share_worse: float
    mean_difference: float
    mean_harm: float
    worst_harm: float
    p_value: float
    significantly_worse: bool


def harm_over_repeats(method: Floats, twin: Floats) -> Harm:
    """Compare errors or losses of a method with its supervised twin's, repeat by repeat."""
    method, twin = np.asarray(method, dtype=float), np.asarray(twin, dtype=float)
    if method.ndim != 1 or method.shape != twin.shape or not len(method):
        raise ValueError(
            "harm needs one value per repeat of the method and one of the twin, got shapes "
            f"{method.shape} and {twin.shape}."
        )
    difference = method - twin
    worse = difference > 0
    unequal = difference[difference != 0]  # ties carry no information about the sign
    p_value = float(wilcoxon(unequal).pvalue) if len(unequal) else 1.0
    mean = float(difference.mean())
    return Harm(
        times_worse=int(worse.sum()),
        share_worse=float(worse.mean()),
        mean_difference=mean,
        mean_harm=float(difference[worse].mean()) if worse.any() else 0.0,
        worst_harm=float(max(difference.max(), 0.0)),
        p_value=p_value,
        significantly_worse=mean > 0 and p_value < SIGNIFICANCE,
    )
