"""The study of settling: the same truth by two ways, and checks of answers that can fail."""

import json
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from primum.comparison.store import read_snapshot
from primum.judging.error_bounds import BASELINE, CHALLENGER, NEITHER, Pair, bounds_after
from primum_lab.datasets import CATALOGUE
from primum_lab.pages import settling as pages
from primum_lab.scenarios import SIMULATED, five_classes
from primum_lab.settling import (
    ARMS,
    Fitted,
    Study,
    StudyDesign,
    first_settled,
    labels_needed,
    outcomes_of,
    plain_labels,
    run_study,
    settling_study,
    sign_test,
    true_answer,
)

SMALL = StudyDesign(
    n_labeled=25, most_unlabeled=150, n_orders=4, n_further=10, candidates=("spreading",)
)


def small_study(**settings):
    return Study({"five": five_classes}, {"five": "simulated"}, 1, 1, design=SMALL, **settings)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a small study that was run, its folder and its results."""
    folder = tmp_path_factory.mktemp("settling") / "run"
    study = small_study()
    return study, folder, run_study(study, folder, verbose=False)


def predictions(seed, n_classes=3, n_rows=200):
    """Return predictions that often differ, and the truth, as a fit."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_rows)
    noise = rng.random((3, n_rows)) < np.array([[0.2], [0.3], [0.25]])
    rows = [np.where(bad, rng.integers(0, n_classes, n_rows), truth) for bad in noise]
    verdict = SimpleNamespace(answer="cannot_tell")
    clf = SimpleNamespace(
        classes_=np.arange(n_classes),
        verdict_=SimpleNamespace(baseline=verdict, supervised=verdict),
    )
    named = dict(zip(("stack", "baseline", "supervised"), rows, strict=True))
    return Fitted(clf, np.zeros((n_rows, 1)), truth, named, StudyDesign(n_labeled=0))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("against", ["baseline", "supervised"])
def test_labels_of_all_rows_that_differ_give_the_true_change(n_classes, against):
    fitted = predictions(0, n_classes)
    errors = {name: np.sum(rows != fitted.truth) for name, rows in fitted.predicted.items()}
    true_change = errors["stack"] - errors[against]
    codes = fitted.outcomes(against)
    found = bounds_after(fitted.pair(against, 0.05), codes[codes >= 0])
    assert found.low == found.high == true_change
    order = np.random.default_rng(1).permutation(len(codes))
    (row,) = fitted.questions(against, [order])
    assert row["change"] == true_change
    assert row["n_different"] == np.sum(fitted.predicted["stack"] != fitted.predicted[against])


def test_outcomes_say_who_is_right():
    found = outcomes_of(np.array([1, 1, 2, 0]), np.array([1, 0, 1, 1]), np.array([1, 1, 1, 2]))
    assert found.tolist() == [-1, CHALLENGER, BASELINE, NEITHER]


def test_a_wrong_answer_is_flagged_if_the_order_misleads():
    """The challenger is right on the first 20 rows only: help is claimed, and harm is true."""
    pair = Pair(1000, 100, True, 0.05)
    codes = np.repeat([CHALLENGER, BASELINE], [20, 80])
    found = labels_needed(pair, codes)
    assert (found["answer"], found["wrong"], found["not_worse_wrong"]) == ("help", True, True)
    # The same labels, flipped: harm is claimed, and help is true.
    flipped = labels_needed(pair, np.where(codes == BASELINE, CHALLENGER, BASELINE))
    assert (flipped["answer"], flipped["wrong"]) == ("harm", True)
    # Labels that tell the truth.
    honest = labels_needed(pair, np.tile([CHALLENGER] * 4 + [BASELINE], 20))
    assert (honest["answer"], honest["wrong"], honest["not_worse_wrong"]) == ("help", False, False)


def test_the_report_marks_groups_with_too_many_wrong_answers(run):
    _, _, results = run
    orders = results["kind"] == "order"
    cells = [row[-1] for row in pages.labels_table(results, 0.05).rows]
    assert not any(cell.underline for cell in cells)
    flipped = results.assign(
        wrong=results["wrong"].where(~orders, True), needed=results["needed"].where(~orders, 5)
    )
    assert all(row[-1].underline for row in pages.labels_table(flipped, 0.05).rows)
    assert pages.exceeds(12, 100, 0.05)
    assert not pages.exceeds(8, 100, 0.05)
    assert not pages.exceeds(0, 0, 0.05)


