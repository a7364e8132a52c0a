"""The command line, from arguments to files."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from primum.cli.main import primum
from primum_lab import settling
from primum_lab.datasets import CATALOGUE
from primum_lab.paper import PLANS
from reference import SHARED

DATA = SHARED / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="needs the data of ../shared")


def calling(folder, monkeypatch):
    """Call primum in a folder, without network and without the user's own data."""
    monkeypatch.setenv("PRIMUM_DATA", str(folder / "empty"))
    monkeypatch.chdir(folder)

    def offline(origin):
        raise OSError("no network in tests")

    monkeypatch.setattr("primum_lab.datasets.loading.read_addresses", offline)
    return lambda *arguments: CliRunner().invoke(primum, [str(a) for a in arguments])


@pytest.fixture
def call(tmp_path, monkeypatch):
    return calling(tmp_path, monkeypatch)


TABLE2 = ("reproduce", "table2", "--datasets", "wdbc", "--repeats", 2, "--jobs", 1)
CURVES = ("reproduce", "error-curves", "--datasets", "wdbc,sonar", "--repeats", 1, "--jobs", 1)


@pytest.fixture(scope="module")
def first_runs(tmp_path_factory):
    """The folder where each of these was run once, and its answer."""
    folder = tmp_path_factory.mktemp("first")
    with pytest.MonkeyPatch.context() as patch:
        call = calling(folder, patch)
        return folder, call(*TABLE2, "--out", "table2"), call(*CURVES)


@pytest.fixture
def table2(first_runs, tmp_path):
    """Copy the results of table2 into out, and return the answer of the run."""
    folder, answer, _ = first_runs
    shutil.copytree(folder / "table2", tmp_path / "out")
    return answer


@pytest.fixture
def curves(first_runs, tmp_path):
    """The same for the learning curves, in the folder of the default."""
    folder, _, answer = first_runs
    shutil.copytree(folder / "reproduction", tmp_path / "reproduction")
    return answer


@pytest.mark.parametrize(
    "verb",
    [
        [],
        ["datasets"],
        ["datasets", "list"],
        ["datasets", "fetch"],
        ["reproduce"],
        ["fit"],
        ["predict"],
    ],
)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_everywhere(call, verb, flag):
    answer = call(*verb, flag)
    assert answer.exit_code == 0
    assert answer.output.startswith("Usage: primum")


def test_list_names_all_data_sets(call):
    answer = call("datasets", "list")
    assert answer.exit_code == 0
    for name in CATALOGUE:
        assert re.search(rf"^{name} ", answer.output, flags=re.MULTILINE)
    assert re.search(r"^wdbc .*sklearn", answer.output, flags=re.MULTILINE)


def test_info(call):
    answer = call("datasets", "info", "wdbc")
    assert answer.exit_code == 0
    for part in ("569", "malignant", "licence", CATALOGUE["wdbc"].sha256):
        assert part in answer.output
    wrong = call("datasets", "info", "wdbd")
    assert wrong.exit_code == 2
    assert "wdbc" in wrong.output


