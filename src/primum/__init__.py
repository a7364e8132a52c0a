"""Semi-supervised learning that aims never to make the supervised answer worse."""

from primum.estimators import (
    EMLeastSquaresClassifier,
    ICLSClassifier,
    ICLSRegressor,
    L2SVMClassifier,
    LeastSquaresClassifier,
    LeastSquaresRegressor,
    S4VMClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
    UndeterminedModelWarning,
    UnlabeledRows,
    USMClassifier,
    WellSVMClassifier,
)
from primum.labellings import Certificate
from primum.selection import (
    AgnosticClassifier,
    ICLSClassifierCV,
    ICLSRegressorCV,
    LeastSquaresClassifierCV,
    LeastSquaresRegressorCV,
    SAFEWClassifier,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "AgnosticClassifier",
    "Certificate",
    "EMLeastSquaresClassifier",
    "ICLSClassifier",
    "ICLSClassifierCV",
    "ICLSRegressor",
    "ICLSRegressorCV",
    "L2SVMClassifier",
    "LeastSquaresClassifier",
    "LeastSquaresClassifierCV",
    "LeastSquaresRegressor",
    "LeastSquaresRegressorCV",
    "S4VMClassifier",
    "SAFEWClassifier",
    "SelfLearningClassifier",
    "TSVMClassifier",
    "USMClassifier",
    "UndeterminedModelWarning",
    "UnlabeledRows",
    "WellSVMClassifier",
]
