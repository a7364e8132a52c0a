"""Semi-supervised learning that aims never to make the supervised answer worse."""

from primum.estimators import (
    EMLeastSquaresClassifier,
    EntropyLogisticClassifier,
    HealyWestmacottClassifier,
    ICLSClassifier,
    ICLSRegressor,
    KernelICLSClassifier,
    KernelLeastSquaresClassifier,
    L2SVMClassifier,
    LaplacianLeastSquaresClassifier,
    LaplacianSVMClassifier,
    LeastSquaresClassifier,
    LeastSquaresRegressor,
    ManifoldClassifier,
    ManifoldKernel,
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
    "KernelICLSClassifier",
    "KernelLeastSquaresClassifier",
    "L2SVMClassifier",
    "LaplacianLeastSquaresClassifier",
    "LaplacianSVMClassifier",
    "LeastSquaresClassifier",
    "LeastSquaresClassifierCV",
    "LeastSquaresRegressor",
    "LeastSquaresRegressorCV",
    "ManifoldClassifier",
    "ManifoldKernel",
    "S4VMClassifier",
    "SelfLearningClassifier",
    "TSVMClassifier",
    "USMClassifier",
    "UndeterminedModelWarning",
    "UnlabeledRows",
    "WellSVMClassifier",
]
