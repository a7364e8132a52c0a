"""``primum.compare``: whether unlabelled rows help or harm, and which model to use.

The function reads its arguments into a plan, runs the fits of the plan, and returns a result that
computes everything else when it is asked for: verdicts, the recommended model, the report. It is
imported only when it is used.
"""

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from primum._files import write_file
from primum._progress import say
from primum._typing import AnyArray
from primum._words import find_name, listed, printable
from primum.comparison import arguments
from primum.comparison.card import (
    MAX_LISTED,
    Changes,
    ModelCard,
    NumberCard,
    NumberChanges,
)
from primum.comparison.charts import plot_comparison
from primum.comparison.decision import Decision, decision_of, fitted_parts
from primum.comparison.model import Coefficient, Models, coefficients_of, fit_model
from primum.comparison.page import comparison_fragment, comparison_markdown, comparison_page
from primum.comparison.plan import ComparisonPlan, check_numbers, read_seed, read_table
from primum.comparison.records import Records
from primum.comparison.result import ComparisonResult
from primum.comparison.run import run_comparison
from primum.comparison.settle import (
    SettledComparison,
    ask,
    fit_with_labels,
    rows_to_label,
    settled_in,
    why_not,
)
from primum.comparison.shares import shares_in, with_shift
from primum.comparison.words import (
    BASELINE,
    IN_PYTHON,
    NEW_QUESTION,
    Headline,
    LabellingWords,
    compose_headline,
)
from primum.judging.difference import LEVEL
from primum.judging.settlement import Settlement
from primum.judging.shares import RANDOM, EstimatedShares
from primum.reading.classifiers import last_step
from primum.reading.known import AUTO

if TYPE_CHECKING:
    import pandas as pd

    from primum.tables.columns import Column
    from primum.tables.problem import TableProblem


