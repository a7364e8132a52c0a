"""Rooms import only from rooms to their left."""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import primum
from primum._sklearn import LinearClassifierMixin

ROOMS = [
    "rows",
    "equations",
    "labellings",
    "solvers",
    "reading",
    "methods",
    "judging",
    "safe",
    "tables",
    "models",
    "pages",
    "comparison",
    "cli",
]
# What the names of `primum` need, but for comparisons; the other rooms may use optional libraries.
CORE = ROOMS[: ROOMS.index("tables")]
PACKAGE = Path(primum.__file__).parent
ROOT = Path(__file__).parent.parent
# The core files that know an optional library; they import it only where they use it.
KNOWS = {
    "rows/dask_rows.py": {"dask", "distributed"},
    "rows/parquet.py": {"pyarrow"},
    "reading/data.py": {"pandas"},
    "safe/label_rows.py": {"pandas"},
    "_progress.py": {"tqdm"},
}


@cache
def nodes(path):
    """Return all nodes of the syntax tree of a file."""
    return list(ast.walk(ast.parse(path.read_text())))


def imported_modules(path):
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


# What stands beside the rooms, to the left of them; `__init__` and `__main__` open the doors.
BESIDE = {
    "__init__",
    "__main__",
    "_files",
    "_lazy",
    "_plain",
    "_progress",
    "_sklearn",
    "_threads",
    "_typing",
    "_warnings",
    "_words",
    "simulated",
}


