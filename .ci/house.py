"""Print the size of the house, its helpers, and a reader's walks: ``python .ci/house.py``.

A helper is a function that is used once and that no test names: its reader leaves a page for
nothing, unless it has a page of its own to tell. Neither what the API page lists nor functions
within functions count. ``tests/test_house.py`` limits them in the rooms of the core.

A walk is what a call visits: its files and functions, and calls from a room into one to its right,
callbacks included. There should be none but two kinds, which are counted: a pass over rows calls
the function that it is given, and whoever is given an estimator calls its methods. Parameters and
results that are annotated ``Any`` but are always of classes of the package should have their types.
"""

import ast
import io
import re
import statistics
import sys
import tokenize
import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import primum

PACKAGE = Path(primum.__file__).parent
ROOMS = tuple(
    "rows equations labellings solvers reading methods judging safe tables models pages "  # noqa: SIM905
    "comparison cli".split()
)
CORE = ROOMS[: ROOMS.index("methods") + 1]
# Written within a function and read with it.
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef
IMPORT = ast.Import | ast.ImportFrom


def lines_of(nodes):
    """Return the numbers of all lines of some nodes."""
    return {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}


def docstrings(tree):
    """Yield the nodes of all docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            yield node.body[0]


def code_lines(path):
    """Return the numbers of the lines of code: no docstrings, comments or blank lines."""
    text = path.read_text()
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    found = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in layout | {tokenize.ENDMARKER}:
            found.update(range(token.start[0], token.end[0] + 1))
    return found - lines_of(docstrings(ast.parse(text)))


def sizes():
    """Print lines, files, imports and the lengths of functions."""
    code, imports, lengths = Counter(), 0, []
    for path in PACKAGE.rglob("*.py"):
        tree, own = ast.parse(path.read_text()), code_lines(path)
        code[path.relative_to(PACKAGE).parts[0]] += len(own)
        imports += len(lines_of(node for node in ast.walk(tree) if isinstance(node, IMPORT)))
        lengths += [
            len(own & lines_of(node.body))
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
        ]
    long = np.quantile(lengths, 0.9)
    print(f"{sum(code.values())} lines of code, {imports} of them imports,")
    print(f"in {len(list(PACKAGE.rglob('*.py')))} files;")
    print(f"functions: median {statistics.median(lengths):g} lines, 90 % at most {long:g}")
    print(", ".join(f"{room} {code[room]}" for room in ROOMS))


def functions_in(tree):
    """Yield (class or None, function) for the functions and methods of a module."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield None, node
        elif isinstance(node, ast.ClassDef):
            yield from ((node, part) for part in node.body if isinstance(part, ast.FunctionDef))


def helpers(rooms=CORE):
    """Return (place, lines) of the functions that are used once and that no test names."""
    root = PACKAGE.parents[1]
    listed = set(re.findall(r"\w+", (root / "docs/api.rst").read_text()))
    tests = [*root.glob("tests/**/*.py"), *root.glob("lab/tests/**/*.py")]
    tested = {name for path in tests for name in re.findall(r"\w+", path.read_text())}
    uses, defined = Counter(), defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            uses[getattr(node, "id", None) or getattr(node, "attr", None)] += 1
        for owner, function in functions_in(tree):
            defined[function.name].append((path.relative_to(PACKAGE), owner, function))
    found = []
    for name, places in defined.items():
        path, owner, function = places[0]
        is_public = owner is not None and owner.name in listed and name[0] != "_"
        if len(places) > 1 or uses[name] != 1 or name in tested | listed or is_public:
            continue
        if path.parts[0] in rooms:
            length = function.end_lineno - function.lineno + 1
            found.append((f"{path.as_posix()}:{function.lineno} {name}", length))
    return sorted(found)


def too_long(rooms=CORE, most_lines=110, most_lines_of_files=800):
    """Return (place, lines) of long functions, docstrings not counted, and of long files."""
    found = []
    for path in sorted(path for room in rooms for path in (PACKAGE / room).rglob("*.py")):
        text, place = path.read_text(), path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(text)
        parts = [(place, len(text.splitlines()), most_lines_of_files)]
        for _, function in functions_in(tree):
            of_docstring = len(lines_of(docstrings(ast.Module([function], []))))
            length = function.end_lineno - function.lineno + 1 - of_docstring
            parts.append((f"{place}:{function.lineno} {function.name}", length, most_lines))
        found += [(place, length) for place, length, most in parts if length > most]
    return found


@cache
def own_file(code):
    """Return the file of a function below the package, or None; importing is no call."""
    path = Path(code.co_filename)
    unread = ("<module>", "__getattr__", *COMPREHENSIONS)
    if code.co_name in unread or PACKAGE not in path.parents or path.suffix != ".py":
        return None  # templates of pages are in the package, too
    return path.relative_to(PACKAGE).as_posix()


@cache
def place(file):
    """Return the number of a room from the left; what is beside the rooms is left of all."""
    room = file.split("/")[0]
    return ROOMS.index(room) if room in ROOMS else -1


@cache
def hints_of(file):
    """Return the annotations with Any of a file: {line of a function: {parameter: annotation}}."""
    found = {}
    for node in ast.walk(ast.parse(Path(file).read_text())):
        if isinstance(node, ast.FunctionDef):
            parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            hints = {one.arg: one.annotation for one in parameters} | {"return": node.returns}
            first = min(one.lineno for one in (node, *node.decorator_list))
            found[first] = {name: hint for name, hint in hints.items() if says_any(hint)}
    return found


