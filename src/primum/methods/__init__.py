"""scikit-learn estimators, one folder a family, with what they minimise beside them.

A file is imported when its estimator is first used: importing all of them takes a while.
"""

from typing import TYPE_CHECKING

from primum._lazy import lazy

if TYPE_CHECKING:
    from primum.methods.entropy import EntropyLogisticClassifier
    from primum.methods.gaussian.base import SingularCovarianceWarning
    from primum.methods.gaussian.contrastive_pessimistic_lda import (
        ContrastivePessimisticLDAClassifier,
    )
    from primum.methods.gaussian.em_lda import EMLDAClassifier
    from primum.methods.gaussian.iclda import ICLDAClassifier
    from primum.methods.gaussian.lda import LDAClassifier
    from primum.methods.gaussian.moment_constrained_lda import MomentConstrainedLDAClassifier
    from primum.methods.gaussian.scatter_lda import ScatterLDAClassifier
    from primum.methods.icls.base import UndeterminedModelWarning
    from primum.methods.icls.classifier import ICLSClassifier
    from primum.methods.icls.kernel import KernelICLSClassifier
    from primum.methods.icls.regressor import ICLSRegressor
    from primum.methods.icls.tuned import ICLSClassifierCV, ICLSRegressorCV
    from primum.methods.least_squares.classifier import LeastSquaresClassifier
    from primum.methods.least_squares.em import EMLeastSquaresClassifier
    from primum.methods.least_squares.healy_westmacott import HealyWestmacottClassifier
    from primum.methods.least_squares.kernel import KernelLeastSquaresClassifier
    from primum.methods.least_squares.regressor import LeastSquaresRegressor
    from primum.methods.least_squares.tuned import LeastSquaresClassifierCV, LeastSquaresRegressorCV
    from primum.methods.least_squares.usm import USMClassifier
    from primum.methods.manifold.classifier import ManifoldClassifier
    from primum.methods.manifold.kernel import ManifoldKernel
    from primum.methods.manifold.laplacian_least_squares import LaplacianLeastSquaresClassifier
    from primum.methods.manifold.laplacian_svm import LaplacianSVMClassifier
    from primum.methods.self_learning import SelfLearningClassifier
    from primum.methods.svm.l2_svm import L2SVMClassifier
    from primum.methods.svm.s4vm import S4VMClassifier
    from primum.methods.svm.tsvm import TSVMClassifier
    from primum.methods.svm.wellsvm import WellSVMClassifier

_FILES = {
    "ContrastivePessimisticLDAClassifier": "gaussian.contrastive_pessimistic_lda",
    "EMLDAClassifier": "gaussian.em_lda",
    "EMLeastSquaresClassifier": "least_squares.em",
    "EntropyLogisticClassifier": "entropy",
    "HealyWestmacottClassifier": "least_squares.healy_westmacott",
    "ICLDAClassifier": "gaussian.iclda",
    "ICLSClassifier": "icls.classifier",
    "ICLSClassifierCV": "icls.tuned",
    "ICLSRegressor": "icls.regressor",
    "ICLSRegressorCV": "icls.tuned",
    "KernelICLSClassifier": "icls.kernel",
    "KernelLeastSquaresClassifier": "least_squares.kernel",
    "L2SVMClassifier": "svm.l2_svm",
    "LDAClassifier": "gaussian.lda",
    "LaplacianLeastSquaresClassifier": "manifold.laplacian_least_squares",
    "LaplacianSVMClassifier": "manifold.laplacian_svm",
    "LeastSquaresClassifier": "least_squares.classifier",
    "LeastSquaresClassifierCV": "least_squares.tuned",
    "LeastSquaresRegressor": "least_squares.regressor",
    "LeastSquaresRegressorCV": "least_squares.tuned",
    "ManifoldClassifier": "manifold.classifier",
    "ManifoldKernel": "manifold.kernel",
    "MomentConstrainedLDAClassifier": "gaussian.moment_constrained_lda",
    "S4VMClassifier": "svm.s4vm",
    "ScatterLDAClassifier": "gaussian.scatter_lda",
    "SelfLearningClassifier": "self_learning",
    "SingularCovarianceWarning": "gaussian.base",
    "TSVMClassifier": "svm.tsvm",
    "USMClassifier": "least_squares.usm",
    "UndeterminedModelWarning": "icls.base",
    "WellSVMClassifier": "svm.wellsvm",
}
__all__ = list(_FILES)

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy(__name__, {name: f"{__name__}.{file}" for name, file in _FILES.items()})


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
