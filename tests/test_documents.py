"""What the documents promise is run here."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

ROOT = Path(__file__).parent.parent


PAGES = {path.name: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}
# Its test is in lab/tests/pages, and blocks with these words have tests below.
APART = {"experiments.md"}
SEPARATELY = ("import torch", "Nystroem(gamma")


def python_blocks(text):
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def run_blocks(page, blocks, capsys):
    """Run the blocks of a page, one after the other, and compare what they print."""
    namespace = {}
    for block in blocks:
        exec(compile(block, page, "exec"), namespace)
        said = re.findall(r"^\s*print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
        printed = capsys.readouterr().out.splitlines()
        assert len(printed) == len(said), block
        for line, promised in zip(printed, said, strict=True):
            if re.fullmatch(r"-?\d+(\.\d+)?", promised) and not promised.isdigit():
                # A few rows may go the other way on another machine.
                assert float(line) == pytest.approx(float(promised), abs=0.02), block
            else:
                assert line == promised, block


# They take seconds for safe stacks and comparisons with their defaults.
SLOW = {"index.md", "comparing.md", "quickstart.md"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW))
        for name in PAGES
        if name not in APART
    ],
)
def test_pages_print_what_their_comments_say(page, capsys):
    blocks = python_blocks(PAGES[page])
    run_blocks(page, [b for b in blocks if not any(word in b for word in SEPARATELY)], capsys)


def test_block_for_the_gpu_runs(capsys):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available() or os.environ.get("SCIPY_ARRAY_API") != "1":
        pytest.skip("needs a GPU and SCIPY_ARRAY_API=1")
    run_blocks("large-data.md", python_blocks(PAGES["large-data.md"]), capsys)


def without_gap(text):
    """Return the words of a certificate without its gap, whose digits rounding decides."""
    return re.sub(r"\S+e-\d\d \(", "(", text).split()


def test_certificate_page_quotes_the_certificate():
    page = PAGES["certificate.md"]
    namespace = {}
    exec(compile(python_blocks(page)[0], "certificate.md", "exec"), namespace)
    quoted = " ".join(re.findall(r"^> (.*)$", page, flags=re.MULTILINE))
    assert without_gap(quoted) == without_gap(str(namespace["certificate"]))


@pytest.mark.slow
def test_readme_prints_a_verdict(capsys):
    block, _ = python_blocks((ROOT / "README.md").read_text())
    X, truth = load_breast_cancer(return_X_y=True)
    names = {"X": X, "y": np.where(np.arange(len(truth)) < 40, truth, -1)}
    exec(compile(block, "README.md", "exec"), names)
    assert str(names["clf"].verdict_) in capsys.readouterr().out


def test_readme_shows_icls_and_quotes_its_certificate(capsys):
    page = (ROOT / "README.md").read_text()
    _, block = python_blocks(page)
    assert len([line for line in block.splitlines() if line]) == 6
    exec(compile(block, "README.md", "exec"), {})
    quoted = " ".join(re.findall(r"^> (.*)$", page, flags=re.MULTILINE))
    assert without_gap(quoted) == without_gap(capsys.readouterr().out)


def test_readme_names_the_commands_that_need_only_make_together():
    page, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    lines = [
        line.split("#")[0].split() for line in page.splitlines() if line.startswith("    make")
    ]
    assert lines == [["make", "demo"], ["make", "test"]]
    assert re.search(r"^    make demo .*\n    make test ", page, flags=re.MULTILINE)
    assert re.search(r"^demo: \$\(READY\).*\n\t.* examples/demo.py$", makefile, flags=re.MULTILINE)
    demo = (ROOT / "examples" / "demo.py").read_text()
    assert 'run(\n        *("compare"' in demo
    assert 'run("settle"' in demo


def test_approximate_kernels_approach_the_exact_model_as_their_page_says(capsys):
    text = PAGES["kernels.md"]
    data, example = python_blocks(text)[:2]
    namespace = {}
    exec(compile(data, "kernels.md", "exec"), namespace)
    capsys.readouterr()
    exec(compile(example, "kernels.md", "exec"), namespace)
    found = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    said = re.search(r"between the scores is about (\S+), (\S+) and (\S+)\.\s", text)
    for number, promised in zip(found, map(float, said.groups()), strict=True):
        assert promised / 5 < number < promised * 5


def test_readme_names_existing_commands_and_files():
    text = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^    |`)make ([a-z-]+)", text, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    for link in re.findall(r"\]\(([^)#:]+)", text):
        assert (ROOT / link).exists(), link


def test_readme_shows_the_figures_of_the_race():
    path = ROOT / "lab" / "results" / "safe-choice" / "tables" / "safe-choice-error.md"
    lines = (re.split(r"\s*\|\s*", line.strip("| ")) for line in path.read_text().splitlines())
    names, *rows = [line for line in lines if line[0] != "---"]
    figures = {row[0]: dict(zip(names, row, strict=True)) for row in rows}
    shown = {
        "`SafeClassifier`": "safe stack",
        "`SafeClassifier` without unlabelled rows": "supervised stack",
        "kernel deformed by a graph of all rows": "kernel",
        "transductive SVM": "tsvm",
        "label spreading": "spreading",
    }
    readme = (ROOT / "README.md").read_text()
    for words, name in shown.items():
        of = (figures[row][name] for row in ("Mean difference", "Largest mean loss"))
        line = " | ".join((words, *of, figures["Better / worse"][name]))
        assert f"| {line} |" in readme


def anchor(heading):
    """Return the anchor that GitHub and MyST give to a heading."""
    plain = re.sub(r"[`*]|\]\([^)]*\)", "", heading).lower().replace(" ", "-")
    return re.sub(r"[^\w-]", "", plain)


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_resolve(page):
    for link in re.findall(r"\]\(([^)]+)\)", PAGES[page]):
        if "://" in link:
            continue
        path, _, part = re.sub(r"\s+", "", link).partition("#")
        target = ROOT / "docs" / (path or page)
        assert target.exists(), link
        if part:
            headings = re.findall(r"^#{1,3} (.*)$", target.read_text(), flags=re.MULTILINE)
            assert part in map(anchor, headings), link


@pytest.mark.parametrize("page", [page for page in PAGES if page != "index.md"])
def test_every_page_is_in_a_table_of_contents(page):
    trees = re.findall(r"```\{toctree\}.*?```", "".join(PAGES.values()), flags=re.DOTALL)
    assert any(page.removesuffix(".md") in tree.split() for tree in trees)


def test_pages_show_a_report_in_small_pictures():
    for text in ((ROOT / "README.md").read_text(), PAGES["comparing.md"]):
        assert "images/report.png)" in text
    for path in (ROOT / "docs" / "images").iterdir():
        assert path.stat().st_size < 150_000, path.name


def test_readme_fits_two_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100


# Like the examples of the gallery, the last two are slow; tests/cli and tests/rows test the same.
@pytest.mark.slow
def test_demo_prints_a_verdict_and_writes_a_report(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), "--quick", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for words in ("$ primum compare", "tuned baseline", "EM-LDA", "Report: out/report.html"):
        assert words in done.stdout
    for words in ("$ primum settle out", "10 new labels", "15 new labels", "Model: out/model"):
        assert words in done.stdout
    share = re.search(r"hidden: (\d+\.\d)% of \d+ predictions are right", done.stdout)
    assert float(share[1]) > 80
    page = (tmp_path / "out" / "report.html").read_text()
    assert "pixel 3,3" in page


@pytest.mark.slow
def test_cluster_example_prints_its_certificate():
    pytest.importorskip("distributed")
    command = [sys.executable, str(ROOT / "examples" / "cluster.py"), "--rows", "30000"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "(proven; tolerance 1." in done.stdout, done.stderr
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
