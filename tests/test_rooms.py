"""Rooms import only from rooms to their left."""

import ast
from pathlib import Path

import primum

ROOMS = [
    "datasets",
    "rows",
    "statistics",
    "problems",
    "solvers",
    "estimators",
    "evaluation",
    "report",
    "cli",
]
PACKAGE = Path(primum.__file__).parent


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "primum" and len(parts) > 1 and parts[1] in ROOMS:
                yield parts[1]


def test_rooms_import_only_to_the_left():
    walls = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for room in ROOMS
        for path in (PACKAGE / room).rglob("*.py")
        for other in imported_rooms(path)
        if ROOMS.index(other) > ROOMS.index(room)
    ]
    assert walls == []


def test_every_room_is_known():
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders <= set(ROOMS)


def test_core_imports_nothing_optional():
    allowed = {"numpy", "scipy", "sklearn", "threadpoolctl", "primum"}
    core = [path for room in ROOMS[1:6] for path in (PACKAGE / room).rglob("*.py")]
    for path in [PACKAGE / "__init__.py", *core]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                top = node.module.split(".")[0]
                assert top in allowed or top in __import__("sys").stdlib_module_names, path
