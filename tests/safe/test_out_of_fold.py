"""The time of a candidate, predicted from a part of the rows, by a clock that counts work."""

import numpy as np
import pytest

from primum.reading.folds import Fold
from primum.safe import out_of_fold as pilot
from primum.safe.candidates import CANDIDATES, Candidate
from primum.safe.candidates.own import Team
from primum.safe.rows import SharedRows, Targets


class Clock:
    """Advances only by the work of the candidates below."""

    now = 0.0

    @classmethod
    def perf_counter(cls):
        return cls.now


class Powers(Candidate):
    """Takes as many seconds as a power of the number of its rows."""

    name, uses_unlabeled = "powers", True

    def __init__(self, growth, most_unlabeled=None):
        self.growth, self.most_unlabeled = growth, most_unlabeled

    def prepare(self, rows):
        self.rows = rows.with_at_most(self.most_unlabeled or rows.unlabeled.shape[0])
        return self

    def fit(self, train, labels):
        assert np.bincount(labels.y)[1] == 2
        Clock.now += (len(train) + self.rows.unlabeled.shape[0]) ** self.growth
        return self

    def predict(self, X):
        return np.full((X.shape[0], 2), 0.5)


def rows_of(n_labeled, n_unlabeled):
    codes = np.zeros(n_labeled, int)
    codes[:3] = 1  # rare
    return (
        SharedRows(np.zeros((n_labeled, 2)), np.zeros((n_unlabeled, 2))),
        Targets.of_classes(codes, 2),
    )


@pytest.mark.parametrize("growth", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("most", [None, 600])
def test_the_time_of_all_rows_follows_from_that_of_a_part(monkeypatch, growth, most):
    monkeypatch.setattr(pilot, "time", Clock)
    rows, labels = rows_of(100, 6000)
    before = Clock.now
    found = pilot.predicted_seconds(Powers(growth, most), rows, labels)
    expected = (100 + (most or 6000)) ** growth
    assert found == pytest.approx(expected, rel=1e-9)
    assert Clock.now - before <= 3 * 0.2**growth * expected


def test_what_every_fit_costs_does_not_grow():
    assert pilot.extrapolated([(10, 1.0 + 0.1), (20, 1.0 + 0.4)], 100, 2.0) == pytest.approx(11.0)
    # At least in proportion: times of small fits may be in the wrong order.
    assert pilot.extrapolated([(10, 2.0), (20, 1.0)], 100, 2.0) == 5.0
    assert pilot.extrapolated([(10, 1.0), (20, 1.0)], 20, 2.0) == 1.0


def test_few_rows_are_not_tried():
    rows, labels = rows_of(100, 200)
    assert pilot.predicted_seconds(Powers(1.0), rows, labels) == 0
    assert pilot.predicted_seconds(CANDIDATES["ridge"], *rows_of(300, 9000)) == 0


def test_a_candidate_that_fails_is_not_predicted():
    rows, labels = rows_of(100, 900)
    assert pilot.predicted_seconds(Powers("two"), rows, labels) == 0


class InContext(Candidate):
    """Fits at once, and takes a second for every row that it predicts."""

    name, slow_prediction = "in context", True

    def prepare(self, rows):
        self.rows = rows
        return self

    note = ""

    def fit(self, train, labels):
        return self

    def predict(self, X):
        Clock.now += X.shape[0]
        return np.full((X.shape[0], 2), 0.5)

    def held_out(self, train, test, labels):
        return self.predict(self.rows.labeled[test])


@pytest.mark.parametrize(("n_unlabeled", "seconds", "done"), [(0, 70, True), (0, 50, False),
    (1000, 1500, True), (1000, 1000, False), (60, 200, True)])  # fmt: skip
def test_predictions_count_as_time(monkeypatch, n_unlabeled, seconds, done):
    """Three folds of 20 rows take 60 seconds, and the final model predicts unlabelled rows."""
    monkeypatch.setattr(pilot, "time", Clock)
    rows, labels = rows_of(60, n_unlabeled)
    parts = np.split(np.arange(60), 3)
    folds = [Fold(np.setdiff1d(np.arange(60), part), part) for part in parts]
    start, candidate = Clock.now, InContext()
    team = Team([candidate], [candidate], [], [])
    deadline = start + seconds + 20
    scored = pilot.score_in_time(team, rows, labels, folds, rows.unlabeled, deadline)
    assert ("in context" in scored.scores(3)) is done
    assert scored.skipped == ([] if done else ["in context"])
    if done:
        final = scored.seconds["in context"] / 3 + scored.predicting.get("in context", 0.0)
        assert final == pytest.approx(20 + n_unlabeled)
        # With the final fit it keeps to the time: 125 seconds tell how long 1000 rows take.
        assert Clock.now - start + final <= seconds + 20
