"""Running an experiment: every method on every split of every repeat of every data set.

The unit of work is one repeat of one data set. Units are independent, run in parallel with one
BLAS thread each, and are stored as soon as they are done; what is stored is not run again.
A fit that raises becomes a row with its message, and the experiment goes on.
"""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from primum._typing import AnyArray, Floats, Index
from primum.evaluation.measures import MEASURES, error
from primum.evaluation.methods import Method
from primum.evaluation.seeds import rng_for
from primum.evaluation.splits import Design, Split, hidden_labels, scale_features
from primum.evaluation.store import ResultStore

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Experiment:
    """Data sets, a design, methods, and how often.

    Attributes
    ----------
    name : str
        For the configuration and the report.
    data : mapping of name to (X, y)
        Fully labelled data of two classes.
    design : Design
        How rows are split.
    methods : sequence of Method
        What is compared; the first one is the supervised twin.
    repeats : int
        Random repetitions; more can be added later.
    seed : int
        Of all random numbers.
    """

    name: str
    data: Mapping[str, tuple[Floats, AnyArray]]
    design: Design
    methods: Sequence[Method]
    repeats: int = 100
    seed: int = 0
    fingerprints: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ValueError(f"repeats must be at least 1, got {self.repeats}.")
        for name, (X, y) in self.data.items():
            if len(np.unique(y)) != 2 or len(X) != len(y):
                raise ValueError(
                    f"Data set {name!r} must have one label per row and two classes, got "
                    f"{len(X)} rows, {len(y)} labels and {len(np.unique(y))} classes."
                )

    @property
    def config(self) -> dict[str, Any]:
        """What makes results comparable; repeats and further data sets may be added later."""
        return {
            "experiment": self.name,
            "design": {"kind": self.design.name, **asdict(self.design)},
            "methods": {method.name: repr(method.estimator) for method in self.methods},
            "seed": self.seed,
            "data": {
                name: self.fingerprints.get(name, f"{X.shape[0]} x {X.shape[1]}")
                for name, (X, _) in self.data.items()
            },
        }

    @property
    def units(self) -> list[tuple[str, int]]:
        """All (data set, repeat)."""
        return [(name, repeat) for name in self.data for repeat in range(self.repeats)]


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    *,
    jobs: int = 1,
    resume: bool = False,
    progress: bool = True,
) -> "pd.DataFrame":
    """Run what is not yet stored in the folder, and return all rows.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    folder : path
        Where results are kept; a run that was killed continues there with ``resume=True``.
    jobs : int, default=1
        Processes; -1 is one per core.
    resume : bool, default=False
        Whether a folder that holds results may be continued.
    progress : bool, default=True
        Whether to show a progress bar.

    Returns
    -------
    DataFrame
        One row per (data set, repeat, split, method), with the measures, and the message of a
        fit that failed.
    """
    store = ResultStore(folder, experiment.config, resume=resume)
    missing = [unit for unit in experiment.units if unit not in store.done]
    for unit, rows in _compute(experiment, missing, jobs, progress):
        store.append(unit, rows)
    return collect(store, experiment)


def collect(store: ResultStore, experiment: Experiment) -> "pd.DataFrame":
    """Return the stored rows of the experiment's units, in a fixed order."""
    import pandas as pd

    rows = [row for unit in experiment.units for row in store.done[unit]]
    return pd.DataFrame(rows, columns=[*KEYS, *MEASURES, "objective", "note"])


KEYS = ("dataset", "repeat", "at", "n_labeled", "n_unlabeled", "classifier")


def _compute(
    experiment: Experiment, units: list[tuple[str, int]], jobs: int, progress: bool
) -> Any:
    from joblib import Parallel, delayed

    # Long units of different data sets side by side, so that the bar moves evenly.
    units = sorted(units, key=lambda unit: unit[1])
    work = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(run_unit)(
            *experiment.data[name],
            unit=(name, repeat),
            design=experiment.design,
            methods=experiment.methods,
            seed=experiment.seed,
        )
        for name, repeat in units
    )
    return _with_bar(work, len(units), experiment.name) if progress else work


def _with_bar(work: Any, total: int, name: str) -> Any:
    from tqdm import tqdm

    return tqdm(work, total=total, desc=name, unit="repeat", smoothing=0.05)


def run_unit(
    X: Floats,
    y: AnyArray,
    *,
    unit: tuple[str, int],
    design: Design,
    methods: Sequence[Method],
    seed: int,
) -> tuple[tuple[str, int], list[dict[str, Any]]]:
    """Return (unit, the rows of one repeat of one data set)."""
    dataset, repeat = unit
    codes = np.unique(y, return_inverse=True)[1]
    rng = rng_for(seed, design.name, dataset, repeat)
    methods = [method for method in methods if repeat % method.every == 0]
    with threadpool_limits(1):
        rows = [
            row
            for split in design.splits(codes, X.shape[1], rng)
            for row in _run_split(scale_features(X, split, design.scaling), codes, split, methods)
        ]
    return unit, [{"dataset": dataset, "repeat": repeat, **row} for row in rows]


def _run_split(
    X: Floats, y: Index, split: Split, methods: Sequence[Method]
) -> Iterator[dict[str, Any]]:
    for method in methods:
        yield {
            "at": split.at,
            "n_labeled": len(split.labeled),
            "n_unlabeled": len(split.unlabeled),
            "classifier": method.name,
            **_measure(method, X, y, split),
        }


def _measure(method: Method, X: Floats, y: Index, split: Split) -> dict[str, Any]:
    """Fit a method and return its measures, or why it failed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            measures = _fit_and_score(method, X, y, split)
        except Exception as failure:  # any failure of any classifier is a result, not an end
            nothing = dict.fromkeys(MEASURES)
            return {**nothing, "note": f"{type(failure).__name__}: {failure}"}
    said = {f"{warning.category.__name__}: {warning.message}" for warning in caught}
    return {**measures, "note": "; ".join(sorted(said)) or None}


def _fit_and_score(method: Method, X: Floats, y: Index, split: Split) -> dict[str, float | None]:
    train, hidden = hidden_labels(y, split)
    rows, labels = {
        "labeled": (split.labeled, y[split.labeled]),
        "partly": (train, hidden),
        "all": (train, y[train]),
    }[method.sees]
    clf = clone(method.estimator)
    X_train = X[rows]
    start = time.perf_counter()
    clf.fit(X_train, labels)
    seconds = time.perf_counter() - start
    scores = {
        name: method.score(clf, X[index])
        for name, index in (("labeled", split.labeled), ("train", train), ("test", split.test))
    }
    return {
        "error": error(scores["test"], y[split.test]),
        "loss_labeled": method.loss(scores["labeled"], y[split.labeled]),
        "loss_train": method.loss(scores["train"], y[train]),
        "loss_test": method.loss(scores["test"], y[split.test]),
        "seconds": seconds,
        # What the method itself minimised, if it says so: it tells local optima apart.
        "objective": getattr(clf, "objective_", None),
    }
