"""The candidates of the safe choice, one family per file."""

from primum.safe.candidates.base import Candidate, Labels, Model, Prepared, SharedRows
from primum.safe.candidates.components import AllComponents, LabeledComponents
from primum.safe.candidates.implicit import Implicit
from primum.safe.candidates.kernel import DeformedKernel, LabeledKernel
from primum.safe.candidates.linear import Logistic, Ridge
from primum.safe.candidates.margins import SVM, TSVM
from primum.safe.candidates.spreading import Neighbors, Spreading
from primum.safe.candidates.trees import Forest

# All that this library has, by name.
CANDIDATES: dict[str, Candidate] = {
    candidate.name: candidate
    for candidate in (
        Ridge(),
        Logistic(),
        AllComponents(),
        Spreading(),
        DeformedKernel(),
        TSVM(),
        Implicit(),
        Forest(),
        LabeledComponents(),
        Neighbors(),
        LabeledKernel(),
        SVM(),
    )
}
BASELINE = ("ridge", "logistic")
DEFAULT = ("ridge", "logistic", "components", "spreading", "kernel", "tsvm", "icls", "forest")

__all__ = [
    "BASELINE",
    "CANDIDATES",
    "DEFAULT",
    "Candidate",
    "Labels",
    "Model",
    "Prepared",
    "SharedRows",
]
