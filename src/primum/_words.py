"""Lists and numbers of things in messages, and lines that fit a terminal."""

import re
import textwrap
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

# A list in a message names at most this many items, about two lines of a terminal, and says how
# many more there are.
MAX_ITEMS_LISTED = 12
# Letters that two names have in common at their beginning, if that is no accident.
MIN_BEGINNING = 3
# Characters in a line of a terminal: the width that terminals have by default.
TERMINAL_WIDTH = 80


def listed(items: Sequence[Any], shown: int = MAX_ITEMS_LISTED) -> str:
    """Return the first items, separated by commas, and how many more there are."""
    n_hidden = len(items) - shown
    return ", ".join(map(str, items[:shown])) + (f" and {n_hidden} more" if n_hidden > 0 else "")


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: "1 row", "2,000 rows"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def shortened(text: str, width: int) -> str:
    """Return the beginning of a text that is too long for its column, followed by dots."""
    return text if len(text) <= width else f"{text[: width - 3].rstrip()}..."


def wrapped(text: str, indent: str = "") -> str:
    """Return text wrapped to fit a terminal; ``indent`` begins the continuation lines."""
    return "\n".join(
        textwrap.fill(line, TERMINAL_WIDTH, subsequent_indent=indent, break_on_hyphens=False)
        for line in text.splitlines()
    )


def printable(text: str) -> str:
    """Return text that cannot control a terminal, whatever the cells of a table contain."""
    return "".join(
        character
        if character.isprintable() or character == "\n"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def key_of(name: str) -> str:
    """Return the name of a method as users type it: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def find_name(name: str, names: Sequence[str]) -> str | None:
    """Return which of some names is meant, written exactly or as users type it; None if none is.

    ``safe-stack`` means "safe stack", unless several names are typed so.
    """
    keys = [key_of(other) for other in names]
    if name in names or keys.count(key_of(name)) != 1:
        return name if name in names else None
    return names[keys.index(key_of(name))]


def suggestion(name: str, names: Sequence[str]) -> str:
    """Return a question in brackets that names a similar name; nothing if there is none.

    A name that begins like the given one, or has a word that does, is preferred to one that is only
    similar.

    Examples
    --------
    >>> from primum._words import suggestion
    >>> suggestion("boost", ["catboost", "boosting"]), suggestion("gradient", ["hist-gradient"])
    (" (did you mean 'boosting'?)", " (did you mean 'hist-gradient'?)")
    """
    words = {other: re.split(r"[^a-z0-9]+", other.lower()) for other in names}
    begin = [other for other in names if other.startswith(name)]
    begin += [other for other in names if any(word.startswith(name) for word in words[other])]
    alike = get_close_matches(name, names, len(names) or 1)
    alike.sort(key=lambda other: not other.startswith(name[:MIN_BEGINNING]))  # stable
    meant = [*(begin if len(name) >= MIN_BEGINNING else []), *alike]
    return f" (did you mean {meant[0]!r}?)" if meant else ""
