"""Choosing between models with partly labelled data."""

from primum.selection.agnostic import AgnosticClassifier
from primum.selection.icls_cv import ICLSClassifierCV
from primum.selection.icls_regressor_cv import ICLSRegressorCV
from primum.selection.least_squares_cv import LeastSquaresClassifierCV
from primum.selection.least_squares_regressor_cv import LeastSquaresRegressorCV
from primum.selection.safe import SafeClassifier
from primum.selection.safew import SAFEWClassifier
from primum.selection.splitting import SemiSupervisedSplit

__all__ = [
    "AgnosticClassifier",
    "ICLSClassifierCV",
    "ICLSRegressorCV",
    "LeastSquaresClassifierCV",
    "LeastSquaresRegressorCV",
    "SAFEWClassifier",
    "SafeClassifier",
    "SemiSupervisedSplit",
]
