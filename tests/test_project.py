"""The files around the package agree with it: versions, changelog, workflows, templates.

Its numbers say what they are.
"""

import ast
import itertools
import re
import runpy
import subprocess
import tomllib
import zipfile
from collections import Counter
from pathlib import Path

import pytest
import yaml

import primum

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
FRAGMENTS = [path for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def read_yaml(path):
    return yaml.safe_load(path.read_text())


def test_the_version_is_the_same_everywhere():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert newest[1] == primum.__version__
    assert read_yaml(ROOT / "CITATION.cff")["version"] == primum.__version__


def test_the_version_is_one_of_a_release():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|(a|b|rc)\d+)?", primum.__version__)


def test_releases_are_dated_alike():
    dates = dict(
        re.findall(
            r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$",
            (ROOT / "CHANGELOG.md").read_text(),
            flags=re.MULTILINE,
        )
    )
    cited = read_yaml(ROOT / "CITATION.cff")
    assert dates[cited["version"]] == str(cited["date-released"])


def test_new_releases_are_written_above_the_newest_one():
    text = (ROOT / "CHANGELOG.md").read_text()
    start = PYPROJECT["tool"]["towncrier"]["start_string"]
    assert text.count(start) == 1
    assert text.index(start) < text.index("\n## ")


def malformed(path):
    """Return what is wrong with a changelog fragment, or None."""
    kinds = "|".join(kind["directory"] for kind in PYPROJECT["tool"]["towncrier"]["type"])
    if not re.fullmatch(rf"(\d+|\+[a-z0-9-]+)\.({kinds})\.md", path.name):
        return f"{path.name} is not named NUMBER.KIND.md or +SHORT-NAME.KIND.md"
    text = path.read_text().strip()
    if not text.endswith((".", ")")) or text.startswith(("#", "-", "*")):
        return f"{path.name} is not made of sentences"
    return None


def test_changelog_fragments_are_well_formed():
    assert [wrong for path in FRAGMENTS if (wrong := malformed(path))] == []


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("12.fixed.md", "An error is named.\n", None),
        ("+excel.added.md", "`primum predict` reads Excel files.\n", None),
        ("excel.added.md", "It reads Excel files.\n", "is not named"),
        ("12.feature.md", "It reads Excel files.\n", "is not named"),
        ("12.added.md", "- It reads Excel files.\n", "is not made of sentences"),
        ("12.added.md", "\n", "is not made of sentences"),
    ],
)
def test_malformed_fragments_are_found(tmp_path, name, text, problem):
    (tmp_path / name).write_text(text)
    found = malformed(tmp_path / name)
    assert found is None if problem is None else problem in found


def test_the_kinds_of_fragments_are_explained():
    text = (ROOT / "changes" / "README.md").read_text()
    kinds = [kind["directory"] for kind in PYPROJECT["tool"]["towncrier"]["type"]]
    assert re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE) == kinds


def commands_of(workflow):
    """Yield the commands of a workflow, once for each value of its matrix."""
    for job in workflow["jobs"].values():
        rows = job.get("strategy", {}).get("matrix", {}).get("include", [{}])
        for step in job.get("steps", []):
            for row in rows:
                command = step.get("run", "")
                for key, value in row.items():
                    command = command.replace(f"${{{{ matrix.{key} }}}}", str(value))
                yield command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_only_targets_that_exist(path):
    called = {
        target
        for command in commands_of(read_yaml(path))
        for target in re.findall(r"\bmake ([^\s;&|]+)", command)
    }
    assert called
    assert called <= TARGETS


def test_hosted_tests_cover_the_supported_versions():
    """Every Python of the classifiers is tested, the lowest versions of dependencies too."""
    (ci,) = (read_yaml(path) for path in WORKFLOWS if path.name == "ci.yml")
    rows = ci["jobs"]["test"]["strategy"]["matrix"]["include"]
    newest = {row["python"] for row in rows if row["target"] == "test"}
    pattern = r"Programming Language :: Python :: (3\.\d+)"
    named = {
        found[1]
        for one in PYPROJECT["project"]["classifiers"]
        if (found := re.fullmatch(pattern, one))
    }
    assert named <= newest
    lowest = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert {"python": lowest, "target": "test-oldest"} in rows


