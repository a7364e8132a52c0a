"""Shared parts of the commands: options, errors in terms of options, and output files.

Output files are checked before the work starts, and never overwrite an input. Tables are written as
CSV, Parquet or a spreadsheet, in which text stays text even if it looks like a formula. A
comparison writes a report and, in a folder, its finished fits.
"""

import codecs
import csv
import gzip
import io
import math
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from primum._files import replacing, unpredictable, write_file
from primum.comparison.page import report_text
from primum.comparison.result import Comparison
from primum.comparison.store import OTHER_FOLDER, RESUME
from primum.labellings import METRICS
from primum.reading.known import SAY_CLASSES, SAY_NUMBERS
from primum.rows.parquet import SUFFIXES, write_parquet
from primum.tables.files import TableFormat, not_a_table, table_kind, write_spreadsheet

PREDICTION, SCORE = "prediction", "score"  # the columns that predict writes
CONFIDENCE = "confidence"
# Arguments that messages name; and the options that pass them, if their names differ.
ARGUMENTS = (
    *("scoring", "positive", "methods", "baseline", "time_budget", "missing", "shift", "bounds"),
    "rare_classes",
)
OPTION_OF = {"n_repeats": "--repeats", "random_state": "--seed", "n_jobs": "--jobs"}
OPTION_OF |= {"groups": "--group"} | {name: f"--{name.replace('_', '-')}" for name in ARGUMENTS}

Command = Callable[..., None]
# Shares, or bounds on them, by class as written; or "confidence".
Prior = dict[str, float | tuple[float, float]] | str | None


def warn(sentence: str) -> None:
    """Print a warning to standard error."""
    click.echo(f"Warning: {sentence}", err=True)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show errors in the data as one sentence, without a traceback."""
    try:
        yield
    except BrokenPipeError:  # the reader of the output has gone, so click ends without a message
        raise
    except MemoryError as problem:
        raise click.ClickException(
            "The rows do not fit in memory: use fewer of them, or store unlabelled rows as Parquet "
            "and pass --no-prepare to primum fit, which reads numbers out of core."
        ) from problem
    except (ValueError, RuntimeError, OSError, ImportError) as problem:
        lines = str(problem).strip().splitlines() or [type(problem).__name__]
        raise click.ClickException(in_options(lines[0])) from problem


def in_options(text: str) -> str:
    """Return a message of the library with the names of options instead of arguments."""
    text = (
        text.replace("pass correct=True", "pass --correct")
        .replace(SAY_CLASSES, "--classes")
        .replace(SAY_NUMBERS, "--regression")
        .replace(RESUME, "--resume")
        .replace(OTHER_FOLDER, f"{OTHER_FOLDER} with --out")
    )
    for argument, option in OPTION_OF.items():
        text = re.sub(rf"\b{argument}='([^']*)'", rf"{option} \1", text)
        text = re.sub(rf"\b{argument}=", f"{option} ", text)
    return re.sub(r"add ('[^']*') to missing", r"pass --missing \1", text)


class TablePath(click.Path):
    """An existing table: a file or, if allowed, a folder; the reader checks its name."""

    def __init__(self, *, dir_okay: bool = True) -> None:
        super().__init__(exists=True, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path; raise an error if it is not a file."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not (path.is_file() or path.is_dir()):
            raise click.BadParameter(
                f"{path} is not a regular file, and the data are read more than once: copy them "
                "to a file first."
            )
        return path


# A ridge penalty, at most: it is larger than any useful one, and a larger one overflows in products
# with rows.
MAX_RIDGE = 1e100


def read_penalty(value: Any) -> float:
    """Return a ridge penalty."""
    number = float(click.FLOAT.convert(value, None, None))
    if not 0 <= number <= MAX_RIDGE:
        raise click.BadParameter(f"must be from 0 to {MAX_RIDGE:.0e}, got {value}.")
    return number


def read_metric(text: str) -> str | float:
    """Return a metric of ICLS: one of the names, or a number from 0 to 1."""
    if text in METRICS:
        return text
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        names = ", ".join(METRICS)
        raise click.BadParameter(f"must be {names}, or a number from 0 to 1, got {text!r}.")
    return share


def read_share(text: str) -> Any:
    """Return a class and its share, or bounds on it, or the word ``confidence``.

    Names of classes may contain "=". The estimators check classes and shares.
    """
    if text == CONFIDENCE:
        return text
    name, _, share = text.rpartition("=")
    try:
        low, *high = map(float, share.split(":", 1))
    except ValueError:
        name = ""
    if not name:
        raise click.BadParameter(
            f"{text!r} is not a class and its share: write for example yes=0.3, bounds as "
            f"yes=0.2:0.4, or {CONFIDENCE}."
        )
    return name, (low, high[0]) if high and high[0] != low else low


def read_error_cost(text: str) -> tuple[tuple[str, str], float]:
    """Return a true and a predicted class, and their cost; names of classes may contain "="."""
    pair, _, number = text.rpartition("=")
    true, _, predicted = pair.partition(":")
    try:
        cost = float(number)
    except ValueError:
        cost = math.nan
    if not (true.strip() and predicted.strip()) or math.isnan(cost):
        raise click.BadParameter(
            f"{text!r} is not the cost of an error: write the true class, the predicted one and "
            "the cost, for example yes:no=5."
        )
    return (true.strip(), predicted.strip()), cost


def read_bounds(text: str) -> tuple[float, float]:
    """Return the range of a number, two numbers with a colon between them."""
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a range: write for example 0:100.") from None
    return low, high


def _one_prior(_context: Any, _parameter: Any, parts: Sequence[Any]) -> Prior:
    """Return the parts of a prior as one prior; None if there are none."""
    if CONFIDENCE in parts:
        if len(parts) > 1:
            raise click.BadParameter(
                f"{CONFIDENCE!r} bounds the shares of all classes: pass it alone."
            )
        return CONFIDENCE
    if twice := _repeated([name for name, _ in parts]):
        raise click.BadParameter(
            f"the class {twice!r} is named twice: bounds are written as {twice}=0.2:0.4."
        )
    return dict(parts) or None


def _level(context: click.Context, _parameter: Any, level: float | None) -> float | None:
    """Return the level; raise an error if it would have no effect."""
    if level is None:
        return None
    if not 0 < level < 1:
        raise click.BadParameter(f"must be above 0 and below 1, got {level:g}.")
    if context.params.get("prior") != CONFIDENCE:
        raise click.BadParameter(f"has an effect only with --prior {CONFIDENCE}.")
    return level


def comma_separated(_context: Any, _parameter: Any, text: str | None) -> list[str]:
    """Return the items of a comma-separated list; raise an error for a duplicate."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    if twice := _repeated(names):
        raise click.BadParameter(f"{twice!r} is listed twice.")
    return names


