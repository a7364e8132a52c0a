"""Self-contained HTML pages, and the blocks they consist of: text, tables, figures, code.

A report is composed once, from blocks that can be written as HTML or as Markdown. A table consists
of cells that may be marked as bold or underlined, and can also be written as plain text or LaTeX; a
format only decides how these marks are rendered.

The first section is the answer, followed by the table of contents. The page uses the fonts of the
system and no network, can be printed, and reads well on a phone: whatever is wider than the screen
scrolls within a region of its own, which the keyboard reaches. Every figure has a caption,
alternative text and, if it draws numbers, these numbers as a table.
"""

import base64
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Protocol, Self

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


def html_page(
    title: str, sections: Iterable[tuple[str, Iterable[str]]], *, subtitle: str = ""
) -> str:
    """Return a page of sections, each with a heading and HTML fragments; the first is the answer.

    Parameters
    ----------
    title, subtitle : str
        Text of the header.
    sections : iterable of (heading, fragments)
        Headings are text, fragments HTML.

    Returns
    -------
    str
        The page.
    """
    listed = [(heading, list(parts)) for heading, parts in sections]
    names = _section_ids([heading for heading, _ in listed])
    blocks = [
        f"<section id='{name}' aria-labelledby='{name}-heading'{' class=lead' if not k else ''}>"
        f"<h2 id='{name}-heading'>{escape(heading)}</h2>\n{chr(10).join(parts)}</section>"
        for k, (name, (heading, parts)) in enumerate(zip(names, listed, strict=True))
    ]
    if len(listed) >= MIN_SECTIONS_FOR_CONTENTS:
        blocks.insert(1, _contents(names[1:], [heading for heading, _ in listed[1:]]))
    below = f"<p>{escape(subtitle)}</p>" if subtitle else ""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title>"
        f"<style>\n{asset('page.css')}{asset('chart.css')}</style></head>\n"
        f"<body class='primum'><header><h1>{escape(title)}</h1>{below}</header>\n"
        f"<main>\n{chr(10).join(blocks)}\n</main>\n"
        "<footer><p>Written by primum. This file is complete: it loads nothing from the network. "
        "Tables sort by the column whose heading is pressed.</p></footer>\n"
        f"<script>\n{asset('page.js')}</script></body></html>\n"
    )


def _section_ids(headings: list[str]) -> list[str]:
    """Return a distinct id for every heading."""
    ids: list[str] = []
    for heading in headings:
        name = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") or "section"
        ids.append(name if name not in ids else f"{name}-{len(ids)}")
    return ids


def _contents(ids: list[str], headings: list[str]) -> str:
    items = "".join(
        f"<li><a href='#{name}'>{escape(heading)}</a></li>"
        for name, heading in zip(ids, headings, strict=True)
    )
    return f"<nav aria-label='Contents'><ul>{items}</ul></nav>"


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def scrolling(content: str, label: str) -> str:
    """Return HTML in a region that scrolls if it is wider than the page."""
    return (
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(label)}'>"
        f"{content}</div>"
    )


def captioned(content: str, caption: str, numbers: str = "") -> str:
    """Return a figure with its caption below and its numbers, as HTML, in a collapsed block."""
    if numbers:
        numbers = f"<details><summary>The numbers of this figure</summary>{numbers}</details>"
    return f"<figure>{content}<figcaption>{escape(caption)}</figcaption>{numbers}</figure>"


def picture(figure: Any, caption: str, numbers: str = "") -> str:
    """Return a matplotlib figure as an embedded image with a caption, and its numbers as HTML."""
    alternative = first_sentence(caption)
    if numbers:
        alternative += " The numbers follow as a table."
    image = f"<img alt='{escape(alternative)}' src='{_data_uri(figure)}'>"
    if figure.get_figwidth() > MAX_FIGURE_INCHES:
        wide = image.replace("<img", "<img class='wide'")
        image = scrolling(wide, f"Figure: {first_sentence(caption)}")
    return captioned(image, caption, numbers)


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


# Cells with more characters are broken into lines: two or three such columns fill a page.
MAX_CELL_LINE = 40


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
class PageTable:
    """A table: caption, header, rows of cells, and rows at the foot that are not sorted."""

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
    """Return text that Markdown shows as it is: no cell ends early, and no tag takes effect."""
    text = re.sub(r"([\\`*|\[\]])", r"\\\1", text.replace("\n", " "))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped(cell: Cell) -> Cell:
    return replace(cell, text=markdown_escape(cell.text), note=markdown_escape(cell.note))


def _is_text(cell: Cell) -> bool:
    """Return whether a cell contains words, rather than a number or the sign for a missing one."""
    missing = cell.text in ("", "–", "failed", "not run")
    return not missing and cell.value is None and not re.match(r"[-+−]?[\d.]", cell.text)


def _class(text: bool, long: bool = False) -> str:
    return f" class='text{' long' if long else ''}'" if text else ""


