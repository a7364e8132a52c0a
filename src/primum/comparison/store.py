"""A results folder that survives a killed run and holds the results of one configuration only.

``journal.jsonl`` has one line per finished unit of work: a checksum, and the unit's rows with a
checksum of their configuration. Lines are appended by one process, which holds the lock of the
folder, and flushed to disk, so a kill can truncate only the last line; that line is then dropped
and its unit computed again. The lock is an operating-system lock on an open file, which is released
when the process that holds it ends for any reason, so a lock file left behind by a killed run does
not block the next one.

``config.json`` records what was run, on which data and with which versions; a folder is never
continued with a different configuration. Further data sets may be added, and are recorded. Data are
identified by a checksum of their values; an estimator by its class and all of its parameters; a
function by its name, its source and the values it captures. Code of installed packages is
identified by name only, because the versions are recorded with the results; the user's own code
also by its source, which must be in a file or a notebook. Global variables that the user's code
reads are not covered. A package that was renamed states its earlier name as ``__former_name__``, so
that its results can be continued.
"""

import functools
import hashlib
import inspect
import json
import math
import os
import platform
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import FunctionType, MethodType
from typing import IO, Any, Self

import numpy as np

from primum._files import open_itself, write_file
from primum._typing import AnyArray, Index


class FolderLock:
    """The lock of a folder, held from construction to ``release``."""

    def __init__(self, folder: Path) -> None:
        self._file = open_itself(folder / "run.lock", "a+")
        try:
            _lock(self._file)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read().strip()
            self._file.close()
            raise ResultsError(
                f"Another run (process {holder}) is writing to {folder}: wait until it ends, or "
                f"{OTHER_FOLDER}."
            ) from None
        except OSError:
            self._file.close()
            raise
        self._file.seek(0)
        self._file.truncate()
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        """Release the lock; the file is kept, because removing it would race with the next run."""
        self._file.close()