def test_make_explains_every_command():
    makefile = (ROOT / "Makefile").read_text()
    (listed,) = re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)
    assert set(listed.split()) == TARGETS
    explained = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True)
    assert set(re.findall(r"^  make ([a-z-]+) +\S", explained.stdout, flags=re.M)) == TARGETS


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_issue_templates_have_what_the_platform_needs(path):
    template = read_yaml(path)
    if path.name == "config.yml":
        assert template["blank_issues_enabled"] in (True, False)
        return
    assert template["name"]
    assert template["description"]
    asked = [part for part in template["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked) > 0
    assert all(part["attributes"]["label"] for part in asked)


PAGES = ["CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "changes/README.md"]


@pytest.mark.parametrize("page", [*PAGES, ".github/PULL_REQUEST_TEMPLATE.md"])
def test_pages_name_existing_commands_and_files(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"(?:^    |`)make ([a-z-]+)", text, flags=re.MULTILINE):
        assert target in TARGETS
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / page).parent / link).exists(), link


def test_the_map_for_contributors_names_existing_files():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`([A-Za-z_./-]+\.(?:py|md|cff|toml)|[a-z_]+/[a-z_/]+)`", text)
    places = [ROOT, ROOT / "src", ROOT / "src" / "primum"]
    assert len(named) > 20
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def wheel_of_sources(folder, *, without=None, extra=()):
    """A wheel of the sources as they are, less one file and with some more."""
    sources = ROOT / "src"
    names = [path.relative_to(sources).as_posix() for path in sources.rglob("*.py")]
    names += ["primum/py.typed", "primum-0.dist-info/licenses/LICENSE", *extra]
    with zipfile.ZipFile(folder / "primum-0-py3-none-any.whl", "w") as wheel:
        for name in names:
            if name != without:
                wheel.writestr(name, "")
    return Path(wheel.filename)


def test_a_complete_wheel_passes_the_check(tmp_path):
    check_wheel = runpy.run_path(str(ROOT / ".ci" / "check_dist.py"))["check_wheel"]
    check_wheel(wheel_of_sources(tmp_path))


@pytest.mark.parametrize(
    ("without", "extra", "problem"),
    [
        ("primum/py.typed", (), "lacks primum/py.typed"),
        ("primum/cli/fit.py", (), r"lacks \['primum/cli/fit.py'\]"),
        ("primum-0.dist-info/licenses/LICENSE", (), "lacks LICENSE"),
        (None, ["primum/datasets/iris.csv"], "tests or data: .*iris.csv"),
        (None, ["primum/test_rooms.py"], "tests or data: .*test_rooms.py"),
        (None, ["tests/reference.py"], "tests or data: .*reference.py"),
        (None, ["primum/published/table.csv"], "tests or data: .*table.csv"),
    ],
)
def test_wheels_with_too_little_or_too_much_are_refused(tmp_path, without, extra, problem):
    check_wheel = runpy.run_path(str(ROOT / ".ci" / "check_dist.py"))["check_wheel"]
    with pytest.raises(SystemExit, match=problem):
        check_wheel(wheel_of_sources(tmp_path, without=without, extra=extra))


def module_numbers():
    """Yield (file, name, whether a comment is above or beside) of the constants with numbers."""
    for path in sorted(Path(primum.__file__).parent.rglob("*.py")):
        text = path.read_text()
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
                continue
            values = [each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
            if not any(type(value) in (int, float) for value in values):
                continue
            # Constants on consecutive lines may share the comment above them.
            group = itertools.takewhile(str.strip, reversed(lines[: node.lineno - 1]))
            beside = "  # " in lines[node.end_lineno - 1]
            commented = beside or any(line.startswith("# ") for line in group)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [each.id for each in ast.walk(targets[0]) if isinstance(each, ast.Name)]
            yield from ((path, name, commented) for name in names if name.isupper())


def test_every_number_says_what_it_is():
    assert [f"{path}: {name}" for path, name, commented in module_numbers() if not commented] == []


def test_a_number_has_one_home():
    names = [name for _, name, _ in module_numbers()]
    assert sorted(name for name, count in Counter(names).items() if count > 1) == []
