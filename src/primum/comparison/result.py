"""What a comparison found: losses, differences from the baseline, verdicts, learning curves.

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
from primum._typing import Floats
from primum.comparison.card import HeldOutPredictions, ModelCard, card_of, stored_predictions
from primum.comparison.plan import ALL, CROSS_FITTED, N_UNLABELED, ComparisonPlan, classifier_name
from primum.comparison.run import Records
from primum.comparison.statistics import judge_of, learning_curves, twin_loss
from primum.comparison.words import (
    BASELINE,
    TWIN,
    WITHHELD,
    Findings,
    Headline,
    MethodResult,
    compose_headline,
    phrase,
    table_row,
)
from primum.judging.difference import Difference, Disagreement, Posterior, holm
from primum.judging.drift import Drift, copies_note
from primum.judging.held_out import HeldOut
from primum.judging.losses import Loss, Measure, Predictions, joined
from primum.judging.words import CANNOT_TELL, HELP, Alert, Verdict, verdict_of
from primum.reading.classifiers import Entry

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ComparisonResult:
    """The result of a comparison, computed from its stored fits.

    Attributes
    ----------
    plan : ComparisonPlan
        What was compared.
    records : Records
        The finished fits.
    loss : Loss
        How predictions are judged.
    drift : Drift or None
        Whether labelled and unlabelled rows differ.
    equivalence : float
        Differences up to this size count as none.
    level : float
        The probability that an answer needs.
    data_alerts : sequence of Alert
        What is suspicious about the data.
    """

    plan: ComparisonPlan
    records: Records
    loss: Loss
    drift: Drift | None = None
    equivalence: float = 0.01
    level: float = 0.95
    data_alerts: Sequence[Alert] = ()

    def _split(self, entry: Entry, number: int, stage: str = ALL) -> Predictions | None:
        """Return the predictions of a fit, or None if it failed or was not run."""
        record = self.records.done.get((f"{stage}/{entry.name}", number))
        if record is None or record["predicted"] is None:
            return None
        return self._predictions(record)

    def _predictions(self, record: dict[str, Any], twin: bool = False) -> Predictions:
        predicted = record["twin" if twin else "predicted"]
        scores = record.get("twin_scores") if twin else record["scores"]
        known = None if scores is None else np.array(scores)
        truth = self.plan.table.codes[np.array(record["test"], dtype=np.intp)]
        return Predictions(truth, np.array(predicted, dtype=np.intp), known)

    @cached_property
    def splits(self) -> list[int]:
        """Numbers of the splits that are part of the result.

        They are those of the repeats in which all baselines were fitted, so that every labelled
        row counts the same; if there is no such repeat, the splits in which they were.
        """
        size, fitted = self.plan.n_folds, set(self._with_baselines)
        repeats = [range(size * r, size * (r + 1)) for r in range(self.plan.repeats)]
        whole = [number for repeat in repeats if fitted.issuperset(repeat) for number in repeat]
        return whole or self._with_baselines

    @cached_property
    def _with_baselines(self) -> list[int]:
        """Numbers of the splits in which all baselines were fitted."""
        return [
            number
            for number in range(self.plan.repeats * self.plan.n_folds)
            if all(self._split(entry, number) is not None for entry in self.plan.baselines)
        ]

    @property
    def _without_baselines(self) -> list[str]:
        """A sentence on the splits that are no part of the result, because a baseline failed."""
        names = {entry.name for entry in self.plan.baselines}
        failed = {f["split"] for f in self.failures if f["name"] in names and f["stage"] == ALL}
        if not failed:
            return []
        every, used = self.plan.repeats * self.plan.n_folds, len(self.splits)
        return [
            f"A baseline failed in {len(failed)} of the {every} splits: the result is that of "
            f"{used} splits, in which all were fitted."
        ]

    def _baseline(self, number: int, stage: str = ALL) -> Predictions | None:
        """Return the average of the baselines in a split."""
        parts = [self._split(entry, number, stage) for entry in self.plan.baselines]
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            return None
        if len(found) == 1:
            return found[0]
        scores = np.mean([_needed_scores(part) for part in found], axis=0)
        return Predictions(found[0].truth, scores.argmax(axis=1), scores)

    def held_out(self, name: str) -> HeldOutPredictions | None:
        """Return the held-out predictions of the baseline or of a method.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        HeldOutPredictions or None
            In the splits of the comparison or, of a method that judged itself, in its own; None if
            the comparison was stored by a version that did not keep the latter.
        """
        stored = {entry.name: record for entry, record in self._cross_fitted}
        if name in stored:
            return stored_predictions(stored[name], self.plan)
        entry = next((entry for entry in self.plan.entries if entry.name == name), None)
        found: Any = [
            self._baseline(n) if name == BASELINE or entry is None else self._split(entry, n)
            for n in self.splits
        ]
        return HeldOutPredictions(self._judge.folds, found)

    @cached_property
    def left_out(self) -> list[str]:
        """Sentences on what is not part of the result: too slow, or failed."""
        without = [
            f"{entry.name} has neither predict_proba nor decision_function, which "
            f"{self.loss.measure.name} needs."
            for entry in self.plan.split_entries
            if self._lacks_scores(entry)
        ]
        failed = [found["text"] for found in self.failures]
        splits, curves = self._without_baselines, self.plan.missing_points
        return [*self.records.left_out, *without, *splits, *failed, *curves]

    def _lacks_scores(self, entry: Entry) -> bool:
        found = [self._split(entry, number) for number in self.splits]
        return self.loss.needs_scores and any(f is not None and f.scores is None for f in found)

    def _is_complete(self, entry: Entry) -> bool:
        """Return whether a method can be judged: it has predictions in every split."""
        every = bool(self.splits) and all(self._split(entry, n) is not None for n in self.splits)
        return every and not self._lacks_scores(entry)

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """The fits that raised an error: name, stage, split and reason."""
        return [
            {
                "name": classifier_name(unit[0]),
                "stage": unit[0].partition("/")[0],
                "split": unit[1],
                "reason": record["note"],
                "text": f"{failed_fit(*unit)}: {record['note']}",
            }
            for unit, record in self.records.done.items()
            if record["predicted"] is None
        ]

    @property
    def notes(self) -> list[str]:
        """What the methods that judge themselves approximated or left out."""
        return [f"{e.name}: {note}" for e, record in self._cross_fitted for note in record["notes"]]

    @cached_property
    def methods(self) -> list[MethodResult]:
        """The results of the baseline, its parts and all methods that failed in no split."""
        judged = [
            (entry, self._difference(entry))
            for entry in self.plan.split_entries
            if entry in self.plan.methods and self._is_complete(entry)
        ]
        own = [
            (entry, Difference(**record["verdicts"]["baseline"]["difference"]))
            for entry, record in self._cross_fitted
        ]
        adjusted = holm([difference.p_value for _, difference in [*own, *judged]])
        n_compared = len(judged) + len(self._cross_fitted)
        level = 1 - (1 - self.level) / max(n_compared, 1)
        parts = self.plan.baselines if len(self.plan.baselines) > 1 else ()
        return [
            self._row(BASELINE, False, [self._baseline(n) for n in self.splits]),
            *(self._plain(entry) for entry in parts),
            *(
                self._self_judged(entry, record, float(p), level)
                for (entry, record), p in zip(self._cross_fitted, adjusted, strict=False)
            ),
            *(
                self._judged(entry, difference, float(p), level)
                for (entry, difference), p in zip(judged, adjusted[len(own) :], strict=True)
            ),
        ]

    @property
    def _cross_fitted(self) -> list[tuple[Entry, dict[str, Any]]]:
        """The methods that judged themselves, with their records."""
        found = [
            (entry, self.records.done.get((f"{CROSS_FITTED}/{entry.name}", 0)))
            for entry in self.plan.cross_fitted
        ]
        return [(entry, r) for entry, r in found if r is not None and r["predicted"] is not None]

    def _self_judged(
        self, entry: Entry, record: dict[str, Any], p_value: float, level: float
    ) -> MethodResult:
        """Return the result of a method that judged itself, its loss relative to the baseline's."""
        own = {
            against: self._verdict(self._stored_posterior(found), entry.name, other, level)
            for (against, found), other in zip(
                record["verdicts"].items(),
                (f"the tuned {BASELINE}", TWIN),
                strict=False,
            )
        }
        change = own["baseline"].difference.mean
        loss = self._baseline_loss + change
        return MethodResult(
            entry.name,
            entry.uses_unlabeled,
            loss if self.loss.of_rows is None else max(loss, 0.0),
            own["baseline"],
            p_value,
            own.get("supervised"),
            float(record["seconds"]),
            1,
            change,
            self.loss.measure if "supervised" in own else None,
        )

    @cached_property
    def _baseline_loss(self) -> float:
        return self._judge.mean_loss(self._all_of_baseline, self.loss)

    @cached_property
    def _all_of_baseline(self) -> Predictions:
        found: Any = [self._baseline(number) for number in self.splits]
        return joined(found)

    def _all_of(self, entry: Entry) -> Predictions:
        found: Any = [self._split(entry, number) for number in self.splits]
        return joined(found)

    def _stored_posterior(self, found: dict[str, Any]) -> Posterior:
        """Return the posterior of a method that judged itself."""
        stored = found.get("disagreement")
        disagreement = None if stored is None else Disagreement(**stored)
        difference = Difference(**found["difference"])
        return Posterior(difference, disagreement, equivalence=self.equivalence)

    def _verdict(
        self,
        posterior: Posterior,
        name: str,
        other: str,
        level: float,
        measure: Measure | None = None,
    ) -> Verdict:
        found = verdict_of(
            posterior,
            method=phrase(name),
            baseline=other,
            measure=self.loss.measure if measure is None else measure,
            level=level,
            sample=self._judge.sample,
        )
        if found.answer == HELP and any(alert.withholds for alert in self.data_alerts):
            return replace(found, answer=CANNOT_TELL, reason=f"{WITHHELD} {found.reason}")
        return found

    def _row(self, name: str, uses_unlabeled: bool, splits: Sequence[Any], **rest: Any) -> Any:
        loss = self._judge.mean_loss(joined(splits), self.loss)
        values = {"verdict": None, "p_value": None, "twin": None, **rest}
        seconds = values.pop("seconds", self._seconds(self.plan.baselines))
        return MethodResult(
            name, uses_unlabeled, loss, seconds=seconds, n_splits=len(splits), **values
        )

    def _plain(self, entry: Entry, **rest: Any) -> Any:
        splits = [self._split(entry, number) for number in self.splits]
        return self._row(
            entry.name, entry.uses_unlabeled, splits, seconds=self._seconds([entry]), **rest
        )

    def _seconds(self, entries: Sequence[Entry]) -> float:
        done = self.records.done
        return float(
            sum(
                np.mean([done[f"{ALL}/{entry.name}", n]["seconds"] for n in self.splits])
                for entry in entries
            )
        )

    def _judged(self, entry: Entry, difference: Difference, p_value: float, level: float) -> Any:
        disagreement = self._disagreement(entry)
        posterior = Posterior(difference, disagreement, equivalence=self.equivalence)
        verdict = self._verdict(posterior, entry.name, f"the tuned {BASELINE}", level)
        twin, measure = self._twin(entry, level)
        found = self._plain(entry, verdict=verdict, p_value=p_value, twin=twin)
        change = found.loss - self._baseline_loss
        return replace(found, observed_change=change, twin_measure=measure)

    def _difference(self, entry: Entry) -> Difference:
        return self._judge.difference(self._all_of(entry), self._all_of_baseline, self.loss)

    @cached_property
    def _judge(self) -> HeldOut:
        """What judges the predictions of all splits."""
        numbers = [divmod(number, self.plan.n_folds) for number in self.splits]
        folds = [self.plan.folds(repeat)[fold] for repeat, fold in numbers]
        return judge_of(self.plan, folds, self.equivalence)

    def _disagreement(self, entry: Entry) -> Disagreement | None:
        """Return how often a method and the baseline disagree, if they are judged by errors."""
        if self.loss.scoring != "accuracy":
            return None
        n_rows = len(self.plan.probe)
        n_different = n_rows * self.changed_share(entry) if n_rows else 0
        return self._judge.disagreement(
            self._all_of(entry), self._all_of_baseline, n_different, n_rows
        )

    def changed_share(self, entry: Entry) -> float:
        """Return how often a method and the baseline predict different classes.

        Parameters
        ----------
        entry : Entry
            A method that was fitted in all splits.

        Returns
        -------
        float
            Share of the unlabelled rows ``plan.probe``, mean over splits.
        """
        done, shares = self.records.done, []
        for number in self.splits:
            records = [done[f"{ALL}/{e.name}", number] for e in self.plan.baselines]
            scores = np.mean([np.array(record["probe_scores"]) for record in records], axis=0)
            own = done[f"{ALL}/{entry.name}", number]["probe"]
            shares.append(np.mean(scores.argmax(axis=1) != np.array(own)))
        return float(np.mean(shares))

    def _twin(self, entry: Entry, level: float) -> tuple[Verdict | None, Measure | None]:
        """Return the verdict against the method's own supervised twin, and in which loss it is."""
        records = [self.records.done[f"{ALL}/{entry.name}", number] for number in self.splits]
        if not entry.uses_unlabeled or any(record["twin"] is None for record in records):
            return None, None
        own = joined([self._predictions(record) for record in records])
        twin = joined([self._predictions(record, twin=True) for record in records])
        loss = twin_loss(self.loss, (own, twin), self.plan.table.labels.classes)
        shares = [
            np.mean(np.array(record["probe"]) != np.array(record["twin_probe"]))
            for record in records
            if "probe" in record
        ]
        n_rows = len(self.plan.probe)
        n_different = n_rows * float(np.mean(shares)) if shares else 0
        posterior = self._judge.posterior(own, twin, loss, n_different, n_rows)
        return self._verdict(posterior, entry.name, TWIN, level, loss.measure), loss.measure

    @cached_property
    def recommended(self) -> str:
        """The method to use: the best of those that help, or the baseline."""
        helping = [m for m in self._compared if m.verdict.answer == HELP]
        return min(helping, key=lambda m: m.verdict.change).name if helping else BASELINE

    @cached_property
    def _held_out_card(self) -> ModelCard | None:
        """What held-out rows say of the recommended model, before it is fitted to all rows."""
        return card_of(self, self.recommended)

    @property
    def _compared(self) -> list[Any]:
        return [method for method in self.methods if method.verdict is not None]

    @cached_property
    def alerts(self) -> list[Alert]:
        """What changes how far the answer may be believed."""
        table, drift = self.plan.table, "" if self.drift is None else self.drift.text
        copies = copies_note(take_rows(table.X, table.labels.labeled), table.groups)
        if any(alert.kind == "groups" for alert in self.data_alerts):
            drift = ""  # rows of the same few subjects look alike, whatever the others are
        found = {"time": self._hurry, "drift": drift, "copies": copies}
        card = self._held_out_card
        return [
            *self.data_alerts,
            *(card.alerts if card is not None else ()),
            *(Alert(kind, text) for kind, text in found.items() if text),
        ]

    @property
    def _in_no_time(self) -> list[str]:
        """Names of the methods with unlabelled rows that the time budget left out."""
        done = {classifier_name(unit[0]) for unit in self.records.done}
        return [e.name for e in self.plan.methods if e.uses_unlabeled and e.name not in done]

    @property
    def _is_limited(self) -> bool:
        """Whether a method judged itself without some of its candidates, for lack of time."""
        return any(record.get("limited") for _, record in self._cross_fitted)

    @property
    def _hurry(self) -> str:
        """What the time budget left out of the methods that use unlabelled rows."""
        if not (self._is_limited or self._in_no_time):
            return ""
        stack = "candidates of the safe stack (a fit without the limit has them)"
        left = [*self._in_no_time, *([stack] if self._is_limited else [])]
        return (
            f"For lack of time, the comparison is without {' and '.join(left)}: whether unlabelled "
            "rows help was hardly tried. Pass a larger time_budget (--time-budget)."
        )

    @cached_property
    def headline(self) -> Headline:
        """Alerts, what to use, why, and what to do next."""
        main, judged = (ALL, CROSS_FITTED), {method.name for method in self.methods}
        failed = {f["name"] for f in self.failures if f["stage"] in main} - judged
        compared = self._compared
        n_unlabeled, sample = self.plan.table.n_unlabeled, ""
        if compared:
            sample = str(self._judge.sample).rstrip(",")
        found = Findings(
            *(compared, self.recommended, self.loss.measure, n_unlabeled, sample, sorted(failed)),
            hurried=bool(self._hurry),
        )
        return compose_headline(found, self.alerts)

    @property
    def verdict(self) -> str:
        """The headline as text: one line each for alerts, answer, reason and next step."""
        return "\n".join(self.headline.lines)

    @cached_property
    def curves(self) -> list[dict[str, Any]]:
        """Learning curves: mean loss by number of unlabelled or labelled training rows.

        All points of a curve are means over the splits of the first repeat.
        """
        return learning_curves(self)

    @property
    def table(self) -> "pd.DataFrame":
        """One row per classifier: loss, change to the baseline, probabilities and answer."""
        with needed("Tables"):
            import pandas as pd

        return pd.DataFrame([table_row(method) for method in self.methods]).set_index("method")

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
            "n_unlabeled": table.n_unlabeled,
            "classes": [str(name) for name in table.labels.classes],
            "n_folds": self.plan.n_folds,
            "n_repeats": self.plan.repeats,
            "seed": self.plan.seed,
            "methods": [method.to_dict() for method in self.methods],
            "curves": self.curves,
            "drift": None if self.drift is None else self.drift.to_dict(),
            "failures": self.failures,
            "left_out": self.left_out,
            "notes": self.notes,
            "seconds": self.records.seconds,
        }


def failed_fit(unit_name: str, number: int) -> str:
    """Return which fit failed, in words: "ridge failed in split 3"."""
    stage, _, name = unit_name.partition("/")
    if stage in (ALL, CROSS_FITTED):
        return f"{name} failed in split {number}"
    axis, _, size = stage.partition("=")
    rows = "unlabelled" if axis == N_UNLABELED else "labelled"
    return f"{name} failed in the learning curve, with {size} {rows} rows in split {number}"


def _needed_scores(part: Predictions) -> Floats:
    if part.scores is None:
        raise ValueError("The baselines must have predict_proba or decision_function.")
    return part.scores
