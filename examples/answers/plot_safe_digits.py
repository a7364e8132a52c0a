"""
The safe choice on digits with 50 labels
========================================

Scikit-learn's digits are 1797 images of 8 x 8 pixels in ten classes. Here only 50 of them have a
label. :class:`~primum.SafeClassifier` combines supervised and semi-supervised models, with
weights that the labels must justify; with few labels it stays close to a tuned supervised
baseline.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from primum import SafeClassifier

X, truth = load_digits(return_X_y=True)


def hide_labels(seed, n_labels=50):
    """Return the labels with -1, for "unknown", in all but ``n_labels`` random rows."""
    y = truth.copy()
    y[np.random.default_rng(seed).permutation(len(y))[n_labels:]] = -1
    return y


# %%
# Three draws of 50 labels
# ------------------------
#
# How much there is to gain depends on which rows happen to be labelled, so there are three draws.
# The candidates are a ridge and a logistic regression (always included, because their mean is the
# baseline), logistic regression on principal components, and label spreading on a graph of
# neighbours. The default has further candidates and takes longer.

candidates = ["components", "spreading"]
labels = [hide_labels(seed) for seed in (0, 1, 2)]
fits = [SafeClassifier(candidates, random_state=0, n_jobs=1).fit(X, y) for y in labels]
print(fits[1].verdict_)

# %%
# It begins with what is certain: on how many of the unlabelled rows the model and the baseline
# differ. The verdict rests on the labelled rows alone. It has two parts: a comparison with the
# baseline, and a comparison with a stack of supervised models. Only the second is about the
# unlabelled rows, because a kernel or a forest may beat the baseline without them.
#
# The table lists every candidate with its weight and its out-of-fold error.

columns = ["model", "kind", "weight", "error", "brier"]
pd.DataFrame(fits[1].report_)[columns].round(3)

# %%
# The true errors
# ---------------
#
# All labels of this data set are known, so we can compare the errors on the rows whose labels were
# hidden.

errors = []
for y, clf in zip(labels, fits, strict=True):
    unknown = y == -1
    models = {"baseline": clf.baseline_, "supervised stack": clf.supervised_, "safe stack": clf}
    errors.append({name: 1 - m.score(X[unknown], truth[unknown]) for name, m in models.items()})
errors = pd.DataFrame(errors, index=["draw 0", "draw 1", "draw 2"])
errors.round(3)

# %%
# The left panel shows these errors, the right one the weights in each safe stack. If label
# spreading does well on the labelled rows, it receives a large weight and the error falls; if the
# labels show no advantage, the stack remains close to the baseline, and so does its error.

weights = pd.DataFrame([clf.weights_ for clf in fits])
colours = ["#000000", "#999999", "#E69F00", "#0072B2"]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, values), colour, marker in zip(
    errors.items(), ("#000000", "#D55E00", "#0072B2"), "sDo", strict=True
):
    left.plot(range(len(values)), 100 * values, marker, color=colour, label=name, markersize=9)
left.set(xlim=(-0.5, 2.5), ylim=(0, 25), ylabel="error on the unlabelled rows (%)")
left.set_title("True errors")
left.legend(frameon=False, loc="lower left")
bottom = np.zeros(len(weights))
for (name, values), colour in zip(weights.items(), colours, strict=True):
    right.bar(range(len(values)), values, bottom=bottom, color=colour, label=name, width=0.6)
    bottom += values
right.set(ylabel="weight", title="What the safe stack consists of")
right.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
for axes in (left, right):
    axes.set_xticks(range(3), errors.index)
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
