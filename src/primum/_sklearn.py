"""The private scikit-learn names that primum uses, all in one place.

scikit-learn changes these names without notice. All other modules import them from here, so that
supporting another version only affects this file.
"""

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegressionCV
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils import _safe_indexing as take_rows
from sklearn.utils._array_api import _convert_to_numpy as convert_to_numpy
from sklearn.utils._array_api import get_namespace, get_namespace_and_device
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as count_rows

try:
    from sklearn.utils._array_api import check_same_namespace
except ImportError:
    check_same_namespace = None
# Arrays of other libraries need scikit-learn 1.9: earlier versions do not check that the rows
# passed to predict are on the same device as the model.
ARRAY_API = check_same_namespace is not None


def boosted_trees(booster: Any) -> tuple[list[Any], Any]:
    """Return the tree nodes of a histogram booster, round by round, and its initial scores.

    The nodes are records with the fields is_leaf, feature_idx, num_threshold, left, right, value
    and depth.
    """
    trees = [tree.nodes for of_round in booster._predictors for tree in of_round]
    return trees, np.asarray(booster._baseline_prediction, dtype=np.float64).reshape(-1)


def grow_extra_trees(X: Any, y: Any, weight: Any, seeds: Sequence[int]) -> list[Any]:
    """Return the ``tree_`` of an ExtraTreeClassifier for every seed, fitted to the same rows.

    X is an array or CSC matrix of type float32. The classifier checks its labels again for every
    tree, which takes longer than growing a tree from few rows.
    """
    from sklearn.tree._classes import CRITERIA_CLF, DENSE_SPLITTERS, SPARSE_SPLITTERS
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

    classes, codes = np.unique(y, return_inverse=True)
    outputs = np.ascontiguousarray(codes.reshape(-1, 1), dtype=np.float64)
    n_classes = np.array([len(classes)], dtype=np.intp)
    if weight is not None:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
    splitters = DENSE_SPLITTERS if isinstance(X, np.ndarray) else SPARSE_SPLITTERS
    max_features, deepest = max(1, int(np.sqrt(X.shape[1]))), np.iinfo(np.int32).max
    trees, rng = [], np.random.RandomState()
    for seed in seeds:
        rng.seed(seed)
        criterion = CRITERIA_CLF["gini"](1, n_classes)
        splitter = splitters["random"](criterion, max_features, 1, 0.0, rng, None)
        tree = Tree(X.shape[1], n_classes, 1)
        DepthFirstTreeBuilder(splitter, 2, 1, 0.0, deepest, 0.0).build(tree, X, outputs, weight)
        trees.append(tree)
    return trees


def check_parameters(estimator: BaseEstimator) -> None:
    """Validate the parameters of an estimator against its ``_parameter_constraints``."""
    estimator._validate_params()


def check_namespace(estimator: BaseEstimator, X: Any, method: str) -> None:
    """Raise an error if X is not an array of the library and device the estimator was fitted on."""
    if ARRAY_API:
        check_same_namespace(X, estimator, attribute="coef_", method=method)


def logistic_regression_cv(**parameters: Any) -> LogisticRegressionCV:
    """Return a logistic regression whose L2 penalty is chosen by cross-validation.

    scikit-learn 1.8 replaced the name of the penalty with a ratio and changed attribute shapes.
    """
    if "use_legacy_attributes" in signature(LogisticRegressionCV).parameters:
        parameters |= {"l1_ratios": (0.0,), "use_legacy_attributes": False}
    return LogisticRegressionCV(**parameters)


def metric_module(scorer: Any) -> str:
    """Return the name of the module of a scorer's metric; "" if it is not known."""
    return getattr(getattr(scorer, "_score_func", None), "__module__", "")


CLASSIFIER, REGRESSOR = "classifier", "regressor"


def learner_of(estimator: Any) -> str | None:
    """Return "classifier" or "regressor", or None if the estimator does not say which it is."""
    try:
        if is_regressor(estimator):
            return REGRESSOR
        return CLASSIFIER if is_classifier(estimator) else None
    except AttributeError:  # an estimator without tags
        return None
