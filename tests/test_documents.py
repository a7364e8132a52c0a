"""What the documents promise is run here."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale

from primum import ICLSClassifier

ROOT = Path(__file__).parent.parent


def test_readme_example_prints_what_the_readme_says(capsys):
    text = (ROOT / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    supervised, icls = (float(number) for number in re.findall(r"0\.\d+", printed)[:2])
    said = re.search(r"It prints (0\.\d+) for the supervised twin and (0\.\d+) for ICLS", text)
    assert f"{supervised:.2f}" == said[1]
    assert f"{icls:.2f}" == said[2]
    assert "(proven; tolerance 1e-08)" in printed


def test_readme_example_of_partial_labels_has_the_errors_it_says():
    text = (ROOT / "README.md").read_text()
    section = text.partition("## Say which classes a row may have")[2].partition("## ")[0]
    example = "\n".join(re.findall(r"^    (.*)$", section, flags=re.MULTILINE))
    names = {"np": np, "load_wine": load_wine, "scale": scale, "ICLSClassifier": ICLSClassifier}
    exec(compile(example, "README.md", "exec"), names)
    X, y, truth, masked = (names[name] for name in ("X", "y", "truth", "clf"))
    plain, unknown = ICLSClassifier().fit(X, y), y == -1
    said = re.search(
        r"an error of (0.\d+), ICLS without the mask (0.\d+), and with the\s+mask (0.\d+)", section
    )
    for clf, error in zip((plain.supervised_, plain, masked), said.groups(), strict=True):
        assert 1 - clf.score(X[unknown], truth[unknown]) == pytest.approx(float(error), abs=0.01)


@pytest.mark.slow
def test_readme_example_of_the_safe_choice_has_the_errors_it_says(capsys):
    text = (ROOT / "README.md").read_text()
    section = text.partition("## Gain from unlabelled rows")[2].partition("\n## ")[0]
    example = "\n".join(re.findall(r"^    (.*)$|^$", section, flags=re.MULTILINE))
    names = {}
    exec(compile(example, "README.md", "exec"), names)
    clf, unknown = names["clf"], names["y"] == -1
    assert str(clf.verdict_) in capsys.readouterr().out
    said = re.search(
        r"an error of (0.\d+) on the unlabelled\s+rows, the stack of supervised models (0.\d+) "
        r"and the safe stack (0.\d+)",
        section,
    )
    for model, error in zip((clf.baseline_, clf.supervised_, clf), said.groups(), strict=True):
        wrong = 1 - model.score(names["X"][unknown], names["truth"][unknown])
        assert wrong == pytest.approx(float(error), abs=0.01)


@pytest.mark.parametrize("page", ["scikit-learn.md", "comparing.md"])
def test_pages_print_what_their_comments_say(page, capsys):
    text = (ROOT / "docs" / page).read_text()
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, page, "exec"), namespace)
        said = re.findall(r"^\s*print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
        printed = capsys.readouterr().out.splitlines()
        assert len(printed) == len(said), block
        for line, promised in zip(printed, said, strict=True):
            if promised.startswith("0."):  # a few rows may go the other way on another machine
                assert float(line) == pytest.approx(float(promised), abs=0.02), block
            else:
                assert line == promised, block


def test_approximate_kernels_approach_the_exact_model_as_the_method_page_says(capsys):
    text = (ROOT / "docs" / "method.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(example, "method.md", "exec"), {})
    found = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    said = re.search(r"between the scores is about (\S+), (\S+) and (\S+)\. With", text)
    for number, promised in zip(found, map(float, said.groups()), strict=True):
        assert promised / 5 < number < promised * 5


def test_examples_of_the_page_on_experiments_run(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "experiments.md").read_text()
    monkeypatch.chdir(tmp_path)
    X, y = load_breast_cancer(return_X_y=True)
    partly = np.where(np.arange(len(y)) < 100, y, -1)
    own_data, partly_labelled = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    small = own_data.replace("repeats=20", "repeats=2").replace("jobs=-1", "jobs=1")
    small = small.replace("LogisticRegression()", "LogisticRegression(max_iter=1000)")
    exec(compile(small, "experiments.md", "exec"), {"X": X, "y": y})
    assert re.search(r"^Harm\(times_worse=\d, ", capsys.readouterr().out, flags=re.MULTILINE)
    assert (tmp_path / "out" / "report.html").exists()
    exec(
        compile(partly_labelled, "experiments.md", "exec"),
        {"X": X, "y": partly, "clf": ICLSClassifier()},
    )


def test_readme_names_existing_commands_files_and_classes():
    import primum

    text = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^    |`)make ([a-z-]+)", text, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / link).exists(), link
    for name in re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE):
        assert hasattr(primum, name)


def test_demo_prints_a_verdict_and_writes_a_report(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), "--quick", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    for words in ("$ primum compare", "tuned baseline", "EM-LDA", "Report: out/report.html"):
        assert words in done.stdout
    share = re.search(r"hidden: (\d+\.\d)% of \d+ predictions are right", done.stdout)
    assert float(share[1]) > 80
    page = (tmp_path / "out" / "report.html").read_text()
    assert "pixel 3,3" in page


def test_cluster_example_prints_its_certificate():
    pytest.importorskip("distributed")
    command = [sys.executable, str(ROOT / "examples" / "cluster.py"), "--rows", "30000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert "(proven; tolerance 1e-08)" in done.stdout, done.stderr
    assert re.search(r"predicted as the second class: 0\.\d+ of 30000 rows", done.stdout)


def test_ci_runs_make_test():
    assert "make test" in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_lowest_versions_are_those_of_the_project():
    command = [sys.executable, str(ROOT / ".ci" / "oldest.py")]
    lowest = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for requirement in project["dependencies"]:
        assert requirement.replace(">=", "==") in lowest
    assert all("==" in one or "<" in one for one in lowest)


def test_all_public_names_are_documented():
    import primum

    for name in primum.__all__:
        assert getattr(primum, name).__doc__
