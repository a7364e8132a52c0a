"""Summaries of results: from one row per fit to one row per cell of a table, and harm.

A cell has the mean over repeats, its spread, and how the method compares with its supervised twin:
how often it is worse, by how much, and whether significantly.
"""

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from pandas import DataFrame, Series
from scipy.stats import wilcoxon

from primum._typing import Floats
from primum_lab._warnings import warn
from primum_lab.measures import MEASURES

# The role of the supervised method with which the others are compared.
TWIN = "twin"
# Results without roles are those of the paper, whose methods have these names.
PAPER_ROLES = {"Supervised": TWIN, "Oracle": "oracle"}
# The p-value below which the paper underlines a cell.
SIGNIFICANT_P = 0.01


@dataclass(frozen=True)
class Harm:
    """Comparison of a method with its supervised twin, over repeats.

    Attributes
    ----------
    times_worse : int
        Number of repeats in which the method's value is higher.
    share_worse : float
        The same as a fraction of the repeats.
    mean_difference : float
        Mean of method minus twin; if negative, the method helps on average.
    mean_harm : float
        Mean difference over the repeats in which the method is worse; 0 if there is none.
    worst_harm : float
        Largest difference, at least 0.
    p_value : float
        Two-sided Wilcoxon signed-rank test of no difference; 1 if all differences are 0.
    significantly_worse : bool
        Whether it is worse on average with p below 0.01 (underlined in the paper).

    Examples
    --------
    >>> from primum_lab import harm
    >>> round(harm([0.21, 0.25, 0.19], [0.20, 0.26, 0.22]).share_worse, 2)
    0.33
    """

    times_worse: int
    share_worse: float
    mean_difference: float
    mean_harm: float
    worst_harm: float
    p_value: float
    significantly_worse: bool


def harm_over_repeats(method: Floats, twin: Floats) -> Harm:
    """Compare errors or losses of a method with its supervised twin's, repeat by repeat."""
    method, twin = np.asarray(method, dtype=float), np.asarray(twin, dtype=float)
    if method.ndim != 1 or method.shape != twin.shape or not len(method):
        raise ValueError(
            "harm needs one value per repeat of the method and one of the twin, got shapes "
            f"{method.shape} and {twin.shape}."
        )
    difference = method - twin
    losses = difference[difference > 0]
    unequal = difference[difference != 0]  # ties carry no information about the sign
    mean = float(difference.mean())
    p_value = float(wilcoxon(unequal).pvalue) if len(unequal) else 1.0
    return Harm(
        times_worse=len(losses),
        share_worse=len(losses) / len(difference),
        mean_difference=mean,
        mean_harm=float(losses.mean()) if len(losses) else 0.0,
        worst_harm=float(max(difference.max(), 0.0)),
        p_value=p_value,
        significantly_worse=mean > 0 and p_value < SIGNIFICANT_P,
    )


def per_repeat(results: DataFrame, *, curve: bool) -> DataFrame:
    """Return one row per (data set, [number of unlabelled rows], classifier, repeat).

    In cross-validation the value of a repeat is the mean over its folds. It is missing if a fold
    failed, because a classifier must not look better by failing on hard folds.
    """
    keys = [*_cell_keys(curve), "classifier", "repeat"]
    grouped = results.groupby(keys, sort=False)[list(MEASURES)]
    complete = grouped.count().eq(grouped.size(), axis="index")
    return grouped.mean().where(complete).reset_index()


def _cell_keys(curve: bool) -> list[str]:
    return ["dataset", "n_labeled", "n_unlabeled"] if curve else ["dataset"]


def roles_of(frame: DataFrame) -> dict[str, str]:
    """Return the role of every classifier in results or in a summary."""
    first = frame.drop_duplicates("classifier")
    if "role" not in frame:
        return {name: PAPER_ROLES.get(name, "") for name in first["classifier"]}
    return dict(zip(first["classifier"], first["role"], strict=True))


def twin_of(frame: DataFrame) -> str | None:
    """Return the name of the supervised twin in results or in a summary, if there is one."""
    return next((name for name, role in roles_of(frame).items() if role == TWIN), None)