@dataclass(frozen=True)
class Comparison(ComparisonResult):
    """The result of ``compare``.

    Attributes
    ----------
    verdict : str
        The headline as text: one line each for alerts, answer, reason and next step.
    headline : Headline
        The same in parts: ``alerts``, ``answer``, ``reason`` and ``next_step``.
    alerts : list of Alert
        What changes how far the answer may be believed, each with ``kind``, ``text`` and
        ``withholds``, whether no help is claimed because of it.
    recommended : str
        Name of the method to use; "baseline" unless another has been shown to be better.
    model_card : ModelCard, NumberCard or None
        What is known of the recommended model from rows that were held out: its loss with an
        interval that allows for the choice among the methods, the loss of guessing, recall and
        precision of every class, the confusion matrix, the number of unlabelled rows that it
        assigns to every class, and ``alerts`` if it hardly beats guessing or does not find a class.
        Of numbers: R2, how large errors are, held-out rows with the largest ones, and how many
        predictions for unlabelled rows are outside the range of the known numbers.
        None if a folder of an earlier version, which lacks the predictions, is continued.
    table : DataFrame
        One row per classifier: mean loss on held-out rows, its observed difference from the
        baseline's, the estimated change with its interval (see Notes of ``compare``), the
        probabilities of help, no difference and harm, and the answer.
    methods : list of MethodResult
        The same as objects.
    curves : list of CurvePoint
        Learning curves over the number of unlabelled and of labelled rows.
    drift : Drift or None
        Whether labelled and unlabelled rows come from different distributions.
    shares : EstimatedShares or None
        The shares of the classes among the unlabelled rows: ``classes``, each with ``name``,
        ``estimate``, ``low``, ``high``; ``method``, ``assumption``, ``level``, ``n_labeled``. None
        without unlabelled rows, or if the baseline has no scores or failed in a split.
    shift : ShiftWeights or None
        What ``shift`` did: its assumption, the weights, and the effective number of labelled rows.
    failures : list of Failure
        Fits that raised an error: ``name``, ``stage``, ``split``, ``reason`` and ``text``.
    left_out : list of str
        What is not part of the result, and why.
    columns : list of Column
        What was done to each column of a table; empty for arrays.
    decision : Decision or None
        With costs, or a scoring of one of two classes: the threshold of the recommended model, its
        interval from resamples of the labelled rows, and precision and recall against the
        threshold. None otherwise.
    changed : Changes or None
        The unlabelled rows for which the recommended method and the baseline predict different
        classes; if the baseline is recommended, the most promising method is compared with it. None
        if there are no unlabelled rows, no such method, or baselines without probabilities.
    settlement : Settlement or None
        The questions that labels of some unlabelled rows can settle, those rows, and the labels so
        far; see ``rows_to_label`` and ``settle``. None if the scoring is not the error, if there
        are no unlabelled rows, or if the baselines cannot be averaged into one model.
    settled : SettledComparison or None
        What is settled so far, which may be much before the first label.
    coefficients : list of Coefficient
        Those of a linear baseline, fitted to all labelled rows, in prepared features.

    Examples
    --------
    >>> import primum
    >>> from sklearn.datasets import load_wine
    >>> wines = load_wine(as_frame=True).frame
    >>> wines["target"] = wines["target"].astype(object).where(wines.index % 4 == 0, None)
    >>> methods = [("ICLS", primum.ICLSClassifier(alpha=0.1))]
    >>> result = primum.compare(
    ...     wines, target="target", methods=methods, n_repeats=1, curves=False, verbose=False
    ... )
    >>> result.recommended
    'baseline'
    >>> result.fit_recommended().predict(wines[:3])
    array([0, 0, 0])
    """

    problem: "TableProblem | None" = None
    prepare: Any = None
    independent_rows: bool = False
    omitted: Sequence[str] = ()  # sentences on what was left out before, such as rows
    # For the command: the table of which the compared one is a sample, and its words.
    whole: "pd.DataFrame | None" = None
    labelling: LabellingWords = IN_PYTHON

    @property
    def left_out(self) -> list[str]:
        """What is not part of the result, and why."""
        return [*self.omitted, *super().left_out]

    @property
    def columns(self) -> "list[Column]":
        """What was done to each column of a table; empty for arrays."""
        return [] if self.problem is None else self.problem.columns

    def fit_recommended(self) -> Any:
        """Fit the recommended model, with its preparation, to all rows.

        The baseline, if that is recommended, is the average of the probabilities of its parts.
        After ``settle`` it is the model to use on the unlabelled rows, fitted again to all labels,
        the new ones included. This is usually a better model than the one that was judged, which
        ``fit`` returns, but nobody has judged it.

        Returns
        -------
        estimator
            A fitted scikit-learn Pipeline of preparation and model (without ``prepare``, the model
            alone), which predicts classes by name, or numbers, from rows as they were given.
        """
        asked = self.settlement if self._settlements else None
        if asked is None or not asked.labels:
            return self.fit(self.recommended)
        return fit_with_labels(self, settled_in(self, asked).deployed, asked)

    def fit(self, name: str) -> Any:
        """Return a model of the table by its name, with its preparation, fitted to all rows.

        After ``settle`` it is still the model that was judged, fitted without the new labels;
        ``fit_recommended`` fits one with them.

        Parameters
        ----------
        name : str
            A row of ``table``: "baseline", or the name of a baseline or method, in any spelling
            (lower-case letters, hyphens).

        Returns
        -------
        estimator
            A fitted Pipeline, or the model alone, as for ``fit_recommended``.
        """
        names = [BASELINE, *(entry.name for entry in self.plan.entries)]
        meant = find_name(name, names)
        if meant is None:
            raise ValueError(f"There is no model {name!r}: choose from {listed(names)}.")
        return self._model(meant)

    def _model(self, name: str) -> Any:
        if name not in self._models:
            fit = self.records.cross_fitted.get(name)
            kept = None if fit is None else fit.model
            self._models[name] = fit_model(self.plan, name, self.prepare) if kept is None else kept
        return self._models[name]

    @cached_property
    def _models(self) -> dict[str, Any]:
        return {}

    @cached_property
    def model_card(self) -> ModelCard | NumberCard | None:
        """What is known of the recommended model; it is fitted to predict the unlabelled rows."""
        card, table, name = self._held_out_card, self.plan.table, self.recommended
        if card is None or not table.n_unlabeled:
            return card
        if name == BASELINE and not table.target.can_be_averaged(self.plan.baselines):
            return card
        return card.with_predictions(self.predicted(name))

    def predicted(self, name: str) -> AnyArray:
        """Return what a model predicts for the unlabelled rows.

        Parameters
        ----------
        name : str
            "baseline", or the name of a baseline or method.

        Returns
        -------
        array of shape (n_unlabeled,)
            Codes of classes, or numbers.
        """
        return self._predicted.codes(name)

    @property
    def row_ids(self) -> AnyArray | None:
        """What identifies the rows, if the table has a column for that."""
        return None if self.problem is None else self.problem.ids

    @cached_property
    def _predicted(self) -> Models:
        """The predictions of fitted models for the unlabelled rows."""
        return Models(self)

    @cached_property
    def _asked_models(self) -> Models:
        """The predictions for all rows that labels are asked for."""
        return self._predicted if self.whole is None else Models(self, self.whole)

    @cached_property
    def changed(self) -> Changes | NumberChanges | None:
        """The unlabelled rows for which a method and the baseline predict something else."""
        best, table = self.findings.best, self.plan.table
        if best is None or not table.n_unlabeled:
            return None
        if not table.target.can_be_averaged(self.plan.baselines):
            return None
        both = self.predicted(best.name), self.predicted(BASELINE)
        return table.target.changes(best.name, *both, table.known.unlabeled, self.row_ids)

    @cached_property
    def shares(self) -> EstimatedShares | None:
        """The shares of the classes among the unlabelled rows; the baseline is fitted for them."""
        failed = {failure.name for failure in self.failures}
        if any(entry.name in failed for entry in self.plan.baselines):
            return None
        if any(part.scores is None for part in self.records.baselines):
            return None
        return shares_in(self.plan, RANDOM if self.shift is None else self.shift.kind)

    @cached_property
    def decision(self) -> Decision | None:
        """The threshold of the recommended model, with precision and recall against it."""
        objective = self.loss.objective
        if objective is None or objective.positive is None:
            return None
        return decision_of(self, last_step(self._model(self.recommended)))

    @property
    def settlement(self) -> Settlement | None:
        """What labels of some unlabelled rows can settle, and those given so far."""
        if why_not(self):
            return None
        if not self._settlements:
            self._settlements.append(ask(self, self._asked_models))
        return self._settlements[-1]

    @cached_property
    def _settlements(self) -> list[Settlement]:
        """The settlement after every call of ``settle``, and before the first."""
        return []

    def _asked(self) -> Settlement:
        """Return the settlement; raise an error if there can be none."""
        if (asked := self.settlement) is None:
            raise ValueError(why_not(self))
        return asked

    def rows_to_label(
        self, n: int | None = None, *, show_predictions: bool = False
    ) -> "pd.DataFrame":
        """Return the unlabelled rows whose labels settle which model is better on these rows.

        They are rows for which fitted models predict different classes, in a random order that
        depends on ``random_state`` only and on which the answer of ``settle`` relies: label them
        from the top. Rows that have a label already are left out.

        Parameters
        ----------
        n : int, default=None
            How many; None means as many as are expected to be needed, the upper end of the range
            in ``settlement.request``.
        show_predictions : bool, default=False
            Whether to add columns with what the models predict. A labeller who sees them is
            biased.

        Returns
        -------
        DataFrame
            "primum_row", the name of the row; the target column, empty (without a table,
            "label"); "primum_chosen"; the id; and the other columns as they were written. The index
            is the position of the row in the table.
        """
        return rows_to_label(self, self._asked(), n, show_predictions, self._asked_models)

    def settle(
        self, labels: Any, *, correct: bool = False, verbose: bool = True
    ) -> SettledComparison:
        """Settle which model makes fewer errors on the unlabelled rows, by labels of some of them.

        Labels accumulate over calls. You may read the answer after each one, and stop at any time.

        Parameters
        ----------
        labels : mapping, Series or DataFrame
            Classes of rows of ``rows_to_label`` by their name ("r17"), id or position, or that
            table with its label column filled. Empty cells are no labels, "?" is a row that nobody
            can decide.
        correct : bool, default=False
            Whether labels may replace those given earlier for the same rows.
        verbose : bool, default=True
            Whether to print what is settled.

        Returns
        -------
        SettledComparison
            With ``answer``, ``low`` and ``high`` (bounds of the change in errors, in rows),
            ``n_labels``, ``expected_more``, ``pairs`` and ``text``.
        """
        asked = self._asked()  # before the models, which those of numbers cannot be
        known = self._asked_models.known_labels()
        settlement = asked.with_labels(labels, known=known, correct=correct)
        self._settlements.append(settlement)
        settling = settled_in(self, settlement)
        if verbose:
            print(settling)
        return settling

    @property
    def settled(self) -> SettledComparison | None:
        """What is settled so far; None if labels cannot settle this comparison."""
        asked = self.settlement
        return None if asked is None else settled_in(self, asked)

    @property
    def headline(self) -> Headline:
        """Alerts, what to use, what is certain, why, and what to do next."""
        settled = self.settled
        words = None if settled is None else self.labelling.in_place(settled.in_headline())
        if words is not None and not words.answer and self.plan.table.n_chosen:
            words = replace(words, certain=f"{words.certain} {NEW_QUESTION}")
        return compose_headline(self.findings, self.alerts, words)

    @cached_property
    def coefficients(self) -> list[Coefficient]:
        """The coefficients of a linear baseline, the largest first; empty if none is linear."""
        for entry in reversed(self.plan.baselines):
            for name, model in reversed(fitted_parts(self._model(entry.name), entry.name)):
                if hasattr(last_step(model), "coef_"):
                    return coefficients_of(model, name, self.plan.table.target)
        return []

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values.

        Returns
        -------
        dict
            Numbers, texts, lists and dictionaries only.
        """
        changed, card, settled = self.changed, self.model_card, self.settled
        return {
            **super().to_dict(),
            "model_card": None if card is None else card.to_dict(),
            "target": None if self.problem is None else self.problem.target,
            "columns": [column.to_dict() for column in self.columns],
            "decision": None if self.decision is None else self.decision.to_dict(),
            "changed": None if changed is None else changed.to_dict(),
            "settlement": None if settled is None else settled.to_dict(),
            "coefficients": [one.to_dict() for one in self.coefficients[:MAX_LISTED]],
            "shares": None if self.shares is None else self.shares.to_dict(),
        }

    def said_in(self, labelling: LabellingWords) -> Self:
        """Return the same result in other words on how rows are labelled.

        Parameters
        ----------
        labelling : LabellingWords
            The words.

        Returns
        -------
        Comparison
            With everything that was computed so far.
        """
        other = copy(self)
        object.__setattr__(other, "labelling", labelling)  # replace would fit everything again
        return other

    def plot(self) -> Any:
        """Draw the changes to the baseline and the learning curves.

        Returns
        -------
        matplotlib Figure
            The figure.
        """
        return plot_comparison(self)

    def __str__(self) -> str:
        return str(self.headline)

    def __repr__(self) -> str:
        table = self.plan.table
        return (
            f"<Comparison of {len(self.plan.methods)} methods on {table.labeled_in_words} and "
            f"{table.n_unlabeled} unlabelled rows: {self.headline.answer}>"
        )

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as one self-contained HTML page.

        Parameters
        ----------
        path : path, default=None
            Where to write it as well.

        Returns
        -------
        str
            The page.
        """
        page = comparison_page(self)
        if path is not None:
            write_file(Path(path), page)
        return page

    def to_markdown(self) -> str:
        """Return the report as Markdown.

        Returns
        -------
        str
            The report.
        """
        return comparison_markdown(self)

    def _repr_html_(self) -> str:
        return comparison_fragment(self)


