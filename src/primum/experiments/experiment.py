"""The definition of an experiment: data sets, a design, methods and repeats."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from sklearn.utils import check_array

from primum._typing import AnyArray, Floats
from primum.comparison.store import describe, describe_data
from primum.experiments.methods import Method
from primum.experiments.splits import SplitDesign
from primum.reading.arrays import locating_bad_values
from primum.reading.labels import AS_TEXT, refuse_numeric_target

# The role of a method in a comparison, by the labels it sees; one of them may be the twin.
TWIN = "twin"
ROLES = {
    "labeled": "supervised",
    "partly": "semi-supervised",
    "shares": "semi-supervised",
    "all": "oracle",
}


@dataclass(frozen=True)
class Experiment:
    """A comparison of methods on data sets, over random repeats.

    Parameters
    ----------
    name : str
        Name in the configuration and the report.
    data : mapping of name to (X, y)
        Fully labelled data of two or more classes: arrays, or a DataFrame and a Series, in the
        same order.
    design : SplitDesign
        How rows are split.
    methods : sequence of Method
        The methods to compare.
    repeats : int
        Number of random repeats; more can be added later.
    seed : int
        Seed of all splits.
    twin : str, optional
        Name of the supervised twin, with which all others are compared repeat by repeat; by default
        the first method that sees only the labelled rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum.experiments import LEAST_SQUARES, CrossValidation, Experiment
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = CrossValidation(n_folds=3)
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=5)
    >>> experiment.twin
    'Supervised'
    """

    name: str
    data: Mapping[str, tuple[Floats, AnyArray]]
    design: SplitDesign
    methods: Sequence[Method]
    repeats: int = 100
    seed: int = 0
    twin: str | None = None

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ValueError(f"repeats must be at least 1, got {self.repeats}.")
        names = [name for method in self.methods for name in method.sees_by_name]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"Method names must be unique, but {twice[0]!r} is used twice.")
        if self.twin is None:
            first = (name for name, sees in self._sees.items() if sees == "labeled")
            object.__setattr__(self, "twin", next(first, None))
        elif self.twin not in names:
            raise ValueError(f"twin must name a method ({', '.join(names)}), got {self.twin!r}.")
        pairs = _named_pairs(self.data)
        arrays = {name: _read_data(name, X, y) for name, (X, y) in pairs.items()}
        object.__setattr__(self, "data", arrays)

    def __repr__(self) -> str:
        """Say all but the values of the data."""
        shown = {field.name: repr(getattr(self, field.name)) for field in fields(self)}
        sizes = (f"{name!r}: {len(X)} x {X.shape[1]}" for name, (X, _) in self.data.items())
        shown["data"] = "{" + ", ".join(sizes) + "}"
        return f"Experiment({', '.join(f'{name}={text}' for name, text in shown.items())})"

    @property
    def _sees(self) -> dict[str, str]:
        return {k: v for method in self.methods for k, v in method.sees_by_name.items()}

    @property
    def roles(self) -> dict[str, str]:
        """The role of every method in the comparison."""
        roles = {name: ROLES[sees] for name, sees in self._sees.items()}
        return {**roles, self.twin: TWIN} if self.twin is not None else roles

    @property
    def config(self) -> dict[str, Any]:
        """What the results depend on; repeats and further data sets may be added later."""
        design = {"kind": self.design.name, **asdict(self.design)}
        return {
            "experiment": self.name,
            "design": describe(design, "The design"),
            "methods": {method.name: method.config for method in self.methods},
            "seed": int(self.seed),
            "data": {name: describe_data(X, codes_of(y)) for name, (X, y) in self.data.items()},
        }

    @property
    def units(self) -> list[tuple[str, int]]:
        """All pairs (data set, repeat)."""
        return [(name, repeat) for name in self.data for repeat in range(self.repeats)]


def codes_of(y: AnyArray) -> AnyArray:
    """Return the labels as numbers 0, 1, ..., in the sorted order of the classes."""
    return np.unique(y, return_inverse=True)[1]


def _named_pairs(data: Any) -> Mapping[str, tuple[Any, Any]]:
    """Return the data if they are named pairs."""
    if not isinstance(data, Mapping):
        raise ValueError(
            "data must be a dict {name: (X, y)}, for example {'mine': (X, y)}, got "
            f"{type(data).__name__}."
        )
    for name, pair in data.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(
                f"data must be a dict {{name: (X, y)}}, but data[{name!r}] is no pair (X, y): got "
                f"{type(pair).__name__}."
            )
    return data


def _read_data(name: str, X: Any, y: Any) -> tuple[Floats, AnyArray]:
    """Return features and labels as arrays; raise an error if they are not valid."""
    import pandas as pd

    labels = np.asarray(y)
    missing = pd.isna(labels)
    if np.any(missing):
        raise ValueError(
            f"Data set {name!r} must be fully labelled, but {np.sum(missing)} labels are missing: "
            "drop those rows. (For partly labelled data, use SemiSupervisedSplit.)"
        )
    try:
        with locating_bad_values(X, "X"):
            rows = check_array(X, ensure_all_finite=False, ensure_min_samples=0)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"Data set {name!r} must have numeric features: {problem}") from problem
    n_classes = len(np.unique(labels))
    if labels.ndim != 1 or n_classes < 2 or len(rows) != len(labels):
        raise ValueError(
            f"Data set {name!r} must have one label per row and at least two classes, got "
            f"{len(rows)} rows, labels of shape {labels.shape} and {n_classes} classes."
        )
    refuse_numeric_target(labels, f"The target of data set {name!r}", AS_TEXT)
    return rows, labels
