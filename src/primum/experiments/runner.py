"""Running an experiment: every method on every split of every repeat of every data set.

The unit of work is one repeat of one data set. Units are independent, run in parallel with one
BLAS thread each, and are stored as soon as they are done; stored units are not run again.
A fit that raises an exception becomes a row with its message, and the experiment continues; a
warning at the end lists the failures.

Further methods beside those of an experiment, with results of their own.

Splits derive from the seed, the design, the data set and the repeat, and not from the methods, so a
method that is run alone sees the splits of the others. Every further method has a results folder of
its own inside that of the experiment: requesting it, or another one later, repeats and invalidates
nothing, and all of them can be continued after an interruption.
"""

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from threadpoolctl import threadpool_limits

from primum._typing import AnyArray, Floats, Index
from primum._words import key_of
from primum.comparison.progress import with_progress
from primum.comparison.store import ResultStore, distributions_of
from primum.comparison.workers import rng_for, run_parallel, seeded
from primum.experiments.experiment import ROLES, Experiment, codes_of
from primum.experiments.measures import MEASURES, default_score, error, refuse_marker_as_class
from primum.experiments.methods import Method
from primum.experiments.splits import Split, SplitDesign, SplitRows, scale_features
from primum.experiments.summary import failed_sentence

if TYPE_CHECKING:
    import pandas as pd


KEYS = ("dataset", "repeat", "at", "n_labeled", "n_unlabeled", "classifier")
NUMBERS = (*MEASURES, "objective")


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    *,
    jobs: int = 1,
    resume: bool = False,
    progress: bool = True,
) -> "pd.DataFrame":
    """Run the units that are not yet stored in the folder, and return all rows.

    Parameters
    ----------
    experiment : Experiment
        The experiment to run.
    folder : path
        Where results are stored; an interrupted run continues there with ``resume=True``. A folder
        is used by one run at a time, and for one configuration only.
    jobs : int, default=1
        Number of processes; -1 means one per core.
    resume : bool, default=False
        Whether to continue a folder that already contains results.
    progress : bool, default=True
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
    >>> from primum.experiments import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, run_experiment
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = CrossValidation(n_folds=3)
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=2)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, progress=False)
    >>> len(results)  # two repeats, three folds, five methods
    30
    """
    packages = distributions_of([method.estimator for method in experiment.methods])
    with ResultStore(folder, experiment.config, resume=resume, packages=packages) as store:
        missing = [unit for unit in experiment.units if unit not in store.done]
        for unit, rows in _compute(experiment, missing, jobs, progress):
            store.append(unit, rows)
        results = collect(store, experiment)
    if sentence := failed_sentence(results):
        warnings.warn(sentence, FitFailedWarning, stacklevel=2)
    return results


def collect(store: ResultStore, experiment: Experiment) -> "pd.DataFrame":
    """Return the stored rows of the experiment's units, in a fixed order."""
    import pandas as pd

    rows = [row for unit in experiment.units for row in store.done[unit]]
    results = pd.DataFrame(rows, columns=[*KEYS, *NUMBERS, "score", "note"])
    losses = {
        name: _name(method.loss) for method in experiment.methods for name in method.sees_by_name
    }
    return results.astype(dict.fromkeys(NUMBERS, float)).assign(
        role=results["classifier"].map(experiment.roles), loss=results["classifier"].map(losses)
    )


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", function))


def _compute(
    experiment: Experiment, units: list[tuple[str, int]], jobs: int, progress: bool
) -> Iterable[Any]:
    # Interleave the data sets, so that the progress bar advances evenly.
    units = sorted(units, key=lambda unit: unit[1])
    shared = (experiment.design, tuple(experiment.methods), experiment.seed)
    work = run_parallel(
        run_unit, ((*experiment.data[unit[0]], unit, *shared) for unit in units), jobs
    )
    if not progress:
        return work
    return with_progress(work, len(units), experiment.name, "repeat")


def run_unit(
    X: Floats,
    y: AnyArray,
    unit: tuple[str, int],
    design: SplitDesign,
    methods: Sequence[Method],
    seed: int,
) -> tuple[tuple[str, int], list[dict[str, Any]]]:
    """Return (unit, the rows of one repeat of one data set)."""
    dataset, repeat = unit
    codes = codes_of(y)
    rng = rng_for(seed, design.name, dataset, repeat)
    methods = [
        replace(method, estimator=seeded(method.estimator, seed, dataset, repeat, method.name))
        for method in methods
        if repeat % method.every == 0
    ]
    with threadpool_limits(1):
        rows = [
            row
            for split in design.splits(y, X.shape[1], rng)  # the classes by name, for errors
            for row in _run_split(scale_features(X, split, design.scaling), codes, split, methods)
        ]
    return unit, [{"dataset": dataset, "repeat": repeat, **row} for row in rows]


