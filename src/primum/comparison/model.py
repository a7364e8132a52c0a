"""The models of a comparison, fitted to all rows: predictions and linear coefficients."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.pipeline import Pipeline

from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Index, Mask, PlainRecord
from primum.comparison.models import with_preparation
from primum.comparison.plan import Plan, seeded
from primum.comparison.records import stored
from primum.comparison.run import OWN, fit_entry, fit_whole, predict, unlabeled_predictions
from primum.comparison.words import BASELINE
from primum.judging.disagreements import ROWS_PER_BLOCK
from primum.judging.named_labels import KEY_COLUMN
from primum.judging.pools import also_labeled, row_digests
from primum.reading.classifiers import Entry, NamedClassifier, last_step
from primum.tables.cells import frame_digests, is_present, names_of, objects_of
from primum.tables.labels import read_classes
from primum.tables.problem import features_like

if TYPE_CHECKING:
    import pandas as pd

    from primum.comparison.result import Comparison
    from primum.tables.problem import TableProblem


@dataclass(frozen=True)
class Coefficient(PlainRecord):
    """The weight of a feature in a linear baseline.

    Attributes
    ----------
    model : str
        Name of the baseline.
    feature : str
        Name of the prepared feature.
    of_class : str
        The class whose score it contributes to; with two classes, the second; empty for numbers.
    value : float
        The coefficient. Above 0, larger values of the feature make the class more likely, or the
        number larger.
    """

    model: str
    feature: str
    of_class: str
    value: float
    in_json = ("model", "feature", "of_class", "value", "direction")

    @property
    def direction(self) -> str:
        """What larger values of the feature mean."""
        if self.value == 0:
            return "no effect"
        if not self.of_class:
            return "larger" if self.value > 0 else "smaller"
        return f"{'more' if self.value > 0 else 'less'} likely {self.of_class}"


def fit_model(plan: Plan, name: str, prepare: Any) -> Any:
    """Return a method, or the averaged baseline, fitted to all rows by the names of classes.

    It has the seeds of the judged fit, so that it is the model that was judged.
    """
    for entry in plan.cross_fitted:
        if entry.name == name and entry.is_of_primum:
            return fit_whole(plan, entry)
    return fit_to_all(plan, name, prepare)


def fit_to_all(plan: Plan, name: str, prepare: Any) -> Any:
    """Return a method, or the averaged baseline, fitted to all rows by the names of classes.

    Parameters
    ----------
    plan : Plan
        The rows and classifiers.
    name : str
        Name of a method, or "baseline".
    prepare : transformer or None
        The first step before every classifier.

    Returns
    -------
    classifier
        The fitted model, with the seeds of its first fit.
    """
    data, rows = plan.table, np.arange(plan.table.n_rows)
    y = data.names
    if name == BASELINE:
        entry = _average(plan, prepare)
    else:
        entry = next(entry for entry in plan.entries if entry.name == name)
        if not data.numeric:
            entry = _taking_names(entry)
    if not entry.uses_unlabeled:
        rows, y = data.known.labeled, data.known.values
    copy = Entry(entry.name, seeded(entry.estimator, plan.seed, entry.name, 0))
    with one_blas_thread():
        # The code above leaves out rows without a label, so all of these are used.
        return fit_entry(copy, take_rows(data.X, rows), y, *data.fit_arguments(rows))


def _average(plan: Plan, prepare: Any) -> Entry:
    """Return the average of the baselines as one model."""
    entries, numeric = plan.baselines, plan.table.numeric
    if not can_be_averaged(entries, numeric=numeric):
        lacking = next(e.name for e in entries if not hasattr(e.estimator, "predict_proba"))
        raise ValueError(
            f"The baseline {lacking!r} has no predict_proba, so the average of the baselines "
            "cannot be fitted as a model: calibrate it with CalibratedClassifierCV."
        )
    if len(entries) == 1:
        return entries[0]
    # scikit-learn refuses double underscores in names.
    parts = [
        (e.name.replace("__", "_"), e.estimator if prepare is None else last_step(e.estimator))
        for e in entries
    ]
    average = VotingRegressor(parts) if numeric else VotingClassifier(parts, voting="soft")
    average = with_preparation(prepare, average, False)
    return Entry(BASELINE, average, False)


def can_be_averaged(baselines: Sequence[Entry], *, numeric: bool) -> bool:
    """Return whether the average of the baselines is a model of its own."""
    if numeric or len(baselines) == 1:
        return True
    return all(hasattr(entry.estimator, "predict_proba") for entry in baselines)


def _taking_names(entry: Entry) -> Entry:
    """Return an entry that can be fitted to the names of classes, with None where unknown."""
    if not entry.uses_unlabeled or entry.is_of_primum:
        return entry
    last = last_step(entry.estimator)
    named: Any = NamedClassifier(last)
    if last is not entry.estimator:
        *before, (name, _) = entry.estimator.steps
        named = Pipeline([*before, (name, named)])
    return Entry(entry.name, named, True)


def coefficients_of(model: Any, name: str, classes: AnyArray | None) -> list[Coefficient]:
    """Return the coefficients of a fitted linear model or pipeline, the largest first.

    It may have been fitted to codes of the classes, which are None for numbers.
    """
    coef = np.atleast_2d(np.asarray(last_step(model).coef_, dtype=float))
    names = _feature_names(model, coef.shape[1])
    # A linear model of two classes has the scores of the second.
    if classes is None:
        scored = [""] * len(coef)
    else:
        scored = [str(one) for one in classes.tolist()]
        scored = scored[1:] if len(coef) == 1 else scored
    every = [
        Coefficient(name, feature, of_class, float(value))
        for of_class, values in zip(scored, coef, strict=True)
        for feature, value in zip(names, values, strict=True)
    ]
    return sorted(every, key=lambda one: -abs(one.value))


def _feature_names(model: Any, n_features: int) -> list[str]:
    if hasattr(model, "steps") and hasattr(model[:-1], "get_feature_names_out"):
        return [str(name) for name in model[:-1].get_feature_names_out()]
    named = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_features)] if named is None else [str(n) for n in named]


@dataclass(frozen=True)
class Models:
    """The predictions of a comparison's fitted models for all of its unlabelled rows.

    Attributes
    ----------
    result : Comparison
        The comparison.
    whole : DataFrame or None
        A larger table that the compared one is a sample of; its unlabelled rows are predicted.
    """

    result: "Comparison"
    whole: "pd.DataFrame | None" = None

    @cached_property
    def rows(self) -> Index:
        """Positions of the unlabelled rows."""
        if self.whole is None:
            return self.result.plan.table.known.unlabeled
        return np.flatnonzero([label is None for label in self._labels_of_whole])

    @cached_property
    def _labels_of_whole(self) -> AnyArray:
        assert self.whole is not None
        problem = self._problem
        labels = read_classes(
            self.whole[problem.target], problem.target, problem.arguments["missing"]
        )
        rare = self.result.plan.table.rare
        return labels if rare is None else rare.renamed(labels)

    @property
    def _problem(self) -> "TableProblem":
        assert self.result.problem is not None
        return self.result.problem

    @property
    def frame(self) -> "pd.DataFrame":
        """The table as it was written."""
        return self._problem.frame if self.whole is None else self.whole

    def ids(self, rows: Index) -> list[str] | None:
        """Return the ids of some rows, if the table has them."""
        problem = self.result.problem
        if problem is None or problem.ids is None:
            return None
        name, missing = problem.arguments["id"], problem.arguments["missing"]
        whole = self.whole
        ids = problem.ids[rows] if whole is None else names_of(whole[name].iloc[rows], missing)
        return ["" if one is None else str(one) for one in ids]

    @property
    def labeled(self) -> Index:
        """Positions of the labelled rows."""
        if self.whole is None:
            return self.result.plan.table.known.labeled
        return np.flatnonzero([label is not None for label in self._labels_of_whole])

    @cached_property
    def also_labeled(self) -> tuple[Mask, str]:
        """Which of the unlabelled rows are also labelled rows, and what the two have in common.

        Rows of a table with an id have the same id (and, if ids repeat, the same cells). Other rows
        have the same cells, if no two unlabelled rows have. If some have, a labelled row with a key
        in the column ``primum_row`` was copied from a sheet, so that one unlabelled row with the
        same cells is left out for it.
        """
        rows, labeled, problem = self.rows, self.labeled, self.result.problem
        if problem is None:
            X = self.result.plan.table.X
            digests = frame_digests(X) if hasattr(X, "iloc") else row_digests(X)
            return also_labeled(digests[rows], digests[labeled]), "cells"
        digests = frame_digests(self.frame[list(problem.X.columns)])
        pool, known = digests[rows], digests[labeled]
        ids, ids_known = self.ids(rows), self.ids(labeled)
        if ids is not None and ids_known is not None:
            same = np.isin(ids, sorted(set(ids_known) - {""}))
            given = [one for one in ids if one]
            if len(set(given)) < len(given) or len(set(ids_known)) < len(ids_known):
                both = set(zip(ids_known, known.tolist(), strict=True))
                same &= [pair in both for pair in zip(ids, pool.tolist(), strict=True)]
            return same, "id"
        same = also_labeled(pool, known)
        if len(np.unique(pool)) == len(pool) or KEY_COLUMN not in self.frame.columns:
            return same, "cells"
        keys = objects_of(self.frame[KEY_COLUMN].iloc[labeled], problem.arguments["missing"])
        for digest in known[is_present(keys)].tolist():
            places = np.flatnonzero((pool == np.uint64(digest)) & ~same)
            same[places[:1]] = True
        return same, "cells"

    def known_labels(self) -> dict[int | str | None, int]:
        """Return the labels of the table, as codes, by position and by id."""
        labels = self.result.plan.table.labels
        rows, codes = labels.labeled, labels.codes.tolist()
        if self.whole is not None:
            code_of = {name: code for code, name in enumerate(labels.classes.tolist())}
            codes_by_row = [(i, code_of.get(one)) for i, one in enumerate(self._labels_of_whole)]
            both = [(row, code) for row, code in codes_by_row if code is not None]
            rows, codes = np.array([row for row, _ in both], np.intp), [code for _, code in both]
        by_position: dict[int | str | None, int] = dict(zip(rows.tolist(), codes, strict=True))
        ids = self.ids(rows)
        return by_position if ids is None else by_position | dict(zip(ids, codes, strict=True))

    def codes(self, name: str, which: str = OWN) -> AnyArray:
        """Return the predictions of a model for the unlabelled rows: class codes, or numbers.

        Parameters
        ----------
        name : str
            The method, or "baseline".
        which : {"own", "supervised"}
            The method itself, or its supervised stack.

        Returns
        -------
        array of shape (n_unlabeled,)
            One code, or number, for every unlabelled row.
        """
        if (name, which) not in self._found:
            self._found.update({(name, key): codes for key, codes in self._of(name).items()})
        return self._found[name, which]

    @cached_property
    def _found(self) -> dict[tuple[str, str], AnyArray]:
        return {}

    def _of(self, name: str) -> dict[str, AnyArray]:
        numeric = self.result.plan.table.numeric
        fit = self.result.records.cross_fitted.get(name)
        if self.whole is not None:
            parts = [self._in_block(name, rows) for rows in self._blocks()]
            return {which: np.concatenate([part[which] for part in parts]) for which in parts[0]}
        if fit is not None and fit.unlabeled:
            return {key: stored(found, numeric=numeric) for key, found in fit.unlabeled.items()}
        return self._by(name, take_rows(self.result.plan.table.X, self.rows))

    def _by(self, name: str, X: Any) -> dict[str, AnyArray]:
        """Return the predictions of a model, and of its supervised stack, for some rows."""
        model, numeric = self.result.fit(name), self.result.plan.table.numeric
        if name in self.result.records.cross_fitted:
            return unlabeled_predictions(model, X, numeric=numeric)
        return {OWN: predict(model, X, numeric=numeric)}

    def _blocks(self) -> list[Index]:
        n_rows = len(self.rows)
        starts = range(0, max(n_rows, 1), ROWS_PER_BLOCK)
        return [self.rows[start : start + ROWS_PER_BLOCK] for start in starts]

    def _in_block(self, name: str, rows: Index) -> dict[str, AnyArray]:
        """Return the predictions of some rows of the larger table."""
        return self._by(name, features_like(self._problem, self.frame.iloc[rows]))
