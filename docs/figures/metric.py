"""The metric decides which model of the constraint set is nearest to the supervised one."""

import matplotlib.pyplot as plt
import numpy as np
from constraint_set import problem

from primum import ICLSClassifier
from primum.methods.icls.constraint_set import constraint_set

COLORS = {0.0: "#0072B2", 0.2: "#CC79A7", 1.0: "#009E73"}
LINES = {0.0: "-", 0.2: "--", 1.0: ":"}


def parameters(clf):
    """Return intercept and slope of the score, which the labels 0 and 1 are fitted by."""
    return np.array([clf.intercept_[0] + 0.5, clf.coef_[0, 0]])


def circle_of(centre, point, s, X, X_u):
    """Return the models as far from the centre as the point is, in the metric H_s."""
    ones = [np.column_stack([np.ones(len(rows)), rows]) for rows in (X, np.vstack([X, X_u]))]
    labeled, every = (rows.T @ rows / len(rows) for rows in ones)
    root = np.linalg.cholesky((1 - s) * labeled + s * every).T
    radius = np.linalg.norm(root @ (point - centre))
    angle = np.linspace(0, 2 * np.pi, 200)
    return centre[:, None] + radius * np.linalg.solve(root, [np.cos(angle), np.sin(angle)])


def draw():
    """Draw the constraint set, and for three metrics the ellipse that touches it."""
    X, y, X_u, _ = problem(seed=38, n_labeled=6, n_unlabeled=12)
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    first = ICLSClassifier().fit(X, y, X_unlabeled=X_u)
    corners = constraint_set(first, X, y, X_u)
    axes.fill(*corners.T, facecolor="#56B4E9", alpha=0.3, label="models of all labellings")
    supervised = parameters(first.supervised_)
    for s, color in COLORS.items():
        point = parameters(ICLSClassifier(metric=s).fit(X, y, X_unlabeled=X_u))
        axes.plot(*circle_of(supervised, point, s, X, X_u), color=color, linestyle=LINES[s])
        axes.plot(*point, "s", color=color, label=f"metric={s:g}")
    axes.plot(*supervised, "o", color="#D55E00", label="supervised")
    axes.set(xlabel="intercept", ylabel="coefficient")
    figure.legend(loc="outside right upper", frameon=False)
    return figure


draw()
