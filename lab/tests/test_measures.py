import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from primum.comparison.plan import rng_for
from primum_lab import error, harm, squared_hinge, squared_loss
from primum_lab.paper import agreement, compare_with_published


def test_error_and_loss():
    scores, y = np.array([0.2, 0.7, 0.5, 2.0]), np.array([0, 0, 1, 1])
    assert error(scores, y) == 0.25  # a score of 1/2 is class 1
    assert squared_loss(scores, y) == pytest.approx((0.04 + 0.49 + 0.25 + 1.0) / 4)


SCORES_OF_THREE = np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [-0.5, 0.0, 1.5], [0.1, 0.7, 0.2]])
LABELS_OF_THREE = np.array([0, 1, 2, 2])


def test_error_of_three_classes():
    """The second row is a tie, which goes to the first of its two classes; the last is wrong."""
    assert error(SCORES_OF_THREE, LABELS_OF_THREE) == 0.5
    assert error(SCORES_OF_THREE, np.array([0, 0, 2, 1])) == 0.0


def test_losses_of_three_classes_are_sums_over_the_classes():
    squares = [0.25 + 0.09 + 0.04, 0.16 + 0.36 + 0.04, 0.25 + 0.0 + 0.25, 0.01 + 0.49 + 0.64]
    assert squared_loss(SCORES_OF_THREE, LABELS_OF_THREE) == pytest.approx(sum(squares) / 4)
    # Twice the score of another class, and twice what is missing to 1 for the class itself; beyond
    # the margin, as for the scores -0.5, 0 and 1.5 of the third row, there is no loss.
    hinges = [1.0 + 0.36 + 0.16, 0.64 + 1.44 + 0.16, 0.0, 0.04 + 1.96 + 2.56]
    assert squared_hinge(SCORES_OF_THREE, LABELS_OF_THREE) == pytest.approx(sum(hinges) / 4)


@pytest.mark.parametrize("loss", [squared_loss, squared_hinge])
def test_two_columns_give_twice_the_loss_of_one(rng, loss):
    scores, y = rng.normal(0.5, 1.0, 50), rng.integers(0, 2, 50)
    columns = np.column_stack([1.0 - scores, scores])
    assert loss(columns, y) == pytest.approx(2 * loss(scores, y))
    assert error(columns, y) == error(scores, y)


def test_squared_loss_of_classes_that_are_certain(rng):
    y = rng.integers(0, 4, 60)
    assert squared_loss(np.eye(4)[y], y) == 0.0
    assert squared_loss(np.eye(4)[(y + 1) % 4], y) == 2.0


def test_harm_counts_and_tests(rng):
    twin = rng.uniform(0.2, 0.4, 50)
    worse = harm(twin + 0.05, twin)
    assert (worse.times_worse, worse.share_worse) == (50, 1.0)
    assert worse.mean_harm == pytest.approx(0.05)
    assert worse.worst_harm == pytest.approx(0.05)
    assert worse.significantly_worse
    better = harm(twin - 0.05, twin)
    assert (better.times_worse, better.mean_harm, better.worst_harm) == (0, 0.0, 0.0)
    assert better.p_value < 0.01
    assert not better.significantly_worse
    mixed = twin + rng.normal(scale=0.1, size=50)
    assert harm(mixed, twin).p_value == pytest.approx(wilcoxon(mixed - twin).pvalue)


def test_no_difference_is_no_harm():
    same = harm(np.ones(5), np.ones(5))
    assert same.p_value == 1.0
    assert not same.significantly_worse


def test_harm_refuses_arrays_that_do_not_match():
    with pytest.raises(ValueError, match=r"one value per repeat .* got shapes \(5,\) and \(4,\)"):
        harm(np.ones(5), np.ones(4))
    with pytest.raises(ValueError, match=r"harm\(results, 'ICLS'\) needs the DataFrame that"):
        harm(np.ones(5), "ICLS")


def test_seeds_depend_on_their_purpose_only():
    first = rng_for(0, "cross-validation", "wdbc", 3).integers(2**60)
    rng_for(0, "cross-validation", "wdbc", 2).integers(2**60)
    assert rng_for(0, "cross-validation", "wdbc", 3).integers(2**60) == first
    others = [
        (1, "cross-validation", "wdbc", 3),
        (0, "x", "wdbc", 3),
        (0, "cross-validation", "w", 3),
    ]
    assert first not in [rng_for(*purpose).integers(2**60) for purpose in others]


def test_published_curves_are_compared_at_the_same_number_of_labels():
    """Transfusion's published curves had 114 labelled rows, ours have 20."""
    cell = {"n_unlabeled": 8, "classifier": "ICLS", "measure": "error", "mean": 0.3}
    summary = pd.DataFrame(
        {"dataset": name, "n_labeled": 20, **cell, "sd_over_repeats": 0.05, "repeats": 100}
        for name in ("haberman", "transfusion")
    )
    compared = compare_with_published(summary, "curves").set_index("dataset")
    assert abs(compared.loc["haberman", "z"]) < 4
    assert np.isnan(compared.loc["transfusion", "z"])
    assert np.isnan(compared.loc["transfusion", "published_mean"])


def test_a_handful_of_repeats_is_not_judged():
    cell = {"dataset": "wdbc", "classifier": "ICLS", "measure": "error", "mean": 0.3}
    few, enough = (
        compare_with_published(
            pd.DataFrame([{**cell, "sd_over_repeats": 0.05, "repeats": repeats}]), "table2"
        )
        for repeats in (19, 20)
    )
    assert few["z"].isna().all()
    assert few["published_mean"].notna().all()
    assert agreement(few, "error").sentence() == (
        "error: 19 repeats are too few to assess the agreement with the published values; 20 are "
        "needed."
    )
    assert not agreement(few, "error").faithful
    assert agreement(enough, "error").sentence().startswith("error: 1 cells have a published value")
    assert agreement(enough, "loss_test").sentence() == "loss_test: no cell has a published value."
