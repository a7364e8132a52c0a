"""Bring the listings of all methods up to date with the registry: ``python docs/make_listings.py``.

They are the names that type checkers read (``primum/methods/__init__.py``), the reference
(``docs/api.rst``), and the tables of ``docs/methods.md``, where a method that has no row yet gets
one with the first sentence of its docstring. Write the other cells by hand.
"""

import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import primum
from primum.methods import registry
from primum.methods.registry import MethodEntry

ROOT = Path(__file__).parent.parent
SECTION = """{title}
{line}

.. autosummary::
   :toctree: generated
   :nosignatures:

"""
# The section of the reference before which new families are listed.
AFTER_METHODS = "Use with scikit-learn\n"


def imports(text: str, methods: list[MethodEntry]) -> str:
    """Return ``primum/methods/__init__.py`` with the imports of type checkers."""
    homes = {method.name: method.module for method in methods} | registry.WARNINGS
    lines = [
        f"    from primum.methods.{home} import {name} as {name}\n"
        for home, name in sorted((home, name) for name, home in homes.items())
    ]
    start, end = text.index("    from primum.methods."), text.index("else:")
    return text[:start] + "".join(lines) + text[end:]


def reference(text: str, methods: list[MethodEntry]) -> str:
    """Return ``docs/api.rst`` with all methods, each in the section of its family."""
    for family, listed in groupby(methods, key=lambda method: method.family):
        names = [method.name for method in listed]
        heading = SECTION.format(title=family, line="-" * len(family))
        if heading not in text:
            text = text.replace(AFTER_METHODS, f"{heading}\n{AFTER_METHODS}")
        before, _, after = text.partition(heading)
        entries, gap, rest = after.partition("\n\n") if after[:1] != "\n" else ("", "\n", after)
        others = [name for name in entries.split() if name not in names]
        text = before + heading + "\n".join(f"   {name}" for name in names + others) + gap + rest
    return text


def page(text: str, methods: list[MethodEntry]) -> str:
    """Return ``docs/methods.md`` with a row for every method."""
    for method in methods:
        title = "## Supervised twins" if method.supervised else "## Semi-supervised methods"
        before, _, after = text.partition(title)
        table = re.search(r"(\|.*\n)+", after)
        assert table is not None, f"there is no table below {title}"
        if f"`{method.name}`" not in table[0]:
            n_cells = table[0].splitlines()[0].count("|") - 1
            summary = (method.load().__doc__ or "").partition("\n")[0]
            row = f"| `{method.name}` | {summary} |" + " |" * (n_cells - 2) + "\n"
            text = before + title + after[: table.end()] + row + after[table.end() :]
    return text


LISTINGS: dict[Path, Callable[[str, list[MethodEntry]], str]] = {
    Path(primum.__file__).parent / "methods" / "__init__.py": imports,
    ROOT / "docs" / "api.rst": reference,
    ROOT / "docs" / "methods.md": page,
}

if __name__ == "__main__":
    for path, listed in LISTINGS.items():
        path.write_text(listed(path.read_text(), registry.METHODS))
