"""The implicit-constraint problem: the objective, and the proof of optimality."""

from primum.labellings.certificate import Certificate, FitSummary, Witness, certify, is_proven
from primum.labellings.family import (
    LabeledRows,
    LeastSquaresFamily,
    determined_twin,
    labeled_loss,
    least_squares_family,
)
from primum.labellings.implicit import (
    METRICS,
    TIE_BREAKS,
    ImplicitProblem,
    chosen_metric,
    implicit_problem,
    metric_of_rows,
    share_of_all,
    with_prior,
)
from primum.labellings.kernel_problem import kernel_family, kernel_problem
from primum.labellings.labelling import HyperplaneLabels, Labelling, LabelsByValue, LabelsInFrame
from primum.labellings.last_pass import Reading, ScoreComparison, read_rows
from primum.labellings.metrics import implicit_problems
from primum.labellings.nearest_twin import NearestTwin
from primum.labellings.prior import SOFT, Held, Prior, PriorProof, Shares
from primum.labellings.prior_problem import PriorProblem, prior_problem
from primum.labellings.problem import (
    Columns,
    FormedColumns,
    LabelProblem,
    centred,
    duality_gap,
    per_row,
    weighted,
    without_mean,
)
from primum.labellings.sets import LabelInterval, LabelSet, Simplex
from primum.labellings.streamed import KnownSums, StreamedColumns, Sweep

__all__ = [
    "METRICS",
    "SOFT",
    "TIE_BREAKS",
    "Certificate",
    "Columns",
    "FitSummary",
    "FormedColumns",
    "Held",
    "HyperplaneLabels",
    "ImplicitProblem",
    "KnownSums",
    "LabelInterval",
    "LabelProblem",
    "LabelSet",
    "LabeledRows",
    "Labelling",
    "LabelsByValue",
    "LabelsInFrame",
    "LeastSquaresFamily",
    "NearestTwin",
    "Prior",
    "PriorProblem",
    "PriorProof",
    "Reading",
    "ScoreComparison",
    "Shares",
    "Simplex",
    "StreamedColumns",
    "Sweep",
    "Witness",
    "centred",
    "certify",
    "chosen_metric",
    "determined_twin",
    "duality_gap",
    "implicit_problem",
    "implicit_problems",
    "is_proven",
    "kernel_family",
    "kernel_problem",
    "labeled_loss",
    "least_squares_family",
    "metric_of_rows",
    "per_row",
    "prior_problem",
    "read_rows",
    "share_of_all",
    "weighted",
    "with_prior",
    "without_mean",
]
