"""Semi-supervised learning that aims never to make the supervised answer worse."""

from typing import TYPE_CHECKING, Any

from primum.estimators import (
    ContrastivePessimisticLDAClassifier,
    EMLDAClassifier,
    EMLeastSquaresClassifier,
    EntropyLogisticClassifier,
    HealyWestmacottClassifier,
    ICLDAClassifier,
    ICLSClassifier,
    ICLSRegressor,
    KernelICLSClassifier,
    KernelLeastSquaresClassifier,
    L2SVMClassifier,
    LaplacianLeastSquaresClassifier,
    LaplacianSVMClassifier,
    LDAClassifier,
    LeastSquaresClassifier,
    LeastSquaresRegressor,
    ManifoldClassifier,
    ManifoldKernel,
    MomentConstrainedLDAClassifier,
    S4VMClassifier,
    ScatterLDAClassifier,
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
    AgnosticClassifier,
    ICLSClassifierCV,
    ICLSRegressorCV,
    LeastSquaresClassifierCV,
    LeastSquaresRegressorCV,
    SafeClassifier,
    SAFEWClassifier,
)

if TYPE_CHECKING:
    from primum._comparison import Comparison, compare

__version__ = "0.1.0"

__all__ = [
    "AgnosticClassifier",
    "Certificate",
    "Comparison",
    "ContrastivePessimisticLDAClassifier",
    "EMLDAClassifier",
    "EMLeastSquaresClassifier",
    "EntropyLogisticClassifier",
    "HealyWestmacottClassifier",
    "ICLDAClassifier",
    "ICLSClassifier",
    "ICLSClassifierCV",
    "ICLSRegressor",
    "ICLSRegressorCV",
    "KernelICLSClassifier",
    "KernelLeastSquaresClassifier",
    "L2SVMClassifier",
    "LDAClassifier",
    "LaplacianLeastSquaresClassifier",
    "LaplacianSVMClassifier",
    "LeastSquaresClassifier",
    "LeastSquaresClassifierCV",
    "LeastSquaresRegressor",
    "LeastSquaresRegressorCV",
    "ManifoldClassifier",
    "ManifoldKernel",
    "MomentConstrainedLDAClassifier",
    "S4VMClassifier",
    "SAFEWClassifier",
    "SafeClassifier",
    "ScatterLDAClassifier",
    "SelfLearningClassifier",
    "SingularCovarianceWarning",
    "TSVMClassifier",
    "USMClassifier",
    "UndeterminedModelWarning",
    "UnlabeledRows",
    "WellSVMClassifier",
    "compare",
]


def __getattr__(name: str) -> Any:
    """Import ``compare`` and its result when used: they need rooms that the estimators do not."""
    if name in ("Comparison", "compare"):
        from primum import _comparison

        return getattr(_comparison, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, and no names of the typing of this module."""
    return sorted([*__all__, "__version__"])
