"""``primum fit``: from tables to a model in a file."""

import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from primum.cli._models import METHODS, save_model
from primum.cli._progress import progress_bar
from primum.cli._tables import (
    find_columns,
    is_parquet,
    out_option,
    plain_errors,
    read_table,
    to_matrix,
)
from primum.estimators._labels import read_labels
from primum.problems import METRICS, Certificate

SHOWN = 12  # features
existing = click.Path(exists=True, path_type=Path)


def _names(_context: click.Context, _parameter: click.Parameter, text: str | None) -> list[str]:
    """Read a comma-separated list of columns."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


@click.command()
@click.argument("data", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--target",
    required=True,
    help="Column with the labels; empty, or -1 among whole numbers, where unknown.",
)
@click.option("--unlabeled", multiple=True, type=existing, help="Further rows without labels.")
@click.option("--features", callback=_names, help="Comma-separated columns; default: all others.")
@click.option("--drop", callback=_names, help="Comma-separated columns that are no features.")
@click.option("--method", type=click.Choice(list(METHODS)), default="icls", show_default=True)
@click.option("--alpha", type=click.FloatRange(min=0), default=0.0, help="Ridge penalty, per row.")
@click.option("--metric", type=click.Choice(list(METRICS)), help="For icls; default: labeled.")
@out_option
def fit(
    data: Path,
    target: str,
    unlabeled: tuple[Path, ...],
    features: list[str],
    drop: list[str],
    method: str,
    alpha: float,
    metric: str | None,
    out: Path,
) -> None:
    """Fit a model to DATA (CSV or Parquet) and store it.

    Rows of DATA without a label count as unlabelled. Further unlabelled rows may be CSV files,
    and one Parquet file or folder of any size, which is read in parts and never held in memory.
    """
    if metric is not None and method != "icls":
        raise click.UsageError("--metric is for --method icls only.")
    tables, stored = _sort(unlabeled)
    model: Any = METHODS[method](alpha)
    if metric is not None:
        model.set_params(metric=metric)
    with plain_errors():
        X, y = _read(data, target, features, drop, tables)
        _fit(model, X, y, stored)
        save_model(model, out)
    click.echo("\n".join([*_in_words(model, y, stored), f"Model: {out}"]))


def _sort(unlabeled: tuple[Path, ...]) -> tuple[list[Path], Path | None]:
    """Return (CSV files to hold in memory, Parquet to leave where it is)."""
    stored = [path for path in unlabeled if is_parquet(path)]
    if len(stored) > 1:
        raise click.UsageError(
            "--unlabeled takes one Parquet file or folder: put several files into one folder."
        )
    return [path for path in unlabeled if path not in stored], stored[0] if stored else None


def _read(
    data: Path, target: str, features: list[str], drop: list[str], tables: list[Path]
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the rows that are held in memory and their labels."""
    frame = read_table(data, target)
    find_columns(frame, [target, *features, *drop], data)
    names = features or [str(name) for name in frame.columns]
    names = [name for name in names if name not in (target, *drop)]
    if not names:
        raise ValueError(f"{data} has no column left to learn from.")
    parts = [to_matrix(frame, names, data)]
    parts += [to_matrix(read_table(path), names, path) for path in tables]
    labels = _labels(frame[target])
    unknown = pd.Series([None] * sum(map(len, parts[1:])), dtype=object)
    y = pd.concat([labels, unknown], ignore_index=True) if len(unknown) else labels
    return pd.DataFrame(np.concatenate(parts), columns=names), y


def _labels(column: pd.Series) -> pd.Series:
    """Return labels with None where there is none; floats that are whole numbers as such."""
    known = column.notna()
    if pd.api.types.is_float_dtype(column.dtype) and (column[known] % 1 == 0).all():
        # A missing value made floats of them.
        column = column.astype("Int64")
    return column.astype(object).where(known, None)


def _fit(model: Any, X: pd.DataFrame, y: pd.Series, stored: Path | None) -> None:
    with warnings.catch_warnings(record=True) as caught, progress_bar("fitting"):
        warnings.simplefilter("always")
        model.fit(X, y, X_unlabeled=stored)
    for warning in caught:
        click.echo(f"Warning: {warning.message}", err=True)


def _in_words(model: Any, y: pd.Series, stored: Path | None) -> list[str]:
    """Say what was fitted and what is proven about it."""
    labels = read_labels(y, len(y))
    first, second = model.classes_.tolist()
    return [
        f"Fitted {type(model).__name__} to {len(labels.labeled)} labelled rows, "
        f"{len(labels.unlabeled)} unlabelled ones{'' if stored is None else f' and {stored}'}.",
        f"Its {model.n_features_in_} features are {_listed(model.feature_names_in_)}; a score "
        f"above 0 means {second!r}, otherwise {first!r}.",
        *(_proof_in_words(model.certificate_) if hasattr(model, "certificate_") else ()),
    ]


def _listed(names: Any) -> str:
    """Name the first of them: a column that is none, such as a row number, is best seen here."""
    return ", ".join(map(str, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")


def _proof_in_words(proof: Certificate) -> list[str]:
    reached = "Solved" if proof.converged else "Not solved as exactly as asked"
    moved = (
        "The unlabelled rows moved the answer: its scores differ from those of the supervised "
        f"model by {proof.shift:.2g}, root mean square."
        if proof.moved
        else "The unlabelled rows did not move the answer: it is that of the supervised model."
    )
    return [
        f"Squared loss on the labelled rows: {proof.labeled_loss:.6g}, of the supervised model "
        f"{proof.supervised_loss:.6g}.",
        f"{reached}: proven to be within {max(proof.gap, 0.0):.1e} of the best possible "
        f"({proof.passes} passes over the unlabelled rows).",
        moved,
    ]
