"""Self-contained HTML pages, and the blocks they consist of: text, tables, figures, code.

A report is composed once, from blocks: data that ``templates/blocks.html.j2`` writes as HTML, and
``to_markdown`` as Markdown. A table consists of cells that may be marked as bold or underlined, and
can also be written as plain text or LaTeX; a format only decides how these marks are rendered.

The first section is the answer, followed by the table of contents. The page uses the fonts of the
system and no network, can be printed, and reads well on a phone: whatever is wider than the screen
scrolls within a region of its own, which the keyboard reaches. Every figure has a caption,
alternative text and, if it draws numbers, these numbers as a table.
"""

import base64
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Self

from jinja2 import Environment, PackageLoader, StrictUndefined

# A figure whose SVG is larger than this is stored as pixels, which then take less space: it has
# thousands of points.
MAX_SVG_BYTES = 300_000
# Wider figures (inches) scroll on a phone instead of shrinking, because their texts would be
# unreadable.
MAX_FIGURE_INCHES = 7.0
# With fewer sections there is no table of contents: all are seen at once.
MIN_SECTIONS_FOR_CONTENTS = 4


@cache
def asset(name: str) -> str:
    """Return the text of a style sheet or script that is stored beside this file."""
    return files("primum.pages").joinpath(name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    """Return the templates, which escape whatever is not marked as safe."""
    found = Environment(
        loader=PackageLoader("primum.pages"),
        autoescape=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    found.filters["first_sentence"] = first_sentence
    found.globals.update(
        asset=asset,
        MAX_CELL_LINE=MAX_CELL_LINE,
        MIN_SECTIONS_FOR_CONTENTS=MIN_SECTIONS_FOR_CONTENTS,
    )
    return found


def html_page(
    title: str, sections: Iterable[tuple[str, Iterable["PageBlock | str"]]], *, subtitle: str = ""
) -> str:
    """Return a page of sections, each with a heading and blocks; the first is the answer.

    Parameters
    ----------
    title, subtitle : str
        Text of the header.
    sections : iterable of (heading, blocks)
        Headings are text; a string in place of a block is HTML.

    Returns
    -------
    str
        The page.
    """
    ids: list[str] = []
    named = []
    for heading, blocks in sections:
        name = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") or "section"
        ids.append(name if name not in ids else f"{name}-{len(ids)}")
        named.append((ids[-1], heading, list(blocks)))
    page = _templates().get_template("page.html.j2")
    return page.render(title=title, subtitle=subtitle, sections=named)


def html_of(blocks: Iterable["PageBlock | str"]) -> str:
    """Return blocks as HTML; a string in place of a block is HTML already."""
    module: Any = _templates().get_template("blocks.html.j2").module
    return str(module.blocks(list(blocks)))


def paragraph(text: str) -> str:
    """Return a paragraph as HTML."""
    return Text(text).to_html()


def picture(figure: Any, caption: str, numbers: str = "") -> str:
    """Return a matplotlib figure as an embedded image with a caption, and its numbers as HTML."""
    module: Any = _templates().get_template("blocks.html.j2").module
    wide = figure.get_figwidth() > MAX_FIGURE_INCHES
    return str(module.picture(_data_uri(figure), wide, caption, numbers))


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop that ends a sentence."""
    return re.split(r"(?<=[.;:]) ", text, maxsplit=1)[0].rstrip(";:")


def _data_uri(figure: Any) -> str:
    """Return a figure as SVG, which stays sharp, or a dense one as pixels."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "primum"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    kind = "svg+xml"
    if len(buffer.getvalue()) > MAX_SVG_BYTES:
        buffer, kind = io.BytesIO(), "png"
        figure.savefig(buffer, format="png", dpi=110)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


class PageBlock(ABC):
    """Part of a section: data, whose ``shape`` names how the template writes it."""

    shape: ClassVar[str]

    def to_html(self) -> str:
        """Return HTML."""
        return html_of([self])

    @abstractmethod
    def to_markdown(self) -> str:
        """Return Markdown."""


# A heading and what is below it.
Section = tuple[str, Sequence[PageBlock]]

# Cells with more characters are broken into lines: two or three such columns fill a page.
MAX_CELL_LINE = 40
# Cells that stand for a missing number, not for words.
MISSING = ("", "–", "failed", "not run")


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
        The value to sort by, if it is not the number with which the text begins.
    """

    text: str
    bold: bool = False
    underline: bool = False
    note: str = ""
    value: float | None = None

    @classmethod
    def of(cls, value: float | None, form: str = ",") -> Self:
        """Return a number in a format of Python, with its value for sorting; a dash for None."""
        return cls("–") if value is None else cls(format(value, form), value=value)


@dataclass(frozen=True)
class PageTable(PageBlock):
    """A table: caption, header, rows of cells, and rows at the foot that are not sorted."""

    shape = "table"
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    foot: Sequence[Sequence[Cell]] = ()

    @classmethod
    def of(
        cls,
        caption: str,
        header: Sequence[str],
        rows: Iterable[Iterable[object]],
        foot: Iterable[Iterable[object]] = (),
    ) -> Self:
        """Return a table of cells, and of anything else that is shown as plain text."""
        body, last = (
            [[c if isinstance(c, Cell) else Cell(str(c)) for c in row] for row in part]
            for part in (rows, foot)
        )
        return cls(caption, header, body, last)

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

    @property
    def worded(self) -> list[bool]:
        """Whether a column contains words, rather than numbers."""
        return [
            any(
                row[k].value is None
                and row[k].text not in MISSING
                and not re.match(r"[-+−]?[\d.]", row[k].text)
                for row in self.rows
            )
            for k in range(len(self.header))
        ]


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
    """Return text that Markdown shows as it is: no cell ends early, and no tag takes effect."""
    text = re.sub(r"([\\`*|\[\]])", r"\\\1", text.replace("\n", " "))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped(cell: Cell) -> Cell:
    return replace(cell, text=markdown_escape(cell.text), note=markdown_escape(cell.note))


@dataclass(frozen=True)
class Text(PageBlock):
    """A paragraph."""

    shape = "text"
    text: str

    def to_markdown(self) -> str:
        """Return Markdown."""
        return markdown_escape(self.text)


@dataclass(frozen=True)
class Bullets(PageBlock):
    """A list of sentences."""

    shape = "list"
    texts: Sequence[str]

    def to_markdown(self) -> str:
        """Return Markdown."""
        return "\n".join(f"* {markdown_escape(text)}" for text in self.texts)


@dataclass(frozen=True)
class AnswerBlock(PageBlock):
    """The verdict, as short lines below each other.

    Attributes
    ----------
    line : str
        What to use.
    kind : str
        Help, harm or other.
    reasons : sequence of (name, text)
        The lines below it, such as ("Why", "Its error is lower."); those without text are left out.
    alerts : sequence of str
        Warnings that limit how far the answer can be trusted; they come first.
    """

    shape = "answer"
    line: str
    kind: str
    reasons: Sequence[tuple[str, str]]
    alerts: Sequence[str] = ()

    def to_markdown(self) -> str:
        """Return Markdown."""
        alerts = [f"**Warning:** {markdown_escape(text)}" for text in self.alerts]
        reasons = Bullets([f"{name}: {text}" for name, text in self.written]).to_markdown()
        return "\n\n".join(filter(None, [*alerts, f"**{markdown_escape(self.line)}**", reasons]))

    @property
    def written(self) -> list[tuple[str, str]]:
        """The reasons that have a text."""
        return [(name, text) for name, text in self.reasons if text]


@dataclass(frozen=True)
class Facts(PageBlock):
    """A list of a few named numbers."""

    shape = "facts"
    facts: Sequence[tuple[str, str]]

    def to_markdown(self) -> str:
        """Return Markdown."""
        return Bullets([f"{name}: {value}" for name, value in self.facts]).to_markdown()


@dataclass(frozen=True)
class Chart(PageBlock):
    """A chart (HTML) with its caption and numbers; Markdown has only the numbers."""

    shape = "chart"
    drawing: str
    caption: str
    numbers: PageTable

    def to_markdown(self) -> str:
        """Return Markdown."""
        return f"{markdown_escape(self.numbers.caption)}\n\n{self.numbers.to_markdown()}"


@dataclass(frozen=True)
class Folded(PageBlock):
    """A collapsed block, for details that most readers skip; in Markdown it is not collapsed."""

    shape = "folded"
    title: str
    block: PageBlock

    def to_markdown(self) -> str:
        """Return Markdown."""
        return f"{markdown_escape(self.title)}:\n\n{self.block.to_markdown()}"


@dataclass(frozen=True)
class Code(PageBlock):
    """Program text."""

    shape = "code"
    text: str

    def to_markdown(self) -> str:
        """Return Markdown."""
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", self.text)), default=0))
        return f"{fence}python\n{self.text}\n{fence}"


def markdown_of(title: str, sections: Sequence[Section], subtitle: str = "") -> str:
    """Return sections as Markdown."""
    parts = [f"# {markdown_escape(title)}", markdown_escape(subtitle)]
    for heading, blocks in sections:
        parts += [f"## {markdown_escape(heading)}", _markdown(blocks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown(blocks: Sequence[PageBlock]) -> str:
    """Return blocks as Markdown; a table comes after its caption."""
    parts: list[str] = []
    for block in blocks:
        if isinstance(block, PageTable):
            parts.append(markdown_escape(block.caption))
        parts.append(block.to_markdown())
    return "\n\n".join(part for part in parts if part)
