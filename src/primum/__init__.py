"""Semi-supervised learning that aims never to make the supervised answer worse."""

from typing import TYPE_CHECKING

from primum._lazy import lazy

if TYPE_CHECKING:
    from primum.comparison.compare import Comparison, compare
    from primum.labellings import Certificate
    from primum.methods import (
        ContrastivePessimisticLDAClassifier,
        EMLDAClassifier,
        EMLeastSquaresClassifier,
        EntropyLogisticClassifier,
        HealyWestmacottClassifier,
        ICLDAClassifier,
        ICLSClassifier,
        ICLSClassifierCV,
        ICLSRegressor,
        ICLSRegressorCV,
        KernelICLSClassifier,
        KernelLeastSquaresClassifier,
        L2SVMClassifier,
        LaplacianLeastSquaresClassifier,
        LaplacianSVMClassifier,
        LDAClassifier,
        LeastSquaresClassifier,
        LeastSquaresClassifierCV,
        LeastSquaresRegressor,
        LeastSquaresRegressorCV,
        ManifoldClassifier,
        ManifoldKernel,
        MomentConstrainedLDAClassifier,
        S4VMClassifier,
        ScatterLDAClassifier,
        SelfLearningClassifier,
        SingularCovarianceWarning,
        TSVMClassifier,
        UndeterminedModelWarning,
        USMClassifier,
        WellSVMClassifier,
    )
    from primum.models import load, save
    from primum.reading.data import UnlabeledRows
    from primum.safe import AgnosticClassifier, SafeClassifier, SAFEWClassifier

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
    "SemiSupervisedSplit",
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

# The rooms that define names from elsewhere than ``primum.methods``, and those names.
_ELSEWHERE = {
    "comparison.compare": ("Comparison", "compare"),
    "labellings": ("Certificate",),
    "models": ("load", "save"),
    "reading.data": ("UnlabeledRows",),
    "reading.folds": ("SemiSupervisedSplit",),
    "safe": ("AgnosticClassifier", "SAFEWClassifier", "SafeClassifier"),
}
_ROOMS = (
    "comparison",
    "equations",
    "experiments",
    "judging",
    "labellings",
    "methods",
    "models",
    "pages",
    "reading",
    "rows",
    "safe",
    "simulated",
    "solvers",
    "tables",
)

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy(
        __name__,
        dict.fromkeys(__all__, "primum.methods")
        | {name: f"primum.{room}" for room, names in _ELSEWHERE.items() for name in names}
        | {room: f"primum.{room}" for room in _ROOMS},
    )


def __dir__() -> list[str]:
    """Return the public names, and no names of the typing of this module."""
    return sorted([*__all__, "__version__"])
