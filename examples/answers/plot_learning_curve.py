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
from primum.evaluation import (
    Experiment,
    LearningCurve,
    Method,
    run_experiment,
    score_signed,
    summarise,
)

# %%
# An experiment
# -------------
#
# :class:`~primum.evaluation.Experiment` draws labelled, unlabelled and test rows, fits every method
# to the same rows, and stores each result, so that an interrupted experiment can be resumed.

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
    results = run_experiment(experiment, folder, jobs=1)
summary = summarise(results, curve=True)
