"""The candidates of the safe choice, one family per file."""

from primum.safe.candidates.base import (
    Candidate,
    CandidateModel,
    Labels,
    Prepared,
    SharedRows,
    Supervised,
)
from primum.safe.candidates.graphs import DeformedKernel, Spreading, labeled_kernel, neighbors
from primum.safe.candidates.linear import AllComponents, labeled_components, logistic, ridge
from primum.safe.candidates.machines import TSVM, Implicit, svm
from primum.safe.candidates.trees import extra_trees

# All that this library has, by name.
CANDIDATES: dict[str, Candidate] = {
    candidate.name: candidate
    for candidate in (
        Supervised("ridge", ridge),
        Supervised("logistic", logistic),
        AllComponents(),
        Spreading(),
        DeformedKernel(),
        TSVM(),
        Implicit(),
        Supervised("forest", extra_trees),
        Supervised("components (labelled)", labeled_components),
        Supervised("neighbours", neighbors),
        Supervised("kernel (labelled)", labeled_kernel, growth=3.0),
        Supervised("svm", svm),
    )
}
BASELINE = ("ridge", "logistic")
DEFAULT = ("ridge", "logistic", "components", "spreading", "kernel", "tsvm", "icls", "forest")

__all__ = [
    "BASELINE",
    "CANDIDATES",
    "DEFAULT",
    "Candidate",
    "CandidateModel",
    "Labels",
    "Prepared",
    "SharedRows",
]
