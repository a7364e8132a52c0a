"""
Do my unlabelled rows help?
===========================

:func:`primum.compare` answers the question from the labelled rows: it compares methods that use
unlabelled rows with a tuned supervised baseline, by cross-validation, and says how certain the
answer is. Here it is applied to two data sets whose labels we know but hide, so that we can check
its answers.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import primum
from primum import ICLSClassifier, SafeClassifier, SelfLearningClassifier

# %%
# Three methods are compared. Without ``methods`` the defaults would be used: the full safe stack,
# ICLS, self-learning, for two classes a transductive SVM, and two supervised alternatives.

METHODS = [
    ("safe stack", SafeClassifier(["spreading"], random_state=0, n_jobs=1)),
    ("ICLS", ICLSClassifier(alpha=0.1, n_jobs=1)),
    ("self-learning", SelfLearningClassifier(LogisticRegression(C=0.1, max_iter=1000))),
]


def hide(data, n_labels, seed=0):
    """Return rows, labels that are -1 where they are hidden, and all labels."""
    X, truth = data(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(truth))
    y = truth.copy()
    y[order[n_labels:]] = -1
    return X, y, truth


# %%
# Breast cancer, 60 labels
# ------------------------

tumours = hide(load_breast_cancer, 60)
result = primum.compare(*tumours[:2], methods=METHODS, n_repeats=2, curves=False, verbose=False)
result

# %%
# Digits, 100 labels
# ------------------

digits = hide(load_digits, 100)
result_digits = primum.compare(
    *digits[:2], methods=METHODS, n_repeats=1, curves=False, verbose=False
)
result_digits

# %%
# Were the answers right?
# -----------------------
#
# Now every method is fitted to all rows and judged by the hidden labels.


def true_changes(X, y, truth):
    """Return by how much the error on the unlabelled rows differs from that of the baseline."""
    unknown = y == -1
    fits = {name: make_pipeline(StandardScaler(), clf).fit(X, y) for name, clf in METHODS}
    scaled = StandardScaler().fit_transform(X)[unknown]
    baseline = fits["safe stack"][-1].baseline_.score(scaled, truth[unknown])
    return {
        name: 100 * (baseline - clf.score(X[unknown], truth[unknown])) for name, clf in fits.items()
    }


# %%
# Bars are the intervals of the comparison, which are based on the labelled rows; diamonds are the
# true changes. In the grey region a difference has no practical importance.

figure, panels = plt.subplots(1, 2, figsize=(11, 3.4), sharey=True, layout="constrained")
cases = {
    "Breast cancer, 60 labels": (result, tumours),
    "Digits, 100 labels": (result_digits, digits),
}
for axes, (title, (found, rows)) in zip(panels, cases.items(), strict=True):
    axes.axvspan(-1, 1, color="0.88")
    axes.axvline(0, color="k", linewidth=1)
    true = true_changes(*rows)
    judged = [method for method in found.methods if method.name in true]
    for position, method in enumerate(judged):
        verdict = method.verdict
        colour = {"help": "#009E73", "harm": "#D55E00"}.get(verdict.answer, "#0072B2")
        axes.plot(100 * np.array(verdict.interval), [position] * 2, color=colour, linewidth=3)
        axes.plot(100 * verdict.change, position, "o", color=colour, markersize=8)
        axes.plot(true[method.name], position, "D", color="k", markersize=6)
        text = f"{method.name}:\n{verdict.answer.replace('_', ' ')}"
        axes.text(1.02, position, text, transform=axes.get_yaxis_transform(), va="center")
    axes.set(title=title, xlabel="change in error (points); left is better", yticks=[])
    axes.set_ylim(len(judged) - 0.5, -0.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
plt.show()

# %%
# On the tumours the safe stack makes no difference: it has the same error as the baseline, and the
# comparison is certain of this, because the two models predict the same class for nearly all rows.
# On the digits it lowers the error, by as much as the comparison estimates, but with 100 labels
# the interval still contains 0, and the answer is "cannot tell". The stack is recommended all the
# same, because it is more likely to help than to harm. ICLS with this ridge does harm on the
# digits, which the comparison detects.
