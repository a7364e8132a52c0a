"""One self-contained HTML page: text, tables and figures in a single, responsive file.

The first section is the answer; the table of contents follows it. The page uses the fonts of the
system and no network, prints, and reads well on a phone: whatever is wider than the screen scrolls
within a region of its own, which the keyboard reaches. Every figure has a caption, alternative text
and, where it draws numbers, these numbers as a table.
"""

import base64
import io
import re
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

# A dense figure has a smaller file as pixels.
MAX_SVG_BYTES = 300_000
# Wider figures (inches) scroll on a phone instead of shrinking.
WIDE = 7.0
# With fewer sections a table of contents is of no use.
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


def bullets(texts: Iterable[str]) -> str:
    """Return a list of sentences."""
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def code_block(text: str, label: str) -> str:
    """Return program text in a region that scrolls."""
    return (
        f"<pre tabindex='0' role='region' aria-label='{escape(label)}'>"
        f"<code>{escape(text)}</code></pre>"
    )


def scrolling(content: str, label: str) -> str:
    """Return HTML in a region that scrolls if it is wider than the page."""
    return (
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(label)}'>"
        f"{content}</div>"
    )


def captioned(content: str, caption: str, numbers: str = "") -> str:
    """Return a figure with its caption below and its numbers, HTML, behind a fold."""
    folded = (
        f"<details><summary>The numbers of this figure</summary>{numbers}</details>"
        if numbers
        else ""
    )
    return f"<figure>{content}<figcaption>{escape(caption)}</figcaption>{folded}</figure>"


def picture(figure: Any, caption: str, numbers: str = "") -> str:
    """Return a matplotlib figure as an embedded image with a caption, and its numbers as HTML."""
    alternative = first_sentence(caption)
    if numbers:
        alternative += " The numbers follow as a table."
    image = f"<img alt='{escape(alternative)}' src='{_data_uri(figure)}'>"
    if figure.get_figwidth() > WIDE:
        wide = image.replace("<img", "<img class='wide'")
        image = scrolling(wide, f"Figure: {first_sentence(caption)}")
    return captioned(image, caption, numbers)


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop that ends a sentence."""
    return re.split(r"(?<=[.;:]) ", text, maxsplit=1)[0].rstrip(";:")


def _data_uri(figure: Any) -> str:
    """Return a figure as lines, which stay sharp; a dense one as pixels."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "primum"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    kind = "svg+xml"
    if len(buffer.getvalue()) > MAX_SVG_BYTES:
        buffer, kind = io.BytesIO(), "png"
        figure.savefig(buffer, format="png", dpi=110)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"
