"""Held-out predictions of numbers: known losses, units, the delta method, and what is claimed."""

import numpy as np
import pytest
from sklearn.metrics import (
    mean_absolute_error,
    median_absolute_error,
    r2_score,
    root_mean_squared_error,
    root_mean_squared_log_error,
)

from primum.judging.difference import EQUIVALENT_SHARE
from primum.judging.held_out import HeldOut
from primum.judging.losses import RMSE, Predictions, read_number_scoring
from primum.judging.words import verdict_of
from primum.reading.folds import Fold

LOSSES = {
    RMSE: root_mean_squared_error,
    "neg_mean_absolute_error": mean_absolute_error,
    "neg_root_mean_squared_log_error": root_mean_squared_log_error,
    "r2": lambda y, p, sample_weight=None: 1 - r2_score(y, p, sample_weight=sample_weight),
    "neg_median_absolute_error": median_absolute_error,
}


def judge(n_rows=60, seed=0, **options):
    rng = np.random.default_rng(seed)
    truth = rng.gamma(2.0, 10.0, n_rows)
    parts = np.array_split(rng.permutation(n_rows), 5)
    folds = [Fold(np.setdiff1d(np.arange(n_rows), part), part) for part in parts]
    return HeldOut(folds, truth, None, **options), rng


def predicted(held_out, rng, noise, truth=None):
    truth = held_out.truth if truth is None else truth
    return held_out.predicted_numbers(truth[held_out.rows] + noise * rng.normal(size=len(truth)))


@pytest.mark.parametrize("scoring", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_those_of_scikit_learn(scoring, weighted):
    held_out, rng = judge()
    own = predicted(held_out, rng, 3.0)
    own = Predictions(own.truth, np.maximum(own.predicted, 0.1), None)
    weight = rng.uniform(0.5, 2.0, 60) if weighted else None
    found = read_number_scoring(scoring, own.truth).of_split(own, weight)
    assert found == pytest.approx(LOSSES[scoring](own.truth, own.predicted, sample_weight=weight))


@pytest.mark.parametrize("scoring", [RMSE, "r2"])
def test_the_spread_of_linearised_losses_is_that_of_the_jackknife(scoring):
    n_rows = 1500
    held_out, rng = judge(n_rows)
    own = predicted(held_out, rng, 3.0)
    loss, rows = read_number_scoring(scoring, own.truth), np.arange(n_rows)
    without = np.array([loss.of_split(own.take(np.delete(rows, row))) for row in rows])
    assert loss.of_rows(own).std() == pytest.approx((n_rows - 1) * without.std(), rel=0.02)


@pytest.mark.parametrize("scoring", [*LOSSES, "neg_mean_squared_error"])
def test_a_verdict_does_not_depend_on_the_unit_of_the_target(scoring):
    answers = []
    for unit in (1.0, 1e-7, 1e9):
        held_out, rng = judge(groups=np.repeat(np.arange(20), 3))
        if scoring == "neg_root_mean_squared_log_error" and unit != 1.0:
            continue
        scaled = HeldOut(held_out.folds, unit * held_out.truth, None, groups=held_out.groups)
        pair = [
            scaled.predicted_numbers(unit * predicted(held_out, rng, noise).predicted)
            for noise in (2.0, 3.0)
        ]
        posterior = scaled.posterior(*pair, scaled.loss_of(scoring))
        answers.append([*posterior.probabilities.to_dict().values()])
    assert np.allclose(answers, answers[0], atol=1e-9)


def test_equal_models_of_numbers_make_no_difference_in_any_unit():
    for unit in (1e-9, 1.0, 1e9):
        held_out, rng = judge(400)
        scaled = HeldOut(held_out.folds, unit * held_out.truth, None)
        own = scaled.predicted_numbers(unit * predicted(held_out, rng, 3.0).predicted)
        verdict = verdict_of(scaled.posterior(own, own, scaled.loss_of(RMSE)))
        assert verdict.answer == "no_difference"
        assert verdict.change == pytest.approx(0.0, abs=unit * 1e-3)


def test_the_limit_is_a_share_of_the_loss_of_the_baseline_and_is_said():
    held_out, _ = judge(2000)
    own, others = (predicted(held_out, np.random.default_rng(1), noise) for noise in (3.0, 3.003))
    loss = held_out.loss_of(RMSE, unit="EUR")
    posterior = held_out.posterior(own, others, loss)
    assert posterior.equivalence == pytest.approx(
        EQUIVALENT_SHARE * root_mean_squared_error(others.truth, others.predicted)
    )
    verdict = verdict_of(posterior, measure=loss.measure, sample=held_out.sample)
    assert "differ in RMSE by less than 2% (0.060 EUR)" in verdict.text


def test_better_numbers_are_found_better_and_rounding_is_not():
    held_out, rng = judge(300)
    own, others = (predicted(held_out, rng, noise) for noise in (2.0, 3.0))
    loss = held_out.loss_of(RMSE)
    assert verdict_of(held_out.posterior(own, others, loss)).answer == "help"
    assert verdict_of(held_out.posterior(others, own, loss)).answer == "harm"
    near, nearer = (predicted(held_out, rng, noise) for noise in (1e-13, 1e-14))
    assert verdict_of(held_out.posterior(nearer, near, loss)).answer == "no_difference"


@pytest.mark.parametrize(
    ("scoring", "truth", "message"),
    [
        ("neg_root_mean_squared_log_error", -1.0, "needs targets that are not negative, but one"),
        ("accuracy", 1.0, "is for classes: choose one for numeric targets"),
        ("roc_auc", 1.0, "is for classes: choose one for numeric targets"),
        ("r2", 0.0, "is undefined for the 60 labelled rows, whose targets are from 0 to 0"),
        ("neg_rmse", 1.0, "is not a scorer of scikit-learn"),
    ],
)
def test_scorings_that_cannot_be_used(scoring, truth, message):
    held_out, _ = judge()
    with pytest.raises(ValueError, match=message):
        HeldOut(held_out.folds, truth * held_out.truth, None).undefined_folds(scoring)
