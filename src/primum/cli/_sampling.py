"""A random sample of a table that is too long to be compared on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from primum._typing import AnyArray, Index
from primum.tables.problem import table_labels

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 10_000
# Labelled rows of every class that a sample has, if there are as many.
LEAST_OF_CLASS = 50


def sampled(
    frame: "pd.DataFrame", target: str, missing: Sequence[str], max_rows: int, seed: int
) -> tuple["pd.DataFrame", str]:
    """Return at most about ``max_rows`` rows, in their order, and a sentence on what was left out.

    Up to half of them are labelled rows, by class in proportion to their number, but at least
    LEAST_OF_CLASS of each.
    """
    if len(frame) <= max_rows or target not in frame.columns:
        return frame, ""
    labels = table_labels(frame[target], target, missing)
    rng = np.random.default_rng(seed)
    labeled = _labeled_sample(labels, max_rows // 2, rng)
    unlabeled = np.flatnonzero([label is None for label in labels])
    n_unlabeled = min(len(unlabeled), max(max_rows - len(labeled), 0))
    chosen = np.concatenate([labeled, rng.choice(unlabeled, n_unlabeled, replace=False)])
    note = (
        f"{len(chosen):,} of {len(frame):,} rows are used, a random sample: {len(labeled):,} of "
        f"{len(frame) - len(unlabeled):,} labelled and {n_unlabeled:,} of {len(unlabeled):,} "
        "unlabelled rows; --max-rows changes that."
    )
    return frame.iloc[np.sort(chosen)].reset_index(drop=True), note


def _labeled_sample(labels: AnyArray, max_rows: int, rng: np.random.Generator) -> Index:
    known = np.flatnonzero([label is not None for label in labels])
    share = min(max_rows / max(len(known), 1), 1.0)
    parts = []
    for name in dict.fromkeys(labels[known].tolist()):
        rows = known[labels[known] == name]
        size = min(len(rows), max(round(share * len(rows)), LEAST_OF_CLASS))
        parts.append(rng.choice(rows, size, replace=False))
    return np.concatenate(parts)
