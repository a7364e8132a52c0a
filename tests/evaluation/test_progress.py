"""Estimates of the time that is left."""

import pytest

from primum.evaluation.progress import TimeLeft, duration, with_time_left


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (7.2, "8 s"), (120, "120 s"), (121, "3 min"), (7200, "120 min"), (7201, "3 h")],
)
def test_durations_are_rounded_up(seconds, text):
    assert duration(seconds) == text


def test_a_classifier_takes_as_long_as_its_finished_fits_did():
    left = TimeLeft(["quick"] * 5 + ["slow"] * 2)
    left.finish("quick", 1.0)
    left.finish("quick", 3.0)
    assert str(left) == "more than 6 s left"  # nothing is known of the slow one yet
    left.finish("slow", 20.0)
    assert str(left) == "about 26 s left"
    assert left.n_done == 3


def test_processes_share_the_work():
    left = TimeLeft(["quick"] * 5, n_processes=2)
    left.finish("quick", 3.0)
    assert str(left) == "about 6 s left"


def test_no_estimate_exceeds_the_budget(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("primum.evaluation.progress.time.monotonic", lambda: now[0])
    left = TimeLeft(["quick"] * 50, time_budget=30.0, start=100.0)
    left.finish("quick", 5.0)
    now[0] = 120.0
    assert str(left) == "about 10 s left"
    now[0] = 140.0
    assert str(left) == "about 0 s left"


def test_a_log_gets_a_line_from_time_to_time(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("primum.evaluation.progress.time.monotonic", lambda: now[0])

    def work():
        for number in range(4):
            now[0] += 6.0
            yield ("all/quick", number), {"seconds": 6.0}

    fits = with_time_left(work(), TimeLeft(["quick"] * 4), "compare")
    assert len(list(fits)) == 4
    assert capsys.readouterr().err.splitlines() == [
        "compare: 2 of 4 fits, about 12 s left",
        "compare: 4 of 4 fits",
    ]