if sys.platform == "win32":
    import msvcrt

    # A byte beyond the text, which other processes may read.
    LOCKED_BYTE = 1 << 20

    def _lock(file: IO[str]) -> None:
        file.seek(LOCKED_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError as problem:
            raise BlockingIOError(*problem.args) from problem

else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


PACKAGES = ("primum", "numpy", "scipy", "scikit-learn")
# The version of the stored files, raised whenever their contents change.
FORMAT = 2
# Advice in terms of run_experiment; the command line has its own wording.
RESUME = "resume=True"
OTHER_FOLDER = "choose another folder"
Unit = tuple[str, int]


class ResultsError(ValueError):
    """A results folder cannot be used as requested.

    Examples
    --------
    >>> from primum.comparison.store import ResultsError
    >>> issubclass(ResultsError, ValueError)
    True
    """


class ResultStore:
    """Results of one experiment in one folder; locked until ``close``.

    Parameters
    ----------
    folder : path
        Created if missing.
    config : dict
        What must not change between runs into the same folder (seed, design, methods, data).
    resume : bool
        Whether to continue a folder that already contains results.
    packages : sequence of str
        Further packages whose versions are recorded.
    part_of : callable, optional
        Function of the name of a unit that returns the key of ``config["data"]`` on which its rows
        depend; by default the name itself, as for data sets.

    Attributes
    ----------
    done : dict of (data set, repeat) to rows
        The finished units.
    """

    def __init__(
        self,
        folder: str | Path,
        config: dict[str, Any],
        *,
        resume: bool = False,
        packages: list[str] | None = None,
        part_of: Callable[[str], str] = str,
    ) -> None:
        self.folder = Path(folder)
        self._part_of = part_of
        self.journal = self.folder / "journal.jsonl"
        self.snapshot = self.folder / "config.json"
        self.config = json.loads(_to_json(config))
        self._versions = package_versions(packages or [])
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self.folder)
        except OSError as problem:
            raise self._cannot_write(problem) from problem
        try:
            self._open(resume)
        except OSError as problem:
            self.close()
            raise self._cannot_write(problem) from problem
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the lock."""
        self._lock.release()

    def _cannot_write(self, problem: OSError) -> ResultsError:
        return ResultsError(
            f"Cannot write results to {self.folder}: {problem.strerror or problem}; {OTHER_FOLDER}."
        )

    def _open(self, resume: bool) -> None:
        if self.journal.exists() and self.journal.stat().st_size and not resume:
            raise ResultsError(
                f"{self.folder} already contains results: pass {RESUME} to continue them, or "
                f"{OTHER_FOLDER}."
            )
        runs = []
        if resume and self.snapshot.exists():
            before = read_snapshot(self.folder)
            self._refuse_other(before["config"])
            self.config["data"] = {**before["config"]["data"], **self.config["data"]}
            runs = before["versions"]
        self.done = self._read_journal()
        if self._versions not in runs:
            runs = [*runs, self._versions]
        text = json.dumps({"format": FORMAT, "config": self.config, "versions": runs}, indent=2)
        if not self.snapshot.exists() or self.snapshot.read_text() != text:
            write_file(self.snapshot, text)

    def _refuse_other(self, before: dict[str, Any]) -> None:
        """Raise an error for a different configuration; data sets may be in only one of the two."""
        common = before["data"].keys() & self.config["data"].keys()
        old, new = (
            {**config, "data": {name: config["data"][name] for name in sorted(common)}}
            for config in (before, self.config)
        )
        if named := name_differences(old, new):
            raise ResultsError(
                f"{self.folder} contains results of another configuration ({named}): "
                f"{OTHER_FOLDER}."
            )

    def _read_journal(self) -> dict[Unit, list[dict[str, Any]]]:
        """Return the finished units; remove an incomplete last line."""
        if not self.journal.exists():
            return {}
        content = self.journal.read_bytes()
        complete = content.rfind(b"\n") + 1
        done: dict[Unit, list[dict[str, Any]]] = {}
        for unit, rows in self._parse(content[:complete]):
            if unit in done and done[unit] != rows:
                raise ResultsError(
                    f"{self.journal} has two different results for data set {unit[0]!r}, repeat "
                    f"{unit[1]}: delete one of the lines, or {OTHER_FOLDER}."
                )
            done[unit] = rows
        if complete < len(content):
            with open_itself(self.journal, "r+b") as file:
                file.truncate(complete)
        return done

    def _parse(self, content: bytes) -> Iterator[tuple[Unit, list[dict[str, Any]]]]:
        expected = {part: self._checksum_of(part) for part in self.config["data"]}
        for number, line in enumerate(content.split(b"\n")[:-1], start=1):
            crc, _, payload = line.partition(b" ")
            if crc != _crc(payload):
                raise ResultsError(
                    f"Line {number} of {self.journal} is corrupt: delete it and run again with "
                    f"{RESUME} to recompute its results, or {OTHER_FOLDER}."
                )
            record = json.loads(payload)
            name, repeat = record["unit"]
            if "config" not in record:
                raise _of_another_version(self.journal)
            if record["config"] != expected.get(self._part_of(name)):
                raise ResultsError(
                    f"Line {number} of {self.journal} contains results for data set {name!r} with "
                    f"a configuration other than that of {self.snapshot.name} or of this run: "
                    f"{OTHER_FOLDER}."
                )
            yield (name, repeat), record["rows"]

    def _checksum_of(self, part: str) -> str:
        """Return a checksum of everything on which the results of one part of the data depend."""
        return checksum({**self.config, "data": {part: self.config["data"][part]}})

    def append(self, unit: Unit, rows: list[dict[str, Any]]) -> None:
        """Write the rows of a finished unit, all or nothing."""
        config = self._checksum_of(self._part_of(unit[0]))
        record = {"config": config, "unit": list(unit), "rows": rows}
        payload = _to_json(record).encode()
        try:
            with open_itself(self.journal, "ab") as file:
                file.write(_crc(payload) + b" " + payload + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise ResultsError(
                f"Cannot write to {self.journal}: {problem.strerror or problem}; its results are "
                f"kept: continue with {RESUME}."
            ) from problem
        self.done[unit] = rows


def read_snapshot(folder: Path) -> dict[str, Any]:
    """Return the ``config`` of the results in a folder, and the ``versions`` of every run."""
    path = folder / "config.json"
    try:
        snapshot = json.loads(path.read_text())
        if snapshot.get("format") != FORMAT:
            raise _of_another_version(path)
        return {"config": dict(snapshot["config"]), "versions": list(snapshot["versions"])}
    except ResultsError:
        raise
    except FileNotFoundError as problem:
        raise ResultsError(f"There are no results in {folder}: it has no {path.name}.") from problem
    except (ValueError, AttributeError, KeyError, TypeError) as problem:
        raise ResultsError(
            f"{path} is corrupt ({type(problem).__name__}: {problem}): restore it, or delete it "
            "and resume the same experiment (every line of the journal has a checksum of its "
            f"configuration), or {OTHER_FOLDER}."
        ) from problem


def _of_another_version(path: Path) -> ResultsError:
    return ResultsError(
        f"{path} was written by another version of primum and does not identify data and methods "
        f"by content: its results can be read but not continued; {OTHER_FOLDER}."
    )


def _to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be stored.")


def _crc(payload: bytes) -> bytes:
    return f"{zlib.crc32(payload):08x}".encode()


def package_versions(packages: list[str]) -> dict[str, str]:
    """Return the versions of Python, of the core packages and of further ones."""
    names = dict.fromkeys([*PACKAGES, *packages])
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


# Longer array parameters are identified by a checksum instead of their values, which people would
# not read.
MAX_LISTED_VALUES = 100
MAX_DIFFERENCES_NAMED = 3  # between two comparisons, in one sentence


def identity_of_data(X: AnyArray, codes: Index) -> str:
    """Return the shape, the number of classes if there are more than two, and a checksum.

    The checksum is that of the features and of the labels, encoded as 0, 1, ...
    """
    n_classes = int(codes.max()) + 1
    digest = hashlib.sha256(str((X.dtype.str, X.shape)).encode())
    digest.update(np.ascontiguousarray(X).data)
    dtype = np.uint8 if n_classes <= 256 else np.uint32
    digest.update(np.ascontiguousarray(codes, dtype=dtype).data)
    classes = f", {n_classes} classes" if n_classes > 2 else ""
    return f"{X.shape[0]} x {X.shape[1]}{classes}, sha256 {digest.hexdigest()}"


def identity_of(value: Any, subject: str) -> Any:
    """Return the identity of a parameter as plain JSON; ``subject`` names it in an error."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else repr(float(value))
    if isinstance(value, np.bool | np.integer):
        return value.item()
    if isinstance(value, list | tuple):
        return [identity_of(item, subject) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: identity_of(item, f"{subject}[{key!r}]") for key, item in value.items()}
    if isinstance(value, np.ndarray) and value.size <= MAX_LISTED_VALUES and value.dtype != object:
        return {"array": identity_of(value.tolist(), subject), "dtype": value.dtype.str}
    return _describe_object(value, subject)


