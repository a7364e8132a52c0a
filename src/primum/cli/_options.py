"""Options and error handling shared by ``fit`` and ``predict``."""

import codecs
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from primum.labellings import METRICS
from primum.tables.csv import CsvOptions
from primum.tables.reading import is_parquet

PREDICTION, SCORE = "prediction", "score"  # the columns that predict writes


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show errors in the data as one sentence, without a traceback."""
    try:
        yield
    except MemoryError as problem:
        raise click.ClickException(
            "The rows do not fit in memory: use fewer of them, or store unlabelled rows as Parquet "
            "and pass --no-prepare to primum fit, which reads numbers out of core."
        ) from problem
    except (ValueError, RuntimeError, OSError, ImportError) as problem:
        lines = str(problem).strip().splitlines() or [type(problem).__name__]
        raise click.ClickException(_with_options(lines[0])) from problem


def _with_options(sentence: str) -> str:
    """Return an advice about arguments in terms of options."""
    return re.sub(r"add ('[^']*') to missing", r"pass --missing \1", sentence)


class TablePath(click.Path):
    """An existing CSV or Parquet file or, where allowed, a folder of Parquet files.

    With ``any_table`` it may be a spreadsheet too, and reading it checks its name.
    """

    def __init__(self, *, dir_okay: bool, any_table: bool = False) -> None:
        super().__init__(exists=True, dir_okay=dir_okay, path_type=Path)
        self.any_table = any_table

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path; raise an error if it is not a table by its name, or not a file."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        try:
            self.any_table or is_parquet(path)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)
        if not (path.is_file() or path.is_dir()):
            self.fail(
                f"{path} is not a regular file, and the data are read more than once: copy them "
                "to a file first.",
                param,
                ctx,
            )
        return path


class Penalty(click.ParamType):
    """A ridge penalty; larger numbers than any useful one overflow in products with rows."""

    name = "number"
    largest = 1e100

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number."""
        number = click.FLOAT.convert(value, param, ctx)
        if not (math.isfinite(number) and 0 <= number <= self.largest):
            self.fail(f"must be from 0 to {self.largest:.0e}, got {value}.", param, ctx)
        return float(number)


class Metric(click.ParamType):
    """A metric of ICLS: one of the names, or a number from 0 to 1."""

    name = "metric"

    def convert(self, value: Any, param: Any, ctx: Any) -> str | float:
        """Return the name or the number."""
        if value in METRICS:
            return str(value)
        try:
            share = float(value)
        except ValueError:
            share = math.nan
        if not 0 <= share <= 1:
            names = ", ".join(METRICS)
            self.fail(f"must be {names}, or a number from 0 to 1, got {value!r}.", param, ctx)
        return share


def comma_separated(
    _context: click.Context, parameter: click.Parameter, text: str | None
) -> list[str]:
    """Return the items of a comma-separated list; raise an error for a duplicate."""
    names = [] if text is None else [name.strip() for name in text.split(",") if name.strip()]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise click.BadParameter(f"{twice[0]!r} is listed twice.")
    return names


def id_option(explanation: str) -> Callable[[Any], Any]:
    """Return the option for the column that identifies the rows."""
    return click.option("--id", "id_column", callback=_id_column, help=explanation)


def _id_column(_context: Any, _parameter: Any, name: str | None) -> str | None:
    if name in (PREDICTION, SCORE):
        raise click.BadParameter(f"{name!r} is a column of the predictions: rename the id column.")
    return name


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


OPTIONS = (
    click.option(
        "--sep",
        callback=_separator,
        help='Field separator of CSV files, or "tab"; default: detected from the first lines.',
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help='Decimal mark of CSV files; default: ".", or "," if semicolons separate the fields '
        "and the numbers have commas.",
    ),
    click.option(
        "--encoding",
        callback=_encoding,
        default="utf-8",
        show_default=True,
        help="Encoding of CSV files.",
    ),
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


def csv_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of files to a command, as one argument ``options``."""

    @wraps(command)
    def with_options(
        *,
        sep: str | None,
        decimal: str | None,
        encoding: str,
        missing: list[str],
        sheet: str | None,
        header_row: int | None,
        **others: Any,
    ) -> None:
        options = CsvOptions(sep, decimal, tuple(missing), encoding, sheet, header_row)
        command(options=options, **others)

    wrapped: Callable[..., None] = with_options
    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped
