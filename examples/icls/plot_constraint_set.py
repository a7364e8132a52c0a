"""
ICLS step by step: the constraint set
=====================================

Implicitly constrained least squares (ICLS) considers every labelling of the unlabelled rows. Each
gives a least-squares model. The model of the true labels is one of them. ICLS takes the one with
the smallest squared loss on the labelled rows. With two parameters, all of this can be drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from primum import ICLSClassifier, LeastSquaresClassifier
from primum.pages.pictures import plot_constraint_set
from primum.simulated import two_gaussians

# %%
# One feature and an intercept, four labelled rows and twenty unlabelled ones:

X, truth = two_gaussians(24, 1, distance=2.0, random_state=34)
y = truth.copy()
y[4:] = -1
supervised = LeastSquaresClassifier().fit(X[:4], y[:4])
oracle = LeastSquaresClassifier().fit(X, truth)  # knows all labels
icls = ICLSClassifier().fit(X, y)


def score(clf, at):
    """Return the least-squares score, which is 0 for the first and 1 for the second class."""
    return clf.decision_function(at[:, None]) + 0.5


# %%
# Some labellings and their models
# --------------------------------
#
# The left panel draws models as lines: the score against the feature. The grey ones belong to
# random labellings of the unlabelled rows. The supervised line, which knows four rows, is
# steeper than all of them: no labelling of the twenty rows can produce it. ICLS takes the line
# that fits the four labelled rows best among those that are possible.
#
# The right panel draws the same models as points, by intercept and slope. All labellings together,
# including those with labels between 0 and 1, give a convex polygon, the constraint set. The
# oracle, which is fitted to the true labels, is always inside.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
grid = np.linspace(X.min() - 0.3, X.max() + 0.3, 50)
rng = np.random.default_rng(0)
for _ in range(40):
    labels = np.append(y[:4], rng.integers(0, 2, 20))
    some = LeastSquaresClassifier().fit(X, labels)
    left.plot(grid, score(some, grid), color="0.85", linewidth=1)
    right.plot(some.intercept_ + 0.5, some.coef_[0], ".", color="0.5", markersize=4)
lines = {"supervised": supervised, "ICLS": icls, "oracle": oracle}
for (name, clf), colour in zip(lines.items(), ("#D55E00", "#0072B2", "#009E73"), strict=True):
    left.plot(grid, score(clf, grid), color=colour, label=name, linewidth=2)
left.plot(X[4:, 0], np.full(20, 0.5), "|", color="0.3", markersize=10, label="unlabelled rows")
left.plot(X[:4, 0], y[:4], "ko", label="labelled rows")
left.set(xlabel="feature", ylabel="score", title="Models of the labellings")
left.legend(frameon=False)
plot_constraint_set(icls, X, y, oracle=oracle, ax=right)
right.set_title("The constraint set")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The labelling behind the model
# ------------------------------
#
# ``soft_labels_`` is the labelling that gives the ICLS model. It is not a prediction: it says
# which labels would be needed for least squares to arrive at this model.

order = np.argsort(X[4:, 0])
print(np.round(icls.soft_labels_[order], 2))

# %%
# How the set changes with the number of rows
# -------------------------------------------
#
# Now the classes overlap more. With more unlabelled rows the set approaches that of all models
# that labellings of the whole population can give; labelled rows make it smaller, because their
# labels are fixed. With many labelled rows the supervised model is inside the set: some labelling
# gives exactly that model, and ICLS returns it unchanged.

X, truth = two_gaussians(400, 1, distance=1.0, random_state=9)
figure, panels = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True, layout="constrained")
for axes, (n_labeled, n_rows) in zip(panels, [(4, 10), (4, 400), (100, 400)], strict=True):
    y = np.where(np.arange(n_rows) < n_labeled, truth[:n_rows], -1)
    clf = ICLSClassifier().fit(X[:n_rows], y)
    oracle = LeastSquaresClassifier().fit(X[:n_rows], truth[:n_rows])
    plot_constraint_set(clf, X[:n_rows], y, oracle=oracle, ax=axes)
    axes.set_title(f"{n_labeled} labelled, {n_rows - n_labeled} unlabelled rows")
    axes.spines[["top", "right"]].set_visible(False)
    if axes is not panels[0]:
        axes.get_legend().remove()
    print(f"{n_labeled} labels, {n_rows} rows: moved is {clf.certificate_.moved}")
plt.show()
