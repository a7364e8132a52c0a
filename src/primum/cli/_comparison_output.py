"""Where ``primum compare`` writes: everything is checked before the work starts."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from primum._files import unpredictable, write_file
from primum.cli._output import check_length, check_out, refuse_inputs

FORMATS = ("html", "md", "json")
FITS = "fits"  # the folder of finished fits, inside the folder of the comparison


@dataclass(frozen=True)
class ComparisonOutput:
    """What a comparison writes.

    Attributes
    ----------
    report : Path
        The report, in the format of its suffix.
    fits : Path or None
        Folder of finished fits, from which an interrupted comparison continues; None if the report
        is all that is written.
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
        for path in self._files:
            refuse_inputs(path, [("DATA", data)])
        if self.model is not None and _same(self.model, self.report):
            raise click.UsageError(f"--save-model {self.model} is the report: choose another name.")
        self._refuse_existing(resume=resume, force=force)

    @property
    def _files(self) -> list[Path]:
        return [self.report] if self.model is None else [self.report, self.model]

    def _refuse_existing(self, *, resume: bool, force: bool) -> None:
        if force:
            return
        if self.model is not None and self.model.exists():
            raise click.UsageError(_exists(self.model, "pass --force to replace it"))
        written = [self.report] if self.fits is None else [self.report, self.fits]
        for path in written:
            if path.exists() and not resume:
                more = "" if self.fits is None else ", --resume to continue the comparison"
                raise click.UsageError(_exists(path, f"pass --force to replace it{more}"))

    @contextmanager
    def replacing_fits(self, *, resume: bool) -> Iterator[None]:
        """Set the fits of an earlier comparison aside, unless it is continued.

        They are deleted once new ones have taken their place, and come back if there are none.
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

    def write_report(self, result: Any, read: str) -> None:
        """Write the report; the file appears only once it is complete.

        ``read`` is the Python expression that reads the table.
        """
        text = _WRITERS[self.report.suffix](result, read)
        self.report.parent.mkdir(exist_ok=True)
        write_file(self.report, text)


def _html(result: Any, read: str) -> str:
    from primum.report.comparison_code import code_of
    from primum.report.comparison_page import comparison_page

    return comparison_page(result, code=code_of(result, read))


def _markdown(result: Any, read: str) -> str:
    from primum.report.comparison_code import code_of
    from primum.report.comparison_page import comparison_markdown

    return comparison_markdown(result, code=code_of(result, read))


def _json(result: Any, _read: str) -> str:
    import json

    return json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n"


_WRITERS = {".html": _html, ".md": _markdown, ".json": _json}


def output_of(
    data: Path, out: Path | None, chosen: str | None, model: Path | None
) -> ComparisonOutput:
    """Return where a comparison writes; ``out`` is a folder, or a file by its suffix."""
    if out is None:
        stem = data.name.removesuffix(".gz")
        out = Path(f"{Path(stem).stem}-comparison")
    with _naming("--out"):
        check_length(out)
    if out.suffix not in _WRITERS or out.is_dir():
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
    """Show the option to which an error belongs."""
    try:
        yield
    except click.BadParameter as problem:
        raise click.UsageError(f"{option}: {problem.message}") from problem


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _exists(path: Path, advice: str) -> str:
    return f"{path} exists: {advice}, or choose another name."
