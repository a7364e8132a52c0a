"""Harm: how often and by how much a method is worse than its supervised twin."""

from typing import TYPE_CHECKING, Any, overload

from primum._typing import Floats
from primum.evaluation.measures import MEASURES, Harm, harm_over_repeats
from primum.evaluation.summary import per_repeat, roles_of, twin_of

if TYPE_CHECKING:
    import pandas as pd


@overload
def harm(results: "pd.DataFrame", method: str, /, *, measure: str = "error") -> Harm: ...
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
        Name of the method that is compared with the experiment's twin; or the twin's errors or
        losses, in the same order of repeats.
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
    summarise : The same comparison for all data sets, methods and measures.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from primum.evaluation import (
    ...     LEAST_SQUARES, CrossValidation, Experiment, harm, run_experiment
    ... )
    >>> data = {"wdbc": load_breast_cancer(return_X_y=True)}
    >>> experiment = Experiment("mine", data, CrossValidation(n_folds=3), LEAST_SQUARES, repeats=5)
    >>> with TemporaryDirectory() as folder:
    ...     results = run_experiment(experiment, folder, progress=False)
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
    values = per_repeat(results, curve=False).pivot(
        index="repeat", columns="classifier", values=measure
    )
    both = values[[method, twin]].dropna()
    if both.empty:
        raise ValueError(
            f"There is no repeat in which both {method!r} and {twin!r} have a value of {measure}."
        )
    return harm_over_repeats(both[method].to_numpy(), both[twin].to_numpy())


def _twin_for(results: "pd.DataFrame", method: str, measure: str) -> str:
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


def _refuse_several_cells(results: "pd.DataFrame") -> None:
    """Raise an error if data sets, or points of a learning curve, would be mixed in one test."""
    is_curve = (results["at"] == results["n_unlabeled"]).all()  # elsewhere ``at`` is a fold
    for column, what in {
        "dataset": "data sets",
        **({"n_unlabeled": "numbers of unlabelled rows"} if is_curve else {}),
    }.items():
        found = results[column].unique().tolist()
        if len(found) > 1:
            raise ValueError(
                f"The results are of several {what}, {', '.join(map(repr, found[:8]))}: select "
                f"one, for example results[results[{column!r}] == {found[0]!r}], or use summarise."
            )
