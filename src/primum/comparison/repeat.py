"""The call of ``primum.compare`` as Python code that repeats it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

INDENT = "    "
# How the table is read, unless the command says which file it was.
READ = 'pd.read_csv("your-table.csv")'
# Arguments that do not affect what is compared, but how it runs; the seed is always written.
OF_THE_RUN = ("random_state", "folder", "resume", "n_jobs", "time_budget", "left_out", "verbose")
# Arguments that are data, and have no short text.
DATA = ("X", "y", "X_unlabeled", "groups")


@dataclass(frozen=True)
class Call:
    """A call of ``primum.compare``: its arguments as they were passed, and their imports, as code.

    ``seed`` is the whole number that ``random_state`` stood for, ``read`` the expression that reads
    the table.
    """

    arguments: tuple[str, ...]
    imports: tuple[str, ...]
    is_table: bool
    seed: int = 0
    read: str = READ


def recorded_call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Call:
    """Return the call of a function with some arguments, without those that are the defaults."""
    is_table = arguments["target"] is not None
    written: list[str] = []
    objects: list[Any] = []
    for name, parameter in inspect.signature(function).parameters.items():
        value, default = arguments[name], parameter.default
        if name == "X":
            written.append("df" if is_table else "X")
        elif name in OF_THE_RUN or value is default or _is_equal(value, default):
            continue
        elif name == "y":
            written.append("y")
        elif name in DATA or (text := _text(value, objects)) is None:
            written.append(f"{name}={name}")
        elif name in ("methods", "baseline") and isinstance(value, Sequence) and text[0] in "[(":
            items = f",\n{INDENT * 2}".join(_text(one, []) or "" for one in value)
            written.append(f"{name}=[\n{INDENT * 2}{items},\n{INDENT}]")
        else:
            written.append(f"{name}={text}")
    return Call(tuple(written), tuple(sorted(set(_imports(objects)))), is_table)


def code_of(call: Call) -> str:
    """Return code that repeats a call."""
    first = "import pandas as pd\n" if call.is_table else ""
    lines = "".join(f"{line}\n" for line in call.imports)
    table = f"df = {call.read}\n" if call.is_table else ""
    arguments = f",\n{INDENT}".join([*call.arguments, f"random_state={call.seed}"])
    return (
        f"{first}import primum\n{lines}\n{table}"
        f"result = primum.compare(\n{INDENT}{arguments},\n)\n"
        'print(result.verdict)\nresult.to_html("report.html")'
    )


def _is_equal(value: Any, default: Any) -> bool:
    """Return whether an argument is its default; an empty list is an empty tuple."""
    if isinstance(default, tuple):
        return isinstance(value, list | tuple) and tuple(value) == default
    return (
        type(value) is type(default) and isinstance(value, str | int | float) and value == default
    )


def _text(value: Any, objects: list[Any]) -> str | None:
    """Return a value as code, or None if it has none; append what has to be imported."""
    if isinstance(value, np.generic):
        return repr(value.item())
    if value is None or isinstance(value, str | bool | int | float):
        return repr(value)
    if isinstance(value, dict):
        pairs = [(_text(key, objects), _text(one, objects)) for key, one in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return "{" + ", ".join(f"{key}: {one}" for key, one in pairs) + "}"
    if isinstance(value, list | tuple):
        texts = [_text(one, objects) for one in value]
        if any(text is None for text in texts):
            return None
        inner = ", ".join(filter(None, texts))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(texts) == 1 else f"({inner})"
    if callable(value) and hasattr(value, "__name__"):
        objects.append(value)
        return str(value.__name__)
    text = " ".join(repr(value).split())
    if (not hasattr(value, "get_params") and not hasattr(value, "split")) or text.startswith("<"):
        return None
    objects.append(value)
    return text


def _imports(objects: Sequence[Any]) -> list[str]:
    """Return import lines for functions, and for the classes of objects and of their parts."""
    lines = []
    for one in objects:
        has_parts = hasattr(one, "get_params") and not inspect.isclass(one)
        parts = one.get_params(deep=True).values() if has_parts else []
        for part in [one, *(value for value in parts if hasattr(value, "get_params"))]:
            named = part if hasattr(part, "__name__") else type(part)
            names = [name for name in named.__module__.split(".") if not name.startswith("_")]
            package = "primum" if names[:1] == ["primum"] else ".".join(names)
            # What was defined in a script or within a function cannot be imported.
            if package and "<locals>" not in named.__qualname__:
                lines.append(f"from {package} import {named.__name__}")
    return lines
