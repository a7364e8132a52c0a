"""
From "cannot tell" to an answer
===============================

Two fitted models can differ in error only on rows for which they predict different classes. These
rows are known without labels. Labels of some of them, in random order, bound the difference on all
rows, exactly and after every label. Here the bounds narrow until the question is settled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from primum import SafeClassifier

X, truth = make_moons(3000, noise=0.25, random_state=0)
y = truth.copy()
y[np.random.default_rng(3).permutation(len(y))[40:]] = -1

# %%
# Forty labels are too few
# ------------------------
# Of 3000 points of two half-moons, 40 have a label. The safe stack may bend its boundary, while its
# baseline (a ridge and a logistic regression) is linear. Cross-validation on 40 labels cannot tell
# whether the stack is better.

clf = SafeClassifier(["kernel"], random_state=0, n_jobs=1).fit(X, y)
print(clf.verdict_)

# %%
# Label ten rows at a time
# ------------------------
#
# ``rows_to_label`` lists the next rows on which models differ, in a random order that was fixed
# before the first label. A person would fill in the column ``label``; here the hidden truth does.
# We may check the answer after every ten labels: the bounds hold at all these moments together.

n_labels = 0
while len(sheet := clf.rows_to_label(n=10)):
    sheet["label"] = truth[sheet.index]
    found = clf.settle(sheet, verbose=False)
    n_labels += len(sheet)
print(*(pair.text for pair in found.pairs), sep="\n")

# %%
# Where the two differ, and what every label says
# -----------------------------------------------
# On the left, the rows on which the safe stack and the baseline differ; no other row can change the
# answer. On the right, the bounds of both questions until they are settled. Against the baseline,
# the safe stack makes fewer errors; against the same stack without unlabelled rows it makes no
# practical difference (the grey band, one point of the error). The horizontal lines are the truth.
#
# This draw of labels is one in which both questions need labels. In twelve draws of 30, 40 and 60
# labels, the first one needed between 0 and 49 rows.
# The second question shows what is expensive: if a difference is near the margin, nearly all rows
# must be labelled to show on which side it is.

unknown = y == -1
models = {"the baseline": clf.baseline_, "the supervised stack": clf.supervised_}
wrong = clf.predict(X) != truth
true_changes = [
    np.sum(wrong[unknown]) - np.sum((model.predict(X) != truth)[unknown])
    for model in models.values()
]
differ = unknown & (clf.predict(X) != clf.baseline_.predict(X))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.scatter(*X[unknown & ~differ].T, s=3, color="0.8", label="they agree")
left.scatter(*X[differ & wrong].T, s=12, color="#D55E00", label="the baseline is right")
left.scatter(*X[differ & ~wrong].T, s=12, color="#0072B2", label="the safe stack is right")
left.scatter(*X[~unknown].T, s=18, color="black", marker="x", label="labelled at first")
left.set(title=f"They differ on {differ.sum()} of {unknown.sum()} rows", xticks=[], yticks=[])
left.legend(frameon=False, loc="lower left", fontsize="small")
margin = found.pairs[0].pair.n_margin
right.axhspan(-margin, margin, color="0.9")
for pair, true_change, color in zip(found.pairs, true_changes, ("#0072B2", "#E69F00"), strict=True):
    low, high = pair.bounds.path[: pair.bounds.labels_needed + 1].T
    places = np.arange(len(low))
    right.fill_between(places, low, high, step="post", color=color, alpha=0.3, linewidth=0)
    right.step(places, low, where="post", color=color, label=f"against {pair.baseline}")
    right.step(places, high, where="post", color=color)
    right.axhline(true_change, color=color, linestyle="--", linewidth=1)
    right.axvline(places[-1], color=color, linestyle=":", linewidth=1)
right.set(xlabel="labels of rows on which the two differ", ylabel="change in errors, in rows")
right.set_title(f"Both are settled with {n_labels} labels")
right.legend(frameon=False, loc="upper right")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Labels of random rows would do as well, but only those on which the two models differ say
# anything: one in fifteen here. :doc:`/settling` has the mathematics and what it costs.
