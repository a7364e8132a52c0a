"""Tables in the paper's form, as text, Markdown, LaTeX and HTML.

A table is built once, as cells that are marked as bold or underlined; a format only decides how
these marks are rendered.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from primum.pages.page import first_sentence, scrolling

if TYPE_CHECKING:
    pass


# Cells with longer text are broken into lines.
LONG = 40


@dataclass(frozen=True)
class Cell:
    """Text with its formatting.

    Attributes
    ----------
    text : str
        The text.
    bold, underline : bool
        Its marks.
    note : str
        Further text in small print.
    value : float or None
        By which to sort, if that is not the number with which the text begins.
    """

    text: str
    bold: bool = False
    underline: bool = False
    note: str = ""
    value: float | None = None


@dataclass(frozen=True)
class Table:
    """A caption, a header, rows of cells, and rows at the foot that are not sorted with them."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    foot: tuple[tuple[Cell, ...], ...] = ()

    def to_text(self) -> str:
        """Return plain text; bold is ``*``, underlined ``_``."""
        rows = [[_marked(cell, "*", "_") for cell in row] for row in (*self.rows, *self.foot)]
        widths = [max(map(len, column)) for column in zip(self.header, *rows, strict=True)]
        lines = [self.header, *rows]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def to_markdown(self) -> str:
        """Return a Markdown table."""
        lines = [tuple(map(markdown_escape, self.header)), ("---",) * len(self.header)]
        lines += [
            tuple(_marked(_escaped(cell), "**", "_") for cell in row)
            for row in (*self.rows, *self.foot)
        ]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def to_latex(self) -> str:
        """Return a LaTeX table (package booktabs)."""
        body, foot = (
            "\n".join(" & ".join(map(_latex, row)) + r" \\" for row in rows)
            for rows in (self.rows, self.foot)
        )
        body += f"\n\\midrule\n{foot}" if foot else ""
        return (
            "\\begin{table}\n\\centering\n"
            f"\\caption{{{_latex_escape(self.caption)}}}\n"
            f"\\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}\n\\toprule\n"
            f"{' & '.join(map(_latex_escape, self.header))} \\\\\n\\midrule\n{body}\n"
            "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
        )

    def to_html(self) -> str:
        """Return an HTML table that scrolls sideways if it is too wide, and can be sorted."""
        texts = [any(_is_text(row[k]) for row in self.rows) for k in range(len(self.header))]
        head = "".join(
            f"<th scope='col'{_class(text)}>{escape(name)}</th>"
            for name, text in zip(self.header, texts, strict=True)
        )
        body, foot = (
            "\n".join(_html_row(row, texts) for row in rows) for rows in (self.rows, self.foot)
        )
        sortable = " class='sortable'" if len(self.rows) > 1 else ""
        table = (
            f"<table{sortable}><caption><span>{escape(self.caption)}</span></caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
            f"{f'<tfoot>{foot}</tfoot>' if foot else ''}</table>"
        )
        return scrolling(table, f"Table: {first_sentence(self.caption)}")


def _marked(cell: Cell, bold: str, underline: str) -> str:
    text = f"{bold}{cell.text}{bold}" if cell.bold else cell.text
    text = f"{underline}{text}{underline}" if cell.underline else text
    return f"{text} [{cell.note}]" if cell.note else text


def _latex(cell: Cell) -> str:
    text = _latex_escape(cell.text)
    text = f"\\textbf{{{text}}}" if cell.bold else text
    text = f"\\underline{{{text}}}" if cell.underline else text
    return f"{text} {{\\scriptsize [{_latex_escape(cell.note)}]}}" if cell.note else text


def _latex_escape(text: str) -> str:
    for sign in "&%_#":
        text = text.replace(sign, "\\" + sign)
    return text.replace("±", r"$\pm$")


def markdown_escape(text: str) -> str:
    """Return text that Markdown shows as it is: no cell ends early, no tag is a tag."""
    text = re.sub(r"([\\`*|\[\]])", r"\\\1", text.replace("\n", " "))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped(cell: Cell) -> Cell:
    return replace(cell, text=markdown_escape(cell.text), note=markdown_escape(cell.note))


def _is_text(cell: Cell) -> bool:
    """Return whether a cell holds words and not a number, or one that is missing."""
    missing = cell.text in ("", "–", "failed", "not run")
    return not missing and cell.value is None and not re.match(r"[-+−]?[\d.]", cell.text)


def _class(text: bool, long: bool = False) -> str:
    return f" class='text{' long' if long else ''}'" if text else ""


def _html_row(row: Sequence[Cell], texts: Sequence[bool]) -> str:
    """Return a row whose first cell is its heading."""
    first, *others = row
    cells = (
        f"<td{_class(text, len(cell.text) > LONG)}{_sorted_by(cell)}>{_html(cell)}</td>"
        for cell, text in zip(others, texts[1:], strict=True)
    )
    heading = f"<th scope='row'{_sorted_by(first)}>{_html(first)}</th>"
    return f"<tr>{heading}{''.join(cells)}</tr>"


def _sorted_by(cell: Cell) -> str:
    return "" if cell.value is None else f" data-value='{cell.value:.6g}'"


def _html(cell: Cell) -> str:
    text = escape(cell.text)
    text = f"<b>{text}</b>" if cell.bold else text
    text = f"<u>{text}</u>" if cell.underline else text
    return f"{text}<br><small>{escape(cell.note)}</small>" if cell.note else text
