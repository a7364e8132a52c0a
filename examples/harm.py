"""Where unlabelled rows do harm: simulated problems that contradict what a method assumes.

    python examples/harm.py

prints, for every method of this library that can do harm, its mean test error and that of its
supervised twin over ten draws of a problem. docs/methods.md shows the table.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import ClassifierMixin, clone

from primum import (
    EMLDAClassifier,
    EMLeastSquaresClassifier,
    EntropyLogisticClassifier,
    HealyWestmacottClassifier,
    ICLDAClassifier,
    ICLSClassifier,
    KernelICLSClassifier,
    KernelLeastSquaresClassifier,
    L2SVMClassifier,
    LaplacianLeastSquaresClassifier,
    LaplacianSVMClassifier,
    LDAClassifier,
    LeastSquaresClassifier,
    ManifoldClassifier,
    MomentConstrainedLDAClassifier,
    S4VMClassifier,
    ScatterLDAClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
    UndeterminedModelWarning,
    USMClassifier,
    WellSVMClassifier,
)

DRAWS, N_TEST = 10, 2000
# Features, labels, and the numbers of labelled and of unlabelled rows; test rows are last.
Drawn = tuple[np.ndarray, np.ndarray, int, int]


def clusters_across_classes(rng: np.random.Generator) -> Drawn:
    """Draw two clusters along the first feature, and classes along the second."""
    n = 20 + 300 + N_TEST
    cluster = rng.integers(0, 2, n)
    X = np.column_stack([6.0 * cluster - 3.0, np.zeros(n)]) + rng.normal(size=(n, 2))
    y = (X[:, 1] + 0.7 * rng.normal(size=n) > 0).astype(int)
    return X, y, 20, 300


def other_shares(rng: np.random.Generator) -> Drawn:
    """Draw two Gaussian classes: equal among labelled rows, 90 and 10% among others."""
    y = np.append(np.arange(20) % 2, rng.uniform(size=300 + N_TEST) < 0.1).astype(int)
    X = rng.normal(size=(len(y), 2))
    X[:, 0] += 2.0 * y
    return X, y, 20, 300


def few_labels(rng: np.random.Generator) -> Drawn:
    """Draw 20 features, and 10 labelled and 10 unlabelled rows of two Gaussian classes."""
    y = np.append(np.arange(10) % 2, rng.integers(0, 2, 10 + N_TEST))
    X = rng.normal(size=(len(y), 20))
    X[:, 0] += 2.0 * y
    return X, y, 10, 10


@dataclass(frozen=True)
class Example:
    """A method, its supervised twin, and a problem on which the method is worse."""

    method: ClassifierMixin
    twin: ClassifierMixin
    problem: Callable[[np.random.Generator], Drawn]

    def errors(self) -> np.ndarray:
        """Return the test errors of the twin and of the method, one row per draw."""
        with warnings.catch_warnings():
            # This warning advises more labels or another metric; the example shows why.
            warnings.simplefilter("ignore", UndeterminedModelWarning)
            return np.array([self._draw(np.random.default_rng(k)) for k in range(DRAWS)])

    def _draw(self, rng: np.random.Generator) -> list[float]:
        X, y, n_labeled, n_unlabeled = self.problem(rng)
        n = n_labeled + n_unlabeled
        hidden = np.where(np.arange(n) < n_labeled, y[:n], -1)
        fitted = (clone(clf).fit(X[:n], hidden) for clf in (self.twin, self.method))
        return [1.0 - clf.score(X[n:], y[n:]) for clf in fitted]


_least_squares, _svm = LeastSquaresClassifier(), L2SVMClassifier()
_lda, _nearest_mean = LDAClassifier(), LDAClassifier("spherical")
EXAMPLES = [
    Example(ICLSClassifier(), _least_squares, few_labels),
    Example(ICLSClassifier(metric="all"), _least_squares, few_labels),
    Example(
        KernelICLSClassifier(1e-6, metric="labeled"),
        KernelLeastSquaresClassifier(1e-6),
        other_shares,
    ),
    Example(HealyWestmacottClassifier(), _least_squares, few_labels),
    Example(SelfLearningClassifier(), _least_squares, clusters_across_classes),
    Example(USMClassifier(), _least_squares, other_shares),
    Example(EMLeastSquaresClassifier(), _least_squares, other_shares),
    Example(EMLeastSquaresClassifier("hard"), _least_squares, clusters_across_classes),
    Example(
        EntropyLogisticClassifier(3.0), EntropyLogisticClassifier(0.0), clusters_across_classes
    ),
    Example(TSVMClassifier(), _svm, other_shares),
    Example(TSVMClassifier("annealing"), _svm, other_shares),
    Example(TSVMClassifier("cccp"), _svm, other_shares),
    Example(S4VMClassifier(random_state=0), _svm, other_shares),
    Example(WellSVMClassifier(), _svm, other_shares),
    Example(
        LaplacianLeastSquaresClassifier(graph_alpha=1.0),
        LaplacianLeastSquaresClassifier(graph_alpha=0.0),
        clusters_across_classes,
    ),
    Example(
        LaplacianSVMClassifier(graph_alpha=1.0),
        LaplacianSVMClassifier(graph_alpha=0.0),
        clusters_across_classes,
    ),
    Example(
        ManifoldClassifier(graph_ratio=100.0),
        ManifoldClassifier(graph_ratio=0.0),
        clusters_across_classes,
    ),
    Example(MomentConstrainedLDAClassifier(), _lda, other_shares),
    Example(MomentConstrainedLDAClassifier("spherical"), _nearest_mean, other_shares),
    Example(ScatterLDAClassifier(), _lda, clusters_across_classes),
    Example(ICLDAClassifier("spherical"), _nearest_mean, few_labels),
    Example(EMLDAClassifier(), _lda, clusters_across_classes),
    Example(EMLDAClassifier("spherical"), _nearest_mean, clusters_across_classes),
]


def table_row(example: Example) -> str:
    """Return a row of the table in lab/results/harm, which docs/methods.md shows."""
    errors = example.errors()
    twin, method = errors.mean(axis=0)
    worse = int(np.sum(errors[:, 1] > errors[:, 0]))
    problem = example.problem.__name__.replace("_", " ")
    names = f"| `{example.method}` | `{example.twin}` | {problem} |"
    return f"{names} {twin:.3f} | {method:.3f} | {worse} |"


if __name__ == "__main__":
    print("| method | twin | problem | error of the twin | error | worse draws |")
    print("| --- | --- | --- | --- | --- | --- |")
    for example in EXAMPLES:
        print(table_row(example))
