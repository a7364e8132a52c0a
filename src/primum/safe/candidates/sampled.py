"""Candidates that learn from a random sample of many labelled rows.

Kernel ridge regression takes time with the third power of their number. The sample is drawn once
and keeps the class shares. In a fold, the candidate is fitted to the sampled rows that the fold
trains on, and scores all rows that the fold holds out. If the fold trains on no sampled row, the
scores are the mean of its targets.
"""

from dataclasses import dataclass

import numpy as np

from primum._typing import Index
from primum.safe.candidates.base import (
    Candidate,
    CandidateModel,
    Fitted,
    Prepared,
    PreparedAsGiven,
    SharedRows,
    constant_model,
)
from primum.safe.candidates.wide import prepared_for


@dataclass(frozen=True)
class PreparedSample(PreparedAsGiven[Fitted]):
    """A candidate that is prepared for some of the labelled rows.

    Attributes
    ----------
    rows : SharedRows
        All rows.
    sample : array of shape (n_sampled,)
        Positions of the labelled rows that it learns from, sorted.
    prepared : Prepared[Fitted]
        The candidate, prepared for these rows.
    note : str
        What was approximated.
    """

    rows: SharedRows
    sample: Index
    prepared: Prepared[Fitted]
    note: str = ""

    def fit(self, train: Index, labels: Fitted) -> CandidateModel:  # noqa: D102
        in_sample = np.flatnonzero(np.isin(self.sample, train))
        if len(in_sample) == 0:  # a small training set
            return constant_model(labels.take(train), self.rows.labeled.shape[1])
        return self.prepared.fit(in_sample, labels.take(self.sample))


def labeled_sample(candidate: Candidate[Fitted], rows: SharedRows, labels: Fitted) -> Index | None:
    """Return the positions of the labelled rows that a candidate learns from; None: all."""
    most = candidate.most_labeled
    if most is None or len(labels) <= most:
        return None
    return labels.part(most / len(labels), rows.seed)


def prepared_with(
    rows: SharedRows, candidate: Candidate[Fitted], labels: Fitted
) -> Prepared[Fitted]:
    """Return a candidate prepared for rows, or for a sample of the labelled ones."""
    sample = labeled_sample(candidate, rows, labels)
    if sample is None:
        return prepared_for(rows, candidate)
    prepared = prepared_for(rows.with_labeled(sample), candidate)
    n_all, n_used = len(labels), len(sample)
    note = f"{candidate.name} uses a random sample of {n_used} of the {n_all} labelled rows."
    return PreparedSample(rows, sample, prepared, " ".join(filter(None, [note, prepared.note])))
