"""Semi-supervised classification that does not make the supervised answer worse."""

from primum.estimators import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    LeastSquaresClassifier,
    SelfLearningClassifier,
    USMClassifier,
)
from primum.problems import Certificate

__version__ = "0.1.0.dev0"

__all__ = [
    "Certificate",
    "EMLeastSquaresClassifier",
    "ICLSClassifier",
    "LeastSquaresClassifier",
    "SelfLearningClassifier",
    "USMClassifier",
]
