"""``primum reproduce``: rerun the paper's experiments, the race of the safe choice, or settling."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from pandas import DataFrame
from sklearn.exceptions import FitFailedWarning

from primum.cli._options import in_options, jobs_option
from primum.comparison.store import ResultsError
from primum_lab.cli.datasets import data_home_option
from primum_lab.datasets import CATALOGUE, DatasetError, DatasetNotFoundError
from primum_lab.datasets.loading import Dataset, load
from primum_lab.methods import METHODS, Method, find_method
from primum_lab.pages import reproduction
from primum_lab.pages.reproduction import write_number_race_report
from primum_lab.pages.settling import write_settling_report
from primum_lab.paper import PLANS, ExperimentPlan
from primum_lab.race import RACES, NumberRace, run_number_race
from primum_lab.runner import new_methods, run_with_further
from primum_lab.settling import run_study, settling_study

# Targets that are experiments, and the plan of each.
PLAN_OF = {
    target: plan
    for plan in PLANS
    for target in (reproduction.CURVES if plan == "curves" else (plan,))
}
PAPER_TARGETS = ("table1", *PLAN_OF, "illustrations")
PLAN_OF |= {race: race for race in RACES}
SETTLING, NUMBERS = "settling", "safe-regression"
TARGETS = (*PAPER_TARGETS, *RACES, NUMBERS, SETTLING, "all")
DONE_IN_PART = 3  # exit code: some data sets were missing, the others were run


@dataclass(frozen=True)
class Reproduction:
    """The settings that all experiments of one command share.

    Attributes
    ----------
    repeats : int or None
        Number of repeats; None: the plan's.
    n_jobs, seed : int
        Number of processes, and seed of everything random.
    resume : bool
        Whether to continue existing results.
    further : list of Method
        Methods in addition to the plan's.
    datasets : list of Dataset
        The data sets that were found.
    missing : list of str
        Names of the data sets that were not found.
    """

    repeats: int | None
    n_jobs: int
    seed: int
    resume: bool
    further: list[Method]
    datasets: list[Dataset]
    missing: list[str]

    def run_all(self, out: Path) -> None:
        """Reproduce the targets of the paper; those with the same plan share a folder."""
        for target in PAPER_TARGETS:
            started = target in list(reproduction.CURVES)[1:]
            resumed = replace(self, resume=self.resume or started)
            resumed.run(target, out / PLAN_OF.get(target, target))

    def run(self, target: str, folder: Path) -> None:
        """Reproduce one target, and print its results."""
        if target == "table1":
            words = reproduction.write_datasets_report(folder, self.datasets)
        elif target == "illustrations":
            words = reproduction.write_illustrations(folder, self.seed)
        elif target == SETTLING:
            study = settling_study(self.datasets, self.repeats, self.seed)
            results = run_study(study, folder, n_jobs=self.n_jobs, resume=self.resume)
            words = write_settling_report(folder, results, self.missing)
        elif target == NUMBERS:
            race = NumberRace(repeats=self.repeats or NumberRace.repeats, seed=self.seed)
            results = run_number_race(race, folder, n_jobs=self.n_jobs, resume=self.resume)
            words = write_number_race_report(folder, results)
        else:
            words = self._report(target, folder)
        click.echo("\n".join(words))
        click.echo(f"Report: {folder / 'report.html'}\n")

    def _report(self, target: str, folder: Path) -> list[str]:
        """Run an experiment, write its report, and return a summary in a few lines."""
        plan = {**PLANS, **RACES}[PLAN_OF[target]]
        lost = [name for name in self.missing if name in plan.datasets]
        run = reproduction.Run(folder, plan, self._results(target, folder, plan), lost)
        if target in RACES:
            return reproduction.write_race_report(run, target)
        if target == "peaking":
            return reproduction.write_peaking_report(run)
        if plan.curve:
            return reproduction.write_curves_report(run)
        return reproduction.write_table_report(run, target)

    def _results(self, target: str, folder: Path, plan: ExperimentPlan) -> DataFrame:
        """Run the experiment of a target, or continue it, and return its results."""
        chosen = [dataset for dataset in self.datasets if dataset.name in plan.datasets]
        if not chosen and not plan.further:
            raise ResultsError(
                f"{target} needs at least one of the data sets {', '.join(plan.datasets)}, and "
                "none of them was both chosen and found."
            )
        experiment = plan.experiment(PLAN_OF[target], chosen, self.repeats, self.seed)
        further = new_methods(plan.methods, self.further)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitFailedWarning)  # the report lists them
            return run_with_further(
                experiment, further, folder, n_jobs=self.n_jobs, resume=self.resume
            )


def _names(_context: Any, _parameter: Any, text: str | None) -> list[str]:
    """Return the names in a comma-separated list of data sets."""
    names = list(CATALOGUE) if text is None else [name.strip().lower() for name in text.split(",")]
    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        raise click.BadParameter(
            f"unknown data set {unknown[0]!r}; choose from {', '.join(CATALOGUE)}."
        )
    return names


def _further(_context: Any, _parameter: Any, text: str | None) -> list[Method]:
    """Return the methods in a comma-separated list."""
    try:
        return [find_method(name.strip()) for name in text.split(",")] if text else []
    except ValueError as problem:
        raise click.BadParameter(str(problem)) from problem


def _list_methods(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        width = max(map(len, METHODS))
        for key, method in METHODS.items():
            click.echo(f"{key.ljust(width)}  {type(method.estimator).__name__}")
        context.exit()


@click.command()
@click.argument("target", type=click.Choice(TARGETS))
@click.option("--datasets", callback=_names, help="Comma-separated names; default: all.")
@click.option(
    "--methods",
    "further",
    callback=_further,
    help="Comma-separated names of further methods, on the same splits; --list-methods lists them.",
)
@click.option(
    "--list-methods",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_methods,
    help="List the names for --methods, with their estimators.",
)
@click.option(
    "--repeats", type=click.IntRange(min=1), help="Default: 100; 20 for safe-... and settling."
)
@jobs_option("n_jobs")
@click.option("--seed", type=int, default=0)
@data_home_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for results; default: reproduction/TARGET.",
)
@click.option("--resume", is_flag=True, help="Continue the results in the folder.")
def reproduce(
    target: str,
    datasets: list[str],
    data_home: Path | None,
    out: Path | None,
    **settings: Any,  # of Reproduction
) -> None:
    """Reproduce a table or figure of the paper and compare it with the published values.

    The targets safe-choice... compare SafeClassifier with tuned supervised models instead, and
    safe-regression compares SafeRegressor with tuned ridge regression.
    settling measures how many labels of rows where two models differ show which one is better.

    Writes results.parquet, summary.csv, tables, figures and report.html. An interrupted run
    continues with --resume; finished repeats are not lost. --methods adds columns to its tables and
    figures; with --resume, also to results that were computed without them.
    """
    if settings["further"] and target not in (*PLAN_OF, "all"):
        raise click.BadParameter(f"{target} compares no methods.", param_hint="--methods")
    out = Path("reproduction") / target if out is None else out
    without = target in ("illustrations", NUMBERS) or (
        target in RACES and not RACES[target].datasets
    )
    loaded, missing = ([], {}) if without else _load(datasets, data_home)
    if not loaded and not without:
        raise click.ClickException(f"No data set was found. {missing[next(iter(missing))]}")
    work = Reproduction(**settings, datasets=loaded, missing=list(missing))
    with _plain_errors(out):
        if target == "all":
            work.run_all(out)
        else:
            work.run(target, out)
    for name, reason in missing.items():
        click.echo(f"Missing {name}: {reason}", err=True)
    if missing:
        sys.exit(DONE_IN_PART)


@contextmanager
def _plain_errors(out: Path) -> Iterator[None]:
    """Report problems with the results in terms of this command's options."""
    try:
        yield
    except ResultsError as problem:
        raise click.ClickException(in_options(str(problem))) from problem
    except OSError as problem:
        raise click.ClickException(
            f"Cannot write the report to {out}: {problem.strerror or problem}; continue with "
            "--resume, finished repeats are not lost."
        ) from problem
    except KeyboardInterrupt:
        raise click.ClickException("Stopped; continue with --resume.") from None


def _load(names: list[str], data_home: Path | None) -> tuple[list[Dataset], dict[str, str]]:
    """Return the data sets that are available, and the reasons why others are not."""
    loaded, missing = [], {}
    for name in names:
        try:
            loaded.append(load(name, data_home))
        except DatasetNotFoundError as problem:
            missing[name] = str(problem)
        except DatasetError as problem:
            raise click.ClickException(str(problem)) from problem
    return loaded, missing
