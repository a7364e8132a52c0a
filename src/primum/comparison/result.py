"""The result of a comparison: losses, differences from the baseline, verdicts, recommendation.

The baseline is the average of the scores of the tuned baselines (ridge and logistic regression by
default): it is usually close to the better of the two, which is unknown beforehand. A method is
said to help or to harm only if the probability of that is at least ``level``, adjusted for the
number of methods.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._files import write_file
from primum._lazy import needed
from primum._sklearn import take_rows
from primum._typing import AnyArray
from primum._words import find_name, listed
from primum.comparison.answer import Answer
from primum.comparison.card import (
    MAX_LISTED_CHANGES,
    Changes,
    ModelCard,
    NumberCard,
    NumberChanges,
    card_of,
    changes_of,
    digits_of,
    number_card_of,
    number_changes_of,
    rare_class_alerts,
)
from primum.comparison.decision import Decision, decision_of, fitted_parts
from primum.comparison.judge import HeldOutModel, judge_methods
from primum.comparison.model import (
    Coefficient,
    Models,
    can_be_averaged,
    coefficients_of,
    fit_model,
)
from primum.comparison.page import (
    comparison_fragment,
    comparison_json,
    comparison_markdown,
    comparison_page,
    plot_comparison,
    quantiles_and_mean,
)
from primum.comparison.plan import ALL, CROSS_FITTED, Plan, judge_of, missing_points
from primum.comparison.records import (
    CurvePoint,
    FailedFit,
    Records,
    held_out_models,
    learning_curves,
)
from primum.comparison.repeat import Call
from primum.comparison.settle import (
    SettledComparison,
    duels_in,
    duels_of,
    fit_with_labels,
    settled_in,
    settlement_of,
    table_of_next_rows,
    why_not,
)
from primum.comparison.shares import shares_in, unknown_shares
from primum.comparison.store import distributions_of, package_versions
from primum.comparison.words import (
    BASELINE,
    IN_PYTHON,
    NEW_QUESTION,
    STACK,
    Findings,
    Headline,
    LabellingWords,
    MethodResult,
    compose_headline,
    first_answer,
    number_in_words,
    table_row,
    with_article,
)
from primum.judging.copies import copies_note
from primum.judging.drift import Drift, ShiftWeights, options_in_words
from primum.judging.held_out import HeldOut
from primum.judging.losses import Loss, Measure, Predictions, joined
from primum.judging.recommendation import recommend
from primum.judging.settlement import Settlement
from primum.judging.shares import RANDOM, EstimatedShares
from primum.judging.words import Alert
from primum.reading.classifiers import Entry, last_step

if TYPE_CHECKING:
    import pandas as pd

    from primum.tables.columns import Column
    from primum.tables.problem import TableProblem


@dataclass(eq=False)
class Comparison:
    """The result of ``compare``: what was found, and the data and fitted models behind it.

    ``settle`` changes it: the labels so far belong to it.

    Attributes
    ----------
    records : Records
        The finished fits.
    loss : Loss
        How predictions are judged.
    equivalence : float
        Differences up to this size count as none; for numeric targets, as a share of the loss of
        the baseline.
    level : float
        The probability that an answer needs.
    data_alerts : sequence of Alert
        Suspicious properties of the data.
    verdict : str
        The headline as text: one line each for alerts, answer, reason and next step.
    headline : Headline
        The same in parts: ``alerts``, ``answer``, ``reason`` and ``next_step``.
    claims_withheld : bool
        Whether an alert prevents any claim; the baseline is then recommended.
    alerts : list of Alert
        Reasons to trust the answer less, each with ``kind``, ``text`` and ``withholds``, which says
        whether it prevents any claim.
    recommended : str
        Name of the method to use: the one with the largest estimated gain among the baseline, a
        safe stack that is more likely to help than to harm, and every other method (of m) with
        P(help) of at least 1 - 0.1 / m and P(harm) of at most 0.05 / m. "baseline" where claims are
        withheld.
    model_card : ModelCard, NumberCard or None
        The recommended model on held-out rows: its loss with an interval that allows for the choice
        among the methods, the loss of guessing, recall and precision of every class, the confusion
        matrix, the number of unlabelled rows that it assigns to every class, and ``alerts`` if it
        hardly beats guessing or does not find a class. For numbers: R2, sizes of errors, the
        held-out rows with the largest errors, and how many predictions for unlabelled rows are
        outside the range of the known numbers. None if its predictions are not known.
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
        without unlabelled rows, or if the baseline has no scores or failed in a split. If ``shift``
        was refused, all intervals are from 0 to 1.
    shift : ShiftWeights or None
        What ``shift`` did: its assumption, the weights, and the effective number of labelled rows.
    failures : list of FailedFit
        Fits that raised an error: ``name``, ``stage``, ``split``, ``reason`` and ``text``.
    left_out : list of str
        What is not part of the result, and why.
    columns : list of Column
        What was done to each column of a table; empty for arrays.
    decision : Decision or None
        With costs, or a scoring of one of two classes: the threshold of the recommended model, its
        interval from resamples of the labelled rows, and precision and recall over the threshold.
        None otherwise.
    changed : Changes or None
        The unlabelled rows for which the recommended method and the baseline predict different
        classes; if the baseline is recommended, the most promising method is compared with it. None
        if there are no unlabelled rows, no such method, or baselines without probabilities.
    settlement : Settlement or None
        The questions that labels of some unlabelled rows can settle, those rows, and the labels so
        far; see ``rows_to_label`` and ``settle``. None if the scoring is not the error, if there
        are no unlabelled rows, or if the baselines cannot be averaged into one model.
    settled : SettledComparison or None
        What is settled so far, which may be much even before the first label.
    coefficients : list of Coefficient
        Coefficients of a linear baseline, fitted to all labelled rows, for prepared features.

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

    records: Records
    loss: Loss
    drift: Drift | None = None
    equivalence: float = 0.01
    level: float = 0.95
    data_alerts: Sequence[Alert] = ()
    shift: ShiftWeights | None = None
    problem: "TableProblem | None" = None
    prepare: Any = None
    # For the command: the larger table that the compared one is a sample of, and its wording.
    whole: "pd.DataFrame | None" = None
    labelling: LabellingWords = IN_PYTHON
    # As it was made; the report repeats it.
    call: Call | None = None
    # The settlement after the last call of ``settle``.
    _labelled: Settlement | None = field(default=None, repr=False, compare=False)

    @property
    def plan(self) -> Plan:
        """What was compared."""
        return self.records.plan

    def name_in_words(self, name: str) -> str:
        """Return the name of a model as part of a sentence.

        Parameters
        ----------
        name : str
            Its name in the table.

        Returns
        -------
        str
            For example "the safe stack".
        """
        return with_article(name, self.plan.baseline_in_words)

    @property
    def failures(self) -> list[FailedFit]:
        """The fits that raised an error."""
        return self.records.failures

    @cached_property
    def left_out(self) -> list[str]:
        """Sentences on what is not part of the result: too slow, or failed."""
        without = [
            f"{entry.name} has neither predict_proba nor decision_function, which "
            f"{self.loss.measure.name} needs."
            for entry in self.plan.split_entries
            if self._lacks_scores(entry)
        ]
        failed = [failure.text for failure in self.failures]
        splits, curves = self._without_baselines, missing_points(self.plan)
        rare = [] if (rare := self.plan.table.rare) is None else [rare.text]
        asked = [BASELINE, *([] if self.findings.best is None else [self.findings.best.name])]
        failed += self._failed_on_all(asked)
        return [*rare, *self.records.left_out, *without, *splits, *failed, *curves]

    def _failed_on_all(self, names: list[str]) -> list[str]:
        """Sentences on models that fail on all rows, which predict the unlabelled ones."""
        if not self.plan.table.n_unlabeled:
            return []
        for name in names:
            self.why_unfitted(name)
        return [self._unfitted[name] for name in names if self._unfitted.get(name)]

    @property
    def _without_baselines(self) -> list[str]:
        """A sentence on the splits that are left out of the result, because a baseline failed."""
        names = {entry.name for entry in self.plan.baselines}
        failed = {f.split for f in self.failures if f.name in names and f.stage == ALL}
        if not failed:
            return []
        every, used = self.plan.repeats * self.plan.n_folds, len(self.records.splits)
        return [
            f"A baseline failed in {len(failed)} of the {every} splits: the result is that of "
            f"{used} splits, in which all were fitted."
        ]

    def _lacks_scores(self, entry: Entry) -> bool:
        fits = self.records.every(entry.name)
        return self.loss.needs_scores and any(fit.scores is None for fit in fits)

    @property
    def notes(self) -> list[str]:
        """Approximations and omissions of the methods that judge themselves."""
        fits = self.records.cross_fitted.values()
        return [f"{fit.name}: {note}" for fit in fits for note in fit.notes]

    @cached_property
    def _held_out(self) -> tuple[HeldOutModel, dict[str, HeldOutModel], dict[str, HeldOutModel]]:
        """The baseline, its parts and the methods, with their predictions of held-out rows."""
        return held_out_models(self.records, self.loss, self.equivalence, self._n_different)

    @cached_property
    def methods(self) -> list[MethodResult]:
        """The results of the baseline, its parts and all methods without a failed split."""
        baseline, parts, methods = self._held_out
        return judge_methods(
            baseline,
            parts,
            methods,
            self.loss,
            self.measure,
            equivalence=self.equivalence,
            level=self.level,
            alerts=self.data_alerts,
            numeric=self.plan.table.numeric,
            baseline_words=self.plan.baseline_in_words,
            stack=self._stack,
        )

    @cached_property
    def _judge(self) -> HeldOut:
        """The judge of the predictions of all splits."""
        return judge_of(self.plan.table, self.records.folds, self.equivalence)

    @cached_property
    def _baseline(self) -> Predictions:
        """The predictions of the baseline in all splits."""
        return joined(self.records.baselines)

    def _n_different(self, name: str) -> tuple[float, int]:
        """Return for how many unlabelled rows a method changes the baseline's class, of how many.

        A method that judged itself is asked by its model to deploy, others by those of the splits.
        """
        table, n_rows = self.plan.table, len(self.plan.probe)
        if name not in self.records.cross_fitted:
            return n_rows * self.records.changed(name) if n_rows else 0, n_rows
        if not table.n_unlabeled or self.why_unfitted(BASELINE):
            return 0, 0
        differ = self.predicted(name) != self.predicted(BASELINE)
        return int(differ.sum()), len(differ)

    @property
    def _stack(self) -> str:
        """Name of the estimator that is called the safe stack."""
        return "SafeRegressor" if self.plan.table.numeric else STACK

    @property
    def claims_withheld(self) -> bool:
        """Whether nothing may be claimed, so that the baseline is recommended."""
        return any(alert.withholds for alert in self.data_alerts)

    @cached_property
    def _size(self) -> float:
        """The unit of differences of losses: 1 or, for numbers, the loss of the baseline."""
        return self._judge.size(self._baseline, self.loss)

    @cached_property
    def measure(self) -> Measure:
        """How the loss is called and shown, with digits that suit the practical equivalence."""
        return self.loss.measure.in_steps_of(self.limit)

    @property
    def limit(self) -> float:
        """The largest change of the loss that makes no practical difference."""
        size = self._size if self.plan.table.numeric else 1.0
        return self.equivalence * (size or 1.0)

    @property
    def limit_in_words(self) -> str:
        """The same in words."""
        measure = self.measure
        if not self.plan.table.numeric:
            return measure.show_limit(self.equivalence)
        shown = measure.show(self.equivalence * self._size)
        return f"{shown} ({100 * self.equivalence:g}% of the baseline's {measure.name})"

    @property
    def compared(self) -> list[MethodResult]:
        """The methods that have a verdict."""
        return [method for method in self.methods if method.verdict is not None]

    @cached_property
    def recommended(self) -> str:
        """The method to use: that with the largest estimated gain of those that may be used."""
        verdicts = {method.name: method.judged for method in self.compared}
        chosen = recommend(
            verdicts, self.plan.safe, equivalence=self.equivalence, withheld=self.claims_withheld
        )
        return chosen or BASELINE

    @cached_property
    def _held_out_card(self) -> ModelCard | NumberCard | None:
        """The card of the recommended model from held-out rows, before it is fitted to all rows."""
        table = self.plan.table
        if not table.numeric:
            return card_of(self, self.recommended)
        return number_card_of(self, self.recommended, table.unit, digits_of(table.truth))

    @cached_property
    def alerts(self) -> list[Alert]:
        """Warnings that limit how far the answer can be trusted."""
        table, drift = self.plan.table, self._on_drift
        copies = ""
        if not any(alert.kind == "copies" for alert in self.data_alerts):
            copies = copies_note(take_rows(table.X, table.known.labeled), table.groups)
        if any(alert.kind == "groups" for alert in self.data_alerts):
            drift = ""  # rows of the same few subjects look alike anyway
        shift = "" if self.shift is None or self.shift.refused else self.shift.text
        texts = {
            **{"time": self._hurry, "drift": drift, "shift": shift, "copies": copies},
            "chosen": self._on_chosen,
        }
        card = self._held_out_card
        of_model = card.alerts if card is not None else []
        neglected = any(alert.kind == "neglected class" for alert in of_model)
        if not neglected and not table.numeric:
            of_model = [*of_model, *rare_class_alerts(table.labels_drawn, self.loss)]
        return [
            *self.data_alerts,
            *of_model,
            *(Alert(kind, text) for kind, text in texts.items() if text),
        ]

    @property
    def _on_drift(self) -> str:
        """A sentence on drift, with its remedies unless one was used; empty without drift."""
        if self.drift is None or not self.drift.found:
            return ""
        if self.shift is not None and self.shift.refused:
            return ""  # which says more
        options = options_in_words(numeric=self.plan.table.numeric)
        return self.drift.text if self.shift else f"{self.drift.text} {options}"

    @property
    def _on_chosen(self) -> str:
        """A sentence on how chosen labels bias errors, although they only train; else empty."""
        table = self.plan.table
        if not table.n_chosen:
            return ""
        were, are = ("was", "is") if table.n_chosen == 1 else ("were", "are")
        return (
            f"{table.n_chosen} of the {table.n_labeled} labels {were} chosen, for example from "
            f"primum's sheet, and {are} for training only. Chosen rows are usually the hard ones, "
            "so the errors shown here can be several points too high."
        )

    @property
    def _hurry(self) -> str:
        """A sentence on methods with unlabelled rows that the time budget left out; else empty."""
        done = {fit.name for fit in self.records.done.values()}
        left = [e.name for e in self.plan.methods if e.uses_unlabeled and e.name not in done]
        if any(fit.limited for fit in self.records.cross_fitted.values()):
            left.append("candidates of the safe stack")
        if not left:
            return ""
        return (
            f"For lack of time, the comparison is without {' and '.join(left)}: whether unlabelled "
            "rows help was hardly tried. Pass a larger time_budget (--time-budget)."
        )

    @cached_property
    def findings(self) -> Findings:
        """The findings from which the headline is written."""
        main, judged = (ALL, CROSS_FITTED), {method.name for method in self.methods}
        failed = {f.name for f in self.failures if f.stage in main} - judged
        sample = str(self._judge.sample).rstrip(",") if self.compared else ""
        parts = [e.name for e in self.plan.baselines] if len(self.plan.baselines) > 1 else []
        failed_in_some = {f.name for f in self.failures if f.stage == ALL}
        return Findings(
            *(self.compared, self.recommended, self.measure, self.plan.table.n_unlabeled),
            *(sample, sorted(failed), bool(self._hurry), self._stack),
            baseline=self.plan.baseline_in_words,
            failed_parts=[name for name in parts if name in failed_in_some],
        )

    @property
    def verdict(self) -> str:
        """The headline as text: one line each for alerts, answer, reason and next step."""
        return "\n".join(self.headline.lines)

    @cached_property
    def curves(self) -> list[CurvePoint]:
        """Learning curves: mean loss by number of unlabelled or labelled training rows."""
        return learning_curves(self.records, self.loss, self.methods[0].loss)

    @property
    def table(self) -> "pd.DataFrame":
        """One row per classifier: loss, change to the baseline, probabilities and answer."""
        with needed("Tables"):
            import pandas as pd

        return pd.DataFrame([table_row(method) for method in self.methods]).set_index("method")

    @property
    def first_answer(self) -> str:
        """The verdict on the safe stacks in a few lines, before other methods are fitted.

        It uses the level of the final answer, which is adjusted for all methods. Empty if safe
        stacks could not be judged.
        """
        plan, first = self.plan, self.plan.first_methods
        level = 1 - (1 - self.level) * len(first) / len(plan.methods)
        records = replace(self.records, plan=replace(plan, methods=first))
        if len(records.splits) < min(2, plan.n_folds):
            return ""
        early = replace(self, records=records, level=level)
        headline = compose_headline(early.findings, early.alerts)
        return first_answer(early.methods, headline, early.measure, self.records.waiting)

    @property
    def columns(self) -> "list[Column]":
        """What was done to each column of a table; empty for arrays."""
        return [] if self.problem is None else self.problem.columns

    def fit_recommended(self) -> Any:
        """Fit the recommended model, with its preparation, to all rows.

        If the baseline is recommended, it is the average of the probabilities of its parts. After
        ``settle``, the model to use on the unlabelled rows is fitted again to all labels, the new
        ones included. It is usually better than the model that was judged, which ``fit`` returns,
        but has not been judged itself.

        Returns
        -------
        estimator
            A fitted scikit-learn Pipeline of preparation and model (without ``prepare``, the model
            alone), which predicts names of classes, or numbers, from rows as they were given.
        """
        asked = self._labelled
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
        models = self.records.models
        if name not in models:
            fit = self.records.cross_fitted.get(name)
            model = None if fit is None else fit.model
            models[name] = fit_model(self.plan, name, self.prepare) if model is None else model
        return models[name]

    def why_unfitted(self, name: str) -> str:
        """Return why a model cannot be fitted to all rows, in a sentence; empty if it can.

        Parameters
        ----------
        name : str
            "baseline", or the name of a baseline or method.

        Returns
        -------
        str
            The sentence.
        """
        if name == BASELINE and not can_be_averaged(
            self.plan.baselines, numeric=self.plan.table.numeric
        ):
            return (
                "The baselines cannot be averaged into one model, because one of them has no "
                "predict_proba: calibrate it with CalibratedClassifierCV, or compare with one "
                "baseline."
            )
        if name in self.records.cross_fitted:
            return ""  # it was fitted to all rows to be judged
        if name not in self._unfitted:
            try:
                self._model(name)
                self._unfitted[name] = ""
            except Exception as failure:  # of somebody's model, which was fitted in the splits
                words = self.name_in_words(name)
                self._unfitted[name] = (
                    f"Although it was fitted in the splits, {words} fails on all rows, so it "
                    f"cannot be deployed: {type(failure).__name__}: {failure}"
                )
        return self._unfitted[name]

    @cached_property
    def _unfitted(self) -> dict[str, str]:
        return {}

    @cached_property
    def model_card(self) -> ModelCard | NumberCard | None:
        """The card of the recommended model, which is fitted to predict the unlabelled rows."""
        card, table, name = self._held_out_card, self.plan.table, self.recommended
        if card is None or not table.n_unlabeled or self.why_unfitted(name):
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
        """Identifiers of the rows, if the table has a column of these."""
        return None if self.problem is None else self.problem.ids

    @cached_property
    def _predicted(self) -> Models:
        """The predictions of fitted models for the unlabelled rows."""
        return Models(self)

    @cached_property
    def _asked_models(self) -> Models:
        """The predictions for all rows that may be asked for labels."""
        return self._predicted if self.whole is None else Models(self, self.whole)

    @property
    def all_also_labeled(self) -> bool:
        """Whether every unlabelled row is also a labelled one."""
        return bool(self._asked_models.also_labeled[0].all())

    @cached_property
    def changed(self) -> Changes | NumberChanges | None:
        """The unlabelled rows for which the predictions of a method and the baseline differ."""
        best, table = self.findings.best, self.plan.table
        if best is None or not table.n_unlabeled:
            return None
        if self.why_unfitted(BASELINE) or self.why_unfitted(best.name):
            return None
        if table.numeric:
            return number_changes_of(self, best.name, digits_of(table.truth))
        return changes_of(self, best.name)

    @cached_property
    def shares(self) -> EstimatedShares | None:
        """The class shares of the unlabelled rows, for which the baseline is fitted again."""
        failed = {failure.name for failure in self.failures}
        if any(entry.name in failed for entry in self.plan.baselines):
            return None
        if any(part.scores is None for part in self.records.baselines):
            return None
        if self.why_unfitted(BASELINE):
            return None
        if self.shift is None:
            return shares_in(self.plan, RANDOM)
        if self.shift.refused:
            return unknown_shares(shares_in(self.plan, RANDOM), self.shift.kind)
        return shares_in(self.plan, self.shift.kind)

    @cached_property
    def decision(self) -> Decision | None:
        """The threshold of the recommended model, with precision and recall over thresholds."""
        objective = self.loss.objective
        if objective is None or objective.positive is None or self.why_unfitted(self.recommended):
            return None
        return decision_of(self, last_step(self._model(self.recommended)))

    @property
    def settlement(self) -> Settlement | None:
        """The questions that labels can settle, the rows to label, and the labels so far."""
        if why_not(self):
            return None
        return self._unlabelled if self._labelled is None else self._labelled

    @cached_property
    def _unlabelled(self) -> Settlement:
        """The settlement before the first label."""
        return settlement_of(self, self._asked_models, duels_of(self))

    def continue_settlement(self, settlement: Settlement) -> bool:
        """Continue a stored settlement, with its order of rows and its labels, if that is possible.

        Parameters
        ----------
        settlement : Settlement
            One that was stored earlier, perhaps with other questions than this comparison asks.

        Returns
        -------
        bool
            Whether it is about the models and rows of this comparison; otherwise nothing changes.
        """
        duels = duels_in(self, settlement)
        if why_not(self) or len(duels) < len(settlement.questions):
            return False
        if not settlement.asks_the_same(settlement_of(self, self._asked_models, duels)):
            return False
        self._labelled = settlement
        return True

    def _asked(self) -> Settlement:
        """Return the settlement; raise an error if there can be none."""
        if (asked := self.settlement) is None:
            raise ValueError(why_not(self))
        return asked

    def rows_to_label(
        self, n: int | None = None, *, show_predictions: bool = False
    ) -> "pd.DataFrame":
        """Return the unlabelled rows whose labels settle which model is better on all of them.

        Fitted models predict different classes for these rows. They are in a random order, on which
        the answer of ``settle`` relies, so label them from the top. The order depends on everything
        that the models were fitted to, ``random_state`` included: after a comparison with further
        labels it is another one. Rows that have a label already are left out, also those of
        ``X_unlabeled`` that are among the labelled rows: they have the same id or, without ids, the
        same cells, if no two unlabelled rows have.

        Parameters
        ----------
        n : int, default=None
            Number of rows; None means the number expected to be needed, the upper end of the range
            in ``settlement.request``.
        show_predictions : bool, default=False
            Whether to add columns with the models' predictions, which bias a labeller.

        Returns
        -------
        DataFrame
            "primum_row", the name of the row; the target column, empty (without a table,
            "label"); "primum_chosen"; the id; and the other columns as they were written. The index
            is the position of the row in the table.
        """
        return table_of_next_rows(self, self._asked(), n, show_predictions, self._asked_models)

    def settle(
        self, labels: Any, *, correct: bool = False, verbose: bool = True
    ) -> SettledComparison:
        """Settle which model makes fewer errors on the unlabelled rows, from labels of some.

        Labels accumulate over calls. You may read the answer after each one, and stop at any time.

        Parameters
        ----------
        labels : mapping, Series or DataFrame
            Classes of rows of ``rows_to_label`` by their name ("r17"), id or position, or that
            table with its label column filled. Empty cells are no labels, "?" marks a row that
            nobody can decide.
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
        asked = self._asked()  # first, so that numeric targets raise the right error
        table_labels = self._asked_models.known_labels()
        settlement = asked.with_labels(labels, known=table_labels, correct=correct)
        self._labelled = settlement
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
        alerts = [Alert("fit", why) for why in self._failed_on_all([self.recommended])]
        alerts += self.alerts
        return compose_headline(self.findings, alerts, words, can_settle=words is not None)

    @cached_property
    def coefficients(self) -> list[Coefficient]:
        """The coefficients of a linear baseline, the largest first; empty if none is linear."""
        for entry in reversed(self.plan.baselines):
            if self.why_unfitted(entry.name):
                continue
            for name, model in reversed(fitted_parts(self._model(entry.name), entry.name)):
                if hasattr(last_step(model), "coef_"):
                    return coefficients_of(model, name, self.plan.table.classes)
        return []

    @cached_property
    def answer(self) -> Answer:
        """What was found, as plain records, without data and models."""
        records, plan, data = self.records, self.plan, self.plan.table
        findings, card, columns = self.findings, self.model_card, self.columns
        fits = records.done.values()
        warned = Counter((f.name, f.note) for f in fits if f.predicted is not None and f.note)
        judged = {method.name for method in self.compared}
        probed = [entry.name for entry in plan.split_entries if len(plan.probe)]
        known: tuple[float, ...] = ()
        predicted: tuple[float, ...] = ()
        if data.numeric:
            known = quantiles_and_mean(data.drawn.values)
            if card is not None and data.n_unlabeled:
                predicted = quantiles_and_mean(self.predicted(card.name))
        changed, why_unknown = None, ""
        try:
            changed = self.changed
        except ValueError as reason:  # baselines whose average cannot be fitted as one model
            why_unknown = str(reason)
        n_groups = None
        if data.groups is not None:
            n_groups = len(np.unique(data.groups[data.known.labeled].astype(str)))
        return Answer(
            target=None if self.problem is None else str(self.problem.target),
            target_kind=data.kind.word,
            recognised=data.kind.how,
            learner=data.learner,
            classes=None if data.classes is None else tuple(str(one) for one in data.classes),
            rare_classes=data.rare,
            n_by_class=() if data.numeric else tuple(data.labels_drawn.counts.tolist()),
            known_range=None
            if not data.numeric
            else (number_in_words(data.truth, 0), number_in_words(data.truth, 1)),
            known_quantiles=known,
            predicted_quantiles=predicted,
            digits=digits_of(data.drawn.values) if data.numeric else 0,
            n_labeled=data.n_labeled,
            n_chosen=data.n_chosen,
            n_unlabeled=data.n_unlabeled,
            n_columns=data.X.shape[1],
            n_groups=n_groups,
            sample=findings.sample,
            columns=tuple(replace(column, vocabulary=None) for column in columns),
            n_terms=tuple(
                None if column.vocabulary is None else len(column.vocabulary) for column in columns
            ),
            drift=self.drift,
            shift=self.shift,
            shares=self.shares,
            measure=self.measure,
            scoring=str(self.loss.scoring),
            objective=self.loss.objective,
            equivalence=self.equivalence,
            limit=self.limit,
            limit_in_words=self.limit_in_words,
            level=self.level,
            stack=self._stack,
            baseline=plan.baseline_in_words,
            own_baseline=plan.own_baseline,
            baselines=tuple(entry.name for entry in plan.baselines),
            alone=tuple(entry.name for entry in plan.cross_fitted),
            fitted_alone=tuple(records.cross_fitted),
            estimators={
                entry.name: " ".join(repr(last_step(entry.estimator)).split())
                for entry in plan.entries
            },
            methods=tuple(self.methods),
            recommended=self.recommended,
            alerts=tuple(self.alerts),
            curves=tuple(self.curves),
            model_card=card,
            decision=self.decision,
            changed=changed,
            why_changes_are_unknown=why_unknown,
            changed_in_splits={name: records.changed(name) for name in probed if name in judged},
            n_probed=len(plan.probe),
            coefficients=tuple(self.coefficients[:MAX_LISTED_CHANGES]),
            n_coefficients=len(self.coefficients),
            failures=tuple(self.failures),
            failed=tuple(findings.failed),
            failed_parts=tuple(findings.failed_parts),
            hurried=findings.hurried,
            left_out=tuple(self.left_out),
            notes=tuple(f"{fit.name}: {note}" for fit in fits for note in fit.notes),
            warned=tuple((name, str(note), n) for (name, note), n in warned.items()),
            why_not_settled=why_not(self),
            n_folds=plan.n_folds,
            n_repeats=plan.repeats,
            n_splits=len(records.splits),
            seed=plan.seed,
            seconds=records.seconds,
            n_stored_fits=records.n_stored,
            stored_seconds=records.stored_seconds,
            versions=package_versions(distributions_of([e.estimator for e in plan.entries])),
            call=self.call,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values.

        Returns
        -------
        dict
            Numbers, texts, lists and dictionaries only.
        """
        return comparison_json(self.answer, self.headline, self.settled)

    def plot(self) -> Any:
        """Draw the changes from the baseline and the learning curves.

        Returns
        -------
        matplotlib Figure
            The figure.
        """
        return plot_comparison(self.answer)

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
            A file to write it to as well.

        Returns
        -------
        str
            The page.
        """
        page = comparison_page(self.answer, self.headline, self.settled)
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
        return comparison_markdown(self.answer, self.headline, self.settled)

    def _repr_html_(self) -> str:
        return comparison_fragment(self.answer, self.headline)
