"""The implicit-constraint problem: the objective, and the proof of optimality."""

from primum.labellings.certificate import Certificate, FitSummary, certify, is_proven
from primum.labellings.family import LeastSquaresFamily
from primum.labellings.implicit import (
    METRICS,
    ImplicitProblem,
    ImplicitProblems,
    chosen_metric,
    metric_of_rows,
    share_of_all,
    with_prior,
)
from primum.labellings.kernel_problem import kernel_family, kernel_problem
from primum.labellings.labelling import HyperplaneLabels, Labelling, LabelsByValue, LabelsInFrame
from primum.labellings.last_pass import PassMeasures, ScoreComparison, measure_rows
from primum.labellings.prior import PriorProof, ShareBounds
from primum.labellings.problem import LabelProblem, ProblemColumns, per_row
from primum.labellings.sets import LabelInterval, LabelSet, Simplex, centres_of, is_uniform
from primum.labellings.streamed import StreamedColumns
