"""A small forest of extremely randomised trees, fitted to the labelled rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats, Index
from primum.selection.candidates.base import Candidate, Labels, PreparedRows, SharedRows
from primum.selection.candidates.models import Model, as_dense

TREES = 100
# Numbers that are in memory at once when rows are predicted.
LARGEST_BLOCK = 2**23


@dataclass(frozen=True)
class ForestModel(Model):
    """The nodes of all trees, as arrays: they can be stored, unlike scikit-learn's trees.

    Attributes
    ----------
    feature, threshold : arrays of shape (n_nodes,)
        Rows whose feature is at most the threshold, in single precision, go left.
    left, right : arrays of shape (n_nodes,)
        The next node; a leaf is its own.
    shares : array of shape (n_nodes, n_classes)
        Shares of the classes.
    roots : array of shape (n_trees,)
        The first node of every tree.
    depth : int
        That of the deepest tree.
    """

    feature: Index
    threshold: Floats
    left: Index
    right: Index
    shares: Floats
    roots: Index
    depth: int

    def predict(self, X: Any) -> Floats:  # noqa: D102
        def of_block(rows: Floats) -> Floats:
            with np.errstate(over="ignore"):  # beyond single precision is beyond all thresholds
                single = rows.astype(np.float32)
            return np.asarray(self.shares[leaves_of(self, single)].mean(axis=1))

        return in_blocks(of_block, X, self.shares.shape[1] * len(self.roots))


def leaves_of(trees: Any, rows: AnyArray) -> Index:
    """Return the leaf of every row in every tree; ``trees`` has the arrays of a ForestModel."""
    node = np.tile(trees.roots, (len(rows), 1))
    number = np.arange(len(rows))[:, None]
    # A path has no more nodes than there are, whatever a file says.
    for _ in range(min(trees.depth, len(trees.feature))):
        goes_left = rows[number, trees.feature[node]] <= trees.threshold[node]
        node = np.where(goes_left, trees.left[node], trees.right[node])
    return node


def in_blocks(of_block: Callable[[Floats], Floats], X: Any, width: int) -> Floats:
    """Return what a function returns for rows, given dense blocks of them.

    ``width`` is how many numbers it needs for a row, in addition to those of the row.
    """
    size = max(1, LARGEST_BLOCK // max(width, X.shape[1], 1))
    starts = range(0, max(X.shape[0], 1), size)
    return np.concatenate([of_block(as_dense(X[start : start + size])) for start in starts])


def forest_model(forest: Any, labels: Labels) -> ForestModel:
    """Return the nodes of a fitted forest of scikit-learn, with the shares of all classes."""
    trees = [tree.tree_ for tree in forest.estimators_]
    starts = np.cumsum([0, *(tree.node_count for tree in trees)])
    feature = np.concatenate([tree.feature for tree in trees])
    leaf, own = feature < 0, np.arange(starts[-1])
    offset = np.repeat(starts[:-1], np.diff(starts))
    left = np.concatenate([tree.children_left for tree in trees]) + offset
    right = np.concatenate([tree.children_right for tree in trees]) + offset
    values = np.concatenate([tree.value[:, 0] for tree in trees])
    shares = np.zeros((len(own), labels.n_classes))
    shares[:, labels.present] = values / values.sum(axis=1, keepdims=True)
    return ForestModel(
        feature=np.where(leaf, 0, feature),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        left=np.where(leaf, own, left),
        right=np.where(leaf, own, right),
        shares=shares,
        roots=starts[:-1],
        depth=max(tree.max_depth for tree in trees),
    )


class PreparedForest(PreparedRows):
    """A forest of the labelled rows."""

    def fit(self, train: Index, labels: Labels) -> ForestModel:  # noqa: D102
        from sklearn.ensemble import ExtraTreesClassifier

        own = labels.take(train)
        forest = ExtraTreesClassifier(TREES, random_state=self.rows.seed)
        forest.fit(self.rows.labeled[train], own.codes, sample_weight=own.weight)
        return forest_model(forest, own)


class Forest(Candidate):
    """Extremely randomised trees."""

    name = "forest"

    def prepare(self, rows: SharedRows) -> PreparedForest:  # noqa: D102
        return PreparedForest(rows)
