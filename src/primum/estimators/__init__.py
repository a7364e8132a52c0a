"""scikit-learn estimators, one method per file.

A file is imported when its estimator is first used: importing all of them takes a while.
"""

from typing import TYPE_CHECKING

from primum._lazy import lazy

if TYPE_CHECKING:
    from primum.estimators._generative import SingularCovarianceWarning
    from primum.estimators._implicit import UndeterminedModelWarning
    from primum.estimators._labels import read_labels
    from primum.estimators.contrastive_pessimistic_lda import ContrastivePessimisticLDAClassifier
    from primum.estimators.em import EMLeastSquaresClassifier
    from primum.estimators.em_lda import EMLDAClassifier
    from primum.estimators.entropy_logistic import EntropyLogisticClassifier
    from primum.estimators.healy_westmacott import HealyWestmacottClassifier
    from primum.estimators.iclda import ICLDAClassifier
    from primum.estimators.icls import ICLSClassifier
    from primum.estimators.icls_regressor import ICLSRegressor
    from primum.estimators.kernel_icls import KernelICLSClassifier
    from primum.estimators.kernel_least_squares import KernelLeastSquaresClassifier
    from primum.estimators.l2_svm import L2SVMClassifier
    from primum.estimators.laplacian_least_squares import LaplacianLeastSquaresClassifier
    from primum.estimators.laplacian_svm import LaplacianSVMClassifier
    from primum.estimators.lda import LDAClassifier
    from primum.estimators.least_squares import LeastSquaresClassifier
    from primum.estimators.least_squares_regressor import LeastSquaresRegressor
    from primum.estimators.manifold_classifier import ManifoldClassifier
    from primum.estimators.manifold_kernel import ManifoldKernel
    from primum.estimators.moment_constrained_lda import MomentConstrainedLDAClassifier
    from primum.estimators.s4vm import S4VMClassifier
    from primum.estimators.scatter_lda import ScatterLDAClassifier
    from primum.estimators.self_learning import SelfLearningClassifier
    from primum.estimators.tsvm import TSVMClassifier
    from primum.estimators.unlabeled_rows import UnlabeledRows
    from primum.estimators.usm import USMClassifier
    from primum.estimators.wellsvm import WellSVMClassifier

__all__ = [
    "ContrastivePessimisticLDAClassifier",
    "EMLDAClassifier",
    "EMLeastSquaresClassifier",
    "EntropyLogisticClassifier",
    "HealyWestmacottClassifier",
    "ICLDAClassifier",
    "ICLSClassifier",
    "ICLSRegressor",
    "KernelICLSClassifier",
    "KernelLeastSquaresClassifier",
    "L2SVMClassifier",
    "LDAClassifier",
    "LaplacianLeastSquaresClassifier",
    "LaplacianSVMClassifier",
    "LeastSquaresClassifier",
    "LeastSquaresRegressor",
    "ManifoldClassifier",
    "ManifoldKernel",
    "MomentConstrainedLDAClassifier",
    "S4VMClassifier",
    "ScatterLDAClassifier",
    "SelfLearningClassifier",
    "SingularCovarianceWarning",
    "TSVMClassifier",
    "USMClassifier",
    "UndeterminedModelWarning",
    "UnlabeledRows",
    "WellSVMClassifier",
    "read_labels",
]

_FILES = {
    "ContrastivePessimisticLDAClassifier": "contrastive_pessimistic_lda",
    "EMLDAClassifier": "em_lda",
    "EMLeastSquaresClassifier": "em",
    "EntropyLogisticClassifier": "entropy_logistic",
    "HealyWestmacottClassifier": "healy_westmacott",
    "ICLDAClassifier": "iclda",
    "ICLSClassifier": "icls",
    "ICLSRegressor": "icls_regressor",
    "KernelICLSClassifier": "kernel_icls",
    "KernelLeastSquaresClassifier": "kernel_least_squares",
    "L2SVMClassifier": "l2_svm",
    "LDAClassifier": "lda",
    "LaplacianLeastSquaresClassifier": "laplacian_least_squares",
    "LaplacianSVMClassifier": "laplacian_svm",
    "LeastSquaresClassifier": "least_squares",
    "LeastSquaresRegressor": "least_squares_regressor",
    "ManifoldClassifier": "manifold_classifier",
    "ManifoldKernel": "manifold_kernel",
    "MomentConstrainedLDAClassifier": "moment_constrained_lda",
    "S4VMClassifier": "s4vm",
    "ScatterLDAClassifier": "scatter_lda",
    "SelfLearningClassifier": "self_learning",
    "SingularCovarianceWarning": "_generative",
    "TSVMClassifier": "tsvm",
    "USMClassifier": "usm",
    "UndeterminedModelWarning": "_implicit",
    "UnlabeledRows": "unlabeled_rows",
    "WellSVMClassifier": "wellsvm",
    "read_labels": "_labels",
}

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy(__name__, {name: f"{__name__}.{file}" for name, file in _FILES.items()})


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
