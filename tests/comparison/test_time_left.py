"""Estimates of the time that is left."""

import io
import threading

import pytest

from primum.comparison.time_left import (
    TimeLeft,
    begun_fits,
    duration,
    logging_to,
    showing_time_left,
)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock(100.0)
    monkeypatch.setattr("primum.comparison.time_left.time.monotonic", clock)
    monkeypatch.setattr("primum.comparison.time_left.time.time", clock)
    return clock


def fits(name, count, weight=1.0):
    return {(f"all/{name}", number): weight for number in range(count)}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (7.2, "8 s"), (120, "120 s"), (121, "3 min"), (7200, "120 min"), (7201, "3 h")],
)
def test_durations_are_rounded_up(seconds, text):
    assert duration(seconds) == text


def test_a_classifier_takes_as_long_as_its_finished_fits_did():
    left = TimeLeft({**fits("quick", 5), **fits("slow", 2)})
    assert str(left) == "the time left is not known yet"
    left.finish(("all/quick", 0), 1.0)
    left.finish(("all/quick", 1), 3.0)
    assert str(left) == "more than 6 s left"  # nothing is known of the slow one yet
    assert left.share == 0
    left.finish(("all/slow", 1), 20.0)
    assert str(left) == "about 26 s left"
    assert left.n_done == 3


def test_fits_count_by_their_weight():
    left = TimeLeft({**fits("safe", 1, weight=2.0), ("n_unlabeled=9/safe", 0): 1.0})
    left.finish(("all/safe", 0), 40.0)
    assert str(left) == "about 20 s left"


def test_processes_share_the_work_but_not_a_fit():
    left = TimeLeft({**fits("quick", 5), **fits("slow", 2)}, n_processes=2)
    left.finish(("all/quick", 0), 3.0)
    left.finish(("all/slow", 0), 4.0)
    assert str(left) == "about 8 s left"  # (4 x 3 + 4) / 2
    left = TimeLeft({**fits("quick", 3), **fits("slow", 2)}, n_processes=2)
    left.finish(("all/quick", 0), 1.0)
    left.finish(("all/slow", 0), 30.0)
    assert str(left) == "about 30 s left"


def test_a_fit_that_is_being_made_says_how_long_it_takes(tmp_path, clock):
    folder, unit = str(tmp_path), ("cross-fitted/safe", 0)
    left = TimeLeft({unit: 1.0, **fits("quick", 3)}, start=100.0, folder=folder)
    left.finish(("all/quick", 0), 1.0)
    report = logging_to(folder, unit)
    clock.now = 103.0
    report(0, 10)  # three seconds of preparation
    assert begun_fits(folder) == {unit: (100.0, None, 0)}
    assert str(left) == "more than 2 s left"
    clock.now = 105.0
    report(1, 10)  # two seconds a fold: nine more, and the final fit
    assert begun_fits(folder) == {unit: (100.0, 25.0, 1)}
    assert str(left) == "about 22 s left"
    clock.now = 115.0
    assert str(left) == "about 12 s left"
    assert left.share == pytest.approx(15 / 27)
    report(4, 10)  # three seconds a fold
    assert str(left) == "about 23 s left"
    left.finish(unit, 40.0)
    assert str(left) == "about 2 s left"


def test_a_fit_without_folds_is_named_and_its_time_passes(tmp_path, clock):
    folder = str(tmp_path)
    left = TimeLeft(fits("slow", 3), start=100.0, folder=folder)
    assert left.running == ""
    logging_to(folder, ("all/slow", 0))
    clock.now = 190.0
    assert left.running == "; fitting slow for 90 s"
    left.finish(("all/slow", 0), 90.0)
    assert left.running == ""
    logging_to(folder, ("all/slow", 2))
    assert str(left) == "about 3 min left"
    clock.now = 260.0
    assert (str(left), left.running) == ("about 110 s left", "; fitting slow for 70 s")
    clock.now = 300.0  # longer than the others: the last one is still to come
    assert str(left) == "about 90 s left"


def test_no_estimate_exceeds_the_budget(clock):
    left = TimeLeft({**fits("quick", 50)}, time_budget=30.0, start=100.0)
    clock.now = 106.0
    assert str(left) == "at most about 24 s left"
    assert left.share == pytest.approx(6 / 30)
    left.finish(("all/quick", 0), 5.0)
    clock.now = 120.0
    assert str(left) == "about 10 s left"
    assert left.share == pytest.approx(2 / 3)
    clock.now = 140.0
    assert str(left) == "about 0 s left"


def test_a_log_gets_a_line_from_time_to_time_even_within_a_fit(monkeypatch, capsys, clock):
    monkeypatch.setattr("primum.comparison.time_left.SECONDS_BETWEEN_LOOKS", 1e-3)
    printed = threading.Event()
    original = print

    def note(*texts, **options):
        original(*texts, **options)
        printed.set()

    monkeypatch.setattr("builtins.print", note)

    left = TimeLeft(fits("quick", 4), start=100.0)
    with showing_time_left(left, "compare"):
        left.finish(("all/quick", 0), 6.0)
        clock.now += 12.0
        assert printed.wait(600)  # nothing is finished, and yet there is a line
        for number in range(1, 4):
            left.finish(("all/quick", number), 6.0)
    assert capsys.readouterr().err.splitlines() == [
        "compare: 1 of 4 fits in 0:12, about 18 s left",
        "compare: 4 of 4 fits in 0:12",
    ]


def test_the_bar_shows_the_share_of_the_time(monkeypatch, clock):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("primum.comparison.time_left.SECONDS_BETWEEN_LOOKS", 1e-3)
    left = TimeLeft(fits("quick", 4), start=100.0)
    with showing_time_left(left, "compare"):
        clock.now += 75.0
        left.finish(("all/quick", 0), 75.0)
        for _ in range(600_000):
            if "1 of 4" in screen.getvalue():
                break
            threading.Event().wait(1e-3)
    shown = [line for line in screen.getvalue().split("\r") if "1 of 4" in line]
    assert shown[0].startswith("compare:  25%|")  # 75 of 75 + 3 x 75 seconds
    assert "1 of 4 fits in 1:15, about 4 min left" in shown[0]


def test_the_folds_of_a_long_fit_are_counted(tmp_path, clock):
    folder, unit = str(tmp_path), ("cross-fitted/safe", 0)
    fits_of_quick = fits("quick", 25)
    left = TimeLeft({unit: 1.0, **fits_of_quick}, start=100.0, folder=folder, parts={unit: 11})
    for other in fits_of_quick:
        left.finish(other, 1.0)
    assert (left.n_done, left.total) == (25, 36)  # not 25 of 26 for minutes
    report = logging_to(folder, unit)
    report(0, 10)
    for done in (1, 7, 10):
        clock.now += 2.0
        report(done, 10)
        assert left.n_done == 25 + done
    left.finish(unit, 30.0)
    assert left.n_done == left.total