def says_any(hint):
    """Return whether Any is part of an annotation."""
    return hint is not None and any(getattr(n, "id", "") == "Any" for n in ast.walk(hint))


def at_any(hint, value):
    """Yield what a value has where its annotation says Any; None says nothing."""
    if isinstance(hint, ast.Name):
        yield from [value] if hint.id == "Any" and value is not None else []
    elif isinstance(hint, ast.BinOp):
        yield from (one for side in (hint.left, hint.right) for one in at_any(side, value))
    elif isinstance(hint, ast.Subscript):
        inner = hint.slice.elts if isinstance(hint.slice, ast.Tuple) else [hint.slice]
        rows = value.items() if isinstance(value, Mapping) else []
        if isinstance(value, list | tuple | set):
            each = isinstance(value, tuple) and len(inner) == len(value) > 1
            rows = [value] if each else [[one] for one in value]
        yield from (one for row in rows for pair in zip(inner, row) for one in at_any(*pair))  # noqa: B905


def is_own(value):
    """Return whether the class of a value is one of the package, and no estimator."""
    return type(value).__module__.startswith("primum") and not isinstance(value, BaseEstimator)


# By file, function and parameter: whether what was given there is of an own class.
OWN_AT_ANY = defaultdict(set)


class Walk:
    """What is called: files, functions, and calls from a room into one to its right."""

    def __init__(self):
        self.files, self.functions = set(), set()
        self.in_passes, self.of_estimators = set(), set()
        self.wrong = Counter()

    def __enter__(self):
        sys.setprofile(self.visit)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def note_types(self, frame, event, result):
        """Note the types of parameters, or of the result, that are annotated with Any."""
        hints = hints_of(frame.f_code.co_filename).get(frame.f_code.co_firstlineno, {})
        for name, hint in hints.items():
            if (name == "return") == (event == "return"):
                value = result if name == "return" else frame.f_locals.get(name)
                place = own_file(frame.f_code), frame.f_code.co_name, name
                OWN_AT_ANY[place].update(map(is_own, at_any(hint, value)))

    def visit(self, frame, event, result):
        """Count a call; this is a profiler of ``sys.setprofile``."""
        if event not in ("call", "return") or (file := own_file(frame.f_code)) is None:
            return
        self.note_types(frame, event, result)
        if event == "return":
            return
        self.files.add(file)
        self.functions.add(frame.f_code)
        caller = frame.f_back
        while caller is not None and own_file(caller.f_code) is None:
            caller = caller.f_back
        if caller is None or place(file) <= place(own_file(caller.f_code)):
            return
        if own_file(caller.f_code).startswith("rows/"):
            self.in_passes.add(frame.f_code)
        elif isinstance(frame.f_locals.get("self"), BaseEstimator):
            self.of_estimators.add(frame.f_code)
        else:
            self.wrong[f"{own_file(caller.f_code)} -> {file} ({frame.f_code.co_name})"] += 1

    def report(self, what):
        """Print the walk, and where it goes wrong."""
        print(f"{what}: {len(self.files)} files, {len(self.functions)} functions;")
        print(
            f"    {len(self.in_passes)} of them given to passes over rows, and "
            f"{len(self.of_estimators)} methods of estimators that were given"
        )
        for call, times in self.wrong.most_common():
            print(f"    to the right {times} times: {call}")


def two_classes(n_rows=200, n_labeled=30, seed=0):
    """Return rows of two classes, few of them labelled."""
    X, y = primum.simulated.two_gaussians(n_rows, 4, random_state=seed)
    return X, np.where(np.arange(n_rows) < n_labeled, y, -1)


def main():
    """Print everything."""
    sizes()
    found = helpers()
    print(f"{len(found)} helpers in {', '.join(CORE)}: {sum(n for _, n in found)} lines")
    for place, length in [*found, *too_long()]:
        print(f"    {place}: {length} lines")
    X, y = two_classes()
    warnings.simplefilter("ignore")
    for what, call in (
        ("ICLSClassifier().fit", lambda: primum.ICLSClassifier().fit(X, y)),
        ("SafeClassifier().fit", lambda: primum.SafeClassifier().fit(X, y)),
        ("primum compare, one method", lambda: compare_in_one_process(X, y)),
    ):
        call()  # so that the walk has no imports
        with Walk() as walk:
            call()
        walk.report(what)
    always_own = [place for place, own in OWN_AT_ANY.items() if own == {True}]
    print(f"{len(OWN_AT_ANY)} parameters and results with Any; of own classes: {len(always_own)}")
    for place in always_own:
        print("    " + ": ".join(place))


def compare_in_one_process(X, y):
    """Run ``primum compare`` on a table of these rows."""
    import tempfile

    import pandas as pd
    from click.testing import CliRunner

    from primum.cli.main import primum as command

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        frame = pd.DataFrame(X, columns=list("abcd")).assign(
            kind=[["no", "yes"][label] if label >= 0 else None for label in y]
        )
        frame.to_csv(table, index=False)
        arguments = ["compare", table, "--target", "kind", "--methods", "self-learning"]
        arguments += ["--jobs", "1", "--out", Path(folder) / "report"]
        done = CliRunner().invoke(command, list(map(str, arguments)))
        assert done.exit_code == 0, done.output


if __name__ == "__main__":
    main()
