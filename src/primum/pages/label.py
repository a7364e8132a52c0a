"""The page on which a person labels rows: one at a time, until the question is settled.

The page is one file with its own script and needs no network. It holds the sheet of rows that a
comparison asks for, in their stored random order, and for every pair of models what the two predict
on each row. Predictions are never shown, because they would influence the labeller. Neither are the
bounds shown before the question is settled, unless the labeller asks for them: whoever sees them
move with a label learns what the models had predicted. ``settle.js`` computes the bounds of
`primum.judging.error_bounds`; ``label.html`` is the markup, and ``label.js`` the behaviour.

Answers are kept in the storage of the browser. The labeller downloads them as the sheet with its
target filled in, in the form that Python's ``csv`` module writes.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from string import Template

from primum.judging.named_labels import CANNOT_SAY_CELL
from primum.pages.page import asset


@dataclass(frozen=True)
class LabellingPair:
    """Two fitted models whose errors are compared by the labels.

    Attributes
    ----------
    challenger, baseline : str
        Their names in words, as they follow "on your rows": "the safe stack", "the baseline".
    n_different : int
        Number of unlabelled rows on which the two predict different classes. The sheet may have
        fewer of them.
    two_outcomes : bool
        Whether one of the two must be right on every such row.
    alpha : float
        Probability that the bounds of this pair are wrong, at most.
    codes : sequence of (int, int) or None
        For every row of the sheet, the indices of the classes that the baseline and the challenger
        predict; None if the two predict the same class.
    about : str, default="which model to use"
        What the pair settles, as part of a sentence.
    """

    challenger: str
    baseline: str
    n_different: int
    two_outcomes: bool
    alpha: float
    codes: Sequence[tuple[int, int] | None]
    about: str = "which model to use"


@dataclass(frozen=True)
class LabellingTask:
    """The rows to label, and the pairs of models to decide between by their labels.

    Attributes
    ----------
    title : str
        Heading of the page.
    target : str
        Name of the column to label.
    key : str
        Name of the comparison, under which a browser stores the answers. Two pages with the same
        key share them.
    file_name : str
        Name of the sheet that is downloaded.
    classes : sequence of str
        The labels as they are written in the sheet.
    header : sequence of str
        Names of the sheet's columns, the target among them.
    rows : sequence of sequence of str
        The rows of the sheet in their stored random order; the target is empty.
    shown : sequence of int
        Places of the columns that the labeller sees.
    n_rows : int
        Number of unlabelled rows that the answer is about.
    margin : float
        Region of practical equivalence, in rows: differences up to it do not matter.
    pairs : sequence of LabellingPair
        The pairs of models, each with its own alpha. Once the first is settled, the labeller may
        stop; the others are optional.
    next_step : str, default=""
        What to do with the sheet after downloading it, in a sentence.
    answers : mapping of int to str
        Labels that were read from a sheet, or "?", by place of their row: the page begins with
        them, unless the browser has another answer for the row.
    """

    title: str
    target: str
    key: str
    file_name: str
    classes: Sequence[str]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    shown: Sequence[int]
    n_rows: int
    margin: float
    pairs: Sequence[LabellingPair]
    next_step: str = ""
    answers: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.rows or not self.pairs:
            raise ValueError(
                "A page for labelling needs rows and pairs of models, "
                f"got {len(self.rows)} rows and {len(self.pairs)} pairs."
            )
        self._check_sheet()
        self._check_classes()
        for pair in self.pairs:
            self._check_pair(pair)

    def _check_sheet(self) -> None:
        if list(self.header).count(self.target) != 1:
            raise ValueError(
                f"The header of the sheet must have the target {self.target!r} once, "
                f"got {list(self.header)}."
            )
        place = list(self.header).index(self.target)
        if not set(self.shown) <= set(range(len(self.header))) - {place}:
            raise ValueError(
                f"The shown columns must be places in the header, from 0 to "
                f"{len(self.header) - 1}, without that of the target, got {list(self.shown)}."
            )
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.header):
                raise ValueError(
                    f"Row {number} of the sheet has {len(row)} cells, "
                    f"but its header has {len(self.header)}."
                )
            if row[place]:
                raise ValueError(
                    f"Row {number} of the sheet has the label {row[place]!r} already: "
                    "leave it out, or its label empty."
                )

    def _check_classes(self) -> None:
        if len(set(self.classes)) < len(self.classes) or {"", CANNOT_SAY_CELL} & set(self.classes):
            raise ValueError(
                f"The classes must be different texts, neither empty nor {CANNOT_SAY_CELL!r}, "
                f"which means undecided, got {list(self.classes)}."
            )

        for place, label in self.answers.items():
            if place not in range(len(self.rows)) or label not in (*self.classes, CANNOT_SAY_CELL):
                raise ValueError(
                    f"The row at place {place} is labelled {label!r}, but there are "
                    f"{len(self.rows)} rows and the classes {list(self.classes)}."
                )

    def _check_pair(self, pair: LabellingPair) -> None:
        names = f"{pair.challenger} and {pair.baseline}"
        if len(pair.codes) != len(self.rows):
            raise ValueError(
                f"There are {len(self.rows)} rows to label, but {len(pair.codes)} codes of "
                f"{names}: give one, or None, for every row."
            )
        codes = [code for code in pair.codes if code is not None]
        if len(codes) > pair.n_different:
            raise ValueError(
                f"{names} differ on {pair.n_different} rows, but {len(codes)} of them are in the "
                "sheet."
            )
        for code in codes:
            if len(set(code)) != 2 or not set(code) <= set(range(len(self.classes))):
                raise ValueError(
                    f"{names} have the codes {code}, but there are {len(self.classes)} classes and "
                    "their predictions differ: give None where they do not."
                )

    def to_json(self) -> str:
        """Return the task as JSON that can neither end a script element nor begin a comment."""
        values = {**vars(self), "pairs": [vars(pair) for pair in self.pairs]}
        text = json.dumps(
            values, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=list
        )
        return text.replace("<", "\\u003c")


def labelling_page(task: LabellingTask) -> str:
    """Return a page on which a person labels rows, one at a time.

    Parameters
    ----------
    task : LabellingTask
        The rows to label, and the pairs of models to decide between.

    Returns
    -------
    str
        The page: HTML that loads nothing and runs nothing but its own script.
    """
    style = "\n" + "".join(map(asset, ("page.css", "chart.css", "label.css")))
    script = "\n" + "".join(map(asset, ("settle.js", "label.js")))
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(task.title)}</title><style>{style}</style></head>\n"
        f"<body class='primum labelling'>\n{_body(task)}"
        f"<script type='application/json' id='task'>{task.to_json()}</script>\n"
        f"<script>{script}</script></body></html>\n"
    )


def _policy(style: str, script: str) -> str:
    """Return a policy that allows this style and this script, and nothing else."""
    allowed = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    )
    style_hash, script_hash = (f"'sha256-{digest}'" for digest in allowed)
    return (
        f"default-src 'none'; style-src {style_hash}; script-src {script_hash}; "
        "base-uri 'none'; form-action 'none'"
    )


def _body(task: LabellingTask) -> str:
    """Return the markup that the script fills in: progress, the card of a row, answers, details."""
    names = {name: escape(getattr(task, name)) for name in ("title", "target", "file_name")}
    numbers = {"n_listed": max(len(task.rows), 1), "n_rows": f"{task.n_rows:,}"}
    return Template(asset("label.html")).substitute(names | numbers)