class TestReproduceWithWhatIsAtHand:
    """WDBC comes with scikit-learn, so a lone clone can run it."""

    def test_table2(self, table2, tmp_path):
        assert table2.exit_code == 0, table2.output
        assert "WDBC" in table2.output
        out = tmp_path / "out"
        results = pd.read_parquet(out / "results.parquet")
        fits = sum(10 * len(range(0, 2, method.every)) for method in PLANS["table2"].methods)
        assert len(results) == fits
        summary = pd.read_csv(out / "summary.csv")
        columns = ["dataset", "classifier", "measure", "mean", "sd_over_repeats", "repeats"]
        assert list(summary.columns[:6]) == columns
        assert {"times_worse", "published_mean", "z"} <= set(summary.columns)
        icls = summary.query("classifier == 'ICLS' and measure == 'error'").iloc[0]
        assert icls["published_mean"] == pytest.approx(0.1251, abs=1e-4)
        assert summary["z"].isna().all()  # two repeats do not estimate their own spread
        assert {"se", "median", "role", "loss"} <= set(summary.columns)
        for kind in ("txt", "md", "tex", "html"):
            assert (out / "tables" / f"table2-error.{kind}").stat().st_size > 0
        page = (out / "report.html").read_text()
        assert "width=device-width" in page
        assert "error: 2 repeats are too few to assess the agreement with the published" in page
        for words in ("Seed: 0.", "10-fold cross-validation", "Versions: python", "569 x 30"):
            assert words in page
        assert not re.search(r"(src|href)='(?!data:|#)", page)

    @pytest.mark.usefixtures("table2")
    def test_resume_and_refusals(self, call, tmp_path):
        before = pd.read_csv(tmp_path / "out" / "summary.csv")
        again = call(*TABLE2, "--out", "out")
        assert again.exit_code == 1
        advice = "pass --resume to continue them, or choose another folder with --out."
        assert f"already contains results: {advice}" in again.output
        other = call(*TABLE2, "--out", "out", "--resume", "--seed", 7)
        assert other.exit_code == 1
        assert "results of another configuration (seed was 0, now 7)" in other.output
        resumed = call(*TABLE2, "--out", "out", "--resume")
        assert resumed.exit_code == 0
        after = pd.read_csv(tmp_path / "out" / "summary.csv")
        pd.testing.assert_frame_equal(before, after)

    @pytest.mark.usefixtures("table2")
    def test_further_methods_are_added_to_earlier_results(self, call, tmp_path):
        journal = (tmp_path / "out" / "journal.jsonl").read_bytes()
        further = ("--methods", "Entropy logistic,supervised-svm,usm", "--resume")
        answer = call(*TABLE2, "--out", "out", *further)
        assert answer.exit_code == 0, answer.output
        assert (tmp_path / "out" / "journal.jsonl").read_bytes() == journal
        tables = tmp_path / "out" / "tables"
        names = ["Entropy logistic", "Supervised (SVM)"]
        header = (tables / "table2-error.md").read_text().splitlines()[0].strip("| ").split(" | ")
        assert header[-2:] == names
        assert header.count("USM") == 1
        losses = (tables / "table2-loss.md").read_text().splitlines()[0]
        assert names[0] in losses
        assert names[1] not in losses  # its loss is another one
        page = (tmp_path / "out" / "report.html").read_text()
        assert "EntropyLogisticClassifier(" in page
        assert call(*TABLE2, "--out", "out", "--resume").exit_code == 0
        assert names[0] not in (tables / "table2-error.md").read_text()

    def test_missing_data_sets_are_named_and_the_rest_is_run(self, curves, tmp_path):
        assert curves.exit_code == 3
        assert "Missing sonar:" in curves.output
        out = tmp_path / "reproduction" / "error-curves"
        assert (out / "figures" / "error-curves.svg").exists()
        assert "sonar" in (out / "report.html").read_text()
        assert set(pd.read_csv(out / "summary.csv")["dataset"]) == {"wdbc"}

    @pytest.mark.usefixtures("table2")
    def test_corrupt_results_are_named(self, call, tmp_path):
        journal = tmp_path / "out" / "journal.jsonl"
        journal.write_bytes(journal.read_bytes().replace(b'"error"', b'"errxr"', 1))
        answer = call(*TABLE2, "--out", "out", "--resume")
        assert answer.exit_code == 1
        assert "Line 1 of" in answer.output
        assert "corrupt" in answer.output

    @pytest.mark.usefixtures("table2")
    def test_a_corrupt_configuration_is_named(self, call, tmp_path):
        before = (tmp_path / "out" / "journal.jsonl").read_bytes()
        (tmp_path / "out" / "config.json").write_text("{")
        answer = call(*TABLE2, "--out", "out", "--resume")
        assert answer.exit_code == 1
        assert re.search(r"config\.json is corrupt .*: restore it, or delete it", answer.output)
        assert (tmp_path / "out" / "journal.jsonl").read_bytes() == before

    @pytest.mark.usefixtures("curves")
    def test_every_run_draws_all_curves(self, tmp_path):
        out = tmp_path / "reproduction" / "error-curves"
        for target in ("error-curves", "loss-curves", "time-curves"):
            assert (out / "figures" / f"{target}.pdf").exists()
        page = (out / "report.html").read_text()
        assert "data:image/svg+xml;base64," in page
        assert "bands one standard error on either side" in page
        assert "medians over repeats, bands from the lower to the upper quartile" in page

    @pytest.mark.slow  # the results of table2 are resumed above
    @pytest.mark.usefixtures("curves")
    def test_curves_share_their_results(self, call, tmp_path):
        answer = call(
            *("reproduce", "time-curves", "--datasets", "wdbc", "--repeats", 1, "--jobs", 1),
            *("--out", "reproduction/error-curves", "--resume"),
        )
        assert answer.exit_code == 0, answer.output
        journal = tmp_path / "reproduction" / "error-curves" / "journal.jsonl"
        assert journal.read_bytes().count(b"\n") == 1


def test_illustrations_need_no_data(call, tmp_path):
    answer = call("reproduce", "illustrations", "--out", "out")
    assert answer.exit_code == 0
    for name in ("constrained-problem", "constrained-subset"):
        assert (tmp_path / "out" / "figures" / f"{name}.png").exists()


