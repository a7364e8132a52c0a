"""What sections of a report consist of, each as HTML and as Markdown: text, lists, charts, code.

A ``Table`` is such a block too. A report is composed once, and the format decides how its blocks
are written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

from primum.report.page import bullets, captioned, code_block, html_page, paragraph
from primum.report.tables import Table, markdown_escape


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
    """The verdict: one line, its kind (help, harm or other) and the sentences that support it."""

    line: str
    kind: str
    text: str

    def to_html(self) -> str:
        """Return HTML."""
        kind = self.kind if self.kind in ("help", "harm") else ""
        return (
            f"<div class='verdict {kind}'><p class='answer'>{escape(self.line)}</p>"
            f"{paragraph(self.text)}</div>"
        )

    def to_markdown(self) -> str:
        """Return Markdown."""
        return f"**{markdown_escape(self.line)}**\n\n{markdown_escape(self.text)}"


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
