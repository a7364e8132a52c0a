"""The baseline and the safe stack on two moons; the same fit as on the page on the safe choice."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from primum import SafeClassifier

X, truth = make_moons(400, noise=0.15, random_state=0)
y = np.where(np.arange(400) < 30, truth, -1)
clf = SafeClassifier(["spreading", "kernel", "forest"], random_state=0).fit(X, y)
COLORS = np.array(["#0072B2", "#D55E00"])


def draw_regions(panel, model, title):
    """Draw the rows, and where the model changes its mind."""
    sides = [np.linspace(X[:, k].min() - 0.3, X[:, k].max() + 0.3, 120) for k in (0, 1)]
    across, upward = np.meshgrid(*sides)
    grid = np.column_stack([across.ravel(), upward.ravel()])
    second = model.predict_proba(grid)[:, 1].reshape(across.shape)
    panel.contourf(across, upward, second, levels=[0, 0.5, 1], colors=COLORS, alpha=0.12)
    panel.contour(across, upward, second, levels=[0.5], colors="0.2", linewidths=1.2)
    known = y != -1
    panel.plot(*X[~known].T, ".", color="0.6", markersize=3)
    panel.scatter(*X[known].T, c=COLORS[y[known]], s=26, edgecolors="white", linewidths=0.7)
    error = 1 - model.score(X[~known], truth[~known])
    panel.set_title(f"{title}\nerror {100 * error:.0f}%", fontsize="medium")
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)


def draw_weights(panel):
    """Draw the weights, from the largest to the smallest."""
    weights = sorted(clf.weights_.items(), key=lambda item: item[1])
    names, shares = zip(*weights, strict=True)
    colors = ["0.45" if name in ("ridge", "logistic") else "#009E73" for name in names]
    bars = panel.barh(names, shares, color=colors, height=0.6)
    panel.bar_label(bars, [f"{share:.0%}" for share in shares], padding=3)
    panel.set(xticks=[], xlim=(0, 1.3 * max(shares)))
    panel.set_title("Weights of the stack", fontsize="medium")
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.tick_params(left=False)


figure, panels = plt.subplots(1, 3, figsize=(9, 2.9), layout="constrained")
draw_regions(panels[0], clf.baseline_, "Baseline: ridge and logistic")
draw_regions(panels[1], clf, "SafeClassifier")
draw_weights(panels[2])
