"""What a comparison found: losses, differences from the baseline, verdicts, recommendation.

The baseline is the average of the scores of the tuned baselines (ridge and logistic regression by
default): it is usually close to the better of the two, which is not known beforehand. A method is
said to help or to harm only if the probability of that is at least ``level``, adjusted for the
number of methods, because several are compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from primum._lazy import needed
from primum._sklearn import take_rows
from primum._typing import AnyArray
from primum.comparison.card import ModelCard, NumberCard
from primum.comparison.plan import ALL, CROSS_FITTED, ComparisonPlan
from primum.comparison.records import CurvePoint, Failure, OwnDifference, Records, learning_curves
from primum.comparison.words import (
    BASELINE,
    TWIN,
    WITHHELD,
    Findings,
    Headline,
    MethodResult,
    compose_headline,
    first_answer,
    phrase,
    table_row,
    with_article,
)
from primum.judging.difference import Difference, Disagreement, Posterior, holm
from primum.judging.drift import Drift, ShiftWeights, copies_note
from primum.judging.held_out import HeldOut
from primum.judging.losses import Loss, Measure, Predictions, joined
from primum.judging.words import CANNOT_TELL, HELP, Alert, Verdict, verdict_of
from primum.reading.classifiers import Entry

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ComparisonResult:
    """The result of a comparison, computed from its finished fits.

    Attributes
    ----------
    records : Records
        The finished fits.
    loss : Loss
        How predictions are judged.
    drift : Drift or None
        Whether labelled and unlabelled rows differ.
    equivalence : float
        Differences up to this size count as none; where numbers are predicted, this share of the
        loss of the baseline.
    level : float
        The probability that an answer needs.
    data_alerts : sequence of Alert
        What is suspicious about the data.
    shift : ShiftWeights or None
        The weights of labelled rows that are not a random sample, if the user asked for any.
    """

    records: Records
    loss: Loss
    drift: Drift | None = None
    equivalence: float = 0.01
    level: float = 0.95
    data_alerts: Sequence[Alert] = ()
    shift: ShiftWeights | None = None

    @property
    def plan(self) -> ComparisonPlan:
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
    def failures(self) -> list[Failure]:
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
        splits, curves = self._without_baselines, self.plan.missing_points
        return [*self.records.left_out, *without, *splits, *failed, *curves]

    @property
    def _without_baselines(self) -> list[str]:
        """A sentence on the splits that are no part of the result, because a baseline failed."""
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

    def _can_be_judged(self, entry: Entry) -> bool:
        """Return whether a method judged itself, or has what is needed of every split."""
        if entry in self.plan.cross_fitted:
            return entry.name in self.records.cross_fitted
        splits, fits = self.records.splits, self.records.every(entry.name)
        return 0 < len(splits) == len(fits) and not self._lacks_scores(entry)

    @property
    def notes(self) -> list[str]:
        """What the methods that judge themselves approximated or left out."""
        fits = self.records.cross_fitted.values()
        return [f"{fit.name}: {note}" for fit in fits for note in fit.notes]

    @cached_property
    def methods(self) -> list[MethodResult]:
        """The results of the baseline, its parts and all methods that failed in no split."""
        own = [entry for entry in self.plan.cross_fitted if self._can_be_judged(entry)]
        split = [e for e in self.plan.split_entries if e in self.plan.methods]
        entries = [*own, *(entry for entry in split if self._can_be_judged(entry))]
        differences = [self._difference(entry) for entry in entries]
        adjusted = holm([difference.p_value for difference in differences])
        level = 1 - (1 - self.level) / max(len(entries), 1)
        parts = self.plan.baselines if len(self.plan.baselines) > 1 else ()
        seconds = sum(self._seconds(entry) for entry in self.plan.baselines)
        return [
            MethodResult(BASELINE, False, self._baseline_loss, seconds, len(self.records.splits)),
            *map(self._plain, parts),
            *(
                self._judged(entry, difference, float(p_value), level)
                for entry, difference, p_value in zip(entries, differences, adjusted, strict=True)
            ),
        ]

    def _plain(self, entry: Entry) -> MethodResult:
        """Return the result of a classifier in the splits, without a verdict."""
        loss = self._judge.mean_loss(self._predictions(entry), self.loss)
        n_splits = len(self.records.splits)
        return MethodResult(entry.name, entry.uses_unlabeled, loss, self._seconds(entry), n_splits)

    def _self_judged(self, entry: Entry, difference: Difference) -> MethodResult:
        """Return the result of a method that judged itself, its loss relative to the baseline's."""
        loss = self._baseline_loss + difference.mean
        return MethodResult(
            entry.name,
            entry.uses_unlabeled,
            loss if self.loss.of_rows is None else max(loss, 0.0),
            self.records.cross_fitted[entry.name].seconds,
            n_splits=1,
            observed_change=difference.mean,
        )

    def _judged(
        self, entry: Entry, difference: Difference, p_value: float, level: float
    ) -> MethodResult:
        posterior = self._posterior(difference, self._disagreement(entry))
        verdict = self._verdict(posterior, entry.name, self.plan.baseline_in_words, level)
        if entry.name in self.records.cross_fitted:
            row = self._self_judged(entry, difference)
        else:
            row = self._plain(entry)
            row = replace(row, observed_change=row.loss - self._baseline_loss)
        twin, measure = self._twin(entry, level)
        return replace(row, verdict=verdict, p_value=p_value, twin=twin, twin_measure=measure)

    def _seconds(self, entry: Entry) -> float:
        return float(np.mean([fit.seconds for fit in self.records.every(entry.name)]))

    @cached_property
    def _judge(self) -> HeldOut:
        """What judges the predictions of all splits."""
        return self.plan.judge(self.records.folds, self.equivalence)

    @cached_property
    def _baseline(self) -> Predictions:
        """The predictions of the baseline in all splits."""
        return joined(self.records.baselines)

    @cached_property
    def _baseline_loss(self) -> float:
        return self._judge.mean_loss(self._baseline, self.loss)

    def _predictions(self, entry: Entry, twin: bool = False) -> Predictions:
        """Return the predictions of a classifier, or of its twin, in all splits."""
        fits = self.records.every(entry.name)
        return joined([self.records.predictions(fit, twin) for fit in fits])

    def _own(self, entry: Entry, against: str = BASELINE) -> OwnDifference | None:
        """Return the difference that a method that judged itself has found, if it has."""
        fit = self.records.cross_fitted.get(entry.name)
        return None if fit is None else fit.verdicts.get(against)

    def _difference(self, entry: Entry) -> Difference:
        if (own := self._own(entry)) is not None:
            return own.difference
        return self._judge.difference(self._predictions(entry), self._baseline, self.loss)

    def _disagreement(self, entry: Entry) -> Disagreement | None:
        """Return how often a method and the baseline disagree, if they are judged by errors."""
        if (own := self._own(entry)) is not None:
            return own.disagreement
        if self.loss.scoring != "accuracy":
            return None
        n_rows = len(self.plan.probe)
        n_different = n_rows * self.records.changed(entry.name) if n_rows else 0
        predictions = self._predictions(entry)
        return self._judge.disagreement(predictions, self._baseline, n_different, n_rows)

    def _verdict(
        self,
        posterior: Posterior,
        name: str,
        other: str,
        level: float,
        measure: Measure | None = None,
    ) -> Verdict:
        verdict = verdict_of(
            posterior,
            method=phrase(name, self.plan.table.target.stack),
            baseline=other,
            measure=self.loss.measure if measure is None else measure,
            level=level,
            sample=self._judge.sample,
        )
        if verdict.answer == HELP and any(alert.withholds for alert in self.data_alerts):
            return replace(verdict, answer=CANNOT_TELL, reason=f"{WITHHELD} {verdict.reason}")
        return verdict

    def _twin(self, entry: Entry, level: float) -> tuple[Verdict | None, Measure | None]:
        """Return the verdict against the method's own supervised twin, and in which loss it is."""
        fits, loss = self.records.every(entry.name), self.loss
        if (own := self._own(entry, "supervised")) is not None:
            posterior = self._posterior(own.difference, own.disagreement)
        elif not (entry.uses_unlabeled and fits) or any(fit.twin is None for fit in fits):
            return None, None
        else:
            both = self._predictions(entry), self._predictions(entry, twin=True)
            loss = self._twin_loss(both)
            shares = [np.mean(np.array(f.probe) != np.array(f.twin_probe)) for f in fits if f.probe]
            n_rows = len(self.plan.probe)
            n_different = n_rows * float(np.mean(shares)) if shares else 0
            posterior = self._judge.posterior(*both, loss, n_different, n_rows)
        return self._verdict(posterior, entry.name, TWIN, level, loss.measure), loss.measure

    def _twin_loss(self, both: tuple[Predictions, Predictions]) -> Loss:
        """Return the loss of the comparison or, if a twin lacks the scores for it, the error."""
        target = self.plan.table.target
        can_be_judged = all(target.can_judge(self.loss, part) for part in both)
        return self.loss if can_be_judged else self._judge.loss_of("accuracy")

    def _posterior(self, difference: Difference, disagreement: Disagreement | None) -> Posterior:
        size = self.plan.table.target.relative_to(self._size)
        return Posterior(difference, disagreement, equivalence=self.equivalence, baseline_loss=size)

    @cached_property
    def _size(self) -> float:
        """The unit of differences of losses: 1 or, of numbers, the loss of the baseline."""
        return self._judge.size(self._baseline, self.loss)

    @property
    def limit(self) -> float:
        """The largest change of the loss that makes no practical difference."""
        return self.equivalence * (self.plan.table.target.relative_to(self._size) or 1.0)

    @property
    def limit_in_words(self) -> str:
        """The same in words."""
        return self.plan.table.target.limit_in_words(
            self.equivalence, self._size, self.loss.measure
        )

    @property
    def row_ids(self) -> AnyArray | None:
        """What identifies the rows, if that is known."""
        return None

    @property
    def compared(self) -> list[MethodResult]:
        """The methods that have a verdict."""
        return [method for method in self.methods if method.verdict is not None]

    @cached_property
    def recommended(self) -> str:
        """The method to use: the best of those that help, or the baseline."""
        helping = [m for m in self.compared if m.judged.answer == HELP]
        return min(helping, key=lambda m: m.judged.change).name if helping else BASELINE

    @cached_property
    def _held_out_card(self) -> ModelCard | NumberCard | None:
        """What held-out rows say of the recommended model, before it is fitted to all rows."""
        return self.plan.table.target.card(self, self.recommended)

    @cached_property
    def alerts(self) -> list[Alert]:
        """What changes how far the answer may be believed."""
        table, drift = self.plan.table, self._on_drift
        copies = copies_note(take_rows(table.X, table.known.labeled), table.groups)
        if any(alert.kind == "groups" for alert in self.data_alerts):
            drift = ""  # rows of the same few subjects look alike, whatever the others are
        shift = "" if self.shift is None else self.shift.text
        texts = {
            **{"time": self._hurry, "drift": drift, "shift": shift, "copies": copies},
            "chosen": self._on_chosen,
        }
        card = self._held_out_card
        of_model = card.alerts if card is not None else []
        if not any(alert.kind == "neglected class" for alert in of_model):
            of_model = [*of_model, *table.drawn_target.alerts(self.loss)]
        return [
            *self.data_alerts,
            *of_model,
            *(Alert(kind, text) for kind, text in texts.items() if text),
        ]

    @property
    def _on_drift(self) -> str:
        """That labelled and unlabelled rows differ, and what can be done, unless it was."""
        if self.drift is None or not self.drift.found:
            return ""
        options = self.plan.table.target.shift_options
        return self.drift.text if self.shift else f"{self.drift.text} {options}"

    @property
    def _on_chosen(self) -> str:
        """What chosen labels do to errors, although they only train."""
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
        """What the time budget left out of the methods that use unlabelled rows."""
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
        """What the headline is written from."""
        main, judged = (ALL, CROSS_FITTED), {method.name for method in self.methods}
        failed = {f.name for f in self.failures if f.stage in main} - judged
        sample = str(self._judge.sample).rstrip(",") if self.compared else ""
        return Findings(
            *(self.compared, self.recommended, self.loss.measure, self.plan.table.n_unlabeled),
            *(sample, sorted(failed), bool(self._hurry), self.plan.table.target.stack),
            baseline=self.plan.baseline_in_words,
        )

    @property
    def headline(self) -> Headline:
        """Alerts, what to use, why, and what to do next."""
        return compose_headline(self.findings, self.alerts)

    @property
    def verdict(self) -> str:
        """The headline as text: one line each for alerts, answer, reason and next step."""
        return "\n".join(self.headline.lines)

    @cached_property
    def curves(self) -> list[CurvePoint]:
        """Learning curves: mean loss by number of unlabelled or labelled training rows."""
        return learning_curves(self.records, self.loss, self._baseline_loss)

    @property
    def table(self) -> "pd.DataFrame":
        """One row per classifier: loss, change to the baseline, probabilities and answer."""
        with needed("Tables"):
            import pandas as pd

        return pd.DataFrame([table_row(method) for method in self.methods]).set_index("method")

    @property
    def first_answer(self) -> str:
        """The verdict on the safe stacks in a few lines, before other methods are fitted.

        Their level is that of the final answer, which is adjusted for all methods. Empty if they
        could not be judged.
        """
        plan, first = self.plan, self.plan.first_methods
        level = 1 - (1 - self.level) * len(first) / len(plan.methods)
        records = replace(self.records, plan=replace(plan, methods=first))
        if len(records.splits) < min(2, plan.n_folds):
            return ""
        found = ComparisonResult(
            *(records, self.loss, self.drift, self.equivalence, level),
            *(self.data_alerts, self.shift),
        )
        names = [entry.name for entry in plan.methods if entry not in first]
        waiting = [*names, "the learning curves"] if plan.curves else names
        return first_answer(found.methods, found.headline, self.loss.measure, waiting)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        table = self.plan.table
        return {
            "verdict": self.verdict,
            "headline": self.headline.to_dict(),
            "recommended": self.recommended,
            "measure": self.loss.measure.name,
            "equivalence": self.equivalence,
            "level": self.level,
            "n_labeled": table.n_labeled,
            "n_chosen": table.n_chosen,
            "n_unlabeled": table.n_unlabeled,
            **table.target.to_dict(),
            "n_folds": self.plan.n_folds,
            "n_repeats": self.plan.repeats,
            "seed": self.plan.seed,
            "methods": [method.to_dict() for method in self.methods],
            "curves": [point.to_dict() for point in self.curves],
            "drift": None if self.drift is None else self.drift.to_dict(),
            "shift": None if self.shift is None else self.shift.to_dict(),
            "failures": [failure.to_dict() for failure in self.failures],
            "left_out": self.left_out,
            "notes": self.notes,
            "seconds": self.records.seconds,
        }
