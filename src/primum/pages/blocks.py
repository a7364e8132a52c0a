"""What sections of a report consist of, each as HTML and as Markdown: text, lists, charts, code.

A ``Table`` is such a block too. A report is composed once, and the format decides how its blocks
are written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

from primum.pages.page import bullets, captioned, code_block, html_page, paragraph
from primum.pages.tables import Table, markdown_escape


class Block(Protocol):
    """Part of a section."""

    def to_html(self) -> str:
        """Return HTML."""
        ...

    def to_markdown(self) -> str:
        """Return Markdown."""
        ...


Section = tuple[str, Sequence[Block]]


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
        return bullets(self.texts)

    def to_markdown(self) -> str:
        """Return Markdown."""
        return "\n".join(f"* {markdown_escape(text)}" for text in self.texts)


@dataclass(frozen=True)
class Answer:
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
        What changes how far the answer may be believed: it comes first.
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
        lines = [f"**{markdown_escape(self.line)}**"]
        lines = [*(f"**Warning:** {markdown_escape(text)}" for text in self.alerts), *lines]
        reasons = "\n".join(
            f"* {markdown_escape(name)}: {markdown_escape(text)}" for name, text in self._written
        )
        return "\n\n".join([*lines, *([reasons] if reasons else [])])

    @property
    def _written(self) -> list[tuple[str, str]]:
        return [(name, text) for name, text in self.reasons if text]


@dataclass(frozen=True)
class Facts:
    """A few numbers with their names."""

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
        listed = (f"{name}: {value}" for name, value in self.facts)
        return "\n".join(f"* {markdown_escape(text)}" for text in listed)


@dataclass(frozen=True)
class Chart:
    """A chart (HTML) with its caption and its numbers; in Markdown only the numbers."""

    drawing: str
    caption: str
    numbers: Table

    def to_html(self) -> str:
        """Return HTML."""
        return captioned(self.drawing, self.caption, self.numbers.to_html())

    def to_markdown(self) -> str:
        """Return Markdown."""
        return f"{markdown_escape(self.numbers.caption)}\n\n{self.numbers.to_markdown()}"


@dataclass(frozen=True)
class Folded:
    """A block behind a fold, for details that most readers skip; in Markdown it is not folded."""

    title: str
    block: Block

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
        return code_block(self.text, "Python code")

    def to_markdown(self) -> str:
        """Return Markdown."""
        longest = "```"
        while longest in self.text:
            longest += "`"
        return f"{longest}python\n{self.text}\n{longest}"


def page_of(title: str, sections: Sequence[Section], subtitle: str = "") -> str:
    """Return sections as an HTML page."""
    written = [(heading, [block.to_html() for block in blocks]) for heading, blocks in sections]
    return html_page(title, written, subtitle=subtitle)


def markdown_of(title: str, sections: Sequence[Section], subtitle: str = "") -> str:
    """Return sections as Markdown."""
    parts = [f"# {markdown_escape(title)}", markdown_escape(subtitle)]
    for heading, blocks in sections:
        parts.append(f"## {markdown_escape(heading)}")
        for block in blocks:
            if isinstance(block, Table):
                parts.append(markdown_escape(block.caption))
            parts.append(block.to_markdown())
    return "\n\n".join(part for part in parts if part) + "\n"
