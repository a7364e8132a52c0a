"""An experiment, and its run: every method on every split of every repeat of every data set.

The unit of work is one repeat of one data set. Units are independent, run in parallel with one
BLAS thread each, and are stored as soon as they are done; stored units are not run again. A fit
that raises an exception becomes a row with its message, and the experiment continues; a warning at
the end lists the failures.

Splits derive from the seed, the design, the data set and the repeat, but not from the methods, so a
method that is run alone sees the splits of the others. Further methods therefore have results
folders of their own inside the folder of an experiment: requesting one, now or later, repeats and
invalidates nothing, and all of them can be continued after an interruption.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from primum._progress import with_progress
from primum._typing import AnyArray, Floats, Index
from primum._words import key_of
from primum.comparison.plan import rng_for, seeded
from primum.comparison.run import run_parallel
from primum.comparison.store import (
    ResultStore,
    Unit,
    distributions_of,
    identity_of,
    identity_of_data,
)
from primum.reading.data import locating_bad_values
from primum.reading.labels import AS_TEXT, refuse_numeric_target
from primum_lab._warnings import warn
from primum_lab.measures import MEASURES, default_score, error, refuse_marker_as_class
from primum_lab.methods import Method, named_apart
from primum_lab.splits import Split, SplitDesign, SplitRows, scale_features
from primum_lab.summary import TWIN, failed_sentence

# The role of a method in a comparison, by the labels it sees; one method may be the twin.
ROLES = {
    "labeled": "supervised",
    "partly": "semi-supervised",
    "shares": "semi-supervised",
    "all": "oracle",
}
# The columns of the results: keys of the fit, and its measures.
KEYS = ("dataset", "repeat", "at", "n_labeled", "n_unlabeled", "classifier")
NUMBERS = (*MEASURES, "objective")
MEASURED = (*NUMBERS, "score", "note")


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
    >>> from primum_lab import LEAST_SQUARES, CrossValidation, Experiment
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
        """Return all settings but the values of the data."""
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
            "design": identity_of(design, "The design"),
            "methods": {method.name: method.config for method in self.methods},
            "seed": int(self.seed),
            "data": {name: identity_of_data(X, codes_of(y)) for name, (X, y) in self.data.items()},
        }

    @property
    def units(self) -> list[Unit]:
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
                f"data must be a dict {{name: (X, y)}}, but data[{name!r}] is not a pair (X, y): "
                f"got {type(pair).__name__}."
            )
    return data


def _read_data(name: str, X: Any, y: Any) -> tuple[Floats, AnyArray]:
    """Return features and labels as arrays; raise an error if they are not valid."""
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


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    *,
    n_jobs: int = 1,
    resume: bool = False,
    verbose: bool = True,
) -> pd.DataFrame:
    """Run the units that are not yet stored in the folder, and return all rows.

    Parameters
    ----------
    experiment : Experiment
        The experiment to run.
    folder : path
        Where results are stored; an interrupted run continues there with ``resume=True``. A folder
        is used by one run at a time, and for one configuration only.
    n_jobs : int, default=1
        Number of processes; -1 means one per core.
    resume : bool, default=False
        Whether to continue a folder that already contains results.
    verbose : bool, default=True
        Whether to show progress: a bar in a terminal, otherwise a line every ten seconds.

    Returns
    -------
    DataFrame
        One row per (data set, repeat, split, method), with the measures, the method's role, how its
        score was read, its loss, and the message of a fit that failed. If any fit failed, a
        ``FitFailedWarning`` is issued.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum_lab import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, run_experiment
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = CrossValidation(n_folds=3)
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=2)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, verbose=False)
    >>> len(results)  # two repeats, three folds, five methods
    30
    """
    packages = distributions_of([method.estimator for method in experiment.methods])
    with ResultStore(folder, experiment.config, resume=resume, packages=packages) as store:
        # Interleave the data sets, so that the progress bar advances evenly.
        units = sorted(experiment.units, key=lambda unit: unit[1])
        shared = (experiment.design, tuple(experiment.methods), experiment.seed)
        tasks = {unit: (*experiment.data[unit[0]], *shared) for unit in units}
        run_missing(store, run_unit, tasks, n_jobs, experiment.name if verbose else "")
        results = collect(store, experiment)
    if sentence := failed_sentence(results):
        warn(sentence, FitFailedWarning)
    return results


def run_missing(
    store: ResultStore, run: Callable[..., Any], tasks: Mapping[Unit, Any], n_jobs: int, title: str
) -> None:
    """Run the units that are not yet stored, and store them; an empty title shows no progress.

    ``run`` is called with a unit and its task, and returns the unit and its rows.
    """
    missing = [(unit, *task) for unit, task in tasks.items() if unit not in store.done]
    work = run_parallel(run, missing, n_jobs)
    for unit, rows in with_progress(work, len(missing), title, "repeat") if title else work:
        store.append(unit, rows)


def collect(store: ResultStore, experiment: Experiment) -> pd.DataFrame:
    """Return the stored rows of the experiment's units, in a fixed order."""
    rows = [row for unit in experiment.units for row in store.done[unit]]
    results = pd.DataFrame(rows, columns=[*KEYS, *MEASURED])
    losses = {name: _name(one.loss) for one in experiment.methods for name in one.sees_by_name}
    return results.astype(dict.fromkeys(NUMBERS, float)).assign(
        role=results["classifier"].map(experiment.roles), loss=results["classifier"].map(losses)
    )


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))


