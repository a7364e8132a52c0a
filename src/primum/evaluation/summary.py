"""From one row per fit to one row per cell of a table."""

from typing import TYPE_CHECKING

from primum.evaluation.measures import MEASURES, harm

if TYPE_CHECKING:
    import pandas as pd


def per_repeat(results: "pd.DataFrame", *, curve: bool) -> "pd.DataFrame":
    """Return one row per (data set, [number of unlabelled rows], classifier, repeat).

    For cross-validation a repeat's value is the mean over its folds, and it has none if a fold
    failed: a classifier must not look better for failing where it is hard.
    """
    keys = [*_cell_keys(curve), "classifier", "repeat"]
    grouped = results.groupby(keys, sort=False)[list(MEASURES)]
    complete = grouped.count().eq(grouped.size(), axis="index")
    return grouped.mean().where(complete).reset_index()


def _cell_keys(curve: bool) -> list[str]:
    return ["dataset", "n_labeled", "n_unlabeled"] if curve else ["dataset"]


def summarise(results: "pd.DataFrame", *, curve: bool, twin: str = "Supervised") -> "pd.DataFrame":
    """Return mean, spread over repeats and harm for every cell and measure.

    Parameters
    ----------
    results : DataFrame
        What ``run_experiment`` returns.
    curve : bool
        Whether numbers of unlabelled rows are told apart (learning curves) or not.
    twin : str
        The classifier that ``times_worse`` compares with.
    """
    import pandas as pd

    repeats = per_repeat(results, curve=curve)
    cells = _cell_keys(curve)
    summary = pd.DataFrame(
        {
            **dict(zip(cells, cell, strict=True)),
            "classifier": classifier,
            "measure": measure,
            **_cell(group, measure, classifier, twin),
        }
        for cell, group in repeats.groupby(cells, sort=False)
        for classifier in group["classifier"].unique()
        for measure in MEASURES
    )
    summary["times_worse"] = summary["times_worse"].astype("Int64")
    return summary


def _cell(group: "pd.DataFrame", measure: str, classifier: str, twin: str) -> dict[str, object]:
    values = {
        name: rows.set_index("repeat")[measure]
        for name, rows in group.groupby("classifier")
        if name in (classifier, twin)
    }
    own = values[classifier].dropna()
    cell: dict[str, object] = {
        "mean": own.mean(),
        "sd_over_repeats": own.std(),
        "repeats": len(own),
        "failed": len(values[classifier]) - len(own),
        "times_worse": None,
        "significantly_worse": False,
    }
    common = own.index.intersection(values[twin].dropna().index) if twin in values else []
    if classifier != twin and len(common):
        against = harm(own[common].to_numpy(), values[twin][common].to_numpy())
        cell["times_worse"] = against.times_worse
        cell["significantly_worse"] = against.significantly_worse
    return cell
