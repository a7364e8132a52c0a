"""scikit-learn classifiers, one method per file."""

from primum.estimators._labels import read_labels
from primum.estimators.em import EMLeastSquaresClassifier
from primum.estimators.icls import ICLSClassifier
from primum.estimators.least_squares import LeastSquaresClassifier
from primum.estimators.self_learning import SelfLearningClassifier
from primum.estimators.usm import USMClassifier

__all__ = [
    "EMLeastSquaresClassifier",
    "ICLSClassifier",
    "LeastSquaresClassifier",
    "SelfLearningClassifier",
    "USMClassifier",
    "read_labels",
]