def _html_row(row: Sequence[Cell], texts: Sequence[bool]) -> str:
    """Return a row whose first cell is its heading."""
    first, *others = row
    cells = (
        f"<td{_class(text, len(cell.text) > MAX_CELL_LINE)}{_sorted_by(cell)}>{_html(cell)}</td>"
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


class PageBlock(Protocol):
    """Part of a section."""

    def to_html(self) -> str:
        """Return HTML."""
        ...

    def to_markdown(self) -> str:
        """Return Markdown."""
        ...


Section = tuple[str, Sequence[PageBlock]]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    def to_html(self) -> str:
        """Return HTML."""
        return paragraph(self.text)

    def to_markdown(self) -> str:
        """Return Markdown."""
        return markdown_escape(self.text)


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    texts: Sequence[str]

    def to_html(self) -> str:
        """Return HTML."""
        return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in self.texts)}</ul>"

    def to_markdown(self) -> str:
        """Return Markdown."""
        return "\n".join(f"* {markdown_escape(text)}" for text in self.texts)


@dataclass(frozen=True)
class AnswerBlock:
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

    line: str
    kind: str
    reasons: Sequence[tuple[str, str]]
    alerts: Sequence[str] = ()

    def to_html(self) -> str:
        """Return HTML."""
        alerts = "".join(
            f"<div class='alert'><p><b>Warning:</b> {escape(text)}</p></div>"
            for text in self.alerts
        )
        kind = f" {self.kind}" if self.kind in ("help", "harm") else ""
        reasons = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in self._written
        )
        return (
            f"{alerts}<div class='verdict{kind}'><p class='answer'>{escape(self.line)}</p>"
            f"{f'<dl>{reasons}</dl>' if reasons else ''}</div>"
        )

    def to_markdown(self) -> str:
        """Return Markdown."""
        alerts = [f"**Warning:** {markdown_escape(text)}" for text in self.alerts]
        reasons = Bullets([f"{name}: {text}" for name, text in self._written]).to_markdown()
        return "\n\n".join(filter(None, [*alerts, f"**{markdown_escape(self.line)}**", reasons]))

    @property
    def _written(self) -> list[tuple[str, str]]:
        return [(name, text) for name, text in self.reasons if text]


@dataclass(frozen=True)
class Facts:
    """A list of a few named numbers."""

    facts: Sequence[tuple[str, str]]

    def to_html(self) -> str:
        """Return HTML."""
        items = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
            for name, value in self.facts
        )
        return f"<dl class='facts'>{items}</dl>"

    def to_markdown(self) -> str:
        """Return Markdown."""
        return Bullets([f"{name}: {value}" for name, value in self.facts]).to_markdown()


@dataclass(frozen=True)
class Chart:
    """A chart (HTML) with its caption and numbers; Markdown has only the numbers."""

    drawing: str
    caption: str
    numbers: PageTable

    def to_html(self) -> str:
        """Return HTML."""
        return captioned(self.drawing, self.caption, self.numbers.to_html())

    def to_markdown(self) -> str:
        """Return Markdown."""
        return f"{markdown_escape(self.numbers.caption)}\n\n{self.numbers.to_markdown()}"


@dataclass(frozen=True)
class Folded:
    """A collapsed block, for details that most readers skip; in Markdown it is not collapsed."""

    title: str
    block: PageBlock

    def to_html(self) -> str:
        """Return HTML."""
        return f"<details><summary>{escape(self.title)}</summary>{self.block.to_html()}</details>"

    def to_markdown(self) -> str:
        """Return Markdown."""
        return f"{markdown_escape(self.title)}:\n\n{self.block.to_markdown()}"


@dataclass(frozen=True)
class Code:
    """Program text."""

    text: str

    def to_html(self) -> str:
        """Return HTML."""
        code = f"<code>{escape(self.text)}</code>"
        return f"<pre tabindex='0' role='region' aria-label='Python code'>{code}</pre>"

    def to_markdown(self) -> str:
        """Return Markdown."""
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", self.text)), default=0))
        return f"{fence}python\n{self.text}\n{fence}"


@dataclass(frozen=True)
class ReplaceablePart:
    """Blocks between named comments, which can be replaced in the file of a report."""

    name: str
    blocks: Sequence[PageBlock]

    def to_html(self) -> str:
        """Return HTML."""
        return _between(self.name, "\n".join(block.to_html() for block in self.blocks))

    def to_markdown(self) -> str:
        """Return Markdown."""
        return _between(self.name, _markdown(self.blocks), "\n\n")


def _between(name: str, text: str, space: str = "") -> str:
    return f"<!-- primum: {name} -->{space}{text}{space}<!-- end of {name} -->"


def with_part(report: str, part: str) -> str | None:
    """Return a report with one of its parts replaced by another version in the same format.

    Parameters
    ----------
    report : str
        The report, as HTML or as Markdown.
    part : str
        The result of ``ReplaceablePart.to_html`` or ``ReplaceablePart.to_markdown``.

    Returns
    -------
    str or None
        The report; None if it has no such part.
    """
    first, last = part[: part.index("-->") + 3], part[part.rindex("<!--") :]
    before, start, rest = report.partition(first)
    _, ended, after = rest.partition(last)
    return before + part + after if start and ended else None


def page_of(title: str, sections: Sequence[Section], subtitle: str = "") -> str:
    """Return sections as an HTML page."""
    written = [(heading, [block.to_html() for block in blocks]) for heading, blocks in sections]
    return html_page(title, written, subtitle=subtitle)


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
