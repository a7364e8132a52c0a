"""
Kernels and manifolds: two moons with one label each
====================================================

ICLS with a kernel assumes nothing about the shape of the classes, and gains little where there are
hardly any labels. Methods that assume that neighbours have the same class can do much better, if
that is true. Two moons are their textbook example; the second half of this example shows the price.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.preprocessing import scale

from primum import (
    KernelICLSClassifier,
    KernelLeastSquaresClassifier,
    LaplacianLeastSquaresClassifier,
)

# %%
# Moons: the classes are curves
# -----------------------------
#
# Of 200 rows, one per class has a label.

X, truth = make_moons(200, noise=0.08, random_state=0)
X = scale(X)
y = np.full(200, -1)
for value in (0, 1):
    y[np.flatnonzero(truth == value)[0]] = value
moons = X, truth, y

# %%
# A cut across the moons
# ----------------------
#
# The same rows, but now the classes are the two sides of a vertical line through both moons, and
# there are twelve labels.

truth_cut = (X[:, 0] > 0).astype(int)
y_cut = np.full(200, -1)
known = np.random.default_rng(4).permutation(200)[:12]
y_cut[known] = truth_cut[known]
problems = {"moons": (truth, y), "cut": (truth_cut, y_cut)}

# %%
# Three models
# ------------
#
# The supervised kernel model, ICLS with the same kernel, and a model with a penalty on differences
# between neighbours in a graph of all rows.

models = {
    "kernel least squares": KernelLeastSquaresClassifier(0.001, gamma=1),
    "kernel ICLS": KernelICLSClassifier(0.001, gamma=1),
    "Laplacian": LaplacianLeastSquaresClassifier(0.001, graph_alpha=1, gamma=1),
}
grid = np.stack(np.meshgrid(np.linspace(-2.2, 2.2, 120), np.linspace(-2.2, 2.2, 120)), axis=-1)
figure, panels = plt.subplots(2, 3, figsize=(11, 7), sharex=True, sharey=True, layout="constrained")
for row, (labels, y) in zip(panels, problems.values(), strict=True):
    for axes, (name, clf) in zip(row, models.items(), strict=True):
        clf.fit(X, y)
        score = clf.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        axes.contourf(*np.moveaxis(grid, -1, 0), score > 0, levels=1, cmap="coolwarm", alpha=0.25)
        axes.scatter(*X.T, c=labels, cmap="coolwarm", s=10)
        axes.scatter(
            *X[y != -1].T, c=y[y != -1], cmap="coolwarm", s=120, marker="*", edgecolors="k"
        )
        error = 1 - clf.score(X[y == -1], labels[y == -1])
        axes.set_title(f"{name}: error {error:.0%}")
panels[0, 0].set_ylabel("classes are the moons")
panels[1, 0].set_ylabel("classes cut the moons")
plt.show()

# %%
# On the moons, the penalty carries the two labels along the curves. Kernel ICLS hardly differs from
# its supervised twin, because 198 rows that may have any label rule out few models.
#
# On the cut, the assumption is wrong near the line, and the penalty does harm, while ICLS again
# remains close to its twin. Which of the two cases you have cannot be seen from the unlabelled
# rows: they are the same in both rows of the figure. :class:`~primum.SafeClassifier` lets the
# labels decide.
