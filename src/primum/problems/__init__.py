"""The implicit-constraint problem: what is to be minimised, and what proves an answer good."""

from primum.problems.box import BoxProblem, Judgement
from primum.problems.certificate import Certificate, Facts, certify
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
    LabeledRows,
    LeastSquaresFamily,
    implicit_problem,
    least_squares_family,
)
from primum.problems.labelling import HyperplaneLabels, LabelsByValue
from primum.problems.zonotope import zonotope_vertices

__all__ = [
    "METRICS",
    "BoxProblem",
    "Certificate",
    "Columns",
    "Coordinates",
    "Facts",
    "FormedColumns",
    "HyperplaneLabels",
    "Judgement",
    "LabeledRows",
    "LabelsByValue",
    "LeastSquaresFamily",
    "NormalEquations",
    "StreamedColumns",
    "Sweep",
    "certify",
    "coordinates_of",
    "duality_gap",
    "equations_of",
    "implicit_problem",
    "least_squares_family",
    "zonotope_vertices",
]
