"""The files with which people settle a comparison, in the folder of its report.

``settlement.json`` has the questions, the rows to label in their stored order, the sheet as it was
written and the labels so far; ``rows_to_label.csv`` (or .xlsx) is the sheet to fill in,
``label.html`` is a page for doing so, and ``models`` has the fitted models that the labels decide
between. A sheet that somebody has filled in is never overwritten.

Labels arrive days after a comparison, one sheet after the other. Their meaning depends on the
settlement and on what the comparison has found, its ``Answer``: both are stored, so that labels are
read, and the report is written again, without any fit.
"""

import hashlib
import json
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from primum._files import write_file
from primum._lazy import is_installed
from primum._plain import from_plain, to_plain
from primum._words import key_of
from primum.comparison.answer import Answer
from primum.comparison.page import report_text
from primum.comparison.result import Comparison
from primum.comparison.settle import SettledComparison, duels_in, settled_by, settled_in
from primum.comparison.words import (
    BASELINE,
    REFITTED,
    Headline,
    LabellingWords,
    compose_headline,
    failure_sentence,
    headline_after_labels,
)
from primum.judging.named_labels import CANNOT_SAY, CANNOT_SAY_CELL
from primum.judging.settlement import Settlement
from primum.judging.words import CANNOT_TELL
from primum.models import save
from primum.pages.label import LabellingPair, LabellingTask, labelling_page
from primum.tables.csv import CsvTable
from primum.tables.files import SPREADSHEETS, TableFile, TableFormat
from primum.tables.labels import CHOSEN
from primum.tables.sheets import SPREADSHEET, YES, Sheet, read_filled, sheet_of, write_sheet

STORED, PAGE, MODELS, SHEET = "settlement.json", "label.html", "models", "rows_to_label"
# What every stored settlement contains, whatever version has written it.
PARTS = {"format", "questions", "rows", "classes", "labels", "sheet", "answer", "models", "files"}
QUESTION_MARK = (
    f"No rows to label are written, because {CANNOT_SAY_CELL!r} is a class of this table, and in a "
    "sheet it means that nobody can decide: give the class another name."
)
# A file name without a folder, other than "." and "..".
PLAIN_NAME = re.compile(r"(?!\.+$)[^/\\:\0]+")
FITTED_AGAIN = f"{REFITTED}; in Python fit_recommended() fits it."
KEEP_MARKS = (
    f"If you add these labels to your table, copy the column {CHOSEN} with them: they were "
    "not drawn at random, so they may be trained on, but no model may be judged by them."
)