def compare(
    X: Any,
    y: Any = None,
    X_unlabeled: Any = None,
    *,
    target: str | None = None,
    id: str | None = None,
    group: str | None = None,
    exclude: Sequence[str] = (),
    missing: Sequence[str] = (),
    decimal: str | None = None,
    target_kind: str = AUTO,
    bounds: Any = None,
    methods: str | Sequence[Any] = "default",
    baseline: Any = "default",
    prepare: Any = "scale",
    scoring: Any = None,
    cost: Any = None,
    positive: Any = None,
    cv: Any = None,
    n_repeats: int = 3,
    groups: Any = None,
    chosen: Any = None,
    shift: str = "none",
    independent_rows: bool = False,
    curves: bool = True,
    nested: bool = False,
    equivalence: float | None = None,
    level: float = LEVEL,
    random_state: Any = 0,
    n_jobs: int = 1,
    time_budget: float | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    left_out: Sequence[str] = (),
    verbose: bool = True,
) -> Comparison:
    """Compare models that use unlabelled rows with tuned supervised ones.

    They predict classes or numbers, whichever the labels are. The labelled rows are split into
    folds several times, stratified by class if there are classes. Every model is fitted to
    the training folds, with all unlabelled rows if it uses them, and judged on the fold held out,
    which is left out of training entirely. Everything that is tuned is tuned again in every
    training set.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Rows; with ``target``, a table as it is, with columns of any kind: a DataFrame of pandas,
        of polars, or any table with the Arrow PyCapsule or the dataframe interchange protocol.
    y : array-like of shape (n_samples,), default=None
        Classes; -1 (integers) or None, NaN, pd.NA (any other type) where unknown. Or numbers; NaN,
        None or pd.NA where unknown. Pass either y or target.
    X_unlabeled : array-like, sparse matrix or DataFrame of shape (n_more, n_features), default=None
        Further unlabelled rows; those of a table need no column with labels.
    target : str, default=None
        Column of X with the classes or numbers, empty where unknown. The other columns are
        prepared by their kind (numbers, categories, dates, times, booleans, free text, embeddings),
        and columns that cannot be learnt from are not used; ``columns`` of the result says what was
        done to each.
    id : str, default=None
        Column that identifies the rows; not a feature.
    group : str, default=None
        Column with groups of rows that stay together, such as those of one patient; not a feature.
    exclude : sequence of str, default=()
        Further columns that are not features.
    missing : sequence of str, default=()
        Markers of missing cells and of unknown labels in a table, in addition to empty cells.
    decimal : {".", ","}, default=None
        The decimal mark of numbers that are written as text in a table; the other one separates
        thousands. None finds out; it matters for numbers such as 1.234.
    target_kind : {"auto", "classes", "numbers"}, default="auto"
        What is predicted. "auto" recognises numbers, such as prices, by their fractions, or by
        being many, mostly different and far apart; the result says so. A few different numbers
        with fractions that repeat may be either, and raise an error that asks.
    bounds : (float, float), default=None
        A range that is certain to contain all numbers to predict; ICLS is then compared too.
    methods : "default" or list of (name, model[, uses_unlabeled])
        The classifiers or regressors to compare. Those that use unlabelled rows, which is the
        default, are fitted with -1, or NaN, for unknown labels. For classes, "default" means
        SafeClassifier, ICLS with ridge and metric tuned, self-learning of a logistic regression
        and, for two classes, a transductive SVM; and two supervised alternatives to the baseline, a
        random forest and a histogram booster. A list may contain them by the names "safe stack",
        "ICLS", "self-learning", "TSVM", "forest" and "boosting", and what is available by name as a
        baseline. For numbers it means SafeRegressor, ICLSRegressor if there are bounds, a random
        forest and a histogram booster, by the same names.
    baseline : "default", str, model or list of (name, model), default="default"
        Supervised model, fitted to labelled rows; of several, the averaged scores, or numbers, are
        the baseline. "default" means ridge and logistic regression, both tuned, which are also
        available by the names "ridge" and "logistic"; for numbers, tuned ridge regression.
        "hist_gradient_boosting", "tabpfn", "tabicl" and "catboost" are available by name too, the
        last three if the package is installed. The default SafeClassifier, or SafeRegressor, is
        shrunk towards the same baseline.
    prepare : "scale", transformer or None, default="scale"
        Put before every classifier and fitted inside every training set, to the rows that the
        classifier is fitted to. "scale" means StandardScaler, without centring if X is sparse, and
        with ``target`` the preparation of the table.
    scoring : str or callable, default=None
        How predictions of classes are judged: "accuracy" (the error, in points, which is the
        default), "balanced_accuracy", "neg_brier_score", "neg_log_loss"; and of numbers: "rmse" (in
        units of the target, the default), "mae", "mse", "rmsle", "r2" (one minus it). Or any other
        scorer of scikit-learn, or a callable ``scorer(estimator, X, y)`` that returns more for
        better predictions and does not look at X. Classifiers follow "balanced_accuracy", "f1" and
        "recall_at_precision=0.9" (or another precision): each predicts by a decision rule that is
        chosen for it within the training set. "average_precision" needs no rule.
    cost : dict, DataFrame or array-like, default=None
        What errors cost, instead of ``scoring``: ``{(true class, predicted class): cost}``, in
        which any other error costs 1, a DataFrame with true classes as index and predicted ones as
        columns, or a matrix in the order of the classes. Every model then predicts the class of
        least expected cost, and the verdict is on the cost per row.
    positive : object, default=None
        The class of interest, of two: "f1", "average_precision" and "recall_at_precision" are about
        it, and so are precision and recall in the report.
    cv : int, splitter or iterable, default=None
        How the labelled rows are split: a number of folds, which are stratified by class and keep
        groups together, a scikit-learn splitter (for rows ordered in time), or pairs of indices of
        rows of X. None means 5 folds or, if the smallest class has fewer labelled rows (or
        groups), as many as it has.
    n_repeats : int, default=3
        How often the labelled rows are split; only with a number of folds. More repeats make the
        intervals of methods other than SafeClassifier shorter, by at most an eighth.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group stay together, and the statistics count groups instead of rows; for a
        table, ``group`` names the column.
    chosen : str or array-like of shape (n_samples,) or (n_chosen,), default=None
        Labels that were not drawn at random, such as those that active learning asked for: the
        column of a table that marks them (cells that are not empty, "no" or 0), or rows of X as a
        mask or as indices. None means the column ``primum_chosen``, if a table has one. They are
        used for training only, see Notes.
    shift : {"none", "label", "covariate"}, default="none"
        How labelled and unlabelled rows differ, if the labels are not a random sample. "label":
        only the shares of the classes differ, and within a class the rows look alike; "covariate":
        rows with the same features have the same probabilities of the classes. The labelled rows
        are then weighted, in every fit and in the losses on held-out rows, which estimate those on
        the unlabelled rows if the assumption holds; see Notes.
    independent_rows : bool, default=False
        True says that no rows belong together. Otherwise, if the values of some column seem to have
        been labelled together, such as the diary entries of one person, the verdict asks for the
        groups, and no help is claimed; see Notes.
    curves : bool, default=True
        Whether to compute learning curves over the number of unlabelled rows and, with at least 80
        labelled rows, of labelled ones, as far as every class keeps three of them.
    nested : bool, default=False
        Whether SafeClassifier is fitted in every split like the others. By default it is fitted
        once and judged by its cross-fitted scores, which is many times faster; its loss is then
        the baseline's plus the difference that it observed, but not below 0. A ``prepare`` that
        learns from labels implies True, and so does a SafeClassifier whose own ``baseline`` is
        another one; if that is left open, it is the one of the comparison.
    equivalence : float, default=None
        Differences up to this size make no practical difference. None means 0.01, one point of
        error, and of costs 5% of the baseline's cost per row; of numbers it is a share of the loss
        of the baseline, 0.02 by default.
    level : float, default=0.95
        The probability that an answer needs; it is adjusted for the number of methods.
    random_state : int, RandomState instance or None, default=0
        Seed of everything random. A stored comparison can only be resumed with the same integer.
    n_jobs : int, default=1
        Number of processes; -1 means one per core. It does not affect the result.
    time_budget : float, default=None
        Seconds. Slow classifiers, further repeats and learning curves that would not end in time
        are left out, which the result says; a fit that has begun is not interrupted.
        SafeClassifier leaves out candidates that would take too long.
    folder : path, default=None
        Where fits are stored. An interrupted comparison continues there with ``resume=True``, and
        methods and repeats can be added.
    resume : bool, default=False
        Whether to continue a folder that already contains results.
    left_out : sequence of str, default=()
        Sentences on what you left out beforehand, such as rows that were not sampled, for
        ``left_out`` of the result and its report.
    verbose : bool, default=True
        Whether to show progress and, before any other method is fitted, a first answer: the verdict
        on the safe stack.

    Returns
    -------
    Comparison
        With ``verdict``, ``table``, ``plot()``, ``rows_to_label()``, ``settle(labels)``,
        ``fit_recommended()``, ``fit(name)`` and ``to_dict()``.

    See Also
    --------
    SafeClassifier : The safe stack as an estimator.
    SafeRegressor : The same for numbers.
    AgnosticClassifier : The choice between a supervised and a semi-supervised classifier as an
        estimator.

    Notes
    -----
    With few labelled rows the right verdict is often that one cannot tell. Two fitted models can
    differ in error only on the unlabelled rows for which they predict different classes, so labels
    for these settle which one is better on your rows: ``rows_to_label`` lists them, and ``settle``
    gives an exact answer after any number of labels. Two models of numbers differ on every row, so
    that there is no such answer for them.

    Rows may belong together if a column has values that repeat, and far fewer of them occur in both
    labelled and unlabelled rows than with labels at random (at most half as many, with a
    probability below 0.001, corrected for the number of columns). Models would be judged too
    favourably, so no help is claimed before ``group`` or ``groups`` names the column, or
    ``independent_rows=True`` says that it means nothing.

    Chosen labels are in every training set, those of learning curves included, and penalties are
    tuned with them, but no split holds them out: their rows are more difficult than others, or
    contain more of a rare class. For the same reason they do not count in the drift test, in the
    search for rows that belong together, in the loss of guessing, in the shares of the classes that
    transductive SVMs and ``prior="confidence"`` of ICLS assume, or in the number of labelled rows
    that a verdict is based on. A chosen row is not trained on where a row of its group is held out,
    nor where a ``cv`` of pairs leaves it out.

    With ``shift="label"`` the weight of a row is the share of its class among the unlabelled rows,
    estimated from the scores of the baseline, over that among the labelled ones. With
    ``shift="covariate"`` it is the odds of being an unlabelled row by a logistic regression, out of
    fold, clipped at the 95% quantile; it is refused if the labelled rows are then worth fewer than
    20. Both can do harm if the assumption does not hold. ``shares`` of the result are the shares
    of the classes among the unlabelled rows with 95% intervals, estimated under the same
    assumption; with "none", that the labelled rows were drawn at random.

    A change of the error is estimated from the rows on which a method and the baseline predict
    different classes: how many of the unlabelled rows these are, and which of the two is right on
    the labelled ones among them. A change of any other loss is estimated by the observed one,
    shrunk towards 0. Both are posterior medians; docs/comparing.md describes the statistics.

    Examples
    --------
    >>> import numpy as np
    >>> import primum
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 300)
    >>> X = rng.normal(size=(300, 3)) + truth[:, None]
    >>> y = np.where(np.arange(300) < 40, truth, -1)
    >>> methods = [("ICLS", primum.ICLSClassifier(alpha=0.1))]
    >>> result = primum.compare(X, y, methods=methods, n_repeats=1, curves=False, verbose=False)
    >>> result.recommended
    'baseline'
    """
    start = time.monotonic()
    baseline = arguments.as_list(baseline)
    arguments.check_independence(independent_rows, group, groups)
    problem = arguments.read_problem(
        *(X, y, X_unlabeled, groups, target, independent_rows, chosen, target_kind),
        *(id, group, exclude, missing, decimal),
    )
    if problem is not None:
        X, y, X_unlabeled, groups = problem.X, problem.labels, None, problem.groups
        chosen = problem.chosen
        prepare = problem.transformer if isinstance(prepare, str) else prepare
        target_kind = problem.kind.word
    table = read_table(
        *(X, y, X_unlabeled, groups, chosen),
        target_kind=target_kind,
        name=target or "",
        bounds=bounds,
    )
    if problem is not None:
        table = replace(table, target=replace(table.target, kind=problem.kind))
    arguments.check_rows(table.X, prepare, baseline)
    if cv is None and groups is None:
        table.drawn_target.check_sizes(table.chosen, baseline, methods)
    prepare = arguments.read_transformer(prepare, table.X)
    check_numbers(n_repeats, equivalence, level, time_budget)
    judged = table.target.judged_by(scoring, cost, positive)
    seed = read_seed(random_state)
    plan = arguments.read_plan(
        ComparisonPlan(table, (), (), cv, n_repeats, curves, nested, seed),
        *(baseline, methods, prepare, judged),
        learns_from_labels=problem is None or prepare is not problem.transformer,
    )
    loss = table.target.loss(judged, positive)
    drift = arguments.drift_of(table, prepare, seed)
    plan, weights, without_weights = with_shift(plan, shift, prepare)
    alerts = arguments.alerts_on_data(problem, table, independent_rows)

    def result_of(records: Records) -> Comparison:
        edge = records.equivalence(loss) if equivalence is None else equivalence
        return Comparison(
            *(records, loss, drift, edge, level, alerts, weights),
            *(problem, prepare, independent_rows),
        )

    def say_first(records: Records) -> None:
        if text := result_of(records).first_answer:
            say(f"{printable(text)}\n")

    records = run_comparison(
        plan,
        folder=folder,
        resume=resume,
        n_jobs=n_jobs,
        time_budget=time_budget,
        verbose=verbose,
        start=start,
        first_answer=say_first if verbose else None,
    )
    arguments.refuse_failed_baselines(records)
    records.left_out.extend([*left_out, *without_weights])
    return result_of(records)
