"""The candidates of the safe choice, one family per file."""

from primum.selection.candidates.base import Candidate, Labels, Prepared, SharedRows
from primum.selection.candidates.components import AllComponents, LabeledComponents
from primum.selection.candidates.forest import Forest
from primum.selection.candidates.implicit import Implicit
from primum.selection.candidates.kernel import DeformedKernel, LabeledKernel
from primum.selection.candidates.linear import Logistic, Ridge
from primum.selection.candidates.margins import SVM, TSVM
from primum.selection.candidates.models import Model
from primum.selection.candidates.spreading import Neighbors, Spreading

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
BASELINES = ("ridge", "logistic")
DEFAULT = ("ridge", "logistic", "components", "spreading", "kernel", "tsvm", "icls", "forest")

__all__ = [
    "BASELINES",
    "CANDIDATES",
    "DEFAULT",
    "Candidate",
    "Labels",
    "Model",
    "Prepared",
    "SharedRows",
]
