"""The implicit-constraint problem: the objective, and the proof of optimality."""

from primum.problems.box import BoxProblem, Judgement
from primum.problems.certificate import Certificate, Facts, Witness, certify
from primum.problems.columns import (
    Columns,
    FormedColumns,
    StreamedColumns,
    Sweep,
    duality_gap,
)
from primum.problems.coordinates import Coordinates, coordinates_of
from primum.problems.equations import NormalEquations, equations_of
from primum.problems.implicit import (
    METRICS,
    TIE_BREAKS,
    ImplicitProblem,
    LabeledRows,
    LeastSquaresFamily,
    implicit_problem,
    least_squares_family,
    share_of_all,
)
from primum.problems.labelling import HyperplaneLabels, LabelsByValue
from primum.problems.nearest_twin import NearestTwin
from primum.problems.zonotope import zonotope_vertices

__all__ = [
    "METRICS",
    "TIE_BREAKS",
    "BoxProblem",
    "Certificate",
    "Columns",
    "Coordinates",
    "Facts",
    "FormedColumns",
    "HyperplaneLabels",
    "ImplicitProblem",
    "Judgement",
    "LabeledRows",
    "LabelsByValue",
    "LeastSquaresFamily",
    "NearestTwin",
    "NormalEquations",
    "StreamedColumns",
    "Sweep",
    "Witness",
    "certify",
    "coordinates_of",
    "duality_gap",
    "equations_of",
    "implicit_problem",
    "least_squares_family",
    "share_of_all",
    "zonotope_vertices",
]
