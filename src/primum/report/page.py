"""One self-contained HTML page: text, tables and figures in a single, responsive file."""

import base64
import io
from collections.abc import Iterable
from html import escape
from typing import Any

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem;
       color: #1a1a1a; background: #fff; }
h1, h2 { line-height: 1.2; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .5rem 0; color: #555; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
thead tr { border-bottom: 2px solid #1a1a1a; }
tbody tr:nth-child(even) { background: #f5f7f9; }
small { color: #777; }
img { max-width: 100%; height: auto; }
figure { margin: 1rem 0; }
figcaption { color: #555; font-size: .85rem; }
"""


def html_page(title: str, sections: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Return a page of sections, each with a heading and HTML fragments."""
    body = "\n".join(
        f"<section><h2>{escape(heading)}</h2>\n{chr(10).join(parts)}</section>"
        for heading, parts in sections
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def picture(figure: Any, caption: str) -> str:
    """Return a figure as an embedded image with a caption below."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    data = base64.b64encode(buffer.getvalue()).decode()
    return (
        f"<figure><img alt='{escape(caption, quote=True)}' src='data:image/png;base64,{data}'>"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
