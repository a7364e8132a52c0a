"""
Partial labels: classes that are ruled out
==========================================

Often something is known about a row that has no label: this wine is not from the third grower, this
patient has a risk of at least 70%. :class:`~primum.ICLSClassifier` accepts both: ``possible`` says
which classes a row may have, and ``label_bounds`` bounds its share of the second class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale

from primum import ICLSClassifier

# %%
# Ruling out classes
# ------------------
#
# Wines of three growers, 13 measurements, 15 labels. For a share of the other rows one wrong
# grower is ruled out. We repeat this for 20 random choices of the labelled rows.

X, truth = load_wine(return_X_y=True)
X = scale(X)


def errors_with_masks(seed, shares):
    """Return the errors of the supervised twin and of ICLS, for each share of rows with a mask."""
    rng = np.random.default_rng(seed)
    y = truth.copy()
    y[rng.permutation(len(y))[15:]] = -1
    unknown = y == -1
    position = rng.random(len(y))  # the same rows keep their masks as the share grows
    wrong = (truth + rng.integers(1, 3, len(y))) % 3
    found = []
    for share in shares:
        possible = np.ones((len(y), 3), dtype=bool)
        rows = np.flatnonzero(unknown & (position < share))
        possible[rows, wrong[rows]] = False
        clf = ICLSClassifier().fit(X, y, possible=possible)
        found.append(1 - clf.score(X[unknown], truth[unknown]))
    return [1 - clf.supervised_.score(X[unknown], truth[unknown]), *found]


shares = (0, 0.25, 0.5, 0.75, 1)
seeds = [
    s for s in range(20) if len(set(truth[np.random.default_rng(s).permutation(178)[:15]])) == 3
]
errors = 100 * np.array([errors_with_masks(seed, shares) for seed in seeds])
mean, standard_error = errors.mean(axis=0), errors.std(axis=0) / np.sqrt(len(errors))
print(np.round(mean, 1))

# %%
# The twin cannot use the masks, because it is fitted to the 15 labelled rows only. ICLS already
# gains without them, and every further mask makes the set of possible models smaller.
#
# Bounds on a soft label
# ----------------------
#
# With two classes, ``label_bounds`` restricts the share of the second class. Suppose that an
# earlier screening says of some tumours "probably benign": the share is at least 0.7. This is
# correct for benign tumours, and we state nothing about the others.

X2, truth2 = load_breast_cancer(return_X_y=True)
X2 = scale(X2)
found = {"supervised twin": [], "no bounds": [], "bounds for 40%": []}
for seed in range(10):
    rng = np.random.default_rng(seed)
    y = truth2.copy()
    y[rng.permutation(len(y))[35:]] = -1
    unknown = y == -1
    bounds = np.full((len(y), 2), np.nan)
    screened = unknown & (truth2 == 1) & (rng.random(len(y)) < 0.4)
    bounds[screened] = [0.7, 1]
    plain = ICLSClassifier(metric=0.2).fit(X2, y)
    bounded = ICLSClassifier(metric=0.2).fit(X2, y, label_bounds=bounds)
    for values, clf in zip(found.values(), (plain.supervised_, plain, bounded), strict=True):
        values.append(100 * (1 - clf.score(X2[unknown], truth2[unknown])))

# %%
# Both gains
# ----------
#
# Dots on the right are single draws.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.axhline(mean[0], color="k", linestyle="--", label="supervised twin")
left.errorbar(
    100 * np.array(shares), mean[1:], standard_error[1:], color="#0072B2", marker="o", label="ICLS"
)
left.set(xlabel="unlabelled rows with a class ruled out (%)", ylabel="error (%)", ylim=(0, None))
left.set_title("Wine, 15 labels")
left.legend(frameon=False)
for row, (values, colour) in enumerate(
    zip(found.values(), ("#000000", "#56B4E9", "#0072B2"), strict=True)
):
    right.plot(values, np.full(len(values), row), "o", color=colour, alpha=0.5)
    right.plot(np.mean(values), row, "|", color=colour, markersize=30, markeredgewidth=3)
right.set_yticks(range(3), list(found))
right.set_ylim(2.6, -0.6)
right.set(xlabel="error (%)", xlim=(0, None), title="Breast cancer, 35 labels; bars are means")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The guarantees of ICLS hold only if what is stated is true: a mask that excludes the class of a
# row, or a bound that excludes its label, can make the model worse than its supervised twin.
