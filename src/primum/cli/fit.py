"""``primum fit``: fit a model to tables and store it in a file.

Rows are prepared as by ``primum compare`` or, with ``--no-prepare``, used as they are. In that case
features must be finite numbers, and any number of further rows in Parquet is read out of core.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import primum
from primum import ICLSClassifier, LeastSquaresClassifier, UndeterminedModelWarning, USMClassifier
from primum._progress import showing_passes
from primum._typing import Floats, Mask
from primum._words import listed
from primum.cli import _options as options
from primum.cli._options import out_option, refuse_inputs, warn
from primum.comparison.models import with_preparation
from primum.judging.named_labels import KEY_COLUMN
from primum.labellings import Certificate
from primum.models import classifier_of
from primum.reading.known import drawn_confidence, read_chosen
from primum.reading.labels import read_labels
from primum.rows import ParquetRows
from primum.tables.columns import looks_like_identifier
from primum.tables.files import TableFile, TableFormat, open_table, table_kind
from primum.tables.labels import (
    CHOSEN,
    MARKS_CHOSEN,
    NUMBERS_SHEET,
    chosen_column,
    doubtful_label,
    marked_rows,
    read_classes,
    read_labeled_rows,
    recognised,
)
from primum.tables.preparation import PreparedColumns
from primum.tables.problem import table_problem

# About 400 MB of numbers, which the preparation copies.
MAX_PREPARED_CELLS = 5 * 10**7


@dataclass(frozen=True)
class TrainingRows:
    """Rows to learn from.

    Attributes
    ----------
    X : DataFrame
        The rows in memory.
    labels : Series
        Their labels, None where unknown.
    transformer : PreparedColumns or None
        The preparation of the columns, not yet fitted; None: columns are used as they are.
    stored : Path or None
        Further rows in Parquet, to be read out of core.
    chosen : bool array or None
        Which rows in memory are marked because their labels were not drawn at random.
    id_column : str or None
        The column that identifies the rows, named or recognised.
    """

    X: pd.DataFrame
    labels: pd.Series
    transformer: PreparedColumns | None = None
    stored: Path | None = None
    chosen: Mask | None = None
    id_column: str | None = None

    @property
    def n_chosen(self) -> int:
        """Number of labels that were not drawn at random."""
        return 0 if self.chosen is None else int(self.labels[self.chosen].notna().sum())


@dataclass(frozen=True)
class TrainingTables:
    """The tables with rows to learn from.

    Attributes
    ----------
    data : Path
        The table with the labels.
    target : str
        Its column with the labels.
    id_column : str or None
        Its column that identifies the rows.
    unlabeled : sequence of Path
        Tables of further rows, without labels.
    features : list of str
        The columns to learn from; empty: all others.
    exclude : list of str
        Columns not to learn from.
    table_format : TableFormat
        How the files are written.
    chosen : str or None
        Its column that marks labels which were not drawn at random; None: primum's own, if any.
    """

    data: Path
    target: str
    id_column: str | None
    unlabeled: Sequence[Path]
    features: list[str]
    exclude: list[str]
    table_format: TableFormat
    chosen: str | None = None

    @property
    def _roles(self) -> list[str]:
        roles = (self.target, self.id_column, self.chosen)
        return [name for name in roles if name is not None]

    def _check(self, table: TableFile, columns: Iterable[str]) -> None:
        """Raise an error for columns that are absent, or that are features and something else."""
        others = [*self._roles, *self.exclude]
        table.require([*others, *self.features], columns)
        if both := [name for name in self.features if name in others]:
            raise ValueError(f"{both[0]!r} is both a feature and the target, the id or excluded.")
        if marked := recognised(list(columns), self.chosen):
            click.echo(marked, err=True)

    def prepared(self) -> TrainingRows:
        """Return the rows of all tables, and their preparation."""
        table, frame = self._frame(self.data, self.table_format)
        self._check(table, frame.columns)
        wanted, sheet_columns = (*self._roles, *self.features), (CHOSEN, KEY_COLUMN)
        exclude = [n for n in frame.columns if n not in wanted] if self.features else self.exclude
        needed = [n for n in frame.columns if n not in (*self._roles, *exclude, *sheet_columns)]
        parts = [frame]
        of_others = replace(self.table_format, sheet=None, header_row=None)  # of DATA only
        for path in self.unlabeled:
            other, other_frame = self._frame(path, of_others)
            other.require(needed, other_frame.columns)
            parts.append(other_frame[needed])
        missing = self.table_format.missing
        if self.unlabeled:  # DATA alone shows whether -1 marks unknown labels
            frame[self.target] = read_classes(frame[self.target], self.target, missing)
        rows = pd.concat(parts, ignore_index=True) if self.unlabeled else frame
        roles = self.target, self.id_column, None
        decimal = self.table_format.decimal or table.decimal
        problem = table_problem(
            *(rows, *roles, exclude, missing), chosen=self.chosen, decimal=decimal
        )
        if problem.kind.is_numeric:
            raise ValueError(
                f"Column {self.target!r} of {self.data} is a numeric target, and primum fit fits "
                "classifiers: primum compare --save-model stores a model that predicts numbers; if "
                "they are codes of classes, put a letter before them."
            )
        for column in problem.columns:
            if not column.used and column.note not in ("", MARKS_CHOSEN, NUMBERS_SHEET):
                warn(f"{column.name!r} of {self.data} is not used. {column.note}")
        for alert in problem.alerts:
            warn(alert.text)
        labels = pd.Series(problem.labels, dtype=object)
        return TrainingRows(
            problem.X,
            labels,
            problem.transformer,
            chosen=problem.chosen,
            id_column=problem.id_column,
        )

    def _frame(self, path: Path, table_format: TableFormat) -> tuple[TableFile, pd.DataFrame]:
        """Return a table and its rows; raise an error for Parquet that would fill the memory."""
        if table_kind(path) == "Parquet":
            stored = ParquetRows(path, (), 0)
            if stored.n_rows * len(stored.files[0].schema.names) > MAX_PREPARED_CELLS:
                raise ValueError(
                    f"{path} has {stored.n_rows} rows, too many to be prepared in memory: pass "
                    "--no-prepare, which reads them out of core, if all features are numbers."
                )
        with showing_passes(f"reading {path.name}"):
            table = open_table(path, table_format)
            return table, table.frame(self._roles)

    def numbers(self) -> TrainingRows:
        """Return the rows as they are; one Parquet file or folder is read later, out of core."""
        stored = [path for path in self.unlabeled if table_kind(path) == "Parquet"]
        if len(stored) > 1:
            raise click.UsageError(
                "--unlabeled takes one Parquet file or folder: put several files into one folder."
            )
        table = open_table(self.data, self.table_format)
        self._check(table, table.columns)
        names = self.features or self._all_features(table)
        if not names:
            raise ValueError(f"{table.path} has no column left to use as a feature.")
        others = [path for path in self.unlabeled if path not in stored]
        other_tables = [open_table(path, self.table_format) for path in others]
        with showing_passes(f"reading {self.data.name}"):
            X, labels = read_labeled_rows(table, names, self.target, self.table_format.missing)
        if not self.features:
            self._mention_identifiers(X, names)
        blocks = [X]
        for other in other_tables:
            with showing_passes(f"reading {other.path.name}"):
                blocks += [part.X for part in other.parts(names)]
        rows = pd.DataFrame(np.concatenate(blocks), columns=names)
        y = pd.Series([*labels, *[None] * (len(rows) - len(labels))], dtype=object)
        marked = self._marked(table, len(rows))
        return TrainingRows(rows, y, stored=stored[0] if stored else None, chosen=marked)

    def _marked(self, table: TableFile, n_rows: int) -> Mask | None:
        """Return which rows of DATA and of others after them are marked; None without marks."""
        column = chosen_column(list(table.columns), self.chosen)
        if column is None:
            return None
        parts = table.parts([], [column])
        cells = [cell for part in parts for cell in part.as_written[column].to_pylist()]
        marks = marked_rows(pd.Series(cells, dtype=object), self.table_format.missing)
        return np.append(marks, np.zeros(n_rows - len(marks), dtype=bool))

    def _all_features(self, table: TableFile) -> list[str]:
        """Return all columns except those set aside and those that seem to identify the rows."""
        others = [*self._roles, *self.exclude, CHOSEN, KEY_COLUMN]
        for name in table.row_identifiers:
            if name not in others:
                warn(
                    f"{name!r} of {table.path} seems to identify the rows, so it is not used as a "
                    "feature; to use it, list it in --features."
                )
        return [name for name in table.columns if name not in (*others, *table.row_identifiers)]

    def _mention_identifiers(self, X: Any, names: list[str]) -> None:
        """Warn of features that may really be identifiers."""
        for name, values in zip(names, X.T, strict=True):
            if looks_like_identifier(name, values):
                warn(
                    f"{name!r} of {self.data} is used as a feature but looks like an identifier, "
                    "because its values are distinct integers: if it identifies the rows, pass "
                    f"--id {name!r} or --exclude {name!r}; if it is a feature, list it in "
                    "--features with the others."
                )


METHODS = {"icls": ICLSClassifier, "usm": USMClassifier, "supervised": LeastSquaresClassifier}


@click.command()
@click.argument("data", type=options.TablePath(dir_okay=False))
@click.option(
    "--target",
    required=True,
    help="Column with the labels; unknown ones are empty, or -1 among integers.",
)
@options.id_option("Column that identifies the rows: not a feature; copied to the predictions.")
@options.chosen_option
@click.option(
    "--unlabeled",
    multiple=True,
    type=options.TablePath(),
    help="Further rows without labels: a table, or a folder of Parquet files.",
)
@click.option(
    "--features",
    callback=options.comma_separated,
    help="Comma-separated columns to use as features; default: all other columns.",
)
@click.option(
    "--exclude",
    callback=options.comma_separated,
    help="Comma-separated columns not to use as features.",
)
@click.option(
    "--prepare/--no-prepare",
    default=True,
    help="Prepare the columns as primum compare does. With --no-prepare, features must be finite "
    "numbers and are used as they are, and Parquet rows of --unlabeled are read out of core.",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="icls",
    help="Implicitly constrained least squares (icls), least squares with the second moments of "
    "all rows (usm), or supervised least squares.",
)
@click.option(
    "--alpha",
    type=options.read_penalty,
    metavar="NUMBER",
    default=0.0,
    help="Ridge penalty, added to the mean squared loss.",
)
@click.option(
    "--alpha-labeled",
    type=options.read_penalty,
    metavar="NUMBER",
    help="For icls: the ridge penalty of the labelled loss; default: the value of --alpha.",
)
@click.option(
    "--metric",
    type=options.read_metric,
    metavar="METRIC",
    help="For icls: auto (default: labeled if the labelled rows have full column rank, else 0.2), "
    "labeled, all, euclidean, or a number from 0 (labeled) to 1 (all).",
)
@options.prior_options
@options.format_options
@out_option
def fit(
    prepare: bool,
    method: str,
    alpha: float,
    out: Path,
    **settings: Any,  # of TrainingTables, and of ICLS
) -> None:
    """Fit a model to DATA (CSV, Parquet or a spreadsheet) and store it.

    Rows of DATA without a label are unlabelled rows, and so are those of --unlabeled. Columns are
    prepared as by primum compare: missing cells are imputed, categories become columns of 0 and 1,
    dates become days, and all features are standardised, so that --alpha does not depend on units.
    A table with free text becomes components of all rows. primum predict prepares tables in the
    same way.
    """
    of_tables = {one.name for one in fields(TrainingTables)}
    tables = TrainingTables(**{name: settings[name] for name in of_tables})
    for_icls = {n: v for n, v in settings.items() if n not in of_tables and v is not None}
    further = [("--unlabeled", path) for path in tables.unlabeled]
    refuse_inputs(out, [("DATA", tables.data), *further])
    if for_icls and method != "icls":
        option = next(iter(for_icls)).replace("_", "-")
        raise click.UsageError(f"--{option} requires --method icls.")
    with options.plain_errors():
        rows = tables.prepared() if prepare else tables.numbers()
        _mention_doubtful(tables, rows.labels)
        prior = for_icls.get("prior")
        if isinstance(prior, dict):  # names of classes are replaced by the table's
            by_text = {str(name): name for name in rows.labels.dropna().unique()}
            for_icls["prior"] = {by_text.get(name, name): prior[name] for name in prior}
        elif prior == options.CONFIDENCE and rows.n_chosen:
            for_icls["prior"] = _drawn_prior(rows, for_icls.get("prior_level", 0.95))
        model = _fit(METHODS[method](alpha).set_params(**for_icls), rows)
        words = _in_words(model, rows)
        primum.save(model, out, id=rows.id_column or tables.id_column, target=tables.target)
    click.echo("\n".join([*words, f"Model: {out}"]))


def _drawn_prior(rows: TrainingRows, level: float) -> Floats:
    """Return the bounds of ``--prior confidence``, without chosen labels."""
    labels = read_labels(rows.labels, len(rows.labels), multi_class=True)
    chosen = read_chosen(rows.chosen, labels)
    assert chosen is not None
    n_unlabeled = len(labels.unlabeled)
    if rows.stored is not None:
        n_unlabeled += ParquetRows(rows.stored, (), 0).n_rows
    sizes = len(labels.classes), n_unlabeled
    return drawn_confidence(labels.codes, chosen[labels.labeled], *sizes, level)


def _mention_doubtful(tables: TrainingTables, labels: pd.Series) -> None:
    """Warn that a text such as "NA" is a class."""
    text = doubtful_label(labels.tolist())
    if text is not None:
        options.warn(
            f"{text!r} in column {tables.target!r} of {tables.data} is treated as a class: pass "
            f"--missing {text!r} if it marks unknown labels."
        )


def _fit(classifier: Any, rows: TrainingRows) -> Any:
    """Return the fitted classifier, in a pipeline with the preparation if there is one."""
    ignores = type(classifier) is METHODS["supervised"]
    model = with_preparation(rows.transformer, classifier, not ignores)
    stored = {} if rows.stored is None else {"X_unlabeled": rows.stored}
    with warnings.catch_warnings(record=True) as caught, showing_passes("fitting", number=True):
        warnings.simplefilter("always")
        model.fit(rows.X, rows.labels, **stored)
    for warning in caught:
        options.warn(str(warning.message))
        if issubclass(warning.category, UndeterminedModelWarning):
            click.echo("Here these are --method supervised and --metric 0.2.", err=True)
    return model


def _in_words(fitted: Any, rows: TrainingRows) -> list[str]:
    """Describe the fitted model and its certificate."""
    counts, model = Counter(rows.labels.dropna()), classifier_of(fitted)
    labeled, n_rows, stored = counts.total(), len(rows.labels), rows.stored
    names = model.feature_names_in_ if model is fitted else fitted[:-1].get_feature_names_out()
    ignores = " It ignores unlabelled rows." if type(model) is METHODS["supervised"] else ""
    chosen = f" ({rows.n_chosen} of them chosen)" if rows.n_chosen else ""
    return [
        f"Fitted {type(model).__name__} to {labeled} labelled rows{chosen}"
        f"{_unlabeled_in_words(n_rows - labeled, stored)}.{ignores}",
        f"Its {len(counts)} classes, with their labelled rows, are "
        f"{listed([f'{name!r} ({counts[name]})' for name in model.classes_.tolist()])}.",
        # Shown because names reveal a column that is not a feature, such as a row number.
        f"Its {model.n_features_in_} features are {listed(list(map(str, names)))}. "
        f"{_score_in_words(model.classes_.tolist())}",
        *_prior_in_words(
            model, drawn=rows.n_chosen > 0, has_unlabeled=stored is not None or labeled < n_rows
        ),
        *(_proof_in_words(model.certificate_) if hasattr(model, "certificate_") else ()),
    ]


def _prior_in_words(model: Any, *, drawn: bool, has_unlabeled: bool) -> list[str]:
    """Describe the bounds of a fitted model's prior, in one line; empty without a prior."""
    if getattr(model, "prior", None) is None:
        return []
    parts = [
        f"{name!r} {low:.4g}" + (f" to {high:.4g}" if low < high else "")
        for name, (low, high) in zip(model.classes_.tolist(), model.prior_.tolist(), strict=True)
        if low > 0 or high < 1
    ]
    where = ""
    if isinstance(model.prior, str):
        where = ", computed from the labelled rows"
    elif drawn and isinstance(model.prior, np.ndarray):
        where = ", computed from the labels that were not chosen"
    effect = "" if has_unlabeled else " It has no effect without unlabelled rows."
    shares = listed(parts) or "no bounds"
    return [f"Its prior on the shares of the classes{where}: {shares}.{effect}"]


def _score_in_words(classes: list[Any]) -> str:
    if len(classes) > 2:
        return (
            "It has one score per class, fitted to 1 in rows of that class and to 0 in the others; "
            "the class with the largest score is predicted."
        )
    first, second = classes
    return (
        f"Its score is fitted to 0 for {first!r} and to 1 for {second!r}, with the threshold at "
        "1/2."
    )


def _unlabeled_in_words(in_memory: int, stored: Path | None) -> str:
    if stored is None:
        return f" and {in_memory or 'no'} unlabelled rows"
    those_stored = f" and the {ParquetRows(stored, (), 0).n_rows} unlabelled rows of {stored}"
    return f", {in_memory} unlabelled rows{those_stored}" if in_memory else those_stored


def _proof_in_words(proof: Certificate) -> list[str]:
    return [
        f"Squared loss on the labelled rows: {proof.labeled_loss:.6g}, of the supervised model "
        f"{proof.supervised_loss:.6g}.",
        *str(proof).splitlines(),
    ]
