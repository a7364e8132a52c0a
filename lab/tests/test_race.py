"""The race of the safe choice: its statistics, its parts, and a run of it."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.exceptions import FitFailedWarning

from generate import two_classes
from primum_lab import Experiment, HoldOut, Method, run_experiment
from primum_lab.pages.reproduction import race_table
from primum_lab.race import (
    RACES,
    RaceClassifier,
    paired_differences,
    race_method,
    race_summary,
)


def results_of(errors):
    """Return results with errors[dataset][classifier], one per repeat."""
    rows = [
        {"dataset": d, "repeat": r, "classifier": c, "error": e, "loss_test": e / 2}
        for d, found in errors.items()
        for c, values in found.items()
        for r, e in enumerate(values)
    ]
    return pd.DataFrame(rows)


def example():
    rng = np.random.default_rng(0)
    noise = rng.normal(scale=0.01, size=(3, 20))
    errors = {}
    for name, gain in (("one", -0.1), ("two", 0.1), ("three", 0.0)):
        ridge = 0.3 + noise[0]
        errors[name] = {
            "ridge": ridge,
            "logistic": ridge + 0.02 + noise[1],
            "safe stack": ridge + gain + noise[2] - noise[2].mean(),
            "supervised stack": ridge,
        }
    return results_of(errors)


def test_differences_are_to_the_better_baseline():
    found = paired_differences(example()).set_index(["dataset", "classifier"])
    assert (found["reference"] == "ridge").all()
    safe = found.xs("safe stack", level="classifier")
    np.testing.assert_allclose(safe["mean"], [-0.1, 0.1, 0.0], atol=1e-12)
    change = example().pivot_table(index=["dataset", "repeat"], columns="classifier")["error"]
    change = (change["safe stack"] - change["ridge"]).loc["one"]
    t, p = stats.ttest_1samp(change, 0.0)
    assert safe.loc["one", ["t", "p"]].tolist() == pytest.approx([t, p])
    same = found.xs("ridge", level="classifier")
    assert (same["t"] == 0).all()
    assert (same["p"] == 1).all()


def test_rounding_is_no_difference():
    base = np.full(20, 0.3)
    same = {"ridge": base, "logistic": base + 0.1, "safe stack": base + 1e-16 * np.arange(20)}
    total = race_summary(paired_differences(results_of({"one": same}))).set_index("classifier")
    counts = total.loc["safe stack", ["better", "worse", "better_holm", "worse_holm"]]
    assert counts.tolist() == [0, 0, 0, 0]


def test_summary_counts_data_sets():
    total = race_summary(paired_differences(example())).set_index("classifier")
    safe = total.loc["safe stack"]
    assert safe[["better", "worse", "better_holm", "worse_holm"]].tolist() == [1, 1, 1, 1]
    assert safe["largest_loss"] == pytest.approx(0.1)
    assert total.loc["logistic", "worse"] == 3
    against = paired_differences(example(), "loss_test", "supervised stack").set_index("classifier")
    assert against.loc["safe stack", "mean"].tolist() == pytest.approx([-0.05, 0.05, 0.0])


def test_holm_is_stricter_than_single_tests():
    rng = np.random.default_rng(3)
    errors = {}
    for number in range(16):
        noise = rng.normal(size=20)
        noise = 0.01 * (noise - noise.mean()) / noise.std(ddof=1)
        base = np.full(20, 0.3)
        errors[f"set {number}"] = {
            "ridge": base,
            "logistic": base + 0.1,
            "safe stack": base + noise - 0.01 * 2.5 / np.sqrt(20),  # t = -2.5
        }
    total = race_summary(paired_differences(results_of(errors))).set_index("classifier")
    assert total.loc["safe stack", ["better", "better_holm"]].tolist() == [16, 0]


def test_parts_have_the_rows_that_they_see():
    parts = race_method(2).parts
    assert parts["kernel"] == "partly"
    assert parts["kernel (labelled)"] == parts["supervised stack"] == "labeled"
    assert "tsvm" not in race_method(10).parts
    with pytest.raises(ValueError, match="sees of 'odd' must be one of"):
        Method("safe", RaceClassifier(), parts={"odd": "some"})


def test_one_fit_gives_the_measures_of_all_parts(tmp_path):
    X, y, more, truth = two_classes(60, 60, 3, separation=2.0)
    data = {"mine": (np.concatenate([X, more]), np.concatenate([y, truth]))}
    quick = RaceClassifier(["spreading"], baseline=["ridge"], cv=3, n_repeats=1)
    parts = dict.fromkeys(("ridge", "neighbours", "supervised stack", "baseline"), "labeled")
    method = Method("safe stack", quick, parts={"spreading": "partly", **parts})
    experiment = Experiment("race", data, HoldOut(n_labeled=20), [method], repeats=2)
    results = run_experiment(experiment, tmp_path / "race", verbose=False)
    assert len(results) == 2 * 6
    assert set(results["classifier"]) == {"safe stack", *method.parts}
    assert results["error"].between(0, 1).all()
    roles = dict(zip(results["classifier"], results["role"], strict=True))
    assert roles["ridge"] == "twin"
    assert roles["spreading"] == "semi-supervised"
    assert roles["neighbours"] == "supervised"
    by_name = results[results["repeat"] == 0].set_index("classifier")
    assert by_name["seconds"].notna().sum() == 1
    # The baseline is the only one there is.
    assert by_name.loc["baseline", "error"] == by_name.loc["ridge", "error"]
    again = run_experiment(experiment, tmp_path / "race", resume=True, verbose=False)
    pd.testing.assert_frame_equal(results, again)


def test_a_failed_fit_is_a_failure_of_all_parts(tmp_path):
    X, y, more, truth = two_classes(60, 60, 3)
    data = {"mine": (np.concatenate([X, more]), np.concatenate([y, truth]))}
    method = Method("safe", RaceClassifier(["no such"]), parts={"ridge": "labeled"})
    experiment = Experiment("race", data, HoldOut(n_labeled=20), [method], repeats=1)
    with pytest.warns(FitFailedWarning, match="safe failed in all 1 fits"):
        results = run_experiment(experiment, tmp_path / "race", verbose=False)
    assert results["note"].str.contains("There is no candidate called 'no such'").all()
    assert list(results["classifier"]) == ["safe", "ridge"]


def test_hold_out_splits_all_rows():
    y = np.arange(50) % 2
    (split,) = HoldOut(n_labeled=10).splits(y, 3, np.random.default_rng(0))
    assert [len(split.labeled), len(split.unlabeled), len(split.test)] == [10, 30, 10]
    assert sorted(np.concatenate([split.labeled, split.unlabeled, split.test])) == list(range(50))
    with pytest.raises(ValueError, match="test_share must be between 0 and 1, got 1"):
        HoldOut(test_share=1)
    seeds = (np.random.default_rng(seed) for seed in range(20))
    rng = next(rng for rng in seeds if 0 in rng.permutation(51)[:10])  # row 0 is a test row
    rng = np.random.default_rng(rng.bit_generator.seed_seq.entropy)
    with pytest.raises(ValueError, match="Class 9 has so few rows that all of them are test rows"):
        list(HoldOut(n_labeled=5).splits(np.array([9, *y]), 3, rng))


def test_report_names_what_is_better_and_worse():
    table = race_table(example())
    assert table.header[:2] == ("Dataset", "Better baseline")
    text = table.to_text()
    assert "*-10.0*" in text
    assert "_+10.0_" in text
    assert "1 / 1" in text


def test_digits_race_has_its_own_data():
    plan = RACES["safe-choice-digits-50"]
    experiment = plan.experiment("digits", [], 1, 0)
    X, y = experiment.data["digits"]
    assert X.shape == (1797, 64)
    assert len(np.unique(y)) == 10