def summarize(results: DataFrame, *, curve: bool, twin: str | None = None) -> DataFrame:
    """Return mean, standard deviation over repeats and harm for every cell and measure.

    Parameters
    ----------
    results : DataFrame
        The return value of ``run_experiment``.
    curve : bool
        Whether to group by the number of unlabelled rows (learning curves).
    twin : str, optional
        The classifier that ``times_worse`` compares with, if not the experiment's twin.

    Returns
    -------
    DataFrame
        One row per cell and measure: ``mean``, its standard error ``se``, ``sd_over_repeats``, the
        quartiles ``q25``, ``median`` and ``q75``, the numbers of ``repeats`` they are computed from
        and of repeats that ``failed``, and the comparison with the twin: in how many repeats the
        method is worse, and whether significantly.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum_lab import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, run_experiment, summarize
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = CrossValidation(n_folds=3)
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=2)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, verbose=False)
    >>> summary = summarize(results, curve=False)
    >>> summary.set_index(["measure", "classifier"]).loc[("error", "ICLS"), "repeats"]
    np.int64(2)
    """
    roles = roles_of(results)
    twin = twin_of(results) if twin is None else twin
    _check_twin(roles, twin)
    repeats = per_repeat(results, curve=curve)
    cells = _cell_keys(curve)
    losses = dict(results.groupby("classifier")["loss"].first()) if "loss" in results else {}
    summary = DataFrame(
        {
            **dict(zip(cells, cell, strict=True)),
            "classifier": classifier,
            "measure": measure,
            **_cell(group, measure, classifier, twin),
            "role": TWIN if classifier == twin else roles[classifier],
            "loss": losses.get(classifier),
        }
        for cell, group in repeats.groupby(cells, sort=False)
        for classifier in group["classifier"].unique()
        for measure in MEASURES
    )
    summary["times_worse"] = summary["times_worse"].astype("Int64")
    return summary


def _check_twin(roles: dict[str, str], twin: str | None) -> None:
    if twin is None:
        warn(
            "No method sees only the labelled rows, so there is no supervised twin and times_worse "
            "is empty: choose a twin with Experiment(twin=...) or summarize(twin=...).",
        )
    elif twin not in roles:
        raise ValueError(f"twin must be one of {', '.join(roles)}, got {twin!r}.")


def _by_repeat(rows: DataFrame, measure: str) -> DataFrame:
    """Return one row per repeat and one column per classifier."""
    return rows.pivot(index="repeat", columns="classifier", values=measure)


def _cell(group: DataFrame, measure: str, classifier: str, twin: str | None) -> dict[str, object]:
    values = _by_repeat(group, measure)
    present = values[classifier].dropna()
    q25, median, q75 = present.quantile([0.25, 0.5, 0.75])
    cell: dict[str, object] = {
        "mean": present.mean(),
        "se": present.sem(),
        "sd_over_repeats": present.std(),
        **{"q25": q25, "median": median, "q75": q75, "repeats": len(present)},
        # A method may have no loss; a missing error means that it failed.
        "failed": int(group.loc[group["classifier"] == classifier, "error"].isna().sum()),
        **{"times_worse": None, "significantly_worse": False},
    }
    if twin in values and twin != classifier and len(both := values[[classifier, twin]].dropna()):
        against = harm_over_repeats(both[classifier], both[twin])
        cell["times_worse"] = against.times_worse
        cell["significantly_worse"] = against.significantly_worse
    return cell


def failures(results: DataFrame) -> DataFrame:
    """Return the failures per data set and classifier: how many, and the first message.

    Parameters
    ----------
    results : DataFrame
        The return value of ``run_experiment``.

    Returns
    -------
    DataFrame
        One row per data set and classifier that failed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum_lab import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, failures, run_experiment
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = CrossValidation(n_folds=3)
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=2)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, verbose=False)
    >>> len(failures(results))
    0
    """
    return _notes(results, results["error"].isna())


def fit_warnings(results: DataFrame) -> DataFrame:
    """Return the warnings per data set and classifier: how many, and the first message.

    Parameters
    ----------
    results : DataFrame
        The return value of ``run_experiment``.

    Returns
    -------
    DataFrame
        One row per data set and classifier that issued a warning.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum_lab import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, fit_warnings, run_experiment
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> design = CrossValidation(n_folds=3)
    >>> experiment = Experiment("mine", data, design, LEAST_SQUARES, repeats=2)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, verbose=False)
    >>> list(fit_warnings(results).columns)
    ['dataset', 'classifier', 'times', 'fits', 'first']
    """
    return _notes(results, results["error"].notna() & results["note"].notna())


def _notes(results: DataFrame, chosen: Series) -> DataFrame:
    keys = ["dataset", "classifier"]
    fits = results.groupby(keys, sort=False).size().rename("fits")
    grouped = results[chosen].groupby(keys, sort=False)["note"]
    notes = grouped.agg(times="size", first="first").reset_index()
    return notes.join(fits, on=keys)[[*keys, "times", "fits", "first"]]