def run_unit(
    unit: Unit, X: Floats, y: AnyArray, design: SplitDesign, methods: Sequence[Method], seed: int
) -> tuple[Unit, list[dict[str, Any]]]:
    """Return (unit, the rows of one repeat of one data set)."""
    dataset, repeat = unit
    codes, rng = codes_of(y), rng_for(seed, design.name, dataset, repeat)
    methods = [
        replace(method, estimator=seeded(method.estimator, seed, dataset, repeat, method.name))
        for method in methods
        if repeat % method.every == 0
    ]
    with threadpool_limits(1):
        return unit, [
            {**dict(zip(KEYS, (*unit, *place, name), strict=True)), **measured}
            for split in design.splits(y, X.shape[1], rng)  # the classes by name, for errors
            for place in [(split.at, len(split.labeled), len(split.unlabeled))]
            for name, measured in _run_split(
                scale_features(X, split, design.scaling), codes, split, methods
            )
        ]


def _run_split(
    X: Floats, y: Index, split: Split, methods: Sequence[Method]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the measures of every method and part, or the message of a fit that failed."""
    rows, n_classes = SplitRows.of(X, y, split), int(y.max()) + 1
    for method in methods:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                measures = _fit_and_score(method, rows, n_classes)
                said = {f"{warning.category.__name__}: {warning.message}" for warning in caught}
            except Exception as failure:  # a failure is a result too, and the run continues
                measures = {name: {} for name in method.sees_by_name}
                said = {f"{type(failure).__name__}: {failure}"}
        note = "; ".join(sorted(said)) or None
        for name, measured in measures.items():
            yield name, {**dict.fromkeys(MEASURED), **measured, "note": note}


def _fit_and_score(method: Method, rows: SplitRows, n_classes: int) -> dict[str, dict[str, Any]]:
    """Return the measures of a method and of each of its parts."""
    clf = clone(method.estimator)
    if method.sees == "shares":
        clf.set_params(prior=rows.true_shares())
    X, labels = rows.seen(method.sees)
    start = time.perf_counter()
    clf.fit(X, labels)
    seconds = time.perf_counter() - start
    refuse_marker_as_class(clf)
    models = {method.name: clf, **{name: clf.parts_[name] for name in method.parts}}
    measures = {
        name: _error_and_losses(method, model, rows, n_classes) for name, model in models.items()
    }
    # The value of the method's objective, if it has one, which tells local optima apart.
    objective = getattr(clf, "objective_", None)
    measures[method.name] |= {"seconds": seconds, "objective": objective}
    return measures


def _error_and_losses(method: Method, clf: Any, rows: SplitRows, n_classes: int) -> dict[str, Any]:
    """Return the error on test rows, the loss on each part, and the name of the score used."""
    read = default_score(clf) if method.score is None else method.score
    test, scores = rows.parts["test"], None if read is None else read(clf, rows.X)
    losses = {}
    if scores is not None:
        _check_shape(scores, len(rows.y), n_classes)
        losses = {
            f"loss_{k}": method.loss(scores[part], rows.y[part]) for k, part in rows.parts.items()
        }
    if method.score is None or scores is None:
        wrong = float(np.mean(clf.predict(rows.X[test]) != rows.y[test]))
    else:
        wrong = error(scores[test], rows.y[test])
    return {"error": wrong, **losses, "score": None if read is None else _name(read)}


def _check_shape(scores: Any, n_rows: int, n_classes: int) -> None:
    """Raise an error for scores that are not one per row, or per row and class."""
    expected = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
    if np.shape(scores) != expected:
        raise ValueError(
            f"The scores of {n_rows} rows of {n_classes} classes must have shape {expected}, got "
            f"{np.shape(scores)}: declare how they are read with Method(score=...)."
        )


def further_folder(folder: str | Path, name: str) -> Path:
    """Return the folder with the results of one further method."""
    return Path(folder) / "further" / key_of(name)


def new_methods(methods: Sequence[Method], requested: Sequence[Method]) -> list[Method]:
    """Return the requested methods that are not among the given ones, with names of their own."""
    configs = {method.name: method.config for method in methods}
    new = {one.name: one for one in requested if one.config not in configs.values()}
    return named_apart(new.values(), configs, "LS")


def run_with_further(
    experiment: Experiment, further: Sequence[Method], folder: str | Path, **options: Any
) -> pd.DataFrame:
    """Run an experiment, then further methods on the same splits, and return all rows.

    Parameters
    ----------
    experiment : Experiment
        The experiment to run; its twin is also that of the further methods.
    further : sequence of Method
        Methods with names that the experiment does not use.
    folder : path
        Where results are stored, as in ``run_experiment``; further methods have folders inside it.
    **options
        Options of ``run_experiment``.

    Returns
    -------
    DataFrame
        As from ``run_experiment``.
    """
    parts = [run_experiment(experiment, folder, **options)]
    for method in further:
        name = f"{experiment.name}: {method.name}"
        alone = replace(experiment, name=name, methods=[method], twin=None)
        rows = run_experiment(alone, further_folder(folder, method.name), **options)
        parts.append(rows.assign(role=ROLES[method.sees]))
    return pd.concat(parts, ignore_index=True) if further else parts[0]
