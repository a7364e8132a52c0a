"""
Several classes: handwritten digits
===================================

With more than two classes, ICLS fits all of them jointly: every unlabelled row has a share of
each class, the shares sum to 1, and one certificate covers the whole fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from primum import ICLSClassifier

# %%
# Ten digits, 64 pixels, 100 labels
# ---------------------------------
#
# Pixels at the border are the same in nearly all images, so that least squares needs a small ridge.

X, truth = load_digits(return_X_y=True)
X = X / 16


def fit(seed, alpha):
    """Return ICLS fitted with 100 random labels, and a mask of the unlabelled rows."""
    y = truth.copy()
    y[np.random.default_rng(seed).permutation(len(y))[100:]] = -1
    return ICLSClassifier(alpha, n_jobs=1).fit(X, y), y == -1


clf, unknown = fit(seed=0, alpha=1e-4)
print(clf.certificate_)
print(f"supervised twin: {1 - clf.supervised_.score(X[unknown], truth[unknown]):.3f}")
print(f"ICLS:            {1 - clf.score(X[unknown], truth[unknown]):.3f}")

# %%
# Some of the rows whose class changed
# ------------------------------------
#
# The first ten rows that ICLS and its supervised twin assign to different classes. Not every change
# is for the better.

before, after = clf.supervised_.predict(X), clf.predict(X)
changed = np.flatnonzero(unknown & (before != after))
better = np.sum(after[changed] == truth[changed])
worse = np.sum(before[changed] == truth[changed])
print(f"{len(changed)} rows changed: {better} of them became right and {worse} wrong")
figure, panels = plt.subplots(2, 5, figsize=(8, 4), layout="constrained")
for axes, row in zip(panels.flat, changed, strict=False):
    axes.imshow(X[row].reshape(8, 8), cmap="gray_r")
    colour = {before[row]: "#D55E00", after[row]: "#009E73"}.get(truth[row], "0.4")
    axes.set_title(f"{before[row]} to {after[row]} (is {truth[row]})", color=colour, fontsize=10)
    axes.axis("off")
figure.suptitle(
    "Green: became right. Orange: became wrong. Grey: wrong before and after.", fontsize=10
)
plt.show()

# %%
# How much is there to gain?
# --------------------------
#
# That depends on the ridge. The weaker it is, the worse the supervised twin, and the more ICLS
# gains: four points on the left. With the best ridge there is nothing to gain on these digits,
# and with too strong a ridge ICLS is slightly worse than its twin. Label spreading, which uses
# the neighbours of every image, can do better: see
# :ref:`sphx_glr_auto_examples_answers_plot_safe_digits.py`.

ALPHAS = np.logspace(-4, 0, 7)
errors = np.zeros((len(ALPHAS), 5, 2))
for i, alpha in enumerate(ALPHAS):
    for seed in range(5):
        clf, unknown = fit(seed, alpha)
        for k, model in enumerate((clf.supervised_, clf)):
            errors[i, seed, k] = 100 * (1 - model.score(X[unknown], truth[unknown]))
mean, spread = errors.mean(axis=1), errors.std(axis=1) / np.sqrt(errors.shape[1])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for k, (name, style) in enumerate({"supervised twin": "ks--", "ICLS": "o-"}.items()):
    colour = {"color": "#0072B2"} if name == "ICLS" else {}
    axes.errorbar(ALPHAS, mean[:, k], spread[:, k], fmt=style, label=name, capsize=3, **colour)
axes.set_title("Error over the ridge, 100 labels")
axes.set_xscale("log")
axes.set(xlabel="ridge (alpha)", ylabel="error on the unlabelled rows (%)", ylim=(0, None))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()