def by_definition(pair, codes):
    """Return the labels needed by {T : prior / posterior < 1 / alpha}, for two classes."""
    states = np.arange(pair.n_different + 1)
    for n in range(len(codes) + 1):
        right = np.sum(codes[:n] == CHALLENGER)
        likelihood = stats.hypergeom.pmf(right, pair.n_different, states, n)
        prior, posterior = 1 / len(states), likelihood / likelihood.sum()
        kept = states[posterior * (1 + 1e-6) >= prior * pair.alpha]
        answers = {true_answer(pair, pair.n_different - 2 * kept[k]) for k in (0, -1)}
        if len(kept) and len(answers) == 1:
            return n
    raise AssertionError


def test_the_plain_formula_is_that_of_its_definition_and_needs_no_fewer_labels():
    rng = np.random.default_rng(2)
    for n_right in (5, 20, 30, 38):
        pair = Pair(500, 40, True, 0.05)
        codes = rng.permutation(np.repeat([CHALLENGER, BASELINE], [n_right, 40 - n_right]))
        plain = plain_labels(pair, codes)
        assert plain == by_definition(pair, codes)
        assert first_settled(pair, codes).n_read <= plain
    for numbers in ((20, 5, 15), (12, 12, 6), (3, 20, 2)):
        codes = rng.permutation(np.repeat([CHALLENGER, BASELINE, NEITHER], numbers))
        pair = Pair(500, len(codes), False, 0.05)
        assert first_settled(pair, codes).n_read <= plain_labels(pair, codes)


def test_random_labels_count_where_the_models_differ_only():
    pair = Pair(1000, 20, True, 0.05)
    rng = np.random.default_rng(3)
    outcomes = np.full(1000, -1)
    at = np.sort(rng.permutation(1000)[:20])
    outcomes[at] = CHALLENGER
    found = labels_needed(pair, outcomes)
    alone = labels_needed(pair, outcomes[at])
    for key in ("needed", "answer", "not_worse", "plain"):
        assert found[key] == alone[key]
    assert 0 < found["needed"] == alone["random"]
    assert found["random"] == at[found["needed"] - 1] + 1
    assert found["not_worse_random"] == at[found["not_worse"] - 1] + 1


def test_no_label_is_needed_where_the_models_hardly_differ():
    for order in permutations([CHALLENGER, BASELINE, -1]):
        found = labels_needed(Pair(200, 2, True, 0.05), np.array(order))
        assert found["needed"] == found["random"] == found["plain"] == 0
        assert found["answer"] == "no_difference"


def test_the_sign_test_is_exact():
    assert sign_test(np.full(6, CHALLENGER), 0.05) == "help"  # p = 2 / 2**6
    assert sign_test(np.full(5, BASELINE), 0.05) == "open"  # p = 2 / 2**5
    assert sign_test(np.full(6, BASELINE), 0.05) == "harm"
    assert sign_test(np.array([-1, NEITHER]), 0.05) == "open"


def test_both_questions_share_the_level_and_the_order():
    fitted = predictions(4, 2)
    orders = [np.random.default_rng(k).permutation(200) for k in range(5)]
    both = list(fitted.both(orders))
    alone = [list(fitted.questions(against, orders)) for against in ("baseline", "supervised")]
    union = np.sum(np.any([fitted.outcomes(a) >= 0 for a in ("baseline", "supervised")], axis=0))
    for one, *single in zip(both, *alone, strict=True):
        assert max(row["needed"] for row in single) <= one["needed"] <= one["n_different"] == union


def test_a_run_is_the_same_again_and_continues(run, tmp_path):
    study, folder, results = run
    assert [name for name, _ in study.units] == ["five", "five, refitted"]
    again = run_study(study, folder, resume=True, verbose=False)
    pd.testing.assert_frame_equal(results, again)
    kinds = results["kind"].value_counts()
    assert kinds.to_dict() == {"order": 8, "both": 4, "model": 5}
    orders = results[results["kind"] == "order"]
    assert (orders["needed"] <= orders["plain"]).all()
    assert (orders["needed"] <= orders["random"]).all()
    assert (orders["n_unlabeled"] == 150).all()


