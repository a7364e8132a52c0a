"""``primum settle``: read labels of the rows to label, and say what they settle."""

from pathlib import Path

import click

from primum._files import write_file
from primum._words import counted, printable, wrapped
from primum.cli._options import check_file, format_options, plain_errors, warn
from primum.comparison.labelling_files import (
    FITTED_AGAIN,
    KEEP_MARKS,
    StoredLabelling,
    rewrite_report,
    write_page,
)
from primum.comparison.settle import model_in_words
from primum.judging.error_bounds import OPEN
from primum.judging.named_labels import CANNOT_SAY_CELL
from primum.tables.files import TableFormat


@click.command()
@click.argument("report", type=click.Path(exists=True, path_type=Path))
@click.argument("sheets", metavar="[SHEET]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--save-model",
    "model",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the model to use, as it was judged, for primum predict.",
)
@click.option(
    "--correct", is_flag=True, help="Let a label replace the one given earlier for the same row."
)
@click.option("--force", is_flag=True, help="Replace a model file that exists.")
@format_options
def settle(
    report: Path,
    sheets: tuple[Path, ...],
    model: Path | None,
    correct: bool,
    force: bool,
    table_format: TableFormat,
) -> None:
    """Find out which model of a comparison is better on your rows, from labels of a few of them.

    REPORT is the folder that primum compare wrote, SHEET its rows_to_label.csv (or .xlsx), wholly
    or partly filled in, or the sheet that the page label.html downloads; default: the sheet in the
    folder. Labels accumulate: come back with more at any time. Prints the answers so far, which
    model to use and how many labels are still needed, and updates the report.
    """
    folder = report if report.is_dir() else report.parent
    if model is not None:
        check_file(model, "--save-model")
        if model.exists() and not force:
            raise click.UsageError(
                f"{model} exists: pass --force to replace it, or choose another name."
            )
    with plain_errors():
        labelling = StoredLabelling.read(folder)
        labels_before, news = labelling.labels, []
        present = [labelling.sheet_path] if labelling.sheet_path.exists() else []
        for sheet in sheets or present:
            before, path = labelling, _found(sheet, folder)
            labelling = before.with_sheet(path, table_format, correct=correct)
            news.append(f"{path}: {_news(before, labelling)}.")
        if labelling.labels != labels_before:  # first, as the output may be closed
            labelling.write()
            write_page(labelling)
        for line in news:
            click.echo(line)
        if labelling.labels:
            if problem := rewrite_report(labelling):
                warn(problem)
            click.echo(printable(_standing(labelling, saves=model is not None)))
        else:
            click.echo(printable(_nothing_yet(labelling)))
        if model is not None:
            _save(labelling, model)


def _found(sheet: Path, folder: Path) -> Path:
    """Return the path of a sheet, relative to here or else to the folder of the report."""
    if sheet.exists() or not (folder / sheet).exists():
        return sheet
    return folder / sheet


def _news(before: StoredLabelling, now: StoredLabelling) -> str:
    """Return, in words, how many labels are new or corrected, and rows that nobody can decide."""
    new, undecided = now.n_labels - before.n_labels, now.n_undecided - before.n_undecided
    labels = now.labels
    corrected = sum(
        CANNOT_SAY_CELL not in (label, labels[key]) and label != labels[key]
        for key, label in before.labels.items()
    )
    news = [
        counted(new, "new label") if new > 0 else "no new labels",
        f"{counted(corrected, 'label')} corrected" if corrected else "",
        f"{counted(undecided, 'row')} nobody can decide" if undecided > 0 else "",
    ]
    return ", ".join(filter(None, news))


def _standing(labelling: StoredLabelling, *, saves: bool) -> str:
    """Return what is settled, which model to use, what is still needed, and remarks."""
    settling = labelling.settled
    head = labelling.headline(saving=FITTED_AGAIN if saves else "")  # a line says how it is saved
    further = labelling.settlement.further
    texts = [settling.found, *further, head.next_step, KEEP_MARKS]
    shown = [wrapped(text) for text in texts if text]
    report = labelling.folder / labelling.files["report"]
    return "\n" + "\n\n".join([*shown, f"Report: {report}"])


def _nothing_yet(labelling: StoredLabelling) -> str:
    """Return what is certain without labels, and how many are needed."""
    asked = labelling.settlement
    text = f"No row has a label yet. {asked.leading.known} {asked.request}"
    return f"{wrapped(text)}\n\n{wrapped(labelling.how_to_label)}"


def _save(labelling: StoredLabelling, path: Path) -> None:
    """Save the model to use, which is the file of the model that was judged."""
    settling = labelling.settled
    stored = labelling.folder / labelling.models[settling.deployed]
    if not stored.exists():
        raise ValueError(f"{stored} is missing: compare again with --resume, which writes it.")
    write_file(path, stored.read_bytes())
    for_now = ", for now" if settling.answer == OPEN else ""
    judged = ""
    if n_new := labelling.n_labels:
        labels = "new label" if n_new == 1 else f"{n_new:,} new labels"
        judged = f", as it was judged, fitted without the {labels}"
    name = model_in_words(settling.deployed)
    click.echo(f"Model: {path} ({name}{for_now}{judged}), for primum predict")
