"""Trees of the labelled rows: two forests and a histogram booster.

Extremely randomised trees are a default candidate of the safe choice, and the booster is one on
request. The booster and a random forest are also classifiers of their own: supervised alternatives
to the linear baselines of a comparison. scikit-learn fits all of them to the labelled rows; then
the nodes of the trees are stored as arrays. A file with arrays can be loaded without scikit-learn's
tree types, whose nodes are raw memory that must not come from an untrusted file, and predictions
need no more than NumPy.

The booster suits few labels: a leaf needs a twentieth of the rows, at least 2 and at most 20, and
trees have 8 leaves. With scikit-learn's default of 20 rows it would be constant for up to 39
labels. A histogram booster takes time in proportion to columns times bins, so it has 63 bins, and
with very many columns it sees those that differ most between the classes of its training rows. It
runs on one thread, because small histograms are not worth starting others.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from primum._sklearn import boosted_trees, grow_extra_trees
from primum._typing import AnyArray, Floats, Index
from primum.rows import as_dense
from primum.safe.candidates.alone import CandidateClassifier, CandidateRegressor
from primum.safe.candidates.base import LOG_OF_ABSENT, CandidateModel, constant_model
from primum.safe.rows import Scaling, Targets, standardisation

# Trees of a forest: scikit-learn's default.
N_TREES = 100
# The most numbers in memory at once when rows are predicted (64 MB).
MAX_BLOCK_NUMBERS = 2**23


@dataclass(frozen=True)
class Trees(CandidateModel):
    """The nodes of all trees, as arrays: they can be stored, unlike scikit-learn's trees.

    Attributes
    ----------
    feature, threshold : arrays of shape (n_nodes,)
        Rows whose feature is at most the threshold go left.
    left, right : arrays of shape (n_nodes,)
        The next node; a leaf is its own.
    roots : array of shape (n_trees,)
        The first node of every tree.
    depth : int
        Depth of the deepest tree.
    """

    feature: Index
    threshold: Floats
    left: Index
    right: Index
    roots: Index
    depth: int

    def leaves_of(self, rows: AnyArray) -> Index:
        """Return the leaf of every row in every tree."""
        node = np.tile(self.roots, (len(rows), 1))
        number = np.arange(len(rows))[:, None]
        # A path has no more nodes than there are, whatever a file says.
        for _ in range(min(self.depth, len(self.feature))):
            goes_left = rows[number, self.feature[node]] <= self.threshold[node]
            node = np.where(goes_left, self.left[node], self.right[node])
        return node


def joined_nodes(
    sizes: Sequence[int], leaf: AnyArray, feature: Index, threshold: Floats, *children: Index
) -> dict[str, Any]:
    """Return the nodes of several trees in the form of ``Trees``, given one tree after another.

    ``children`` are the left and right children, numbered within their tree.
    """
    starts = np.cumsum([0, *sizes])
    nodes, offset = np.arange(starts[-1]), np.repeat(starts[:-1], sizes)
    left, right = (np.where(leaf, nodes, child + offset) for child in children)
    feature = np.where(leaf, 0, feature)
    return {
        "feature": feature, "threshold": threshold, "left": left, "right": right,
        "roots": starts[:-1],
    }  # fmt: skip


@dataclass(frozen=True)
class ForestModel(Trees):
    """A forest: the mean of the shares of its leaves, for rows in single precision.

    Attributes
    ----------
    shares : array of shape (n_nodes, n_outputs)
        Shares of the classes, or the mean of numbers.
    """

    shares: Floats

    def predict(self, X: Any) -> Floats:  # noqa: D102
        def of_block(rows: Floats) -> Floats:
            with np.errstate(over="ignore"):  # what overflows is beyond all thresholds
                single = rows.astype(np.float32)
            return np.asarray(self.shares[self.leaves_of(single)].mean(axis=1))

        return in_blocks(of_block, X, self.shares.shape[1] * len(self.roots))


def in_blocks(of_block: Callable[[Floats], Floats], X: Any, width: int) -> Floats:
    """Return the values of a function for rows, computed in dense blocks.

    ``width`` is how many numbers the function needs for a row, in addition to the row itself.
    """
    size = max(1, MAX_BLOCK_NUMBERS // max(width, X.shape[1], 1))
    starts = range(0, max(X.shape[0], 1), size)
    return np.concatenate([of_block(as_dense(X[start : start + size])) for start in starts])


def forest_model(trees: Sequence[Any], labels: Targets) -> ForestModel:
    """Return the nodes of the ``tree_`` of scikit-learn's trees, with the scores of all outputs."""
    names = ("feature", "threshold", "children_left", "children_right")
    feature, *others = (np.concatenate([getattr(tree, n) for tree in trees]) for n in names)
    values = np.concatenate([tree.value[:, 0] for tree in trees])
    shares = values
    if labels.are_shares:
        shares = np.zeros((len(feature), labels.n_outputs))
        shares[:, labels.present] = values / values.sum(axis=1, keepdims=True)
    nodes = joined_nodes([tree.node_count for tree in trees], feature < 0, feature, *others)
    return ForestModel(**nodes, shares=shares, depth=max(tree.max_depth for tree in trees))


