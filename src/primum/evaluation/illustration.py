"""A problem for the paper's illustrations: few labels, and unlabelled rows that matter."""

from dataclasses import dataclass

import numpy as np

from primum._typing import Floats, Index
from primum.estimators import ICLSClassifier, LeastSquaresClassifier

DRAWS, LABELED_PER_CLASS = 20, 2


@dataclass(frozen=True)
class Illustration:
    """Labels of which most are hidden (-1), the fit to them, and the fit to all labels."""

    y: Index
    clf: ICLSClassifier
    oracle: LeastSquaresClassifier


def most_moved(
    X: Floats, y: Index, rng: np.random.Generator, *, fit_intercept: bool
) -> Illustration:
    """Return, of several draws of labelled rows, the one that the unlabelled rows move most."""
    oracle = LeastSquaresClassifier(fit_intercept=fit_intercept).fit(X, y)
    draws = []
    for _ in range(DRAWS):
        known = [rng.choice(np.flatnonzero(y == label), LABELED_PER_CLASS) for label in (0, 1)]
        labels = np.full(len(y), -1)
        labels[np.concatenate(known)] = y[np.concatenate(known)]
        clf = ICLSClassifier(metric="labeled", fit_intercept=fit_intercept).fit(X, labels)
        draws.append(Illustration(labels, clf, oracle))
    return max(draws, key=lambda draw: draw.clf.certificate_.shift)