def test_models_are_judged_on_rows_that_none_has_labelled(run):
    _, _, results = run
    models = results[results["kind"] == "model"].set_index("arm")
    assert list(models.index) == list(ARMS)
    assert models["n_common"].between(150 - 30, 150 - 10).all()
    # Errors are counts of rows.
    wrong = models["error"] * models["n_common"]
    np.testing.assert_allclose(wrong, wrong.round(), atol=1e-9)
    own = models["error_own"] * np.where(models.index == "before", 150, 140)
    np.testing.assert_allclose(own, own.round(), atol=1e-9)
    numbers = pages.model_numbers(results).set_index("arm")
    change = 100 * (models["error"] - models.loc["random", "error"])
    np.testing.assert_allclose(numbers["error_change"], change[numbers.index])


def test_bins_keep_the_margin_together():
    rows = pd.DataFrame({"kind": "order", "n_different": 100, "n_unlabeled": 1000, "wrong": False,
                         "change": [-41, -40, -20, -11, -10, 0, 10, 11, 20, 21]})  # fmt: skip
    found = [pages.CHANGE_NAMES[k] for k in pages.questions_of(rows)["change_bin"]]
    better = ["better by more than 4", "better by 2 to 4", "better by 1 to 2", "better by 1 to 2"]
    worse = ["worse by 1 to 2", "worse by 1 to 2", "worse by more than 2"]
    assert found == [*better, *["within 1"] * 3, *worse]
    assert (pages.questions_of(rows)["share_bin"] == 3).all()


def test_the_report_has_its_tables_figure_and_run(run):
    _, folder, results = run
    words = pages.write_settling_report(folder, results, ["sonar"])
    page = (folder / "report.html").read_text()
    design = read_snapshot(folder)["config"]["settling"]
    assert pages.run_sentence(design, results) in page
    assert "Not run, because the data were not found: sonar." in words
    for name in ("verdicts", "labels", "datasets", "model"):
        assert (folder / "tables" / f"settling-{name}.md").exists()
    summary = pd.read_csv(folder / "summary.csv")
    assert summary["more_than_plain"].sum() == 0
    orders = pages.questions_of(results)
    assert summary["wrong"].sum() == orders["wrong"].sum()
    assert summary["orders"].sum() == 8
    assert len(pd.read_parquet(folder / "results.parquet")) == len(results)


def test_the_figure_is_the_distribution_of_labels(run):
    _, _, results = run
    open_ = results.assign(verdict="cannot_tell")
    curves = pages.settled_curves(open_)
    needed = open_.loc[open_["kind"] == "order", "needed"]
    for n in (0, 10, 100, 1000):
        assert curves["needed"][1][n] == pytest.approx(np.mean(needed <= n))
        assert curves["random"][1][n] <= curves["needed"][1][n]
    assert len(pages.settled_figure(open_).axes[0].lines) == 3


def test_all_simulations_that_differ_are_run():
    study = settling_study([])
    same_draws = {name for name in SIMULATED if name.endswith("20 labels")}
    assert set(study.draws) == {*SIMULATED, "digits"} - same_draws
    assert study.repeats == 20
    assert settling_study([], 3, 5).seed == 5
    json.dumps(study.config)


def test_data_sets_are_identified_by_their_content(reference, monkeypatch):
    monkeypatch.setenv("PRIMUM_DATA", str(reference))
    from primum_lab.datasets.loading import load

    study = settling_study([load("haberman")])
    assert study.config["data"]["haberman"].startswith(f"{CATALOGUE['haberman'].rows} x 3, sha256")
    X, y = study.draws["haberman"](np.random.default_rng(0), 1)
    assert sorted(y) == sorted(load("haberman").codes)
    assert X.shape == (306, 3)


COMMITTED = Path(__file__).parents[1] / "results" / "settling"


@pytest.mark.skipif(not COMMITTED.exists(), reason="source distributions are without the results")
def test_committed_answers_are_wrong_no_more_often_than_claimed():
    summary = pd.read_csv(COMMITTED / "summary.csv")
    alpha = read_snapshot(COMMITTED)["config"]["settling"]["alpha"]
    assert set(summary["dataset"]) == {*CATALOGUE, *settling_study([]).draws}
    for wrong in ("wrong", "not_worse_wrong"):
        counts = zip(summary[wrong], summary["orders_needing_labels"], strict=True)
        assert not any(pages.exceeds(count, orders, alpha) for count, orders in counts)
        assert summary[wrong].sum() <= alpha * summary["orders_needing_labels"].sum()
    assert summary["more_than_plain"].sum() == 0
    page = (COMMITTED / "report.html").read_text()
    assert "<u>" not in (COMMITTED / "tables" / "settling-labels.html").read_text()
    assert f"{summary['orders'].sum():,}" in page
