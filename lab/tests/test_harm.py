"""Harm of a method in the results of an experiment."""

import numpy as np
import pandas as pd
import pytest

from primum_lab import harm


def results(dataset="churn", at=(0, 1), n_unlabeled=(90, 90)):
    """Two splits in each of 30 repeats; the method is worse by 0.1 in the first ten repeats."""
    rows = [
        {
            "dataset": dataset,
            "repeat": repeat,
            "at": position,
            "n_labeled": 10,
            "n_unlabeled": size,
            "classifier": name,
            "error": 0.2 + 0.01 * repeat + (change if name == "ICLS" else 0.0),
            "loss_labeled": 0.1,
            "loss_train": 0.1,
            "loss_test": 0.3 - (0.1 if name == "ICLS" else 0.0),
            "seconds": 0.0,
            "role": {"Plain": "twin", "ICLS": "semi-supervised"}[name],
        }
        for repeat, change in enumerate(np.where(np.arange(30) < 10, 0.1, -0.02))
        for position, size in zip(at, n_unlabeled, strict=True)
        for name in ("ICLS", "Plain")
    ]
    return pd.DataFrame(rows)


def test_a_method_is_compared_with_the_twin_repeat_by_repeat():
    found = harm(results(), "ICLS")
    assert found.times_worse == 10
    assert found.mean_difference == pytest.approx((10 * 0.1 - 20 * 0.02) / 30)
    assert found.worst_harm == pytest.approx(0.1)
    expected = harm(np.where(np.arange(30) < 10, 0.3, 0.18), np.full(30, 0.2))
    assert found.share_worse == expected.share_worse
    assert harm(results(), "ICLS", measure="loss_test").times_worse == 0


def test_failed_repeats_are_left_out_in_pairs():
    frame = results()
    frame.loc[(frame["repeat"] == 0) & (frame["classifier"] == "Plain"), "error"] = np.nan
    assert harm(frame, "ICLS").share_worse == pytest.approx(9 / 29)


def test_one_cell_at_a_time():
    both = pd.concat([results("churn"), results("loans")])
    with pytest.raises(ValueError, match=r"several data sets.* 'churn', 'loans': select one"):
        harm(both, "ICLS")
    assert harm(both[both["dataset"] == "loans"], "ICLS").times_worse == 10
    curve = results(at=(1, 2), n_unlabeled=(1, 2))
    with pytest.raises(ValueError, match="several numbers of unlabelled rows, 1, 2: select one"):
        harm(curve, "ICLS")
    assert harm(curve[curve["n_unlabeled"] == 2], "ICLS").times_worse == 10


@pytest.mark.parametrize(
    ("frame", "arguments", "sentence"),
    [
        (results(), {"method": "icls"}, "must be one of ICLS, Plain, got 'icls'"),
        (results(), {"method": "Plain"}, "'Plain' is the supervised twin itself"),
        (results(), {"measure": "accuracy"}, "measure must be one of error, .*, got 'accuracy'"),
        (results().assign(role="oracle"), {}, "no supervised twin"),
        (results().assign(loss_test=np.nan), {"measure": "loss_test"}, "no repeat in which both"),
    ],
)
def test_what_cannot_be_compared(frame, arguments, sentence):
    method = arguments.pop("method", "ICLS")
    with pytest.raises(ValueError, match=sentence):
        harm(frame, method, **arguments)
