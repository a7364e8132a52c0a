"""Self-learning with an SVM as the published Table 3 appears to have run it.

The loop is plain: label the unlabelled rows, refit to all rows, repeat until no label changes. But
the published values on data sets with unequal classes (USPS, SPECT, SPECTF, Ionosphere) agree with
it only if the first SVM, which gives the first labels, saw the constant feature twice, so that
its intercept was penalised half as much, while the refits saw it once. This is inferred from
the values; it is not stated in the paper.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from primum._typing import AnyArray, Floats
from primum.estimators._labels import read_labels
from primum.estimators.l2_svm import L2SVMClassifier


class TwiceConstantSelfLearning(ClassifierMixin, BaseEstimator):
    """Self-learning whose first SVM sees the constant feature twice.

    Parameters
    ----------
    svm : L2SVMClassifier
        The SVM, with a penalised intercept.
    max_iter : int, default=100
        Maximum number of rounds of labelling and refitting.
    """

    def __init__(self, svm: L2SVMClassifier, *, max_iter: int = 100) -> None:
        self.svm = svm
        self.max_iter = max_iter

    def fit(self, X: Floats, y: AnyArray) -> Self:
        """Fit to labelled rows and unlabelled ones (label -1)."""
        labels = read_labels(y, len(X))
        twice = np.column_stack([X, np.ones(len(X))])
        first = clone(self.svm).fit(twice[labels.labeled], labels.codes)
        codes = np.empty(len(X))
        codes[labels.labeled] = labels.codes
        guess = first.predict(twice[labels.unlabeled])
        self.estimator_ = clone(self.svm)
        refit = self.estimator_._refitter(X)
        for _ in range(self.max_iter):
            codes[labels.unlabeled] = guess
            refit(np.array([0, 1]), codes)
            before, guess = guess, self.estimator_.predict(X[labels.unlabeled])
            if np.array_equal(before, guess):
                break
        self.classes_ = labels.classes
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the decision values of the fitted SVM."""
        return np.asarray(self.estimator_.decision_function(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted classes."""
        return self.classes_[(self.decision_function(X) >= 0).astype(np.intp)]
