"""All methods, one line each.

From this list come the public names, the common tests, the rows of ``docs/methods.md``, the API
reference, and the names that ``primum compare`` and ``primum reproduce`` accept. To add a method,
write its module, add a line here, and run ``docs/make_listings.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

ICLS, TWINS = "Implicitly constrained least squares", "Supervised twins"
LINEAR, MACHINES = "Other linear methods", "Support vector machines"
MANIFOLDS, GAUSSIANS = "Manifolds", "Gaussian classes"


@dataclass(frozen=True)
class MethodEntry:
    """A public class, its module below ``primum.methods``, and its section of the reference.

    ``command`` is its name on the command line; "" if it is offered only as one of the
    ``VARIANTS``, or is compared by default.
    """

    name: str
    module: str
    family: str
    command: str = ""

    @property
    def supervised(self) -> bool:
        """Whether it ignores unlabelled rows."""
        return self.family == TWINS

    def load(self) -> Any:
        """Return the class."""
        return getattr(import_module(f"primum.methods.{self.module}"), self.name)


@dataclass(frozen=True)
class Variant:
    """A method with parameters, under the name that commands use for it.

    A parameter can be a variant, which stands for its estimator.
    """

    name: str
    method: str
    parameters: Mapping[str, Any]
    supervised: bool = False

    def estimator(self) -> Any:
        """Return the unfitted estimator."""
        parameters = {
            name: value.estimator() if isinstance(value, Variant) else value
            for name, value in self.parameters.items()
        }
        return method_of(self.method).load()(**parameters)


METHODS = [
    MethodEntry("ICLSClassifier", "icls.classifier", ICLS),
    MethodEntry("ICLSClassifierCV", "icls.tuned", ICLS),
    MethodEntry("ICLSRegressor", "icls.regressor", ICLS),
    MethodEntry("ICLSRegressorCV", "icls.tuned", ICLS),
    MethodEntry("KernelICLSClassifier", "icls.kernel", ICLS),
    MethodEntry("LeastSquaresClassifier", "least_squares.classifier", TWINS),
    MethodEntry("LeastSquaresClassifierCV", "least_squares.tuning", TWINS),
    MethodEntry("LeastSquaresRegressor", "least_squares.regressor", TWINS),
    MethodEntry("LeastSquaresRegressorCV", "least_squares.tuning", TWINS),
    MethodEntry("KernelLeastSquaresClassifier", "kernels", TWINS, "Kernel LS"),
    MethodEntry("L2SVMClassifier", "svm.base", TWINS),
    MethodEntry("LDAClassifier", "gaussian.base", TWINS),
    MethodEntry("SelfLearningClassifier", "self_learning", LINEAR),
    MethodEntry("EMLeastSquaresClassifier", "least_squares.em", LINEAR),
    MethodEntry("USMClassifier", "least_squares.usm", LINEAR),
    MethodEntry("HealyWestmacottClassifier", "least_squares.healy_westmacott", LINEAR),
    MethodEntry("EntropyLogisticClassifier", "entropy", LINEAR, "Entropy logistic"),
    MethodEntry("TSVMClassifier", "svm.tsvm", MACHINES),
    MethodEntry("S4VMClassifier", "svm.s4vm", MACHINES, "S4VM"),
    MethodEntry("WellSVMClassifier", "svm.wellsvm", MACHINES, "WellSVM"),
    MethodEntry("LaplacianLeastSquaresClassifier", "manifold.laplacian", MANIFOLDS, "Laplacian LS"),
    MethodEntry("LaplacianSVMClassifier", "manifold.laplacian", MANIFOLDS, "Laplacian SVM"),
    MethodEntry("ManifoldClassifier", "manifold.kernel", MANIFOLDS),
    MethodEntry("ManifoldKernel", "manifold.kernel", MANIFOLDS),
    MethodEntry("EMLDAClassifier", "gaussian.em_lda", GAUSSIANS),
    MethodEntry("MomentConstrainedLDAClassifier", "gaussian.moment_constrained_lda", GAUSSIANS),
    MethodEntry("ICLDAClassifier", "gaussian.iclda", GAUSSIANS),
    MethodEntry(
        "ContrastivePessimisticLDAClassifier", "gaussian.contrastive_pessimistic_lda", GAUSSIANS
    ),
    MethodEntry("ScatterLDAClassifier", "gaussian.scatter_lda", GAUSSIANS),
]

# A ridge makes likelihoods finite if there are fewer rows than features: a tenth of the variance of
# standardised features.
LIKELIHOOD_RIDGE = {"alpha": 0.1}
NEAREST_MEAN = {"covariance": "spherical"}
# Logistic regression: without a weight the unlabelled rows play no part.
LOGISTIC_VARIANT = Variant(
    "Logistic", "EntropyLogisticClassifier", {"unlabeled_weight": 0.0}, supervised=True
)

# Methods with parameters other than the default ones, by the names under which they are offered.
VARIANTS = [
    Variant("EM-LS (hard)", "EMLeastSquaresClassifier", {"labels": "hard"}),
    # Its rounds converge slowly where the labelled rows hardly determine the model.
    Variant("Healy-Westmacott", "HealyWestmacottClassifier", {"tol": 1e-4}),
    LOGISTIC_VARIANT,
    Variant("Self-Learning (logistic)", "SelfLearningClassifier", {"estimator": LOGISTIC_VARIANT}),
    Variant("Kernel ICLS", "KernelICLSClassifier", {"metric": "labeled"}),
    Variant("Nearest mean", "LDAClassifier", {**NEAREST_MEAN, "prior": "equal"}, supervised=True),
    Variant("EM nearest mean", "EMLDAClassifier", NEAREST_MEAN),
    Variant("MC nearest mean", "MomentConstrainedLDAClassifier", NEAREST_MEAN),
    Variant("LDA", "LDAClassifier", LIKELIHOOD_RIDGE, supervised=True),
    Variant("EM-LDA", "EMLDAClassifier", LIKELIHOOD_RIDGE),
    Variant("MC-LDA", "MomentConstrainedLDAClassifier", LIKELIHOOD_RIDGE),
    Variant("IC-LDA", "ICLDAClassifier", LIKELIHOOD_RIDGE),
    Variant("Scatter LDA", "ScatterLDAClassifier", LIKELIHOOD_RIDGE),
    Variant("CP-LDA", "ContrastivePessimisticLDAClassifier", LIKELIHOOD_RIDGE),
]

# Warning classes, and the modules that define them.
WARNINGS = {
    "SingularCovarianceWarning": "gaussian.base",
    "UndeterminedModelWarning": "icls.classifier",
}


def modules() -> dict[str, str]:
    """Return the module of every public name of ``primum.methods``."""
    homes = {method.name: method.module for method in METHODS} | WARNINGS
    return {name: f"primum.methods.{home}" for name, home in sorted(homes.items())}


def method_of(name: str) -> MethodEntry:
    """Return the method of a class."""
    return next(method for method in METHODS if method.name == name)


def commands() -> list[Variant]:
    """Return the methods that commands offer beside those that they compare by default."""
    plain = [
        Variant(method.command, method.name, {}, method.supervised)
        for method in METHODS
        if method.command
    ]
    return plain + VARIANTS
