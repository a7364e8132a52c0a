"""Further methods beside those of an experiment, with results of their own.

Splits derive from the seed, the design, the data set and the repeat, and not from the methods, so a
method that is run alone sees the splits of the others. Every further method has a results folder of
its own inside that of the experiment: requesting it, or another one later, repeats and invalidates
nothing, and all of them can be continued after an interruption.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from primum.evaluation.experiment import ROLES, Experiment
from primum.evaluation.methods import Method, key_of
from primum.evaluation.runner import run_experiment

if TYPE_CHECKING:
    import pandas as pd


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
