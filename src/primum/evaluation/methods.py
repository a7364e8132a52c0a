"""The classifiers of the experiments, each listed once.

A method is an estimator, which labels it may see, and how its score for class 1 is read. To add
one to an experiment, list it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV

from primum._sklearn import logistic_regression_cv
from primum._typing import AnyArray, Floats, Index
from primum.estimators import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    L2SVMClassifier,
    LeastSquaresClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
    USMClassifier,
)
from primum.evaluation.measures import squared_hinge, squared_loss
from primum.evaluation.twice_constant import TwiceConstantSelfLearning


def score_minus_half(clf: Any, X: AnyArray) -> Floats:
    """Read the score of this library's least-squares family."""
    return np.asarray(clf.decision_function(X) + 0.5)


def score_signed(clf: Any, X: AnyArray) -> Floats:
    """Read a score fitted to labels -1 and 1."""
    return np.asarray((clf.decision_function(X) + 1.0) / 2.0)


def score_probability(clf: Any, X: AnyArray) -> Floats:
    """Read the probability of class 1."""
    return np.asarray(clf.predict_proba(X)[:, 1])


@dataclass(frozen=True)
class Method:
    """A classifier in an experiment.

    Attributes
    ----------
    name : str
        As in tables and figures.
    estimator : estimator
        Cloned for every fit.
    sees : {"labeled", "partly", "all"}
        Trained on labelled rows only; on all training rows, the unlabelled ones marked -1; or on
        all training rows with their true labels (an oracle).
    score : callable (fitted estimator, X) -> scores
        The score of class 1.
    loss : callable (scores, labels 0 and 1) -> float
        The loss that is reported beside the error.
    every : int
        Run it in every so many repeats only, for baselines that take long.
    """

    name: str
    estimator: Any
    sees: str = "partly"
    score: Callable[[Any, AnyArray], Floats] = score_minus_half
    loss: Callable[[Floats, Index], float] = squared_loss
    every: int = 1


# The published figures agree with a pseudo-inverse of the second moment that ignores eigenvalues
# below the root of the machine precision, a usual default; this is inferred, nothing states it.
# On Parkinsons, BCI and COIL2, whose features are nearly collinear, that is a regularisation which
# shows in the results.
PSEUDO_INVERSE = float(np.finfo(float).eps ** 0.5)
_least_squares = LeastSquaresClassifier(rcond=PSEUDO_INVERSE)

LEAST_SQUARES = (
    Method("Supervised", _least_squares, sees="labeled"),
    Method("Self-Learning", SelfLearningClassifier(_least_squares)),
    Method("USM", USMClassifier(rcond=PSEUDO_INVERSE)),
    # Where labelled rows do not determine the model, the authors' code ends near labels of 1/2.
    Method("ICLS", ICLSClassifier(rcond=PSEUDO_INVERSE, tie_break="half")),
    Method("Oracle", _least_squares, sees="all"),
)

# In the published learning curves beside the five of the tables.
FURTHER_LEAST_SQUARES = (
    Method("Projection", ICLSClassifier(metric="all", rcond=PSEUDO_INVERSE)),
    Method("EM-LS", EMLeastSquaresClassifier("soft", rcond=PSEUDO_INVERSE)),
)

# What a careful user would have had without unlabelled rows: regularisation chosen by
# cross-validation on the labelled ones.
BASELINES = (
    Method(
        "Ridge (CV)",
        RidgeClassifierCV(alphas=np.geomspace(1e-3, 1e4, 15)),
        sees="labeled",
        score=score_signed,
        every=5,
    ),
    Method(
        "Logistic (CV)",
        logistic_regression_cv(
            Cs=[1e-3, 1e-2, 1e-1, 1.0], cv=3, max_iter=1000, scoring="neg_log_loss"
        ),
        sees="labeled",
        score=score_probability,
        every=10,
    ),
)

# The published runs: the constant feature is penalised, and every row costs 1 in the supervised
# machines but 1/L or 1/U in the transductive one, which is thus regularised L times as much.
SVM = L2SVMClassifier(alpha=1.0, costs="sum", penalize_intercept=True)


def _machine(name: str, estimator: Any, sees: str = "partly") -> Method:
    return Method(name, estimator, sees, score_signed, squared_hinge)


SUPPORT_VECTORS = (
    _machine("Supervised", SVM, sees="labeled"),
    _machine("Self-Learning", TwiceConstantSelfLearning(SVM)),
    _machine("Self-Learning (plain)", SelfLearningClassifier(SVM)),
    _machine("TSVM", TSVMClassifier(alpha=1.0, penalize_intercept=True)),
    # Another search for the minimum of the same objective: shows how much of TSVM is luck.
    replace(
        _machine("TSVM (annealing)", TSVMClassifier("annealing", penalize_intercept=True)),
        every=10,
    ),
    _machine("Oracle", SVM, sees="all"),
)
