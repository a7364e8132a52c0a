"""The candidates of the safe choice, one family per file."""

from primum.safe.candidates.base import Candidate, CandidateModel, Prepared, Supervised
from primum.safe.candidates.graphs import (
    MAX_KERNEL_LABELS,
    GraphKernel,
    Spreading,
    labeled_kernel,
    neighbors,
)
from primum.safe.candidates.linear import AllComponents, labeled_components, logistic, ridge
from primum.safe.candidates.machines import TSVM, Implicit, ImplicitNumbers, svm
from primum.safe.candidates.trees import extra_trees, extra_trees_of_numbers

# All candidates of this library for classes, by name.
CANDIDATES: dict[str, Candidate] = {
    candidate.name: candidate
    for candidate in (
        Supervised("ridge", ridge),
        Supervised("logistic", logistic),
        AllComponents(),
        Spreading(),
        GraphKernel(),
        TSVM(),
        Implicit(),
        Supervised("forest", extra_trees),
        Supervised("components (labelled)", labeled_components),
        Supervised("neighbours", neighbors),
        Supervised("kernel (labelled)", labeled_kernel, 3.0, MAX_KERNEL_LABELS),
        Supervised("svm", svm),
    )
}
# The same for numeric targets; with bounds, icls is added.
NUMBER_CANDIDATES: dict[str, Candidate] = {
    candidate.name: candidate
    for candidate in (
        Supervised("ridge", ridge),
        AllComponents(),
        GraphKernel(),
        Supervised("forest", extra_trees_of_numbers),
        Supervised("components (labelled)", labeled_components),
        Supervised("kernel (labelled)", labeled_kernel, 3.0, MAX_KERNEL_LABELS),
    )
}
NUMBER_DEFAULT = ("ridge", "components", "kernel", "forest")
BASELINE = ("ridge", "logistic")
# icls is left out: in races over the paper's data sets the stack makes the same errors without it,
# and it takes most of the time.
DEFAULT = ("ridge", "logistic", "components", "spreading", "kernel", "tsvm", "forest")
