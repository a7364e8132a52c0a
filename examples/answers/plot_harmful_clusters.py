"""
Harmful clusters: where self-learning and transductive SVMs fail
================================================================

Many semi-supervised methods prefer a boundary that passes between clusters. Here the gap between
the clusters is the wrong place: the classes differ along one feature, and the clusters along
another.
"""

import matplotlib.pyplot as plt
import numpy as np

from primum import ICLSClassifier, SafeClassifier, SelfLearningClassifier, TSVMClassifier
from primum.simulated import harmful_clusters, harmful_clusters_bayes_error

# %%
# Ten labels, 310 unlabelled rows
# -------------------------------
# A row is in the cluster of its class with a probability of only 0.6, so a boundary in the gap has
# an error of 40%. The best possible error is 15%.

N_LABELED, N_TRAIN, AGREEMENT = 10, 320, 0.6
print(f"{harmful_clusters_bayes_error(agreement=AGREEMENT):.3f}")


def draw(seed):
    """Return training rows, their labels with -1 if unknown, and test rows with their labels."""
    X, truth = harmful_clusters(N_TRAIN + 2000, agreement=AGREEMENT, random_state=seed)
    y = np.where(np.arange(N_TRAIN) < N_LABELED, truth[:N_TRAIN], -1)
    return X[:N_TRAIN], y, X[N_TRAIN:], truth[N_TRAIN:]


def fit(X, y):
    """Return pairs of a fitted method and its supervised counterpart, by name."""
    candidates = ["spreading", "tsvm", "icls"]
    models = {
        "self-learning": SelfLearningClassifier(),
        "transductive SVM": TSVMClassifier(alpha=0.01),
        "ICLS": ICLSClassifier(),
        "safe stack": SafeClassifier(candidates, random_state=0, n_jobs=1),
    }
    for clf in models.values():
        clf.fit(X, y)
    return {
        name: (clf, clf.baseline_ if name == "safe stack" else clf.supervised_)
        for name, clf in models.items()
    }


# %%
# Boundaries of one draw
# ----------------------
#
# Dashed lines are the boundaries of the supervised models, solid ones those of the semi-supervised
# models. Self-learning labels the unlabelled rows with its own predictions and refits; the boundary
# turns until it lies in the gap. The transductive SVM prefers a boundary with few rows nearby.

X, y, X_test, truth_test = draw(0)
fitted = fit(X, y)
grid = np.stack(np.meshgrid(np.linspace(-4, 4, 160), np.linspace(-4.5, 4.5, 160)), axis=-1)


def draw_boundary(axes, clf, style, colour):
    """Draw the boundary where the probability or the decision function changes sides."""
    points = grid.reshape(-1, 2)
    if hasattr(clf, "decision_function"):
        score = clf.decision_function(points)
    else:
        score = clf.predict_proba(points)[:, 1] - 0.5
    axes.contour(
        *np.moveaxis(grid, -1, 0),
        score.reshape(grid.shape[:2]),
        levels=[0],
        colors=colour,
        linestyles=style,
        linewidths=2,
    )


colours = ("#E69F00", "#D55E00", "#0072B2", "#009E73")
figure, panels = plt.subplots(1, 4, figsize=(13, 3.9), sharey=True, layout="constrained")
for axes, (name, (clf, twin)), colour in zip(panels, fitted.items(), colours, strict=True):
    axes.scatter(*X[N_LABELED:].T, s=6, color="0.75")
    for value, marker in ((0, "o"), (1, "^")):
        axes.plot(*X[:N_LABELED][y[:N_LABELED] == value].T, marker, color="k", markersize=7)
    draw_boundary(axes, twin, "--", "0.3")
    draw_boundary(axes, clf, "-", colour)
    error, before = (1 - model.score(X_test, truth_test) for model in (clf, twin))
    axes.set_title(f"{name}\nerror {before:.0%} to {error:.0%}")
    axes.set_xlabel("separates the classes")
panels[0].set_ylabel("separates the clusters")
plt.show()

# %%
# Eight draws
# -----------
#
# Each dot is the change in error of one draw, against the method's own supervised counterpart:
# least squares, the SVM, least squares and, for the safe stack, the tuned baseline. Bars are the
# means.

changes = {name: [] for name in fitted}
for seed in range(8):
    X, y, X_test, truth_test = draw(seed)
    for name, (clf, twin) in fit(X, y).items():
        changes[name].append(100 * (twin.score(X_test, truth_test) - clf.score(X_test, truth_test)))
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for row, (values, colour) in enumerate(zip(changes.values(), colours, strict=True)):
    axes.barh(row, np.mean(values), color=colour, alpha=0.35, height=0.6)
    axes.plot(values, np.full(len(values), row), "o", color=colour)
axes.axvline(0, color="k", linewidth=1)
axes.set_yticks(range(len(changes)), list(changes))
axes.invert_yaxis()
axes.set_xlabel("change in error (points); right of 0 is worse")
axes.set_title("Change in error in eight draws")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# ICLS and the safe stack gain next to nothing here. ICLS assumes nothing about clusters, and loses
# no more than a fraction of a point in any of these draws. Two members of the safe stack, label
# spreading and the transductive SVM, do assume that classes are clusters, but their weights must be
# justified by the labels: the worst draw costs two points, and that of self-learning twenty.
