"""What a comparison has found is stored as plain values, and reports are written from these."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import primum
from generate import two_classes
from primum._plain import from_plain, to_plain
from primum._typing import Floats
from primum.comparison.answer import read_answer
from primum.comparison.page import report_text

NEAR = {
    "methods": [("near", KNeighborsClassifier(5), False), ("EM", primum.EMLDAClassifier())],
    "baseline": [("logistic", LogisticRegression(C=0.5))],
}
OF_NUMBERS = {
    "methods": [("near", KNeighborsRegressor(5), False)],
    "baseline": [("ridge", primum.LeastSquaresRegressor(0.1))],
}


@pytest.mark.usefixtures("quick_drift")
@pytest.mark.parametrize(
    "settings",
    [
        NEAR,
        {**NEAR, "cost": {(1, 0): 3}, "shift": "label"},
        {**NEAR, "scoring": "roc_auc", "groups": np.arange(120) // 2, "curves": True},
        {**OF_NUMBERS, "target_kind": "numbers"},
    ],
)
def test_reports_are_written_from_what_is_stored(settings):
    X, y, X_unlabeled, truth = two_classes(60, 60, 2)
    rows = np.vstack([X, X_unlabeled])
    labels = np.r_[y, np.full(60, -1)]
    if "target_kind" in settings:
        labels = np.where(np.arange(120) < 60, rows @ [1.0, 2.0] + np.r_[y, truth], np.nan)
    result = primum.compare(
        rows, labels, chosen=np.arange(3), cv=3, n_repeats=1, verbose=False, **settings
    )
    stored = json.loads(json.dumps(to_plain(result.answer)))
    answer = read_answer(stored)
    assert answer.methods == result.answer.methods
    assert to_plain(answer) == to_plain(result.answer)
    for suffix in (".html", ".md", ".json"):
        text = report_text(suffix, answer, result.headline, result.settled)
        assert text == report_text(suffix, result.answer, result.headline, result.settled)
    assert answer.findings.best == result.findings.best


@dataclass(frozen=True)
class Point:
    x: float
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Square:
    corners: tuple[Point, Point]
    side: Floats
    by_name: dict[str, Point]
    kind: Point | None = None
    either: "Point | Square | None" = None


def test_dataclasses_within_dataclasses_come_back():
    inner = Square((Point(1.0), Point(2.0, ("a",))), np.array([1.0, 2.5]), {})
    square = Square(inner.corners, inner.side, {"b": Point(3.0)}, Point(0.0), inner)
    back = from_plain(Square, json.loads(json.dumps(to_plain(square))))
    assert back.by_name == square.by_name
    assert (back.corners, back.kind) == (square.corners, square.kind)
    assert isinstance(back.either, Square)
    assert back.either.corners == inner.corners
    np.testing.assert_array_equal(back.side, square.side)
    assert back.side.dtype == float
