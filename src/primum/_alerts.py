"""What changes how far a result may be believed: a sentence with its kind.

Rooms that look at tables, rows or models make alerts; the headline of a comparison shows them.
"""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Alert:
    """A sentence that belongs before an answer, because it changes what may be believed.

    Attributes
    ----------
    kind : str
        What it is about, for programs: "groups", "drift", "leak", "guessing", ...
    text : str
        What was found and what to do, in one or two sentences.
    withholds : bool
        Whether no help may be claimed before it is resolved.
    """

    kind: str
    text: str
    withholds: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the alert as plain JSON values."""
        return asdict(self)
