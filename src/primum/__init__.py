"""Semi-supervised learning that aims never to make the supervised answer worse."""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from primum._comparison import compare

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
    "compare",
]


def __getattr__(name: str) -> Any:
    """Import ``compare`` when it is used: it needs rooms that the estimators do not."""
    if name == "compare":
        from primum._comparison import compare

        return compare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
