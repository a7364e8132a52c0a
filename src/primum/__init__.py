"""Semi-supervised learning that aims never to make the supervised answer worse."""

from primum.estimators import (
    EMLeastSquaresClassifier,
    EntropyLogisticClassifier,
    HealyWestmacottClassifier,
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
    ICLSClassifierCV,
    ICLSRegressorCV,
    LeastSquaresClassifierCV,
    LeastSquaresRegressorCV,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "Certificate",
    "EMLeastSquaresClassifier",
    "EntropyLogisticClassifier",
    "HealyWestmacottClassifier",
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
    "SelfLearningClassifier",
    "TSVMClassifier",
    "USMClassifier",
    "UndeterminedModelWarning",
    "UnlabeledRows",
    "WellSVMClassifier",
]