def imported_names(path):
    """Yield (module of this package, name) for every import of a file, and for ``primum.name``."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "primum":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            parts = (alias.name.rpartition(".") for alias in node.names)
            yield from ((module, name) for module, _, name in parts if module[:6] == "primum")
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "primum":
            yield "primum", node.attr


def room_of(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else None


def crossings():
    """Yield (file, its room, module, name) for every import from another room."""
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).parts[0]
        own = place if place in ROOMS else None
        for module, name in imported_names(path):
            full = f"{module}.{name}" if room_of(module) is None else module
            if module == "primum" and name in primum.__all__:  # the front door
                full = getattr(primum, name).__module__
            if room_of(full) not in (None, own):
                yield path.relative_to(PACKAGE).as_posix(), own, full, name


def test_rooms_import_only_to_the_left():
    right = [
        f"{file} imports {module}"
        for file, own, module, _ in crossings()
        if own is not None and ROOMS.index(room_of(module)) > ROOMS.index(own)
    ]
    assert right == []


def test_no_private_name_crosses_a_border():
    private_names = [
        f"{file} imports {name} from {module}"
        for file, _, module, name in crossings()
        if any(part.startswith("_") for part in (*module.split(".")[1:], name))
    ]
    assert private_names == []


def private_attributes(path):
    """Yield the private names that a file looks up in objects; subclasses inherit theirs."""
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and private(node.attr):
            if ast.unparse(node.value) not in ("self", "super()"):
                yield node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            yield from (
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and private(str(argument.value))
            )


def defined_names(path):
    """Yield all names that a file binds."""
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def test_private_attributes_belong_to_the_room_that_uses_them():
    """Those of other libraries are in one file (``os._exit`` is documented)."""
    files = {path: path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    own = {}
    for path, room in files.items():
        own.setdefault(room, {"_exit"}).update(defined_names(path))
    foreign = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path, room in files.items()
        for name in private_attributes(path)
        if name not in own[room]
    }
    assert {line for line in foreign if not line.startswith("_sklearn.py")} == set()


def test_what_stands_beside_the_rooms_imports_none_of_them():
    """Nothing else is exempt; the two doors import everything, when it is first used."""
    assert {path.stem for path in PACKAGE.glob("*.py")} == BESIDE
    doors = {"__init__.py", "__main__.py"}
    assert {file for file, own, *_ in crossings() if own is None} <= doors


def test_one_sentence_alone_knows_the_laboratory():
    """It says how to install it; its commands are found by their entry points."""
    named = re.compile(r"primum_lab\b|primum-lab\b|\blab/|\bbenchmarks/|\./lab\b|laborator")
    knowing = {
        path.relative_to(PACKAGE).as_posix(): named.findall(path.read_text())
        for path in PACKAGE.rglob("*.py")
        if named.search(path.read_text())
    }
    assert knowing == {"cli/main.py": ["laborator", "./lab"]}


# Modules of which the laboratory uses names that are not in the reference; the fewer, the better.
USED_BY_THE_LABORATORY = {
    # its folders of results, runs in parallel, options and pages are those of comparisons
    *("_files", "_progress", "cli._options", "comparison.plan", "comparison.run"),
    *("comparison.store", "pages.page", "pages.pictures"),
    # the paper's variants of methods, and how their scores are read
    *("_sklearn", "methods.kernels", "methods.least_squares.classifier"),
    *("methods.registry", "methods.svm.base", "reading.data", "reading.labels"),
    # the parts of a safe choice, which races show one by one, and what labels settle
    *("judging", "judging.difference", "judging.error_bounds", "judging.words"),
    *("safe.candidates", "safe.candidates.base", "safe.candidates.own", "safe.out_of_fold"),
    *("safe.rows", "safe.stack"),
    # small helpers
    *("_lazy", "_typing", "_warnings", "_words"),
}


def laboratory_imports():
    """Yield (module, name) for every import from this package in the laboratory."""
    for path in (ROOT / "lab" / "src").rglob("*.py"):
        yield from (pair for pair in imported_names(path) if pair[0].split(".")[0] == "primum")


def is_public(module, name):
    """Return whether a name is one of the reference, and imported from where that lists it."""
    return module in DOORS and name in importlib.import_module(module).__all__


DOORS = ("primum", "primum.pages", "primum.simulated")


def test_the_laboratory_uses_other_than_public_names_of_these_modules_only():
    internal = {module for module, name in laboratory_imports() if not is_public(module, name)}
    assert internal == {f"primum.{module}" for module in USED_BY_THE_LABORATORY}


def test_the_laboratory_imports_public_names_from_where_users_do():
    public = {name for module in DOORS for name in importlib.import_module(module).__all__}
    indirect = {
        f"{module}.{name}"
        for module, name in laboratory_imports()
        if name in public and not is_public(module, name)
    }
    assert indirect == set()


def test_every_room_is_known():
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders == set(ROOMS)


def test_core_imports_nothing_optional():
    allowed = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "primum"}
    core = [path for room in CORE for path in (PACKAGE / room).rglob("*.py")]
    for path in [*PACKAGE.glob("*.py"), *core]:
        known = KNOWS.get(path.relative_to(PACKAGE).as_posix(), set())
        for name in imported_modules(path):
            top = name.split(".")[0]
            assert top in allowed | known | sys.stdlib_module_names, f"{path} imports {name}"


def fresh(code):
    """Return what a fresh interpreter prints, line by line."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def others(modules):
    """Return those of some modules, listed in a line, that are of other libraries."""
    own = {"primum", *sys.stdlib_module_names}
    return {name for name in modules.split() if name.split(".")[0] not in own}


