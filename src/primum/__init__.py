"""Semi-supervised learning that aims never to make the supervised answer worse."""

from primum.estimators import (
    EMLDAClassifier,
    EMLeastSquaresClassifier,
    ICLSClassifier,
    ICLSRegressor,
    L2SVMClassifier,
    LDAClassifier,
    LeastSquaresClassifier,
    LeastSquaresRegressor,
    S4VMClassifier,
    SelfLearningClassifier,
    SingularCovarianceWarning,
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
    "EMLDAClassifier",
    "EMLeastSquaresClassifier",
    "ICLSClassifier",
    "ICLSClassifierCV",
    "ICLSRegressor",
    "ICLSRegressorCV",
    "L2SVMClassifier",
    "LDAClassifier",
    "LeastSquaresClassifier",
    "LeastSquaresClassifierCV",
    "LeastSquaresRegressor",
    "LeastSquaresRegressorCV",
    "S4VMClassifier",
    "SelfLearningClassifier",
    "SingularCovarianceWarning",
    "TSVMClassifier",
    "USMClassifier",
    "UndeterminedModelWarning",
    "UnlabeledRows",
    "WellSVMClassifier",
]