def failed_sentence(results: DataFrame) -> str:
    """Return which classifiers failed, how often and why, or an empty string if none did."""
    parts = []
    for name, rows in failures(results).groupby("classifier", sort=False):
        fits = int((results["classifier"] == name).sum())
        times = int(rows["times"].sum())
        share = f"all {fits} fits" if times == fits else f"{times} of {fits} fits"
        parts.append(f"{name} failed in {share} (first error: {rows['first'].iloc[0]})")
    return "; ".join(parts) + ". failures(results) lists them by data set." if parts else ""


@overload
def harm(results: DataFrame, method: str, /, *, measure: str = "error") -> Harm: ...
@overload
def harm(method: Floats, twin: Floats, /) -> Harm: ...
def harm(results: Any, method: Any, /, *, measure: str = "error") -> Harm:
    """Compare a method with its supervised twin, repeat by repeat.

    Call it as ``harm(results, "ICLS")`` with the results of an experiment, or as
    ``harm(method, twin)`` with two arrays of errors or losses.

    Parameters
    ----------
    results : DataFrame or array of shape (n_repeats,)
        What ``run_experiment`` returns, for one data set and, in a learning curve, one number of
        unlabelled rows; or the method's errors or losses.
    method : str or array of shape (n_repeats,)
        Name of the method to compare with the experiment's twin; or the twin's errors or losses, in
        the same order of repeats.
    measure : {"error", "loss_labeled", "loss_train", "loss_test", "seconds"}, default="error"
        What is compared; used only with the results of an experiment. In cross-validation the
        value of a repeat is the mean over its folds.

    Returns
    -------
    Harm
        In how many repeats the method is worse, by how much, and the p-value of the Wilcoxon
        signed-rank test. Repeats in which a fit of either failed are left out.

    Raises
    ------
    ValueError
        If the results are of several data sets or of several numbers of unlabelled rows, have no
        such method or no twin, or if the two arrays differ in length.

    See Also
    --------
    summarize : The same comparison for all data sets, methods and measures.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum_lab import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, harm, run_experiment
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> experiment = Experiment("mine", data, CrossValidation(n_folds=3), LEAST_SQUARES, repeats=5)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, verbose=False)
    >>> harm(results, "ICLS").times_worse
    0
    >>> harm([0.21, 0.25, 0.19], [0.20, 0.26, 0.22]).times_worse
    1
    """
    if not isinstance(method, str):
        return harm_over_repeats(results, method)
    if not hasattr(results, "columns"):
        raise ValueError(
            f"harm(results, {method!r}) needs the DataFrame that run_experiment returned, got "
            f"{type(results).__name__}."
        )
    twin = _twin_for(results, method, measure)
    _refuse_several_cells(results)
    both = _by_repeat(per_repeat(results, curve=False), measure)[[method, twin]].dropna()
    if both.empty:
        raise ValueError(
            f"There is no repeat in which both {method!r} and {twin!r} have a value of {measure}."
        )
    return harm_over_repeats(both[method], both[twin])


def _twin_for(results: DataFrame, method: str, measure: str) -> str:
    """Return the name of the twin; raise an error if the method cannot be compared with it."""
    names, twin = list(roles_of(results)), twin_of(results)
    if method not in names:
        raise ValueError(f"The method must be one of {', '.join(names)}, got {method!r}.")
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}.")
    if twin is None:
        raise ValueError(
            "The results have no supervised twin: choose one with Experiment(twin=...), or pass "
            "two arrays to harm."
        )
    if method == twin:
        raise ValueError(f"{method!r} is the supervised twin itself: choose another method.")
    return twin


def _refuse_several_cells(results: DataFrame) -> None:
    """Raise an error if data sets, or points of a learning curve, would be mixed in one test."""
    columns = {"dataset": "data sets"}
    if (results["at"] == results["n_unlabeled"]).all():  # a curve; otherwise ``at`` is a fold
        columns["n_unlabeled"] = "numbers of unlabelled rows"
    for column, mixed in columns.items():
        values = results[column].unique().tolist()
        if len(values) > 1:
            raise ValueError(
                f"The results are of several {mixed}, {', '.join(map(repr, values[:8]))}: select "
                f"one, for example results[results[{column!r}] == {values[0]!r}], or use summarize."
            )