def test_settling_is_run_reported_and_continued(call, tmp_path, monkeypatch):
    def small(datasets, repeats, seed):
        full = settling.settling_study(datasets, repeats, seed)
        design = settling.StudyDesign(most_unlabeled=100, n_orders=2, candidates=("ridge",))
        draws, data = ({"wdbc": one["wdbc"]} for one in (full.draws, full.identities))
        return settling.Study(draws, data, 1, 0, design=design)

    monkeypatch.setattr("primum_lab.cli.reproduce.settling_study", small)
    run = ("reproduce", "settling", "--datasets", "wdbc", "--jobs", 1, "--out", "out")
    answer = call(*run)
    assert answer.exit_code == 0, answer.output
    assert "The cross-validated verdict is open in" in answer.output
    assert f"Report: {Path('out') / 'report.html'}" in answer.output
    journal = (tmp_path / "out" / "journal.jsonl").read_bytes()
    assert journal.count(b"\n") == 1
    assert call(*run, "--resume").exit_code == 0
    assert (tmp_path / "out" / "journal.jsonl").read_bytes() == journal
    assert "already contains results" in call(*run).output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("table2", "--datasets", "wdbc,nonsense"), "unknown data set 'nonsense'; choose from"),
        (("table2", "--repeats", "0"), "0 is not in the range x>=1"),
        (("table2", "--jobs", "0"), "must be -1 or at least 1, got 0"),
        (("table9",), "'table9' is not one of"),
        (("table2", "--methods", "icls,usn"), "Unknown method 'usn': did you mean 'usm'"),
        (("table1", "--methods", "icls"), "table1 compares no methods"),
        (("settling", "--methods", "icls"), "settling compares no methods"),
    ],
)
def test_wrong_usage(call, arguments, sentence):
    answer = call("reproduce", *arguments)
    assert answer.exit_code == 2
    assert sentence in re.sub(r"\s+", " ", answer.output)


def test_methods_are_listed(call):
    answer = call("reproduce", "--list-methods")
    assert answer.exit_code == 0
    for name, estimator in (("icls", "PublishedICLS"), ("ridge-cv", "RidgeClassifierCV")):
        assert re.search(rf"^{name} +{estimator}$", answer.output, flags=re.MULTILINE)


def test_unwritable_output(call, tmp_path):
    Path("file").write_text("in the way")
    answer = call(
        "reproduce", "table2", "--datasets", "wdbc", "--repeats", 1, "--out", "file/inside"
    )
    assert answer.exit_code == 1
    assert "Cannot write results to" in answer.output


def test_nothing_found(call):
    answer = call("reproduce", "table2", "--datasets", "sonar")
    assert answer.exit_code == 1
    assert "No data set was found" in answer.output
    assert "sonar.csv.gz" in answer.output


def test_table3(call, tmp_path):
    answer = call(
        *("reproduce", "table3", "--datasets", "wdbc", "--repeats", 2, "--jobs", 1, "--out", "out")
    )
    assert answer.exit_code == 0, answer.output
    summary = pd.read_csv(tmp_path / "out" / "summary.csv")
    known = summary["published_mean"].notna()
    judged = summary[known & summary["measure"].isin(["error", "loss_test"])]
    assert set(judged["classifier"]) == {"Supervised", "Self-Learning", "TSVM", "Oracle"}
    # Two repeats say little about their own spread, so only the means are held to account.
    np.testing.assert_allclose(judged["mean"], judged["published_mean"], rtol=0.5)
    page = (tmp_path / "out" / "report.html").read_text()
    for words in (
        "regularised about L times as much",
        "Self-Learning is a reconstruction",
        "With Self-Learning (plain) in place of Self-Learning, error: 2 repeats are",
        "Without either, loss_test: 2 repeats are too few",
        "Local optima of the TSVM: on the 10 folds where both searches were run",
    ):
        assert words in page
    assert (tmp_path / "out" / "tables" / "table3-minima.md").exists()


@needs_data
def test_table1_is_the_papers(call, tmp_path):
    answer = call("reproduce", "table1", "--data-home", DATA, "--out", "out")
    assert answer.exit_code == 0
    rows = [line.split() for line in (tmp_path / "out/table1.txt").read_text().splitlines()[1:]]
    assert len(rows) == 16
    for title, n, d, pca, majority in rows:
        info = CATALOGUE[title.lower()]
        assert (info.rows, info.features, info.pca99) == (int(n), int(d), int(pca))
        assert f"{info.majority:.2f}" == majority


@needs_data
def test_a_small_faithful_run(call, tmp_path):
    answer = call(
        *("reproduce", "table2", "--datasets", "haberman,sonar,wdbc", "--repeats", 5),
        *("--data-home", DATA, "--out", "out", "--jobs", 1),
    )
    assert answer.exit_code == 0, answer.output
    summary = pd.read_csv(tmp_path / "out" / "summary.csv")
    measures = summary["measure"].isin(["error", "loss_test"])
    judged = summary[measures & summary["published_mean"].notna()]
    assert len(judged) == 30
    difference = (judged["mean"] - judged["published_mean"]) / judged["se"]
    assert (difference.abs() < 3).mean() >= 0.8
    assert json.loads((tmp_path / "out" / "config.json").read_text())["config"]["seed"] == 0
