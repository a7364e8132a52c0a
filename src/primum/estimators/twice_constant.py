"""Self-learning with an SVM as the published Table 3 appears to have run it.

The loop is plain: label the unlabelled rows, refit to all rows, repeat until no label changes. But
the published values on data sets with unequal classes (USPS, SPECT, SPECTF, Ionosphere) agree with
it only if the first SVM, which gives the first labels, saw the constant feature twice, so that
its intercept was penalised half as much, while the refits saw it once. This is inferred from
the values; it is not stated in the paper.
"""

from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats, Index
from primum.estimators.l2_svm import L2SVMClassifier
from primum.estimators.self_learning import SelfLearningClassifier


class TwiceConstantSelfLearning(SelfLearningClassifier):
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

    @property
    def _kind(self) -> L2SVMClassifier:
        return self.svm

    def _fit_supervised(
        self, X: Any, weight: Floats | None, classes: AnyArray, codes: Index
    ) -> L2SVMClassifier:
        """Fit with a further constant feature, and add its coefficient to the intercept."""
        twice = np.column_stack([X, np.ones(len(X))])
        svm: L2SVMClassifier = super()._fit_supervised(twice, weight, classes, codes)
        svm.intercept_ = svm.intercept_ + svm.coef_[:, -1]
        svm.coef_ = svm.coef_[:, :-1].copy()
        svm.n_features_in_ -= 1
        return svm
