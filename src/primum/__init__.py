"""Semi-supervised classification that aims never to make the supervised answer worse."""

from primum.estimators import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    L2SVMClassifier,
    LeastSquaresClassifier,
    S4VMClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
    UndeterminedModelWarning,
    UnlabeledRows,
    USMClassifier,
    WellSVMClassifier,
)
from primum.labellings import Certificate
from primum.selection import ICLSClassifierCV, LeastSquaresClassifierCV

__version__ = "0.1.0.dev0"

__all__ = [
    "Certificate",
    "EMLeastSquaresClassifier",
    "ICLSClassifier",
    "ICLSClassifierCV",
    "L2SVMClassifier",
    "LeastSquaresClassifier",
    "LeastSquaresClassifierCV",
    "S4VMClassifier",
    "SelfLearningClassifier",
    "TSVMClassifier",
    "USMClassifier",
    "UndeterminedModelWarning",
    "UnlabeledRows",
    "WellSVMClassifier",
]