def checked_rows(X: Any) -> Any:
    """Return rows as trees take them."""
    from sklearn.utils import check_array

    rows = check_array(X, accept_sparse="csc", accept_large_sparse=False, dtype=np.float32)
    if not isinstance(rows, np.ndarray):
        rows.sort_indices()
    return rows


def seeds_of_trees(seed: Any) -> list[int]:
    """Return the seeds that scikit-learn's forests give their trees."""
    from sklearn.utils import check_random_state

    rng = check_random_state(seed)
    return [rng.randint(np.iinfo(np.int32).max) for _ in range(N_TREES)]


def extra_trees(X: Any, labels: Targets, seed: int, scaling: Scaling) -> ForestModel:
    """Return extremely randomised trees; they need no scaling."""
    rows, seeds = checked_rows(X), seeds_of_trees(seed)
    return forest_model(grow_extra_trees(rows, labels.y, labels.weight, seeds), labels)


def random_forest(X: Any, targets: Targets, seed: Any) -> ForestModel:
    """Return a random forest."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    of_classes = targets.are_shares
    kind = RandomForestClassifier if of_classes else RandomForestRegressor
    y = targets.y if of_classes else targets.values[:, 0]
    forest = kind(N_TREES, n_jobs=1, random_state=seed)
    forest.fit(X, y, sample_weight=targets.weight)
    return forest_model([tree.tree_ for tree in forest.estimators_], targets)


def extra_trees_of_numbers(X: Any, numbers: Targets, seed: int, scaling: Scaling) -> ForestModel:
    """Return extremely randomised trees of numbers."""
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    rows, y = checked_rows(X), numbers.values[:, 0]
    # A forest would check parameters and rows again for every tree.
    with config_context(skip_parameter_validation=True, assume_finite=True):
        trees = [ExtraTreeRegressor(random_state=own) for own in seeds_of_trees(seed)]
        fitted = [tree.fit(rows, y, numbers.weight, check_input=False) for tree in trees]
    return forest_model([tree.tree_ for tree in fitted], numbers)


# Trees of a booster and leaves of each, at most, and bins of a feature, at most: few and small, for
# the few labels of a safe choice.
BOOSTING_ROUNDS, MAX_LEAVES, MAX_BINS = 100, 8, 63
# Rows of a leaf, at least: a share of all rows, but within these numbers. scikit-learn's 20 are too
# many for few labels.
LEAF_SHARE, MIN_LEAF_ROWS, MAX_LEAF_ROWS = 1 / 20, 2, 20
# With more columns, the booster sees those that differ most between the classes: its time grows
# with their number, and single columns of such rows tell little.
MAX_BOOSTED_COLUMNS = 500


class ForestClassifier(CandidateClassifier):
    """A random forest of 100 trees.

    Examples
    --------
    >>> from primum.safe.candidates.trees import ForestClassifier
    >>> clf = ForestClassifier(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
    >>> clf.predict([[0.2], [2.9]]).tolist()
    ['a', 'b']
    """

    def _fitted(self, X: Any, labels: Targets) -> CandidateModel:
        return random_forest(X, labels, self.random_state)


@dataclass(frozen=True)
class BoostedModel(Trees):
    """Trees whose values add up to the logarithms of odds, one tree per round and class.

    For numeric targets they add up to the score itself. The trees of a round are consecutive.

    Attributes
    ----------
    value : array of shape (n_nodes,)
        What a leaf adds.
    start : array of shape (n_scores,)
        The scores without trees: one for two classes or a number, otherwise one for each class.
    are_shares : bool
        Whether the scores belong to classes.
    """

    value: Floats
    start: Floats
    are_shares: bool = True

    def predict(self, X: Any) -> Floats:  # noqa: D102
        def of_block(rows: Floats) -> Floats:
            added = self.value[self.leaves_of(rows)]
            scores = self.start + added.reshape(len(rows), -1, len(self.start)).sum(axis=1)
            if not self.are_shares:
                return np.asarray(scores)
            if scores.shape[1] > 1:
                return np.asarray(softmax(scores, axis=1))
            return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])

        return in_blocks(of_block, X, len(self.roots))


def boosted_model(booster: Any, columns: Index, labels: Targets) -> BoostedModel:
    """Return the nodes of a fitted histogram booster that was given some columns of the rows."""
    trees, start = boosted_trees(booster)
    if labels.are_shares and len(labels.present) < labels.n_outputs:
        trees, start = _of_all_classes(trees, start, labels)
    nodes = np.concatenate(trees)
    leaf = nodes["is_leaf"].astype(bool)
    feature = np.where(leaf, 0, nodes["feature_idx"])
    threshold = np.where(leaf, 0.0, nodes["num_threshold"])
    children = nodes["left"], nodes["right"]
    joined = joined_nodes(
        [len(tree) for tree in trees], leaf, columns[feature], threshold, *children
    )
    value, depth = nodes["value"].astype(np.float64), int(nodes["depth"].max())
    return BoostedModel(
        **joined, value=value, depth=depth, start=start, are_shares=labels.are_shares
    )


def _of_all_classes(
    trees: list[AnyArray], start: Floats, labels: Targets
) -> tuple[list[AnyArray], Floats]:
    """Return the trees and first scores with a score for every class, absent ones included.

    A tree of one leaf adds nothing. The probability of an absent class underflows to 0. With two
    present classes, the booster has the score of the second; that of the first is 0.
    """
    scored = labels.present[-len(start) :]
    nothing = np.zeros(1, dtype=trees[0].dtype)
    nothing["is_leaf"] = 1
    rounds = [trees[i : i + len(start)] for i in range(0, len(trees), len(start))]
    of_class = [dict(zip(scored.tolist(), of_round, strict=True)) for of_round in rounds]
    first = np.full(labels.n_outputs, LOG_OF_ABSENT)
    first[labels.present] = 0.0
    first[scored] = start
    classes = range(labels.n_outputs)
    return [own.get(code, nothing) for own in of_class for code in classes], first


class BoostingClassifier(CandidateClassifier):
    """Gradient boosting on histograms, with leaves that suit few labels.

    Examples
    --------
    >>> from primum.safe.candidates.trees import BoostingClassifier
    >>> clf = BoostingClassifier(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
    >>> clf.predict([[0.2], [2.9]]).tolist()
    ['a', 'b']
    """

    def _fitted(self, X: Any, labels: Targets) -> CandidateModel:
        return histogram_boosting(X, labels, self.random_state)


class ForestRegressor(CandidateRegressor):
    """A random forest of 100 trees for numbers.

    Examples
    --------
    >>> from primum.safe.candidates.trees import ForestRegressor
    >>> reg = ForestRegressor(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [1, 1, 5, 5])
    >>> reg.predict([[2.9]]).item() > 4
    True
    """

    def _fitted(self, X: Any, numbers: Targets) -> CandidateModel:
        return random_forest(X, numbers, self.random_state)


class BoostingRegressor(CandidateRegressor):
    """Gradient boosting of numbers on histograms, with leaves that suit few labels.

    Examples
    --------
    >>> from primum.safe.candidates.trees import BoostingRegressor
    >>> reg = BoostingRegressor(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [1, 1, 5, 5])
    >>> reg.predict([[0.2], [2.9]]).round(2).tolist()
    [1.0, 5.0]
    """

    def _fitted(self, X: Any, numbers: Targets) -> CandidateModel:
        return histogram_boosting(X, numbers, self.random_state)


def histogram_boosting(
    X: Any, labels: Targets, seed: Any, scaling: Scaling = standardisation
) -> CandidateModel:
    """Return gradient boosting on histograms, with leaves that suit few labels."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    if labels.are_equal:
        return constant_model(labels, X.shape[1])
    of_classes = labels.are_shares
    y = labels.y if of_classes else labels.values[:, 0]
    kind = HistGradientBoostingClassifier if of_classes else HistGradientBoostingRegressor
    columns = strongest_columns(X, y, of_classes=of_classes)
    in_leaf = int(np.clip(LEAF_SHARE * len(labels), MIN_LEAF_ROWS, MAX_LEAF_ROWS))
    booster = kind(
        max_iter=BOOSTING_ROUNDS,
        max_leaf_nodes=MAX_LEAVES,
        max_bins=MAX_BINS,
        min_samples_leaf=in_leaf,
        early_stopping=False,
        random_state=seed,
    )
    with threadpool_limits(1, user_api="openmp"):
        booster.fit(as_dense(X[:, columns]), y, sample_weight=labels.weight)
    return boosted_model(booster, columns, labels)


def strongest_columns(X: Any, y: AnyArray, *, of_classes: bool = True) -> Index:
    """Return the columns most related to the targets, by the F statistic; all if they are few.

    They are chosen within every training set, so held-out rows play no part.
    """
    from sklearn.feature_selection import f_classif, f_regression

    if X.shape[1] <= MAX_BOOSTED_COLUMNS:
        return np.arange(X.shape[1])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # about constant columns, which rank last
        values = (f_classif if of_classes else f_regression)(X, y)[0]
    strength = np.nan_to_num(values, nan=-1.0)
    return np.sort(np.argsort(-strength, kind="stable")[:MAX_BOOSTED_COLUMNS])