def _run_split(
    X: Floats, y: Index, split: Split, methods: Sequence[Method]
) -> Iterator[dict[str, Any]]:
    rows, n_classes = SplitRows.of(X, y, split), int(y.max()) + 1
    for method in methods:
        for name, measures in _measure(method, rows, n_classes).items():
            yield {
                "at": split.at,
                "n_labeled": len(split.labeled),
                "n_unlabeled": len(split.unlabeled),
                "classifier": name,
                **measures,
            }


def _measure(method: Method, rows: SplitRows, n_classes: int) -> dict[str, dict[str, Any]]:
    """Fit a method; return the measures of it and of its parts, or the message if it fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            measures = _fit_and_score(method, rows, n_classes)
        except Exception as failure:  # a failing classifier is a result, and the run continues
            nothing = dict.fromkeys((*NUMBERS, "score"))
            message = {"note": f"{type(failure).__name__}: {failure}"}
            return {name: {**nothing, **message} for name in method.sees_by_name}
    said = {f"{warning.category.__name__}: {warning.message}" for warning in caught}
    note = {"note": "; ".join(sorted(said)) or None}
    return {name: {**found, **note} for name, found in measures.items()}


def _fit_and_score(method: Method, rows: SplitRows, n_classes: int) -> dict[str, dict[str, Any]]:
    clf = clone(method.estimator)
    if method.sees == "shares":
        clf.set_params(prior=rows.true_shares())
    X, labels = rows.seen(method.sees)
    start = time.perf_counter()
    clf.fit(X, labels)
    seconds = time.perf_counter() - start
    refuse_marker_as_class(clf)
    # What the method minimised, if it is known: this distinguishes local optima.
    own = {"seconds": seconds, "objective": getattr(clf, "objective_", None)}
    found = {method.name: {**_error_and_losses(method, clf, rows, n_classes), **own}}
    for name in method.parts:
        measures = _error_and_losses(method, clf.parts_[name], rows, n_classes)
        found[name] = {**measures, **dict.fromkeys(own)}
    return found


def _error_and_losses(method: Method, clf: Any, rows: SplitRows, n_classes: int) -> dict[str, Any]:
    """Return the error on test rows, the loss on each part, and the name of the score used."""
    read = default_score(clf) if method.score is None else method.score
    test, losses = rows.parts["test"], {}
    scores = None if read is None else read(clf, rows.X)
    if scores is not None:
        _check_shape(scores, len(rows.y), n_classes)
        losses = {
            f"loss_{name}": method.loss(scores[part], rows.y[part])
            for name, part in rows.parts.items()
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


def beside(methods: Sequence[Method], requested: Sequence[Method]) -> list[Method]:
    """Return the requested methods that are not among the given ones, named apart from them."""
    known, names = [method.config for method in methods], {method.name for method in methods}
    new = {method.name: method for method in requested if method.config not in known}
    return [
        replace(method, name=f"{name} (LS)") if name in names else method
        for name, method in new.items()
    ]


def run_with_further(
    experiment: Experiment,
    further: Sequence[Method],
    folder: str | Path,
    *,
    jobs: int = 1,
    resume: bool = False,
    progress: bool = True,
) -> "pd.DataFrame":
    """Run an experiment, then further methods on the same splits, and return all rows.

    Parameters
    ----------
    experiment : Experiment
        The experiment to run; its twin is also that of the further methods.
    further : sequence of Method
        With names that the experiment does not use.
    folder : path
        Where results are stored, as in ``run_experiment``; those of the further methods in folders
        inside it.
    jobs, resume, progress
        As in ``run_experiment``.

    Returns
    -------
    DataFrame
        As from ``run_experiment``.
    """
    import pandas as pd

    parts = [run_experiment(experiment, folder, jobs=jobs, resume=resume, progress=progress)]
    for method in further:
        name = f"{experiment.name}: {method.name}"
        alone = replace(experiment, name=name, methods=[method], twin=None)
        inside = further_folder(folder, method.name)
        rows = run_experiment(alone, inside, jobs=jobs, resume=resume, progress=progress)
        parts.append(rows.assign(role=ROLES[method.sees]))
    return pd.concat(parts, ignore_index=True) if further else parts[0]
