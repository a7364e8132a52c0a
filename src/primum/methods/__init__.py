"""scikit-learn estimators, one folder per family, with their objectives beside them.

A file is imported when its estimator is first used: importing all of them takes a while. The
estimators are listed in ``registry.py``; the list here is for type checkers.
"""

from typing import TYPE_CHECKING

# fmt: off
# ruff: noqa: E501, I001
if TYPE_CHECKING:  # written by docs/make_listings.py
    from primum.methods.entropy import EntropyLogisticClassifier as EntropyLogisticClassifier
    from primum.methods.gaussian.base import LDAClassifier as LDAClassifier
    from primum.methods.gaussian.base import SingularCovarianceWarning as SingularCovarianceWarning
    from primum.methods.gaussian.contrastive_pessimistic_lda import ContrastivePessimisticLDAClassifier as ContrastivePessimisticLDAClassifier
    from primum.methods.gaussian.em_lda import EMLDAClassifier as EMLDAClassifier
    from primum.methods.gaussian.iclda import ICLDAClassifier as ICLDAClassifier
    from primum.methods.gaussian.moment_constrained_lda import MomentConstrainedLDAClassifier as MomentConstrainedLDAClassifier
    from primum.methods.gaussian.scatter_lda import ScatterLDAClassifier as ScatterLDAClassifier
    from primum.methods.icls.classifier import ICLSClassifier as ICLSClassifier
    from primum.methods.icls.classifier import UndeterminedModelWarning as UndeterminedModelWarning
    from primum.methods.icls.kernel import KernelICLSClassifier as KernelICLSClassifier
    from primum.methods.icls.regressor import ICLSRegressor as ICLSRegressor
    from primum.methods.icls.tuned import ICLSClassifierCV as ICLSClassifierCV
    from primum.methods.icls.tuned import ICLSRegressorCV as ICLSRegressorCV
    from primum.methods.kernels import KernelLeastSquaresClassifier as KernelLeastSquaresClassifier
    from primum.methods.least_squares.classifier import LeastSquaresClassifier as LeastSquaresClassifier
    from primum.methods.least_squares.em import EMLeastSquaresClassifier as EMLeastSquaresClassifier
    from primum.methods.least_squares.healy_westmacott import HealyWestmacottClassifier as HealyWestmacottClassifier
    from primum.methods.least_squares.regressor import LeastSquaresRegressor as LeastSquaresRegressor
    from primum.methods.least_squares.tuning import LeastSquaresClassifierCV as LeastSquaresClassifierCV
    from primum.methods.least_squares.tuning import LeastSquaresRegressorCV as LeastSquaresRegressorCV
    from primum.methods.least_squares.usm import USMClassifier as USMClassifier
    from primum.methods.manifold.kernel import ManifoldClassifier as ManifoldClassifier
    from primum.methods.manifold.kernel import ManifoldKernel as ManifoldKernel
    from primum.methods.manifold.laplacian import LaplacianLeastSquaresClassifier as LaplacianLeastSquaresClassifier
    from primum.methods.manifold.laplacian import LaplacianSVMClassifier as LaplacianSVMClassifier
    from primum.methods.self_learning import SelfLearningClassifier as SelfLearningClassifier
    from primum.methods.svm.base import L2SVMClassifier as L2SVMClassifier
    from primum.methods.svm.s4vm import S4VMClassifier as S4VMClassifier
    from primum.methods.svm.tsvm import TSVMClassifier as TSVMClassifier
    from primum.methods.svm.wellsvm import WellSVMClassifier as WellSVMClassifier
else:  # type checkers would accept any name
    from primum._lazy import lazy
    from primum.methods.registry import modules

    __all__ = list(modules())
    __getattr__ = lazy(__name__, modules())

    def __dir__() -> list[str]:
        """Return the public names."""
        return sorted(__all__)