@dataclass(frozen=True)
class StoredLabelling:
    """The stored state of labelling: questions, rows, sheet, models and file names.

    Attributes
    ----------
    settlement : Settlement
        The questions, the rows and the labels so far.
    sheet : Sheet
        The sheet as it was written.
    answer : Answer
        What the comparison has found.
    challengers : tuple of str or None
        For every question, the name of the challenger, if it is against the baseline.
    cross_validated : str
        The answer of cross-validation to the first question.
    models : dict of str to str
        The file of each model that may be used, relative to the folder.
    files : dict of str to str
        File names of the ``report`` and the ``sheet``.
    folder : Path
        Where these files are.
    new_sheet : bool, default=False
        Whether the sheet has yet to be written, in place of one that nobody has filled in.
    """

    settlement: Settlement
    sheet: Sheet
    answer: Answer
    challengers: tuple[str | None, ...]
    cross_validated: str
    models: dict[str, str]
    files: dict[str, str]
    folder: Path
    new_sheet: bool = False

    @property
    def sheet_path(self) -> Path:
        """The sheet, which may not exist."""
        return self.folder / self.files["sheet"]

    @property
    def settled(self) -> SettledComparison:
        """What the labels so far mean."""
        recommended = self.answer.recommended
        return settled_by(self.settlement, recommended, self.challengers, self.cross_validated)

    @property
    def words(self) -> LabellingWords:
        """How rows are labelled, and the model saved."""
        return command_words(self.folder, self.files["sheet"])

    def headline(self, *, saving: str = "") -> Headline:
        """Return the headline after some labels; ``saving`` replaces how to save the model."""
        findings, words = self.answer.findings, self.words
        said = replace(words, saving=saving or words.saving).in_place(self.settled.in_headline())
        before = compose_headline(findings, self.answer.alerts)
        return headline_after_labels(before, said, failure_sentence(findings))

    @property
    def may_be_replaced(self) -> bool:
        """Whether the sheet has no labels, or does not exist."""
        path, classes = self.sheet_path, self.settlement.classes
        try:
            return not path.exists() or not read_filled(path, self.sheet, classes)
        except (ValueError, ImportError):  # somebody has changed it
            return False

    @property
    def how_to_label(self) -> str:
        """What to do with the rows to label, in a sentence."""
        sheet, is_open = self.sheet_path, self.cross_validated == CANNOT_TELL
        aim = "settle it" if is_open else "check this on your rows"
        return (
            f"To {aim}, open {self.folder / PAGE} in a browser, label the rows and download "
            f"the sheet, or fill in the column {self.sheet.target!r} of {sheet} from the top, with "
            f"'?' where nobody can decide; then run: {settle_command(self.folder)} "
            f"{shlex.quote(sheet.name)}"
        )

    def write(self) -> None:
        """Store everything."""
        values = {
            **self.settlement.to_dict(),
            "sheet": self.sheet.to_dict(),
            "answer": to_plain(self.answer),
            "challengers": list(self.challengers),
            "cross_validated": self.cross_validated,
            "models": self.models,
            "files": self.files,
        }
        values["checksum"] = _checksum(values)
        write_file(self.folder / STORED, json.dumps(values, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return what is stored in a folder; raise an error if nothing is."""
        path = folder / STORED
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if not (isinstance(values, dict) and values.keys() >= PARTS):
                raise ValueError(
                    "it does not contain the questions, rows, files and answer of a comparison"
                )
            # Files of earlier versions have neither this field nor a checksum.
            stored = values.pop("checksum", None)
            if stored is None and "left_out" in values:
                raise ValueError("it was changed after it was written: its checksum is missing")
            if stored not in (None, _checksum(values)):
                raise ValueError("it was changed after it was written: its checksum does not match")
            _check_inside(folder, values["files"], values["models"])
            return cls(
                Settlement.read(values),
                from_plain(Sheet, values["sheet"]),
                from_plain(Answer, values["answer"]),
                tuple(values["challengers"]),
                values["cross_validated"],
                values["models"],
                values["files"],
                folder,
            )
        except FileNotFoundError:
            raise ValueError(
                f"{folder} has no {STORED}: pass a folder that primum compare has written with "
                "--out, if labels can settle that comparison."
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise ValueError(
                f"{path} is damaged, or of another version of primum ({problem}): restore it, or "
                "compare again with --resume."
            ) from problem

    @property
    def labels(self) -> dict[str, str]:
        """The labels so far, by the keys of their rows."""
        asked = self.settlement
        return {
            asked.keys[place]: CANNOT_SAY_CELL if code == CANNOT_SAY else asked.classes[code]
            for place, code in sorted(asked.labels.items())
        }

    @property
    def n_labels(self) -> int:
        """Number of rows with a label; rows that nobody can decide do not count."""
        return sum(code != CANNOT_SAY for code in self.settlement.labels.values())

    @property
    def n_undecided(self) -> int:
        """Number of rows that nobody can decide."""
        return len(self.settlement.labels) - self.n_labels

    def with_sheet(self, path: Path, table_format: TableFormat, *, correct: bool) -> Self:
        """Return this with the labels in a sheet."""
        labels = read_filled(path, self.sheet, self.settlement.classes, table_format)
        try:
            settlement = self.settlement.with_labels(labels, correct=correct)
        except ValueError as problem:
            raise ValueError(f"{path}: {problem}") from problem
        return replace(self, settlement=settlement)


def _checksum(values: dict[str, Any]) -> str:
    """Return a checksum of what is stored: an edited order or label would void the guarantee."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _check_inside(folder: Path, files: dict[str, str], models: dict[str, str]) -> None:
    """Raise an error unless the files of a comparison are in its folder.

    Folders are passed on to others, and the files named in them are read, copied and overwritten.
    """
    named = [("", files["report"]), ("", files["sheet"])]
    for parent, name in [*named, *((f"{MODELS}/", name) for name in models.values())]:
        if not (name.startswith(parent) and PLAIN_NAME.fullmatch(name.removeprefix(parent))):
            raise ValueError(f"it names the file {name!r}, which is not one of this folder")
        if (folder / name).is_symlink() or (parent and (folder / parent).is_symlink()):
            raise ValueError(f"it names the file {name!r}, which is a link to another place")


def command_words(folder: Path, sheet: str) -> LabellingWords:
    """Return where the rows to label are, and how the model is saved."""
    return LabellingWords(
        how=f"The sheet is {folder / sheet}; {folder / PAGE} shows its rows one at a time.",
        saving=(
            f"{settle_command(folder)} --save-model PATH saves the model that was judged. "
            f"{FITTED_AGAIN}"
        ),
    )


def settle_command(folder: Path) -> str:
    """Return the command that settles a comparison."""
    return f"primum settle {shlex.quote(str(folder))}"


def prepare_labelling(
    result: Comparison, table: TableFile, report: Path
) -> tuple[StoredLabelling | None, list[str]]:
    """Give a comparison the labels given earlier; return its labelling to store, and notes.

    The labelling is None if no labels are needed.
    """
    folder, asked = report.parent, result.settlement
    before = _stored(folder)
    target = None if asked is None else asked.target
    if asked is None or target is None or not len(asked.rows):
        return None, _set_aside(folder, before)
    if CANNOT_SAY_CELL in asked.classes:
        return None, [*_set_aside(folder, before), QUESTION_MARK]
    if before is not None and result.continue_settlement(before.settlement):
        # Its order stays: somebody may have labelled rows of it, in the folder or elsewhere.
        name, new = before.files["sheet"], before.may_be_replaced
        notes = [f"Labels given earlier still count: {before.n_labels:,}."] * bool(before.labels)
        asked = before.settlement
    else:
        name, notes = _new_sheet(table, folder, before)
        notes, new = [*_set_aside(folder, before), *notes], True
    result.labelling = command_words(folder, name)
    rows = table.cells_at(asked.rows)
    mark = f"{YES} {_digest(asked)[:6]}"
    sheet = sheet_of(rows, asked.keys, target, asked.id_name, mark)
    challengers = tuple(duel.rival for duel in duels_in(result, asked))
    cross_validated = settled_in(result, asked).cross_validated
    named = [BASELINE, result.recommended, *filter(None, challengers)]
    stored = {model: f"{MODELS}/{key_of(model)}.skops" for model in dict.fromkeys(named)}
    files = {"report": report.name, "sheet": name}
    labelling = StoredLabelling(
        asked, sheet, result.answer, challengers, cross_validated, stored, files, folder, new
    )
    return labelling, notes


def _stored(folder: Path) -> StoredLabelling | None:
    """Return what an earlier comparison has stored; None if it cannot be read."""
    try:
        return StoredLabelling.read(folder)
    except ValueError:  # ``_set_aside`` keeps the files
        return None


def _set_aside(folder: Path, before: StoredLabelling | None) -> list[str]:
    """Rename the stored files of another comparison, if somebody has labelled rows of it."""
    if not (folder / STORED).exists():
        return []
    if before is not None and not before.labels and before.may_be_replaced:
        (folder / STORED).unlink()
        return []
    aside = _free(folder, Path(STORED).stem, ".json", 1)
    (folder / STORED).rename(folder / aside)
    if before is not None and not before.labels:
        return [
            f"{before.sheet_path} is about other models, so its labels settle nothing here; the "
            f"question that they answer is kept in {folder / aside}."
        ]
    return [
        "The labels given earlier are about other models, so they settle nothing here; they are "
        f"kept in {folder / aside}. {KEEP_MARKS}"
    ]


def _new_sheet(
    table: TableFile, folder: Path, before: StoredLabelling | None
) -> tuple[str, list[str]]:
    """Return the name of a new sheet, which replaces no sheet with labels, and notes."""
    can_write = SPREADSHEETS.get(table.path.suffix.lower()) == "openpyxl"
    suffix = SPREADSHEET if can_write and is_installed("openpyxl") else ".csv"
    name = f"{SHEET}{suffix}"
    if not (folder / name).exists():
        return name, []
    if before is not None and before.sheet_path.suffix == suffix and before.may_be_replaced:
        return before.files["sheet"], []
    other = _free(folder, SHEET, suffix, 2)
    return other, [
        f"{folder / name} is another sheet, perhaps with labels, and stays as it is: the new rows "
        f"to label are in {folder / other}."
    ]


def _free(folder: Path, stem: str, suffix: str, number: int) -> str:
    """Return a numbered name that no file has."""
    while (folder / (name := f"{stem}-{number}{suffix}")).exists():
        number += 1
    return name


def write_labelling(labelling: StoredLabelling, result: Comparison, table: TableFile) -> None:
    """Write the sheet (unless the existing one is kept), the page, the models and the state."""
    folder, asked = labelling.folder, labelling.settlement
    (folder / MODELS).mkdir(exist_ok=True)
    for name, file in labelling.models.items():
        carried = asked.id_name if result.problem is None else result.problem.id_column
        save(result.fit(name), folder / file, id=carried, target=asked.target)
    if labelling.new_sheet:
        separator = table.file.separator if isinstance(table, CsvTable) else ","
        write_sheet(labelling.sheet_path, labelling.sheet, separator)
    write_page(labelling)
    labelling.write()


def write_page(labelling: StoredLabelling) -> None:
    """Write the page on which rows are labelled, with the labels so far."""
    write_file(labelling.folder / PAGE, labelling_page(_task(labelling)))


def _digest(asked: Settlement) -> str:
    """Return a digest that identifies a settlement, whatever its labels.

    What is said of the rows that were left out is no part of it, because sheets and browsers have
    the digest of earlier versions, too.
    """
    values = asked.cleared().to_dict()
    del values["left_out"]
    content = json.dumps(values, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _task(labelling: StoredLabelling) -> LabellingTask:
    """Return what the page for labelling shows."""
    asked, sheet = labelling.settlement, labelling.sheet
    pairs = [
        (question, about)
        for question, about in zip(asked.questions, _abouts(labelling), strict=True)
        if question.pair.needs_labels
    ]
    first = pairs[0][0].pair
    name = f"{SHEET}.csv"
    return LabellingTask(
        title=f"Label rows: {sheet.target}",
        target=sheet.target,
        key=_digest(asked)[:16],
        file_name=name,
        classes=asked.classes,
        header=sheet.header,
        rows=sheet.texts,
        shown=sheet.shown,
        n_rows=first.n_rows,
        margin=first.n_margin,
        pairs=[
            LabellingPair(
                *(question.challenger, question.baseline, question.pair.n_different),
                *(question.pair.two_outcomes, question.pair.alpha),
                [None if low < 0 else (low, high) for low, high in question.codes.tolist()],
                about,
            )
            for question, about in pairs
        ],
        next_step=(
            f"Then run the command {settle_command(labelling.folder)} with the path of the file "
            f"{name} that was downloaded."
        ),
        answers=dict(zip(sorted(asked.labels), labelling.labels.values(), strict=True)),
    )


def _abouts(labelling: StoredLabelling) -> list[str]:
    """Return what every question settles, as part of a sentence.

    The first question settles which model to use, unless another model may beat the baseline too.
    """
    questions, challengers = labelling.settlement.questions, labelling.challengers
    named = [
        f"whether {question.challenger} is better than {question.baseline}"
        if name is not None
        else "what the unlabelled rows contribute"
        for name, question in zip(challengers, questions, strict=True)
    ]
    others = zip(challengers[1:], questions[1:], strict=True)
    if not any(name is not None and question.pair.needs_labels for name, question in others):
        named[0] = "which model to use"
    return named


def rewrite_report(labelling: StoredLabelling) -> str:
    """Write the report again, with what labels say; return a sentence if there is none."""
    folder, path = labelling.folder, labelling.folder / labelling.files["report"]
    if not path.exists():
        return (
            f"There is no {path} to write this into: it is written again by the same primum "
            f"compare with --resume (a folder: {folder})."
        )
    settled = labelling.settled
    write_file(path, report_text(path.suffix, labelling.answer, labelling.headline(), settled))
    return ""
