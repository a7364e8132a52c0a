"""Folders of results: continued by the same run only, one at a time, and never silently mended."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import generate
from generate import two_classes
from primum.comparison.store import ResultsError, ResultStore
from primum_lab import (
    LEAST_SQUARES,
    CrossValidation,
    Experiment,
    run_experiment,
    score_probability,
)
from primum_lab.as_published import PublishedICLS

DESIGN = CrossValidation(n_folds=3, n_labeled=10)
METHODS = (LEAST_SQUARES[0], LEAST_SQUARES[3])


def data(*names, seed=0):
    return {name: two_classes(60, 0, 3, seed=seed + k)[:2] for k, name in enumerate(names)}


def experiment(**more):
    return Experiment(
        **{
            "name": "test",
            "data": data("a", "b"),
            "design": DESIGN,
            "methods": METHODS,
            "repeats": 2,
            **more,
        }
    )


def run(folder, *, resume=False, **more):
    return run_experiment(experiment(**more), folder, resume=resume, verbose=False)


def same(one, other):
    """Everything but the time is equal."""
    pd.testing.assert_frame_equal(one.drop(columns="seconds"), other.drop(columns="seconds"))


def with_icls(**change):
    return {"methods": (METHODS[0], replace(METHODS[1], **change))}


def noise(seed):
    """Other data of the same shape."""
    rng = np.random.default_rng(seed)
    return {
        "data": {name: (rng.normal(size=X.shape), y) for name, (X, y) in data("a", "b").items()}
    }


def half(scores, y):
    return 0.5


CHANGES = {
    "seed": ({"seed": 1}, "seed was 0, now 1"),
    "design": ({"design": replace(DESIGN, n_folds=4)}, "design.n_folds was 3, now 4"),
    "fewer methods": ({"methods": METHODS[:1]}, r"methods.ICLS was .*, now absent"),
    "values": (noise(0), r"data.a was '60 x 3, sha256 \w+', now '60 x 3, sha256 \w+'"),
    "labels": (
        {"data": {k: (X, 1 - y) for k, (X, y) in data("a", "b").items()}},
        "data.a was '60 x 3, sha256 ",
    ),
    "parameter": (
        with_icls(estimator=PublishedICLS(alpha=2.0)),
        r"methods.ICLS.estimator.alpha was 0.0, now 2.0",
    ),
    "sees": (with_icls(sees="all"), "methods.ICLS.sees was 'partly', now 'all'"),
    "every": (with_icls(every=2), "methods.ICLS.every was 1, now 2"),
    "score": (
        with_icls(score=score_probability),
        r"methods.ICLS.score.function was 'primum.experiments.measures.score_minus_half', now "
        r"'primum.experiments.measures.score_probability'",
    ),
    "loss": (with_icls(loss=half), r"methods.ICLS.loss.function was .*, now .*half, source \w+"),
}


@pytest.mark.parametrize(("change", "named"), CHANGES.values(), ids=CHANGES)
def test_another_configuration_is_refused_and_named(tmp_path, change, named):
    run(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ResultsError, match=rf"results of another configuration \({named}"):
        run(tmp_path, resume=True, **change)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


class TestOtherDataSets:
    def test_more_are_recorded(self, tmp_path):
        everything = data("a", "b")
        run(tmp_path / "grown", data={"a": everything["a"]})
        grown = run(tmp_path / "grown", resume=True)
        same(grown, run(tmp_path / "whole"))
        snapshots = [
            json.loads((tmp_path / name / "config.json").read_text()) for name in ("grown", "whole")
        ]
        assert snapshots[0] == snapshots[1]
        assert list(snapshots[0]["config"]["data"]) == ["a", "b"]
        other = {"a": everything["a"], "b": noise(0)["data"]["b"]}
        with pytest.raises(ResultsError, match=r"another configuration \(data.b was"):
            run(tmp_path / "grown", resume=True, data=other)

    def test_fewer_are_reported_alone_and_the_others_kept(self, tmp_path):
        whole = run(tmp_path)
        fewer = run(tmp_path, resume=True, data={"a": data("a", "b")["a"]})
        assert set(fewer["dataset"]) == {"a"}
        assert list(json.loads((tmp_path / "config.json").read_text())["config"]["data"]) == [
            *("a", "b")
        ]
        same(run(tmp_path, resume=True), whole)


class TestConfiguration:
    def test_missing_it_is_proved_by_the_journal(self, tmp_path):
        whole = run(tmp_path)
        snapshot = tmp_path / "config.json"
        text = snapshot.read_text()
        snapshot.unlink()
        with pytest.raises(
            ResultsError, match=r"Line 1 of .*journal.jsonl contains results for data"
        ):
            run(tmp_path, resume=True, seed=99)
        with pytest.raises(ResultsError, match=r"results for data set 'b' with a config"):
            run(tmp_path, resume=True, data={"a": data("a", "b")["a"]})
        same(run(tmp_path, resume=True), whole)
        assert snapshot.read_text() == text

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2}', "\udcff"])
    def test_corrupt_it_is_named_and_kept(self, tmp_path, text):
        whole = run(tmp_path)
        snapshot = tmp_path / "config.json"
        spoilt = text.encode(errors="surrogateescape")
        snapshot.write_bytes(spoilt)
        with pytest.raises(
            ResultsError, match=r"config.json is corrupt \(.*\): restore it, or del"
        ):
            run(tmp_path, resume=True)
        assert snapshot.read_bytes() == spoilt
        snapshot.unlink()
        same(run(tmp_path, resume=True), whole)

    def test_of_an_earlier_version_is_not_continued(self, tmp_path):
        run(tmp_path)
        snapshot, journal = tmp_path / "config.json", tmp_path / "journal.jsonl"
        now = snapshot.read_text()
        before = {k: v for k, v in json.loads(now).items() if k != "format"}
        snapshot.write_text(json.dumps(before))
        with pytest.raises(ResultsError, match=r"config.json was written by another version of pr"):
            run(tmp_path, resume=True)
        snapshot.write_text(now)
        journal.write_bytes(_with_payload(journal, lambda record: record.pop("config")))
        with pytest.raises(ResultsError, match=r"journal.jsonl was written by another version of"):
            run(tmp_path, resume=True)

    def test_says_what_was_run(self, tmp_path):
        run(tmp_path)
        snapshot = json.loads((tmp_path / "config.json").read_text())
        icls = snapshot["config"]["methods"]["ICLS"]
        assert icls["estimator"]["class"] == "primum.experiments.as_published.PublishedICLS"
        assert icls["estimator"]["parameters"]["rcond"] == pytest.approx(1.49e-8, rel=0.01)
        versions = snapshot["versions"][0]
        assert {"python", "numpy", "scipy", "scikit-learn", "primum"} <= set(versions)

    def test_records_the_versions_of_every_run(self, tmp_path, monkeypatch):
        run(tmp_path, repeats=1)
        monkeypatch.setattr("primum.comparison.store.version", lambda name: "9.9")
        for _ in range(2):
            run(tmp_path, resume=True)
        recorded = json.loads((tmp_path / "config.json").read_text())["versions"]
        assert len(recorded) == 2
        assert recorded[0]["numpy"] == np.__version__
        assert recorded[1]["numpy"] == "9.9"


def _with_payload(journal, change):
    """Return the journal with its first record changed, under a right checksum."""
    from primum.comparison.store import _crc

    first, rest = journal.read_bytes().split(b"\n", 1)
    record = json.loads(first[9:])
    change(record)
    payload = json.dumps(record).encode()
    return _crc(payload) + b" " + payload + b"\n" + rest


class TestJournal:
    def test_a_half_written_line_is_done_again(self, tmp_path):
        whole = run(tmp_path)
        journal = tmp_path / "journal.jsonl"
        for spoil in (
            lambda text: text[:-1],
            lambda text: text[:-50],
            lambda text: text[:-1500],
            lambda text: text + b"\0" * 50,
        ):
            journal.write_bytes(spoil(journal.read_bytes()))
            same(run(tmp_path, resume=True), whole)

    def test_every_line_has_the_checksum_of_its_configuration(self, tmp_path):
        for seed in (0, 1):
            run(tmp_path / str(seed), seed=seed)
        lines = [(tmp_path / str(seed) / "journal.jsonl").read_bytes() for seed in (0, 1)]
        sums = [[json.loads(line[9:])["config"] for line in text.splitlines()] for text in lines]
        assert set(sums[0]).isdisjoint(sums[1])
        # Lines of another run that were brought in are found, although each of them is sound.
        (tmp_path / "0" / "journal.jsonl").write_bytes(lines[0] + lines[1])
        with pytest.raises(ResultsError, match=r"Line 5 of .* with a configuration other"):
            run(tmp_path / "0", resume=True)

    @pytest.mark.parametrize("line", [b"\n", b"\xff\xfe\n", b"\0" * 50 + b"\n"])
    def test_a_corrupt_line_is_named_and_kept(self, tmp_path, line):
        run(tmp_path)
        journal = tmp_path / "journal.jsonl"
        spoilt = journal.read_bytes() + line
        journal.write_bytes(spoilt)
        with pytest.raises(ResultsError, match=r"Line 5 of .*journal.jsonl is corrupt: delete it"):
            run(tmp_path, resume=True)
        assert journal.read_bytes() == spoilt

    def test_a_changed_line_is_corrupt(self, tmp_path):
        run(tmp_path)
        journal = tmp_path / "journal.jsonl"
        journal.write_text(journal.read_text().replace('"a",1]', '"a",2]', 1))
        with pytest.raises(ResultsError, match=r"Line \d of .*journal.jsonl is corrupt"):
            run(tmp_path, resume=True)

    def test_one_unit_has_one_result(self, tmp_path):
        whole = run(tmp_path)
        journal = tmp_path / "journal.jsonl"
        content = journal.read_bytes()
        journal.write_bytes(content + content)
        same(run(tmp_path, resume=True), whole)
        journal.write_bytes(content + _with_payload(journal, lambda r: r["rows"].pop()))
        with pytest.raises(
            ResultsError, match="has two different results for data set 'a', repeat 0"
        ):
            run(tmp_path, resume=True)

    def test_results_are_not_overwritten(self, tmp_path):
        run(tmp_path)
        with pytest.raises(
            ResultsError,
            match="already contains results: pass resume=True to continue them, or choose another",
        ) as refusal:
            run(tmp_path)
        assert "--" not in str(refusal.value)

    def test_a_full_disk_is_named_and_nothing_is_lost(self, tmp_path, monkeypatch):
        whole = run(tmp_path / "whole")
        written = []

        def full_after_two(descriptor):
            written.append(descriptor)
            if len(written) == 4:  # the configuration and two lines are written
                raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full_after_two)
            with pytest.raises(ResultsError, match=r"No space left on device; .* with resume=True"):
                run(tmp_path / "full")
        same(run(tmp_path / "full", resume=True), whole)

    def test_unwritable_folder(self, tmp_path):
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(ResultsError, match=r"Cannot write results to .*choose another folder"):
            run(tmp_path / "file" / "inside")


class TestLock:
    def test_a_second_run_is_refused_and_touches_nothing(self, tmp_path):
        """Not even a last line that looks cut off, because the first run is still writing it."""
        config = experiment().config
        with ResultStore(tmp_path, config) as store:
            store.append(("a", 0), [])
            with store.journal.open("ab") as file:
                file.write(b"half a li")
            content = store.journal.read_bytes()
            for resume in (False, True):
                with pytest.raises(
                    ResultsError, match=rf"Another run \(process {os.getpid()}\) is writing to"
                ):
                    ResultStore(tmp_path, config, resume=resume)
            assert store.journal.read_bytes() == content
        with ResultStore(tmp_path, config, resume=True) as store:
            assert store.done == {("a", 0): []}
            assert store.journal.read_bytes() == content[: -len(b"half a li")]

    def test_a_refused_run_does_not_keep_it(self, tmp_path):
        run(tmp_path)
        with pytest.raises(ResultsError, match="another configuration"):
            run(tmp_path, resume=True, seed=1)
        run(tmp_path, resume=True)

    def test_it_ends_with_its_process(self, tmp_path):
        code = (
            "import sys, time\n"
            "from primum.comparison.store import ResultStore\n"
            "store = ResultStore(sys.argv[1], {'data': {}})\n"
            "print('locked', flush=True)\n"
            "time.sleep(3600)\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout.readline() == "locked\n"
            with pytest.raises(ResultsError, match=rf"Another run \(process {process.pid}\)"):
                ResultStore(tmp_path, {"data": {}})
            process.send_signal(signal.SIGKILL)
        ResultStore(tmp_path, {"data": {}}).close()

    @pytest.mark.slow  # the others test the lock between processes, and within one
    def test_of_two_runs_with_different_seeds_one_gets_the_folder(self, tmp_path):
        """Started together in a new folder, one runs and the other is refused; they never mix."""
        code = (
            "import sys\n"
            "sys.path[:0] = sys.argv[3:]\n"
            "from test_store import run\n"
            "try:\n"
            "    run(sys.argv[1], seed=int(sys.argv[2]), repeats=3)\n"
            "except ValueError as problem:\n"
            "    sys.exit(str(problem))\n"
        )
        folders = [Path(module).parent for module in (__file__, generate.__file__)]
        runs = {
            seed: subprocess.Popen(
                [sys.executable, "-c", code, str(tmp_path / "new"), str(seed), *folders],
                stderr=subprocess.PIPE,
                text=True,
            )
            for seed in (0, 777)
        }
        said = {seed: process.communicate()[1] for seed, process in runs.items()}
        codes = {seed: process.returncode for seed, process in runs.items()}
        assert sorted(codes.values()) == [0, 1], said
        (winner,) = (seed for seed, code in codes.items() if code == 0)
        (loser,) = (seed for seed in codes if seed != winner)
        assert "Another run (process" in said[loser] or "already contains results" in said[loser]
        resumed = run(tmp_path / "new", resume=True, seed=winner, repeats=3)
        same(resumed, run(tmp_path / "clean", seed=winner, repeats=3))
