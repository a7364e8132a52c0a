"""
Learning curves over unlabelled rows
====================================

How many unlabelled rows are useful? This example repeats the setting of Krijthe and Loog on
scikit-learn's breast cancer data: 35 labelled rows, 30 features, and a growing number of unlabelled
rows.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import RidgeClassifierCV
from sklearn.preprocessing import scale

from primum import ICLSClassifier, LeastSquaresClassifier, SelfLearningClassifier
from primum_lab import (
    Experiment,
    LearningCurve,
    Method,
    run_experiment,
    score_signed,
    summarize,
)

# %%
# An experiment
# -------------
#
# :class:`~primum_lab.Experiment` draws labelled, unlabelled and test rows, fits every
# method to the same rows, and stores each result: an interrupted experiment can be resumed.

X, y = load_breast_cancer(return_X_y=True)
ridge = RidgeClassifierCV(np.logspace(-3, 4, 15))
experiment = Experiment(
    name="breast cancer",
    data={"breast cancer": (scale(X), y)},
    design=LearningCurve(sizes=(2, 8, 32, 128, 400)),
    methods=(
        Method("Supervised", LeastSquaresClassifier(), sees="labeled"),
        Method("Self-Learning", SelfLearningClassifier()),
        Method("ICLS", ICLSClassifier()),
        Method("ICLS, metric=0.2", ICLSClassifier(metric=0.2)),
        Method("Ridge (CV)", ridge, sees="labeled", score=score_signed),
    ),
    repeats=40,
)
with tempfile.TemporaryDirectory() as folder:
    results = run_experiment(experiment, folder, verbose=False)
summary = summarize(results, curve=True)

# %%
# Error and squared loss
# ----------------------
#
# Bands are one standard error over 40 draws on either side.

styles = {
    "Supervised": ("#000000", "-"),
    "Self-Learning": ("#E69F00", "-"),
    "ICLS": ("#0072B2", "-"),
    "ICLS, metric=0.2": ("#56B4E9", "-"),
    "Ridge (CV)": ("#000000", ":"),
}
figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
measures = {"error": "classification error", "loss_test": "squared loss on test rows"}
for axes, (measure, label) in zip(panels, measures.items(), strict=True):
    for name, (colour, line) in styles.items():
        if (name, measure) == ("Ridge (CV)", "loss_test"):
            continue  # it is fitted to -1 and 1: its loss is on another scale
        curve = summary[(summary["classifier"] == name) & (summary["measure"] == measure)]
        sizes, mean, se = (curve[key].to_numpy() for key in ("n_unlabeled", "mean", "se"))
        axes.plot(sizes, mean, color=colour, linestyle=line, label=name)
        axes.fill_between(sizes, mean - se, mean + se, color=colour, alpha=0.12, linewidth=0)
    axes.set_title(f"{label.capitalize()}, 35 labels")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set(xlabel="number of unlabelled rows", ylabel=label, ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
panels[0].legend(frameon=False)
plt.show()

# %%
# How often is it worse?
# ----------------------
#
# A mean can hide harm. The table counts the draws, out of 40, in which a method has a higher error
# than supervised least squares.

errors = summary[(summary["measure"] == "error") & (summary["classifier"] != "Supervised")]
errors.pivot(index="classifier", columns="n_unlabeled", values="times_worse")

# %%
# ICLS gains as unlabelled rows are added, and is then rarely worse than its supervised twin. But
# the setting is the worst case of unregularised least squares: a few more labels than parameters.
# The dotted line is a ridge regression tuned on the same 35 labels, and it is far better than all
# the others, without any unlabelled row. So compare with a regularised model before you conclude
# that your unlabelled rows help.
