"""Committed results of the paper's experiments are read by today's code, to the same figures."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from primum.comparison.store import ResultsError, ResultStore, read_snapshot
from primum_lab import LEAST_SQUARES
from primum_lab.pages.experiment import design_sentence
from primum_lab.pages.results import curves_figure, error_table, z_figure
from primum_lab.paper import PLANS, agreement, ordering_claims, published
from primum_lab.race import RACES, NumberRace
from primum_lab.settling import settling_study

PAPER = [method.name for method in LEAST_SQUARES]
EXPERIMENTS = Path(__file__).parents[1] / "results"
if not (EXPERIMENTS / "table2").exists():
    pytest.skip("source distributions are without the committed results", allow_module_level=True)


def summary_of(name):
    return pd.read_csv(EXPERIMENTS / name / "summary.csv")


@pytest.mark.parametrize("name", ["table2", "table3"])
@pytest.mark.parametrize(("kind", "measure"), [("error", "error"), ("loss", "loss_test")])
def test_tables(name, kind, measure):
    committed = EXPERIMENTS / name / "tables" / f"{name}-{kind}"
    table = error_table(summary_of(name), measure)
    assert table.to_text() + "\n" == committed.with_suffix(".txt").read_text()
    assert table.to_markdown() + "\n" == committed.with_suffix(".md").read_text()
    assert table.to_latex() + "\n" == committed.with_suffix(".tex").read_text()
    assert table.to_html() in committed.with_suffix(".html").read_text()
    assert table.to_html() in (EXPERIMENTS / name / "report.html").read_text()


def test_judgements():
    """The sentences of the committed reports follow from the committed summaries."""
    for name in ("table2", "table3", "curves", "prior-curves"):
        summary, page = summary_of(name), (EXPERIMENTS / name / "report.html").read_text()
        for measure in ("error", "loss_test"):
            assert agreement(summary, measure).sentence().replace("<", "&lt;") in page
    for sentence in ordering_claims(summary_of("table2")):
        assert sentence in (EXPERIMENTS / "table2" / "report.html").read_text()


WITH_DESIGN = [
    folder.name
    for folder in sorted(EXPERIMENTS.iterdir())
    if (folder / "config.json").exists()
    and "Design: " in (folder / "report.html").read_text()  # older reports use other words
]


@pytest.mark.parametrize("name", WITH_DESIGN)
def test_reports_state_the_design_that_was_run(name):
    design = read_snapshot(EXPERIMENTS / name)["config"]["design"]
    assert design_sentence(design) in (EXPERIMENTS / name / "report.html").read_text()


def test_figures():
    curves = curves_figure(summary_of("curves"), "error", classifiers=PAPER)
    legend = curves.legends[0].get_texts()
    assert [text.get_text() for text in legend] == PAPER
    peaking = curves_figure(summary_of("peaking"), "error", log_scale=False, largest=25)
    assert len(peaking.axes) == 2
    assert len(z_figure(summary_of("table2")).axes[0].lines[-1].get_xdata()) > 300


def test_published_runs_with_true_shares_stopped_above_the_minimum():
    """ICLS_prior minimises the labelled loss: ours is lower, the more so the more rows."""
    summary = summary_of("prior-curves")
    cells = summary[(summary["classifier"] == "ICLS_prior") & summary["z"].notna()]
    few = cells[cells["n_unlabeled"] <= 8]
    judged = few[few["measure"].isin(["error", "loss_test", "loss_labeled"])]
    assert (judged["z"].abs() < 2).mean() >= 0.95
    many = cells[(cells["n_unlabeled"] >= 128) & (cells["measure"] == "loss_labeled")]
    assert len(many) == 39
    assert (many["mean"] < many["published_mean"]).sum() == 37
    assert (many["mean"] / many["published_mean"]).median() == pytest.approx(0.72, abs=0.005)


def test_published_runs_had_the_true_shares():
    """With one unlabelled row they tell its label, and the oracle's labelled loss results."""
    cells = published("curves").query("n_unlabeled == 1 and measure == 'loss_labeled'")
    means = cells.pivot(index="dataset", columns="classifier", values="mean")
    ratio = means["ICLS_prior"] / means["Oracle"]
    assert (ratio - 1).abs().max() < 0.005  # Parkinsons, whose features are nearly collinear
    assert ((ratio - 1).abs() < 1e-4).sum() == 15
    assert (means["ICLS"] / means["Oracle"] < 0.999).all()


def test_they_are_not_continued(tmp_path):
    shutil.copy(EXPERIMENTS / "table2" / "config.json", tmp_path)
    config = PLANS["table2"].experiment("table2", [], None, 0).config
    with pytest.raises(ResultsError, match=r"another version of primum.*read but not continued"):
        ResultStore(tmp_path, config, resume=True)


def stored(name):
    return json.loads((EXPERIMENTS / name / "config.json").read_text())


def names_in(value):
    """Yield the full names in a stored configuration that were those of the laboratory."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from names_in(inner)
    elif isinstance(value, str) and re.match(r"primum[._](experiments|lab)\.", value):
        yield value


NAMED = [name for name in {**PLANS, **RACES} if set(names_in(stored(name)))]


def test_some_committed_runs_name_the_laboratory():
    assert {"peaking", "prior-curves", *RACES} <= set(NAMED)


@pytest.mark.parametrize("name", NAMED)
def test_the_laboratory_has_its_former_name_in_results(name):
    """Otherwise runs of the time when it was a part of primum were refused."""
    now = {**PLANS, **RACES}[name].experiment(name, [], None, 0).config
    assert set(names_in(stored(name))) <= set(names_in(now))
    assert all(one.startswith("primum.experiments.") for one in names_in(now))


@pytest.mark.parametrize(
    ("name", "config"),
    [("settling", settling_study([]).config), ("safe-regression", NumberRace().config)],
)
def test_they_are_continued(tmp_path, name, config):
    """By the same configuration, though this repository is without the results of single fits."""
    shutil.copy(EXPERIMENTS / name / "config.json", tmp_path)
    before = read_snapshot(tmp_path)["config"]
    ResultStore(tmp_path, config, resume=True).close()
    assert read_snapshot(tmp_path)["config"] == before


def test_bold_includes_the_baselines():
    """On most of the sets a baseline beats every method that uses unlabelled rows."""
    text = (EXPERIMENTS / "table2" / "tables" / "table2-error.md").read_text()
    baselines = [line.split(" | ")[-2:] for line in text.splitlines()[2:]]
    assert sum(bool(re.search(r"\*\*", "".join(cells))) for cells in baselines) > 8
