"""The start of every search for transductive labels: the supervised SVM."""

from dataclasses import replace
from typing import Any

import numpy as np

from primum.estimators._fitting import copy_feature_names
from primum.estimators._svm_data import MachineData, ridge_of
from primum.estimators.l2_svm import L2SVMClassifier
from primum.machines.search import Search, check_share
from primum.machines.svm import machine_at
from primum.machines.systems import newton_system


def start_search(clf: Any, data: MachineData) -> tuple[Search, L2SVMClassifier]:
    """Return (a search that starts at the supervised SVM, that SVM)."""
    twin = L2SVMClassifier(
        clf.alpha,
        fit_intercept=clf.fit_intercept,
        penalize_intercept=clf.penalize_intercept,
        tol=min(clf.tol, 1e-8),
    )._fit_data(data)
    copy_feature_names(clf, twin)
    L, cost = data.n_labeled, data.weight.copy()
    cost[:L] /= cost[:L].sum()
    cost[L:] /= cost[L:].sum() if data.n_unlabeled else 1.0
    if isinstance(clf.positive_fraction, str):
        share = float(np.mean(data.y > 0))
    else:
        share = float(clf.positive_fraction)
        check_share(share, data.n_unlabeled)
    ridge = ridge_of(clf.alpha, data.X.shape[1], clf.fit_intercept, clf.penalize_intercept)
    system = newton_system(data.X, ridge, data.groups())
    start = replace(machine_at(system, twin._weights()[0]), objective=twin.objective_)
    return Search(system, data.y, cost, start, share, [], clf.tol, clf.max_iter), twin
