"""The set of models that labellings can produce, with one and with two parameters."""

import matplotlib.pyplot as plt
import numpy as np

from primum import ICLSClassifier, LeastSquaresClassifier
from primum.pages.pictures import plot_constraint_set


def problem(seed, n_labeled, n_unlabeled):
    """Return labelled rows, their labels, unlabelled rows and their hidden labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_labeled + n_unlabeled)
    truth[:2] = 0, 1
    X = rng.normal(size=(len(truth), 1)) + 2.0 * truth[:, None] - 1.0
    return X[:n_labeled], truth[:n_labeled], X[n_labeled:], truth[n_labeled:]


def draw():
    """Draw the interval of one parameter and the polygon of two."""
    figure, both = plt.subplots(1, 2, figsize=(9.5, 3.9), layout="constrained")
    titles = ("One parameter: no intercept", "Two parameters: intercept and slope")
    for axes, intercept, title in zip(both, (False, True), titles, strict=True):
        X, y, X_u, hidden = problem(seed=38, n_labeled=6, n_unlabeled=12)
        clf = ICLSClassifier(fit_intercept=intercept).fit(X, y, X_unlabeled=X_u)
        oracle = LeastSquaresClassifier(fit_intercept=intercept)
        oracle.fit(np.vstack([X, X_u]), np.concatenate([y, hidden]))
        plot_constraint_set(clf, X, y, X_u, oracle=oracle, ax=axes)
        axes.set_title(title, fontsize=10)
    return figure


if __name__ in ("__main__", "builtins"):
    draw()