def _describe_object(value: Any, subject: str) -> Any:
    if isinstance(value, type):
        return {"class": _describe_class(value, subject)}
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False).items()
        return {
            "class": _describe_class(type(value), subject),
            "parameters": {key: identity_of(item, f"{subject}.{key}") for key, item in parameters},
        }
    if isinstance(value, functools.partial):
        return {"function": identity_of([value.func, value.args, value.keywords], subject)}
    if isinstance(value, MethodType):
        return {"function": identity_of([value.__func__, value.__self__], subject)}
    if isinstance(value, FunctionType):
        return {"function": _describe_function(value, subject)}
    return {"class": _describe_class(type(value), subject), "hash": _hash(value, subject)}


def _describe_class(cls: type, subject: str) -> str:
    name = f"{_name_in_results(cls.__module__)}.{cls.__qualname__}"
    sources = [_source(c, subject) for c in cls.__mro__ if not _is_installed(c.__module__)]
    return f"{name}, source {_sha256(sources)}" if sources else name


def _describe_function(function: FunctionType, subject: str) -> Any:
    name = f"{_name_in_results(function.__module__)}.{function.__qualname__}"
    if _is_installed(function.__module__) and "<" not in name:
        return name
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    captured = dict(zip(function.__code__.co_freevars, values, strict=True))
    return {
        "name": f"{name}, source {_sha256([_source(function, subject)])}",
        "captured": identity_of(captured, subject),
        "defaults": identity_of([function.__defaults__, function.__kwdefaults__], subject),
    }


