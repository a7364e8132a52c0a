"""Every semi-supervised method has its supervised twin, which unlabelled rows do not touch."""

import numpy as np
import pytest
from sklearn.base import clone

from generate import two_classes
from primum import (
    ContrastivePessimisticLDAClassifier,
    EMLDAClassifier,
    EntropyLogisticClassifier,
    ICLDAClassifier,
    LaplacianLeastSquaresClassifier,
    LaplacianSVMClassifier,
    ManifoldClassifier,
    MomentConstrainedLDAClassifier,
    S4VMClassifier,
    SAFEWClassifier,
    ScatterLDAClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
    WellSVMClassifier,
)

METHODS = [
    ContrastivePessimisticLDAClassifier(),
    EMLDAClassifier(),
    EntropyLogisticClassifier(),
    ICLDAClassifier(),
    LaplacianLeastSquaresClassifier(),
    LaplacianLeastSquaresClassifier(graph_alpha=0.0),
    LaplacianSVMClassifier(kernel="linear"),
    ManifoldClassifier(),
    MomentConstrainedLDAClassifier(),
    S4VMClassifier(n_init=4),
    SAFEWClassifier(),
    ScatterLDAClassifier(),
    SelfLearningClassifier(),
    TSVMClassifier(),
    WellSVMClassifier(),
]


@pytest.mark.parametrize("clf", METHODS, ids=str)
def test_the_twin_is_fitted_to_the_labelled_rows_alone(clf):
    X, y, X_u, _ = two_classes(30, 60, 3)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=30)
    twin = clone(clf).fit(X, y, X_u, sample_weight=weight).supervised_
    alone = clone(clf).fit(X, y, sample_weight=weight).supervised_
    score = "predict_proba" if hasattr(twin, "predict_proba") else "decision_function"
    values = getattr(twin, score)(X_u)
    np.testing.assert_allclose(values, getattr(alone, score)(X_u), atol=1e-9)
    assert set(twin.predict(X_u)) <= set(y)


@pytest.mark.parametrize("clf", [clf for clf in METHODS if hasattr(clf, "graph_weights")], ids=str)
def test_the_twin_of_a_manifold_method_is_its_machine_without_the_graph(clf):
    X, y, X_u, _ = two_classes(30, 60, 3)
    name = "graph_ratio" if hasattr(clf, "graph_ratio") else "graph_alpha"
    without = clone(clf).set_params(**{name: 0.0}).fit(X, y, X_u)
    twin = clone(clf).fit(X, y, X_u).supervised_
    assert twin.get_params(deep=False)[name] == 0.0
    np.testing.assert_array_equal(twin.decision_function(X_u), without.decision_function(X_u))
