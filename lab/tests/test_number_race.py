"""The race of the safe choice for numbers: known ratios, what is stored, and the committed run."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from primum.comparison.store import ResultsError, read_snapshot
from primum_lab.pages.reproduction import write_number_race_report
from primum_lab.race import (
    BASELINE,
    SAFE,
    SUPERVISED,
    NumberRace,
    race_totals,
    ratios,
    run_number_race,
)
from primum_lab.scenarios import NUMBER_SCENARIOS, TABLES

COMMITTED = Path(__file__).parents[1] / "results" / "safe-regression"


def measured(ratio, repeats=6, n_datasets=3):
    """Return results in which the safe stack has a known ratio to ridge, up to a little noise."""
    rng = np.random.default_rng(0)
    rows = []
    for dataset in range(n_datasets):
        for repeat in range(repeats):
            ridge = 10.0**dataset * rng.uniform(1, 2)
            for model, factor in ((BASELINE, 1.0), (SUPERVISED, 1.0), (SAFE, ratio)):
                noise = np.exp(0.001 * rng.normal()) if model == SAFE else 1.0
                rows.append((f"d{dataset}", 30, repeat, model, factor * noise * ridge))
    return pd.DataFrame(rows, columns=["dataset", "n_labeled", "repeat", "model", "rmse"])


@pytest.mark.parametrize(("ratio", "better", "worse"), [(0.8, 3, 0), (1.1, 0, 3)])
def test_ratios_do_not_depend_on_the_unit_and_are_tested(ratio, better, worse):
    totals = race_totals(ratios(measured(ratio))).set_index("model").loc[SAFE]
    assert totals["mean"] == pytest.approx(ratio, rel=1e-2)
    assert (totals["better"], totals["worse"]) == (better, worse)
    of_ridge = race_totals(ratios(measured(ratio))).set_index("model").loc[BASELINE]
    assert (of_ridge["mean"], of_ridge["better"], of_ridge["worse"]) == (1.0, 0, 0)


def test_the_race_is_run_reported_and_continued(tmp_path):
    draws = {name: TABLES[name] for name in ("iris: petal width", "pure noise")}
    race = NumberRace(draws, numbers=(20,), repeats=1, most_unlabeled=40)
    results = run_number_race(race, tmp_path)
    assert set(results["dataset"]) == set(draws)
    assert {SAFE, SUPERVISED, BASELINE, "components (labelled)"} <= set(results["model"])
    ridge = results[results["model"].isin(["ridge", BASELINE])].groupby("dataset")["rmse"]
    assert np.allclose(ridge.max(), ridge.min())
    words = write_number_race_report(tmp_path, results)
    assert "pure noise" in words[0]
    assert "20 labels: the RMSE of the safe stack is" in words[1]
    assert (tmp_path / "tables" / "safe-regression-20.md").exists()
    again = run_number_race(race, tmp_path, resume=True)
    pd.testing.assert_frame_equal(results, again)
    with pytest.raises(ResultsError, match="already contains results"):
        run_number_race(race, tmp_path)


@pytest.mark.parametrize("name", NUMBER_SCENARIOS)
def test_scenarios_are_drawn_from_a_generator(name):
    draw = NUMBER_SCENARIOS[name].draw
    (X, y), (same, _) = (draw(np.random.default_rng(3), 50) for _ in range(2))
    assert X.shape[0] == len(y) == 50
    np.testing.assert_array_equal(X, same)
    assert np.std(y) > 0


@pytest.mark.skipif(not COMMITTED.exists(), reason="the run is not part of this checkout")
def test_the_committed_race_meets_its_bars():
    found = pd.read_csv(COMMITTED / "summary.csv")
    own = found[(found["model"] == SAFE) & (found["reference"] == "ridge")]
    assert set(own["dataset"]) == set(TABLES)
    assert set(own["n_labeled"]) == {30, 100}
    assert own["repeats"].min() >= 20
    assert own["ratio"].max() <= 1.02
    assert not ((own["p_holm"] <= 0.05) & (own["t"] > 0)).any()
    assert set(read_snapshot(COMMITTED)["config"]["data"]) == set(NumberRace().config["data"])
