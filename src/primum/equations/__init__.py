"""Least squares over all rows: its sums, its coordinates, and the ways to solve its equations."""

from primum.equations.coordinates import Coordinates, NormalEquations, coordinates_of
from primum.equations.design import Design, Frame, GivenLabels, Linear, View, by_row
from primum.equations.kernel import (
    CentredKernel,
    KernelCoordinates,
    KernelFeatures,
    kernel_features,
    kernel_ridge,
)
from primum.equations.moments import Moments, gather_columns, gather_moments
from primum.equations.normal import RidgePath, equations_of, in_span_is_faster
from primum.equations.row_space import Span, span_of