def _repeated(names: Sequence[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def _id_column(_context: Any, _parameter: Any, name: str | None) -> str | None:
    if name in (PREDICTION, SCORE):
        raise click.BadParameter(f"{name!r} is a column of the predictions: rename the id column.")
    return name


def _jobs(_context: Any, _parameter: Any, number: int) -> int:
    if number == 0:
        raise click.BadParameter("must be -1 or at least 1, got 0.")
    return number


def _separator(_context: Any, _parameter: Any, text: str | None) -> str | None:
    separator = {"tab": "\t", "\\t": "\t"}.get(text or "", text)
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise click.BadParameter(f'must be a single character or "tab", got {text!r}.')
    return separator


def _encoding(_context: Any, _parameter: Any, name: str) -> str:
    try:
        "".encode(name)  # raises an error for codecs that are not text encodings
        return codecs.lookup(name).name
    except LookupError:
        raise click.BadParameter(
            f"unknown encoding {name!r}: pass for example utf-8, cp1252 or utf-16."
        ) from None


def with_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds options to a command, in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def id_option(explanation: str) -> Callable[[Command], Command]:
    """Return the option ``--id``, for the column that identifies the rows."""
    return click.option("--id", "id_column", callback=_id_column, help=explanation)


chosen_option = click.option(
    "--chosen",
    help="Column that marks labels which were not drawn at random: they are used for training "
    "only; default: the column primum_chosen, if there is one.",
)


def jobs_option(argument: str) -> Callable[[Command], Command]:
    """Return the option ``--jobs``, passed to the command under the name of an argument."""
    explanation = "Number of processes; -1: all cores."
    return click.option("--jobs", argument, type=int, default=-1, callback=_jobs, help=explanation)


prior_options = with_options(
    click.option(
        "--prior",
        multiple=True,
        type=read_share,
        metavar="CLASS=SHARE",
        callback=_one_prior,
        is_eager=True,  # parsed before the level, which is checked against it
        help="For icls: share of a class among the unlabelled rows, as yes=0.3, or bounds, as "
        "yes=0.2:0.4; repeat it for further classes. Other classes are unrestricted. "
        f"{CONFIDENCE}: bounds computed from the labelled rows.",
    ),
    click.option(
        "--prior-level",
        type=float,
        callback=_level,
        help=f"For --prior {CONFIDENCE}: the probability that the bounds hold; default: 0.95.",
    ),
)
# The options that say how files are written, for all commands that read tables.
FORMAT_OPTIONS = with_options(
    click.option(
        "--sep",
        "separator",
        callback=_separator,
        help='Field separator of CSV files, or "tab"; default: detected from the first lines.',
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help='Decimal mark of numbers in text; default: ".", or "," if semicolons separate the '
        "fields and the numbers have commas. It decides whether 1.234 means 1234; without it, the "
        "numbers of other columns do.",
    ),
    click.option("--encoding", callback=_encoding, default="utf-8", help="Encoding of CSV files."),
    click.option(
        "--missing",
        callback=comma_separated,
        help="Comma-separated markers of missing labels and values, in addition to empty cells, "
        "for example NA,unknown.",
    ),
    click.option("--sheet", help="Sheet of a spreadsheet; default: the first."),
    click.option(
        "--header-row",
        type=click.IntRange(min=1),
        help="Row of a spreadsheet, or line of a CSV file, with the names of the columns; default: "
        "the first, or the one below titles.",
    ),
)


def format_options(command: Command) -> Command:
    """Add the options that say how files are written, as one argument ``table_format``."""

    @wraps(command)
    def with_format(*, missing: list[str], **arguments: Any) -> None:
        names = ("separator", "decimal", "encoding", "sheet", "header_row")
        format_arguments = {name: arguments.pop(name) for name in names}
        command(table_format=TableFormat(missing=tuple(missing), **format_arguments), **arguments)

    return FORMAT_OPTIONS(with_format)


TEXT, SPREADSHEET = (".csv", ".csv.gz"), ".xlsx"


def _rows(parts: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[Any]]:
    """Yield the names of the columns, and every row, of a table in blocks of its columns."""
    for number, part in enumerate(parts):
        if number == 0:
            yield list(part)
        arrays = (c if isinstance(c, pa.ChunkedArray) else pa.array(c) for c in part.values())
        yield from zip(*(array.to_pylist() for array in arrays), strict=True)


MAX_NAME_BYTES = 200  # bytes: file systems allow 255, and an unfinished file has a longer name


def write_table(path: Path, parts: Iterable[Mapping[str, Any]]) -> None:
    """Write a table from blocks of its columns; the file appears only once it is complete."""
    with replacing(path) as file:
        if path.suffix.lower() == SPREADSHEET:
            write_spreadsheet(file, _rows(parts), "the predictions")
        elif table_kind(path) == "Parquet":
            write_parquet(file, parts)
        elif path.suffix.lower() == ".gz":
            with gzip.GzipFile("", "wb", fileobj=file) as packed:
                _write_csv(packed, _rows(parts))
        else:
            _write_csv(file, _rows(parts))


def _write_csv(file: Any, rows: Iterable[Sequence[Any]]) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    text.detach()  # writes the rest, and leaves the file open


def refuse_inputs(out: Path, inputs: Iterable[tuple[str, Path]]) -> None:
    """Raise an error if the output would overwrite an input; inputs are (name, path)."""
    place = out.resolve()
    for name, path in inputs:
        if path.is_dir() and path.resolve() in place.parents:
            raise click.UsageError(
                f"--out {out} is inside the folder {path}, which is read as {name}: choose another "
                "folder."
            )
        if out.exists() and any(out.samefile(file) for file in _files(path)):
            raise click.UsageError(f"--out {out} is {name} itself: choose another name.")


def _files(path: Path) -> Iterable[Path]:
    """Return the files that are read from a path; in a folder they may be links to elsewhere."""
    return (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def check_out(_context: click.Context, _parameter: click.Parameter, out: Path) -> Path:
    """Raise an error for an output that cannot be written, before the work starts."""
    check_length(out)
    if not out.parent.is_dir():
        raise click.BadParameter(f"there is no folder {out.parent}.")
    if not os.access(out.parent, os.W_OK):
        raise click.BadParameter(f"the folder {out.parent} cannot be written to.")
    if os.path.lexists(out) and not stat.S_ISREG(out.lstat().st_mode):
        # The new file is renamed to this name, which would replace a device, pipe or link.
        raise click.BadParameter(f"{out} exists and is not a regular file: choose another name.")
    return out


def check_length(out: Path) -> None:
    """Raise an error for a name that is too long for a file system."""
    for part in out.parts:
        if len(os.fsencode(part)) > MAX_NAME_BYTES:
            raise click.BadParameter(
                f"the name {part[:20]}... has {len(part)} characters: choose a shorter one."
            )


def check_table_name(out: Path) -> None:
    """Raise an error for a file name that is neither CSV, Parquet nor a spreadsheet."""
    if not out.name.lower().endswith((*TEXT, *SUFFIXES, SPREADSHEET)):
        raise click.UsageError(f"--out {not_a_table(out, TEXT, [SPREADSHEET])}")


out_option = click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    callback=check_out,
    help="File to write; an existing file is replaced once the new one is complete.",
)


# Formats of the report of a comparison.
FORMATS = ("html", "md", "json")
FITS = "fits"  # the folder of finished fits, inside the folder of the comparison


@dataclass(frozen=True)
class ComparisonOutput:
    """The output of a comparison.

    Attributes
    ----------
    report : Path
        The report, in the format of its suffix.
    fits : Path or None
        Folder of finished fits, from which an interrupted comparison continues; None if only the
        report is written.
    model : Path or None
        The model file.
    """

    report: Path
    fits: Path | None
    model: Path | None

    def check(self, data: Path, *, resume: bool, force: bool) -> None:
        """Raise an error if something cannot be written, or exists and must not be replaced."""
        if self.fits is None and resume:
            raise click.UsageError("--resume needs a folder as --out: a file contains no fits.")
        if self.fits is not None:
            _check_folder(self.report.parent)
        for path in filter(None, (self.report, self.model)):
            refuse_inputs(path, [("DATA", data)])
        if self.model is not None and self.model.resolve() == self.report.resolve():
            raise click.UsageError(f"--save-model {self.model} is the report: choose another name.")
        if not force:
            self._refuse_existing(resume=resume)

    def _refuse_existing(self, *, resume: bool) -> None:
        written = (self.model,) if resume else (self.model, self.report, self.fits)
        for path in written:
            if path is not None and path.exists():
                can_resume = path != self.model and self.fits is not None
                or_resume = ", --resume to continue the comparison" if can_resume else ""
                raise click.UsageError(
                    f"{path} exists: pass --force to replace it{or_resume}, or choose another name."
                )

    @contextmanager
    def replacing_fits(self, *, resume: bool) -> Iterator[None]:
        """Set the fits of an earlier comparison aside, unless it is continued.

        They are deleted once new fits have taken their place, and restored if there are none.
        """
        if self.fits is None or resume or not self.fits.is_dir():
            yield
            return
        aside = unpredictable(self.fits, "replaced")
        self.fits.rename(aside)
        try:
            yield
        finally:
            if self.fits.exists():
                shutil.rmtree(aside)
            else:
                aside.rename(self.fits)

    def write_report(self, result: Comparison) -> None:
        """Write the report; the file appears only once it is complete."""
        self.report.parent.mkdir(exist_ok=True)
        head, settled = result.headline, result.settled
        write_file(self.report, report_text(self.report.suffix, result.answer, head, settled))


def output_of(
    data: Path, out: Path | None, chosen: str | None, model: Path | None
) -> ComparisonOutput:
    """Return the output of a comparison; ``out`` is a folder, or a file by its suffix."""
    if out is None:
        stem = data.name.removesuffix(".gz")
        out = Path(f"{Path(stem).stem}-comparison")
    with _naming("--out"):
        check_length(out)
    if out.suffix[1:] not in FORMATS or out.is_dir():
        return ComparisonOutput(out / f"report.{chosen or 'html'}", out / FITS, model)
    if chosen is not None and out.suffix != f".{chosen}":
        raise click.UsageError(f"--out {out} is not a file of the --format {chosen}.")
    check_file(out, "--out")
    return ComparisonOutput(out, None, model)


def _check_folder(folder: Path) -> None:
    if os.path.lexists(folder) and not folder.is_dir():
        raise click.UsageError(f"--out {folder} exists and is not a folder: choose another name.")
    if not folder.absolute().parent.is_dir():
        raise click.UsageError(f"--out {folder}: there is no folder {folder.parent}.")
    place = folder if folder.is_dir() else folder.absolute().parent
    if not os.access(place, os.W_OK):
        raise click.UsageError(f"--out {folder}: the folder {place} cannot be written to.")


def check_file(path: Path, option: str) -> None:
    """Raise an error, in terms of the option, for a file that cannot be written."""
    with _naming(f"{option} {path}"):
        check_out(None, None, path)  # type: ignore[arg-type]


@contextmanager
def _naming(option: str) -> Iterator[None]:
    """Name the option that an error is about."""
    try:
        yield
    except click.BadParameter as problem:
        raise click.UsageError(f"{option}: {problem.message}") from problem
