"""What the pages of the reference list, and what numpydoc says about it."""

import importlib
import inspect
import re
import subprocess
import sys

import pytest

OFF = {
    "ES01": "a sentence can say everything",
    "SA01": "not everything has relatives",
}


def public(module):
    """Return the public classes and functions of a module by name."""
    owner = importlib.import_module(module)
    found = {f"{module}.{name}": getattr(owner, name) for name in owner.__all__}
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isclass(thing) or inspect.isfunction(thing)
    }


def methods(name, kind):
    """Return the names of the public methods of a class that this library defines."""
    for member in dir(kind):
        held = inspect.getattr_static(kind, member)
        held = getattr(held, "fget", None) or getattr(held, "__func__", held)
        if (
            not member.startswith("_")
            and inspect.isfunction(held)
            and held.__module__.startswith("primum")
        ):
            yield f"{name}.{member}"


def methods_of(api):
    """Return the names of the public methods of all classes among some things."""
    kinds = {name: thing for name, thing in api.items() if inspect.isclass(thing)}
    return sorted(method for name, kind in kinds.items() for method in methods(name, kind))


def problems(name, off):
    """Return what numpydoc finds in the docstring of a name."""
    validation = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed")
    found = validation.validate(name)["errors"]
    return [f"{code}: {text}" for code, text in found if code not in off]


def documented_names(page):
    """Yield the full names of everything in a page of the reference."""
    module = ""
    for line in page.splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"(?:   |\.\. py:data:: )(\w+)$", line):
            yield f"{module}.{found[1]}"


def found(name):
    """Return what has a full name, such as ``primum.pages.plot_path``."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def functions(page, called):
    """Yield functions and methods in a page that users call, and classes with names in called."""
    for name in documented_names(page):
        value = found(name)
        if inspect.isfunction(value) or name.rpartition(".")[2] in called:
            yield value
        if inspect.isclass(value):
            members = (m for name, m in inspect.getmembers(value) if not name.startswith("_"))
            yield from (
                member
                for member in members
                if inspect.isfunction(member) and member.__module__.startswith("primum")
            )


FRESH = """
import sys, PACKAGE

kept = dict(vars(PACKAGE))
# Names of one package that one module defines are found by the same imports.
homes = {(name.rpartition(".")[0], getattr(eval(name), "__module__", name)): name for name in NAMES}
for name in homes.values():
    for loaded in [loaded for loaded in sys.modules if loaded.startswith("PACKAGE.")]:
        del sys.modules[loaded]
    for attribute in set(vars(PACKAGE)) - set(kept):
        delattr(PACKAGE, attribute)
    eval(name)
print(len(homes))
"""


def modules_found_after_one_import(package, names):
    """Use each name after others, and one of each module first; return how many modules."""
    code = FRESH.replace("PACKAGE", package).replace("NAMES", repr(names))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)
