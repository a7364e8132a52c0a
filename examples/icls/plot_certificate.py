"""
Reading a certificate
=====================

Every ICLS fit has a certificate, ``certificate_``: a summary of what is proven about the fit. It is
computed from the data and the solution alone, so it does not rely on the solver. This example
prints three of them and explains what they say.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from primum import ICLSClassifier, UndeterminedModelWarning
from primum.simulated import two_gaussians

X, truth = load_breast_cancer(return_X_y=True)
X = scale(X)
order = np.random.default_rng(0).permutation(len(truth))


def fit(n_labels, metric="auto"):
    """Return ICLS, fitted with the labels of ``n_labels`` random rows."""
    y = truth.copy()
    y[order[n_labels:]] = -1
    return ICLSClassifier(metric=metric).fit(X, y)


# %%
# The unlabelled rows changed the model
# -------------------------------------
#
# Forty labels and 30 features:

clf = fit(40)
print(clf.certificate_)

# %%
# * *Loss on the labelled rows*: the mean squared loss of the model. *No possible labelling can
#   lower it by more than* the gap: this is the proof of optimality. There are 2 to the power of
#   529 labellings with labels 0 and 1 alone, and the bound covers all of them.
# * *The model is unique*: no other possible model has the same labelled loss.
# * *The unlabelled rows moved the model*: no labelling of the unlabelled rows gives the supervised
#   model, so it cannot be the model of the true labels. This is what the unlabelled rows reveal.
#
# The numbers are attributes:

proof = clf.certificate_
print(f"moved: {proof.moved}, predictions changed: {proof.changed} of {proof.n_unlabeled}")
print(f"gap: {proof.gap:.1e}, tolerance: {proof.tol:.0e}")

# %%
# The unlabelled rows changed nothing
# -----------------------------------
#
# Two overlapping classes and many labels: some labelling of the other rows gives the supervised
# model itself, which is then returned.

X_easy, truth_easy = two_gaussians(600, 5, distance=1.0, random_state=0)
y_easy = np.where(np.arange(600) < 200, truth_easy, -1)
print(ICLSClassifier().fit(X_easy, y_easy).certificate_)

# %%
# The labelled rows do not determine the model
# --------------------------------------------
#
# With fewer labels than features and no ridge, many models fit the labels perfectly. By default,
# closeness to the twin is then measured by a mixture of the labelled and all rows (``metric=0.2``).
# With ``metric="labeled"``, the fit is the one of them closest to the twin, and a warning says that
# this can do harm. (It is recorded here, in order to print it.)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UndeterminedModelWarning)
    clf = fit(15, metric="labeled")
print(clf.certificate_)
print()
print(caught[0].message)

# %%
# Over the number of labels
# -------------------------
#
# The certificate tells how much the unlabelled rows matter without any test labels. The left
# panel shows the share of predictions that differ from those of the supervised twin. The right
# panel shows, from the labels that we hid, whether these changes were for the better. Mostly they
# were, with few labels; at 120 labels they were not.

sizes = np.array([32, 40, 50, 60, 80, 120, 200, 300])
fits = [fit(n) for n in sizes]
changed = [100 * clf.certificate_.changed / clf.certificate_.n_unlabeled for clf in fits]
errors = np.array(
    [
        [
            100 * (1 - model.score(X[order[n:]], truth[order[n:]]))
            for model in (clf.supervised_, clf)
        ]
        for n, clf in zip(sizes, fits, strict=True)
    ]
)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(sizes, changed, "o-", color="#0072B2")
left.set(ylabel="predictions changed (%)", title="From the certificate", ylim=(0, None))
right.plot(sizes, errors[:, 0], "s--", color="k", label="supervised twin")
right.plot(sizes, errors[:, 1], "o-", color="#0072B2", label="ICLS")
right.set(ylabel="error on the unlabelled rows (%)", title="From the hidden labels", ylim=(0, None))
right.legend(frameon=False)
for axes in (left, right):
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("number of labelled rows")
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
