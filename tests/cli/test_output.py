"""What is written: never over an input, never a device, complete or not at all."""

import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

FIT = ("fit", "data.csv", "--target", "label", "--no-prepare")
RUN = [sys.executable, "-m", "primum"]


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestInputsAreNeverReplaced:
    @pytest.fixture(autouse=True)
    def everything_stays(self, call, files):
        call(*FIT, "--out", "model.csv")
        before = contents(files)
        yield
        assert contents(files) == before

    @pytest.mark.parametrize("out", ["data.csv", "../{}/data.csv", "more/../data.csv"])
    def test_data_of_fit(self, call, files, refused, out):
        out = out.format(files.name)
        refused(call(*FIT, "--out", out), 2, f"--out {out} is DATA itself: choose another name")

    def test_unlabeled_rows_of_fit(self, call, refused):
        answer = call(*FIT, "--unlabeled", "more.csv", "--out", "more.csv")
        refused(answer, 2, "--out more.csv is --unlabeled itself")

    @pytest.mark.parametrize("out", ["more/1.parquet", "more/new.parquet", "more/sub/new.parquet"])
    def test_input_folders(self, call, files, refused, out):
        (files / "more" / "sub").mkdir()
        for arguments in ((*FIT, "--unlabeled", "more"), ("predict", "model.csv", "more")):
            refused(call(*arguments, "--out", out), 2, "is inside the folder more, which is read")

    def test_a_file_that_an_input_folder_links_to(self, call, files, refused):
        (files / "elsewhere.parquet").write_bytes((files / "more" / "0.parquet").read_bytes())
        (files / "linked").mkdir()
        (files / "linked" / "0.parquet").symlink_to(files / "elsewhere.parquet")
        answer = call("predict", "model.csv", "linked", "--out", "elsewhere.parquet")
        refused(answer, 2, "is DATA itself")
        (files / "elsewhere.parquet").unlink()
        (files / "linked" / "0.parquet").unlink()

    def test_model_and_data_of_predict(self, call, refused):
        predict = ("predict", "model.csv", "more.csv", "--out")
        refused(call(*predict, "model.csv"), 2, "--out model.csv is MODEL itself")
        refused(call(*predict, "more.csv"), 2, "--out more.csv is DATA itself")

    def test_a_hard_link(self, call, files, refused):
        os.link(files / "data.csv", files / "same.csv")
        refused(call(*FIT, "--out", "same.csv"), 2, "is DATA itself")
        (files / "same.csv").unlink()

    def test_links_and_pipes(self, call, files, refused):
        (files / "link.skops").symlink_to("data.csv")
        (files / "dangling.skops").symlink_to("nowhere")
        os.mkfifo(files / "pipe.skops")
        for out in ("link.skops", "dangling.skops", "pipe.skops"):
            refused(call(*FIT, "--out", out), 2, f"{out} exists and is not a regular file")
            assert Path(out).is_symlink() or Path(out).is_fifo()
            (files / out).unlink()


@pytest.mark.parametrize("out", ["p.csv", "p.csv.gz", "p.parquet", "p.xlsx"])
def test_a_planted_link_is_not_followed(call, files, out):
    call(*FIT, "--out", "m.skops")
    (files / "victim").write_text("keep me")
    (files / f".{out}.{os.getpid()}.unfinished").symlink_to("victim")
    answer = call("predict", "m.skops", "more.csv", "--out", out)
    assert answer.exit_code == 0, answer.output
    assert (files / "victim").read_text() == "keep me"
    assert (files / out).is_file()
    assert not (files / out).is_symlink()


@contextmanager
def full_disk():
    """Behave like a full disk: writing fails after some bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out.csv.gz"])
def test_a_full_disk(call, files, out):
    call(*FIT, "--out", "m.skops")
    (files / out).write_text("precious")
    for arguments in ([*FIT], ["predict", "m.skops", "more.csv", "--score", "raw"]):
        with full_disk():
            done = call(*arguments, "--out", out)
        assert done.exit_code == 1
        assert isinstance(done.exception, SystemExit)
        assert "Traceback" not in done.output
        assert done.output.splitlines()[-1].startswith(f"Error: {out} was not written, because")
        assert (files / out).read_text() == "precious"
        assert not list(files.glob(".*"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output(call, files):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*RUN, *FIT, "--out", "m.skops"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "reading data.csv: 100%",
        "Error: cannot write the output: No space left on device.",
    ]
    assert call("predict", "m.skops", "more.csv", "--out", "p.csv").exit_code == 0
    assert len(pd.read_csv("p.csv")) == 480


def test_python_m_primum(call, tmp_path):
    done = subprocess.run([*RUN, "--unknown"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: primum [OPTIONS] COMMAND")
    version = call("--version")
    assert version.exit_code == 0
    assert version.output.startswith("primum, version ")
