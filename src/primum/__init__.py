"""Semi-supervised learning that aims never to make the supervised answer worse."""

from typing import TYPE_CHECKING

from primum._lazy import lazy

if TYPE_CHECKING:
    from primum._comparison import Comparison, compare
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
    from primum.models import load, save
    from primum.selection import (
        AgnosticClassifier,
        ICLSClassifierCV,
        ICLSRegressorCV,
        LeastSquaresClassifierCV,
        LeastSquaresRegressorCV,
        SafeClassifier,
        SAFEWClassifier,
    )

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
    "load",
    "save",
]

# The rooms that define names from elsewhere than ``primum.estimators``, and those names.
_ELSEWHERE = {
    "_comparison": ("Comparison", "compare"),
    "labellings": ("Certificate",),
    "models": ("load", "save"),
    "selection": (
        "AgnosticClassifier",
        "ICLSClassifierCV",
        "ICLSRegressorCV",
        "LeastSquaresClassifierCV",
        "LeastSquaresRegressorCV",
        "SAFEWClassifier",
        "SafeClassifier",
    ),
}
_ROOMS = (
    "datasets",
    "equations",
    "estimators",
    "labellings",
    "machines",
    "models",
    "rows",
    "selection",
    "solvers",
)

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy(
        __name__,
        dict.fromkeys(__all__, "primum.estimators")
        | {name: f"primum.{room}" for room, names in _ELSEWHERE.items() for name in names}
        | {room: f"primum.{room}" for room in _ROOMS},
    )


def __dir__() -> list[str]:
    """Return the public names, and no names of the typing of this module."""
    return sorted([*__all__, "__version__"])
