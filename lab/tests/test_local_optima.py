"""Two searches on the same folds: what is said of them must follow from the figures."""

import numpy as np
import pandas as pd
import pytest

from primum_lab.pages.results import minima_table
from primum_lab.paper import (
    OTHER_SEARCH,
    SEARCH,
    local_optima_sentences,
    minima_of,
    paired_folds,
)


def fits(classifier, objectives, errors, *, dataset="wdbc", first_repeat=0):
    """Rows of results: two folds in each repeat."""
    return [
        {
            "dataset": dataset,
            "repeat": first_repeat + i // 2,
            "at": i % 2,
            "classifier": classifier,
            "objective": objective,
            "error": error,
            "loss_test": 2 * error,
        }
        for i, (objective, error) in enumerate(zip(objectives, errors, strict=True))
    ]


def results(change_of_error=0.1):
    """Annealing ends lower in three folds of six, equal in two, higher in one."""
    error = np.array([0.2, 0.3, 0.2, 0.3, 0.2, 0.3])
    return pd.DataFrame(
        [
            *fits(SEARCH, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], error),
            *fits(OTHER_SEARCH, [0.9, 0.9, 0.9, 1.0, 1 + 1e-9, 1.3], error + change_of_error),
            *fits(SEARCH, [5.0, 5.0], [0.9, 0.9], first_repeat=3),  # without a partner
            *fits("Supervised", [2.0, 2.0], [0.4, 0.4]),
        ]
    )


def summary(published, z, measure="error"):
    cell = {"dataset": "wdbc", "classifier": SEARCH, "measure": measure, "mean": 0.25}
    return pd.DataFrame([{**cell, "published_mean": published, "z": z}])


def test_folds_are_paired():
    folds = paired_folds(results())
    found = minima_of(folds)
    assert found.folds == 6
    assert found.objective == pytest.approx(1.0)
    assert found.other_objective == pytest.approx(1.0)
    assert (found.lower, found.higher) == pytest.approx((3 / 6, 1 / 6))
    assert found.same == pytest.approx(2 / 6)
    assert found.shift["error"] == pytest.approx((0.1, 0.0))
    assert found.shift["loss_test"] == pytest.approx((0.2, 0.0))


def test_the_spread_is_over_repeats():
    frame = results()
    other = frame["classifier"] == OTHER_SEARCH
    # Within a repeat the folds' changes cancel or add up; only their means count.
    frame.loc[other, "error"] += [0.1, -0.1, 0.2, 0.2, -0.2, -0.2]
    shift, spread = minima_of(paired_folds(frame)).shift["error"]
    assert shift == pytest.approx(0.1)
    assert spread == pytest.approx(0.2 / np.sqrt(3))


def test_failed_fits_and_a_missing_search_leave_nothing_to_compare():
    frame = results()
    frame.loc[frame["classifier"] == OTHER_SEARCH, "objective"] = None
    assert len(paired_folds(frame)) == 0
    assert len(paired_folds(frame[frame["classifier"] == SEARCH])) == 0
    assert len(paired_folds(frame[frame["classifier"] == "Supervised"])) == 0


def test_how_often_they_part_is_said():
    overall, nothing = local_optima_sentences(paired_folds(results()), summary(0.26, 0.5))
    assert (
        "on the 6 folds where both searches were run, annealing ends in a lower minimum than "
        "switching in 50%, in the same one in 33% and in a higher one in 17%; mean objective "
        "1.00000 by switching, 1.00000 by annealing."
    ) in overall
    assert nothing == "No TSVM cell is two standard errors or more from the published one."


@pytest.mark.parametrize(
    ("change", "published", "verdict"),
    [
        (0.1, 0.3, "can account"),
        (0.1, 0.2, "do not account"),  # the other minima are further away
        (0.01, 0.3, "do not account"),  # too little
        (0.0, 0.3, "do not account"),
    ],
)
def test_local_optima_are_blamed_only_if_the_figures_say_so(change, published, verdict):
    folds = paired_folds(results(change))
    _, cell = local_optima_sentences(folds, summary(published, -2.5))
    assert (
        f"TSVM on wdbc, error: z = -2.5, the published mean differs by {published - 0.25:+.4f}"
        in cell
    )
    assert "Mean objective 1.00000 by switching and 1.00000 by annealing on the same 6" in cell
    assert f"in 67%, and annealing changes the error by {change:+.4f} ± 0.0000" in cell
    assert f"local optima {verdict} for the disagreement." in cell


def test_a_change_within_its_noise_says_nothing():
    frame = results()
    other = frame["classifier"] == OTHER_SEARCH
    frame.loc[other, "error"] += [0.2, 0.2, -0.2, -0.2, 0.0, 0.0]
    _, cell = local_optima_sentences(paired_folds(frame), summary(0.35, -2.5))
    assert "± 0.1155: too uncertain to say whether local optima account" in cell


def test_the_table_has_a_row_for_every_data_set():
    frame = pd.concat([results(), results().assign(dataset="mine")])
    table = minima_table(paired_folds(frame))
    assert [row[0].text for row in table.rows] == ["WDBC", "mine"]
    assert [cell.text for cell in table.rows[0][1:7]] == [
        *("6", "1.00000", "1.00000", "50%", "33%", "17%")
    ]
    assert len(table.header) == len(table.rows[0])
