"""The judgement of a comparison: from predictions of held-out rows to losses and verdicts.

The baseline is the average of the tuned baselines. A method that judged itself was cross-fitted in
splits of its own: it is compared with the baseline in these, and its loss is that of the baseline
plus the difference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from primum.comparison.words import BASELINE, TWIN, MethodResult, phrase
from primum.judging.difference import Difference, Disagreement, Posterior, holm
from primum.judging.held_out import HeldOut
from primum.judging.losses import Loss, Measure, Predictions
from primum.judging.words import Alert, Verdict, verdict_of, withheld


@dataclass(frozen=True)
class HeldOutModel:
    """Predictions of a model for held-out rows, one split after the other, and of others there.

    Attributes
    ----------
    judge : HeldOut
        The judge of its splits.
    predictions : Predictions
        Its predictions for the rows that they hold out.
    seconds : float
        Mean time of a fit and its predictions.
    n_splits : int
        Number of fits.
    uses_unlabeled : bool
        Whether it is fitted to the unlabelled rows.
    n_changed : (float, int)
        For how many of some unlabelled rows it changes the class of the baseline, and their number.
    baseline : Predictions or None
        Those of the baseline in these splits, if they are splits of its own.
    twin : Predictions or None
        Those of the model without the unlabelled rows.
    n_changed_by_rows : (float, int)
        For how many of some unlabelled rows their use changes its class, and their number.
    twin_difference : (Difference, Disagreement or None) or None
        How it differs from that model, if it found out itself.
    """

    judge: HeldOut
    predictions: Predictions
    seconds: float
    n_splits: int
    uses_unlabeled: bool = False
    n_changed: tuple[float, int] = (0, 0)
    baseline: Predictions | None = None
    twin: Predictions | None = None
    n_changed_by_rows: tuple[float, int] = (0, 0)
    twin_difference: tuple[Difference, Disagreement | None] | None = None


def judge_methods(
    baseline: HeldOutModel,
    parts: Mapping[str, HeldOutModel],
    methods: Mapping[str, HeldOutModel],
    loss: Loss,
    measure: Measure,
    *,
    equivalence: float,
    level: float,
    alerts: Sequence[Alert] = (),
    numeric: bool = False,
    baseline_words: str,
    stack: str,
) -> list[MethodResult]:
    """Return the results of the baseline, of its parts, and of the methods, each by its name.

    ``level`` is the probability that an answer needs, before it is adjusted for the number of
    methods; ``measure`` is how the loss is shown. For numbers, ``equivalence`` is a share of the
    loss of the baseline. ``baseline_words`` and ``stack`` are names in sentences.
    """
    judge, base = baseline.judge, baseline.predictions
    base_loss = judge.mean_loss(base, loss)
    size = judge.size(base, loss) if numeric else None
    each = 1 - (1 - level) / max(len(methods), 1)

    def verdict(posterior: Posterior, name: str, other: str, shown: Measure) -> Verdict:
        method, sample = phrase(name, stack), judge.sample
        found = verdict_of(
            posterior, method=method, baseline=other, measure=shown, level=each, sample=sample
        )
        return withheld(found, alerts)

    def posterior_of(difference: Difference, disagreement: Disagreement | None) -> Posterior:
        return Posterior(difference, disagreement, equivalence=equivalence, baseline_loss=size)

    # Differences from the baseline, in the splits in which both were fitted.
    compared: dict[str, tuple[Difference, Disagreement | None]] = {}
    for name, model in methods.items():
        others = base if model.baseline is None else model.baseline
        difference = model.judge.difference(model.predictions, others, loss)
        disagreement = None
        if loss.scoring == "accuracy":
            disagreement = model.judge.disagreement(model.predictions, others, *model.n_changed)
        compared[name] = difference, disagreement
    p_values = holm([difference.p_value for difference, _ in compared.values()])

    results = [MethodResult(BASELINE, False, base_loss, baseline.seconds, baseline.n_splits)]
    for name, part in parts.items():
        value = judge.mean_loss(part.predictions, loss)
        results.append(MethodResult(name, part.uses_unlabeled, value, part.seconds, part.n_splits))
    for (name, model), p_value in zip(methods.items(), p_values, strict=True):
        difference, disagreement = compared[name]
        if model.baseline is None:
            value = judge.mean_loss(model.predictions, loss)
        else:
            value = base_loss + difference.mean
            value = value if loss.of_rows is None else max(value, 0.0)

        against = verdict(posterior_of(difference, disagreement), name, baseline_words, measure)

        # What the unlabelled rows contribute: in the error, if the loss needs scores that one of
        # the two models lacks.
        twin = None
        if model.twin_difference is not None:
            twin = verdict(posterior_of(*model.twin_difference), name, TWIN, loss.measure)
        elif model.twin is not None:
            both = (model.predictions, model.twin)
            of_predictions = numeric or (loss.of_rows is not None and not loss.needs_scores)
            can_be_judged = of_predictions or all(one.scores is not None for one in both)
            twin_loss = loss if can_be_judged else judge.loss_of("accuracy")
            posterior = judge.posterior(*both, twin_loss, *model.n_changed_by_rows)
            twin = verdict(posterior, name, TWIN, twin_loss.measure)
        results.append(
            MethodResult(
                name=name,
                uses_unlabeled=model.uses_unlabeled,
                loss=value,
                seconds=model.seconds,
                n_splits=model.n_splits,
                verdict=against,
                p_value=float(p_value),
                twin=twin,
                observed_change=value - base_loss,  # of the losses that are shown
                twin_measure=None if twin is None else twin.measure,
            )
        )
    return results