STEPS = """
import sys
print(*sys.modules)
import primum
print(*sys.modules)
primum.ICLSClassifier
print(*sys.modules)
print(primum.simulated.two_gaussians is not None, primum.solvers.__name__)
from primum.cli.main import primum as commands
print(*(commands.get_command(None, name).name for name in ("compare", "settle", "fit", "predict")))
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def steps():
    """What is loaded at first, with the package, with an estimator and, at last, with commands."""
    return fresh(STEPS)


def test_importing_the_package_loads_no_other_library(steps):
    before, package, *_ = steps
    assert others(package) == others(before)


def test_the_estimators_load_no_more_than_linear_models():
    """All names but those of comparisons: also the first use of a name, not only the import."""
    before, after = fresh(
        "import sys, sklearn.linear_model; print(*sys.modules); import primum; "
        "[getattr(primum, name) for name in primum.__all__ if name.lower()[:5] != 'compa']; "
        "print(*sys.modules)"
    )
    assert others(after) - others(before) == set()


def test_workers_of_a_cluster_import_no_scikit_learn():
    """Its import takes longer than a worker needs for a million rows."""
    loaded = fresh(
        "import sys, primum.rows.dask_rows, primum.equations.sampled, primum.equations.moments; "
        "print(*sys.modules)"
    )
    assert not {"sklearn", "joblib"} & set(loaded[0].split())


def test_using_one_estimator_imports_no_other(steps):
    modules = steps[2].split()
    loaded = [name for name in modules if name.startswith("primum.methods.")]
    families = {name.split(".")[2] for name in loaded}
    assert families <= {"base", "icls", "least_squares", "registry"}
    assert "primum.methods.icls.tuned" not in loaded
    assert "primum.safe" not in modules


@pytest.mark.parametrize("package", [primum, primum.methods])
def test_lazy_names_are_those_of_their_modules(package):
    for name in package.__all__:
        found = getattr(package, name)
        assert found.__name__ == name
        assert vars(package)[name] is found  # found once
    assert set(package.__all__) <= set(dir(package))


@pytest.mark.parametrize("package", [primum, primum.methods])
def test_unknown_names_are_refused(package):
    with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'Unknown'"):
        package.Unknown  # noqa: B018


def test_commands_load_no_experiments_but_those_that_run_them(steps):
    assert steps[4] == "compare settle fit predict"
    assert not [name for name in steps[5].split() if name.startswith("primum_lab")]


def test_rooms_are_attributes_of_the_package(steps):
    assert steps[3].split() == ["True", "primum.solvers"]


ALONE = """
import importlib, pkgutil, sys

OPTIONAL = {
    *("pandas", "pyarrow", "matplotlib", "dask", "distributed", "torch", "click", "skops", "tqdm")
}

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Refusing())
import primum
print(*(name for name in primum.__all__ if hasattr(primum, name)))
import primum.pages, primum.rows
for module in pkgutil.iter_modules(primum.rows.__path__, "primum.rows."):
    importlib.import_module(module.name)
from primum.cli import main
try:
    main()
except SystemExit as stop:
    print(stop.code)
"""


@pytest.fixture(scope="module")
def alone():
    """The names of the package, and what its command says, where nothing optional is installed.

    Where pandas is installed, scikit-learn itself loads it: refuse it, and all others.
    """
    return fresh(ALONE)


def test_importing_the_package_needs_no_heavy_library(alone):
    assert alone[0].split() == primum.__all__


def test_everything_but_the_command_line_imports_with_the_core_dependencies_alone(alone):
    assert "needs click: pip install 'primum[cli]'" in alone[1]


def test_one_file_knows_dask():
    knowing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for name in imported_modules(path)
        if name.split(".")[0] in ("dask", "distributed")
    }
    assert knowing == {"rows/dask_rows.py"}


def private(name):
    return name.startswith("_") and not name.startswith("__")


# Methods that an estimator inherits from scikit-learn but that are none of its public interface.
INHERITED = {
    name
    for base in (BaseEstimator, ClassifierMixin, RegressorMixin, LinearClassifierMixin)
    for name in dir(base)
    if private(name)
}


def private_sklearn_names(path):
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklearn":
            for alias in node.names:
                if any(map(private, [*node.module.split("."), alias.name])):
                    yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "sklearn" and any(map(private, parts)):
                    yield alias.name
        elif isinstance(node, ast.Attribute) and node.attr in INHERITED:
            yield node.attr


def test_one_file_knows_what_scikit_learn_keeps_private():
    found = {
        path.relative_to(PACKAGE).as_posix(): names
        for path in PACKAGE.rglob("*.py")
        if (names := sorted(set(private_sklearn_names(path))))
    }
    assert "_validate_params" in found.pop("_sklearn.py")
    assert found == {}


def test_the_names_of_the_package_are_the_public_ones():
    assert "compare" in dir(primum)
    assert not {"Any", "TYPE_CHECKING"} & set(dir(primum))
