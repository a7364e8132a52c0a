"""A small forest of extremely randomised trees, fitted to the labelled rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import Floats, Index
from primum.selection.candidates.base import Candidate, Labels, PreparedRows, SharedRows
from primum.selection.candidates.models import Model

TREES = 100


@dataclass(frozen=True)
class ProbabilityModel(Model):
    """Probabilities of the classes that occurred in training; those of the others are 0."""

    classifier: Any
    present: Index
    n_classes: int

    def predict(self, X: Any) -> Floats:  # noqa: D102
        scores = np.zeros((X.shape[0], self.n_classes))
        scores[:, self.present] = self.classifier.predict_proba(X)
        return scores


class PreparedForest(PreparedRows):
    """A forest of the labelled rows."""

    def fit(self, train: Index, labels: Labels) -> ProbabilityModel:  # noqa: D102
        from sklearn.ensemble import ExtraTreesClassifier

        own = labels.take(train)
        forest = ExtraTreesClassifier(TREES, random_state=self.rows.seed)
        forest.fit(self.rows.labeled[train], own.codes, sample_weight=own.weight)
        return ProbabilityModel(forest, own.present, own.n_classes)


class Forest(Candidate):
    """Extremely randomised trees."""

    name = "forest"

    def prepare(self, rows: SharedRows) -> PreparedForest:  # noqa: D102
        return PreparedForest(rows)