def _source(code: Any, subject: str) -> str:
    """Return the source of a function or class; of a lambda its lines and its place in them."""
    try:
        source = inspect.getsource(code)
    except (OSError, TypeError) as problem:  # typed at a prompt, or made by exec
        raise ValueError(
            f"{subject} is {code!r}, whose source is not in a file, so a resumed run could not "
            "distinguish it from another: define it in a file."
        ) from problem
    if isinstance(code, FunctionType) and code.__name__ == "<lambda>":
        columns = {(start, end) for _, _, start, end in code.__code__.co_positions()}
        return f"{source}{sorted(columns, key=str)}"
    return source


def _hash(value: Any, subject: str) -> str:
    import joblib

    try:
        return str(joblib.hash(value))
    except Exception as problem:  # whatever pickling the object raises
        raise ValueError(
            f"{subject} is {value!r}, which cannot be identified by its content ({problem}), so a "
            "resumed run could not distinguish it from another: pass an estimator, a function "
            "defined in a file, or an object that can be pickled."
        ) from problem


def _name_in_results(module: str) -> str:
    """Return the name of a module, below the former name of its package if that was renamed."""
    top, dot, inner = module.partition(".")
    return getattr(sys.modules.get(top), "__former_name__", top) + dot + inner


def _is_installed(module: str) -> bool:
    top = _name_in_results(module).partition(".")[0]
    return top == "primum" or top in sys.stdlib_module_names or top in _distributions()


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def distributions_of(objects: list[Any]) -> list[str]:
    """Return the names of the installed packages that define the classes of some objects."""
    tops = {type(value).__module__.partition(".")[0] for value in objects}
    return sorted({name for top in tops for name in _distributions().get(top, [])})


def _sha256(texts: Any) -> str:
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()[:16]


def checksum(config: Mapping[str, Any]) -> str:
    """Return a checksum of a configuration."""
    return _sha256([json.dumps(config, sort_keys=True)])


def differences(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield a description of every difference between two configurations."""
    old, new = _parts(before), _parts(now)
    if old is not None and new is not None:
        for key in dict.fromkeys([*old, *new]):
            # To the user, the parameters of an estimator are not a level of their own.
            inner = path if key == "parameters" else f"{path}.{key}" if path else key
            if key in old and key in new:
                yield from differences(old[key], new[key], inner)
            else:
                was, now_is = (_short(c[key]) if key in c else "absent" for c in (old, new))
                yield f"{inner} was {was}, now {now_is}"
    elif type(before) is not type(now) or before != now:
        yield f"{path} was {_short(before)}, now {_short(now)}"


def _parts(value: Any) -> dict[str, Any] | None:
    """Return the parts of a configuration by name, or None if it is a plain value.

    The steps of a pipeline have their names; short lists of numbers or texts are plain values.
    """
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not any(isinstance(item, dict | list) for item in value):
        return None
    steps = all(isinstance(i, list) and len(i) == 2 and isinstance(i[0], str) for i in value)
    return dict(value) if steps else {str(k): item for k, item in enumerate(value)}


def name_differences(before: Any, now: Any) -> str:
    """Return the first few differences between two configurations, or an empty string."""
    changes = list(differences(before, now))
    n_hidden = len(changes) - MAX_DIFFERENCES_NAMED
    named = "; ".join(changes[:MAX_DIFFERENCES_NAMED])
    return f"{named}; and {n_hidden} more" if n_hidden > 0 else named


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
