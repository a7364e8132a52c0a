"""The implicit-constraint problem: the objective, and the proof of optimality."""

from primum.labellings.certificate import Certificate, certify, is_proven, judge
from primum.labellings.implicit import (
    METRICS,
    LeastSquaresFamily,
    implicit_problem,
    implicit_problems,
    labeled_loss,
    least_squares_family,
    metric_of_rows,
    share_of_all,
)
from primum.labellings.kernel_problem import kernel_family, kernel_problem
from primum.labellings.labelling import HyperplaneLabels, Labelling, LabelsByValue, LabelsInFrame
from primum.labellings.prior import PriorProof, ShareBounds
from primum.labellings.problem import LabelProblem, ProblemColumns, per_row
from primum.labellings.sets import LabelInterval, LabelSet, Simplex, centres_of, is_uniform
from primum.labellings.streamed import StreamedColumns
