"""Problems whose target is a number: tables of scikit-learn, and simulated ones.

A column of a table of scikit-learn is the target and all other numeric columns are the features;
the first and the last column of each table are taken. Simulated problems are drawn anew for every
repeat, so that their truth is known: in some unlabelled rows are useless, in some they help.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)

from primum._typing import Floats

Rng = np.random.Generator
Problem = tuple[Floats, Floats]  # rows, and their targets
Draw = Callable[[Rng, int], Problem]  # of so many rows; tables have a number of their own


def useless_linear(rng: Rng, n_rows: int) -> Problem:
    """Draw Gaussian rows and a linear target with noise: rows say nothing about the target."""
    X, direction = rng.normal(size=(n_rows, 10)), rng.normal(size=10)
    return X, X @ direction / np.linalg.norm(direction) + 0.7 * rng.normal(size=n_rows)


def useless_curved(rng: Rng, n_rows: int) -> Problem:
    """Draw rows uniform in a cube and a target with a product of two features."""
    X = rng.uniform(-1, 1, size=(n_rows, 5))
    return X, 3 * X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n_rows)


def sparse_linear(rng: Rng, n_rows: int, n_features: int = 50, n_used: int = 5) -> Problem:
    """Draw many features, few of which matter."""
    X, coef = rng.normal(size=(n_rows, n_features)), np.zeros(n_features)
    coef[:n_used] = rng.choice([-1.0, 1.0], n_used)
    return X, X @ coef + rng.normal(size=n_rows)


def pure_noise(rng: Rng, n_rows: int) -> Problem:
    """Draw a target that no feature says anything about."""
    return rng.normal(size=(n_rows, 10)), rng.normal(size=n_rows)


def hidden_factors(rng: Rng, n_rows: int, n_features: int = 100, n_factors: int = 3) -> Problem:
    """Draw many features of few hidden factors: components of all rows find these better."""
    factors = rng.normal(size=(n_rows, n_factors))
    loadings = rng.normal(size=(n_factors, n_features))
    X = factors @ loadings + 3.0 * rng.normal(size=(n_rows, n_features))
    return X, factors @ rng.normal(size=n_factors) + 0.3 * rng.normal(size=n_rows)


def curved_manifold(rng: Rng, n_rows: int) -> Problem:
    """Draw a spiral in a plane of ten dimensions; the target is the position along it."""
    t = np.sqrt(rng.uniform(0.02, 1, n_rows))
    angle = 4 * np.pi * t
    plane = np.column_stack([t * np.cos(angle), t * np.sin(angle)])
    basis = np.linalg.qr(rng.normal(size=(10, 2)))[0]
    X = plane @ basis.T + 0.01 * rng.normal(size=(n_rows, 10))
    return X, np.sin(3 * np.pi * t) + 0.1 * rng.normal(size=n_rows)


def heavy_tails(rng: Rng, n_rows: int) -> Problem:
    """Draw heavy-tailed features and a linear target whose noise has no third moment."""
    X = rng.standard_t(3, size=(n_rows, 10))
    direction = rng.normal(size=10)
    noise = rng.standard_t(2.5, size=n_rows)
    return X, X @ direction / np.linalg.norm(direction) + noise


def lognormal(rng: Rng, n_rows: int) -> Problem:
    """Draw a target like prices: its logarithm is linear in the features."""
    X, direction = rng.normal(size=(n_rows, 8)), rng.normal(size=8)
    score = 0.8 * X @ direction / np.linalg.norm(direction)
    return X, np.exp(score + 0.4 * rng.normal(size=n_rows))


def friedman(number: int) -> Draw:
    """Return a function that draws one of the three problems of Friedman (1991)."""
    make, noise = [(make_friedman1, 1.0), (make_friedman2, 125.0), (make_friedman3, 0.1)][number]

    def draw(rng: Rng, n_rows: int) -> Problem:
        X, y = make(n_rows, noise=noise, random_state=int(rng.integers(2**31)))
        return np.asarray(X), np.asarray(y)

    return draw


def column_of(load: Callable[[], Floats], column: int) -> Draw:
    """Return a function that returns the rows in random order, with a column as the target."""

    def draw(rng: Rng, n_rows: int) -> Problem:
        table = load()
        table = table[rng.permutation(len(table))]
        return np.delete(table, column, axis=1), table[:, column]

    return draw


def _diabetes() -> Floats:
    return np.column_stack(load_diabetes(return_X_y=True, scaled=False))


def _wine() -> Floats:
    return np.asarray(load_wine(return_X_y=True)[0])


def _breast_cancer() -> Floats:
    return np.asarray(load_breast_cancer(return_X_y=True)[0])


def _iris() -> Floats:
    return np.asarray(load_iris(return_X_y=True)[0])


# Columns of tables of scikit-learn.
COLUMNS: dict[str, Draw] = {
    "diabetes": column_of(_diabetes, -1),
    "wine: alcohol": column_of(_wine, 0),
    "wine: proline": column_of(_wine, -1),
    "breast cancer: mean radius": column_of(_breast_cancer, 0),
    "breast cancer: worst fractal dimension": column_of(_breast_cancer, -1),
    "iris: sepal length": column_of(_iris, 0),
    "iris: petal width": column_of(_iris, -1),
}
# The race against tuned ridge regression.
TABLES: dict[str, Draw] = {
    **COLUMNS,
    "Friedman 1": friedman(0),
    "Friedman 2": friedman(1),
    "Friedman 3": friedman(2),
    "sparse linear": sparse_linear,
    "pure noise": pure_noise,
    "curved manifold": curved_manifold,
}


@dataclass(frozen=True)
class NumberScenario:
    """A kind of problem, with numbers of labelled and unlabelled rows."""

    draw: Draw
    n_labeled: int
    n_unlabeled: int


# What verdicts are judged on.
NUMBER_SCENARIOS = {
    "useless, linear": NumberScenario(useless_linear, 80, 300),
    "useless, curved": NumberScenario(useless_curved, 80, 300),
    "components help": NumberScenario(hidden_factors, 40, 400),
    "manifold helps": NumberScenario(curved_manifold, 30, 400),
    "pure noise": NumberScenario(pure_noise, 80, 300),
    "heavy tails": NumberScenario(heavy_tails, 80, 300),
    "lognormal target": NumberScenario(lognormal, 80, 300),
    "few labels": NumberScenario(useless_linear, 20, 300),
}
