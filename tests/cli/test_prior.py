"""``primum fit --prior``: the shares of the classes among the unlabelled rows."""

import re

import numpy as np
import pandas as pd
import pytest

from primum import ICLSClassifier
from primum.models import load_model


@pytest.fixture(name="call")
def call_with_numbers(call_without_preparation):
    return call_without_preparation


NAMES = ["a", "b", "c"]


@pytest.fixture(name="fit")
def fit_to_files(call, files):
    def fit(*arguments, data="data.csv", more=("--unlabeled", "more.csv")):
        return call("fit", data, "--target", "label", *more, *arguments, "--out", "m.skops")

    return fit


def in_memory(rows, **parameters):
    labels = rows["label"].where(rows.index < 10, None)
    return ICLSClassifier(**parameters).fit(rows[NAMES], labels)


@pytest.mark.parametrize(
    ("arguments", "prior", "words"),
    [
        (("--prior", "yes=0.3"), {"yes": 0.3}, "shares of the classes: 'yes' 0.3."),
        (("--prior", "yes=0.2:0.4"), {"yes": (0.2, 0.4)}, "classes: 'yes' 0.2 to 0.4."),
        (
            ("--prior", "yes=.3:.3", "--prior", "no=0.7"),
            {"yes": 0.3, "no": 0.7},
            "classes: 'no' 0.7, 'yes' 0.3.",
        ),
        (("--prior", "no=0:1"), {"no": (0.0, 1.0)}, "classes: no bounds."),
    ],
)
def test_shares(fit, files, rows, arguments, prior, words):
    answer = fit(*arguments)
    assert answer.exit_code == 0, answer.output
    assert words in answer.stdout
    expected = in_memory(rows, prior=prior)
    model = load_model(files / "m.skops").estimator
    assert model.prior == prior
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-7)
    np.testing.assert_array_equal(model.prior_, expected.prior_)
    assert model.certificate_.prior.classes == ("no", "yes")
    assert re.search(f"among the unlabelled rows: 'no' .*'yes' {share(expected)}", answer.stdout)


def share(clf):
    return f"{clf.soft_labels_.mean():.3g}"


def test_confidence(fit, files, rows):
    answer = fit("--prior", "confidence", "--prior-level", "0.5")
    assert answer.exit_code == 0, answer.output
    model = load_model(files / "m.skops").estimator
    expected = in_memory(rows, prior="confidence", prior_level=0.5).prior_
    np.testing.assert_array_equal(model.prior_, expected)
    low, high = expected[0]
    assert f"computed from the labelled rows: 'no' {low:.4g} to {high:.4g}, 'y" in answer.stdout


def test_rows_outside_memory(fit, files, rows):
    assert fit("--prior", "yes=0.3", more=("--unlabeled", "more")).exit_code == 0
    model = load_model(files / "m.skops").estimator
    assert float(model.certificate_.prior.shares) == pytest.approx(0.3, abs=1e-9)
    np.testing.assert_allclose(model.coef_, in_memory(rows, prior={"yes": 0.3}).coef_, atol=1e-6)


def test_classes_are_written_as_in_the_table(call, rows, tmp_path):
    """Integers are integers, and names may contain the separator."""
    for names, written in (([1, 2], "2"), (["x=1", "x=2"], "x=2")):
        labels = pd.Series(np.where(rows["label"] == "yes", names[1], names[0]), dtype=object)
        rows.assign(label=labels.where(rows.index < 20, None)).to_csv("new.csv", index=False)
        fit = ("fit", "new.csv", "--target", "label", "--prior", f"{written}=0.25")
        answer = call(*fit, "--out", "m.skops")
        assert answer.exit_code == 0, answer.output
        assert load_model(tmp_path / "m.skops").estimator.prior == {names[1]: 0.25}


def test_no_unlabelled_rows(call, rows):
    rows[:20].to_csv("labelled.csv", index=False)
    fit = ("fit", "labelled.csv", "--target", "label", "--prior", "yes=0.3", "--out", "m.skops")
    answer = call(*fit)
    assert answer.exit_code == 0, answer.output
    assert "'yes' 0.3. It has no effect without unlabelled rows." in answer.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("yes",), 2, "'yes' is not a class and its share: write for example yes=0.3"),
        (("yes=",), 2, "'yes=' is not a class and its share"),
        (("=0.3",), 2, "'=0.3' is not a class and its share"),
        (("yes=a few",), 2, "'yes=a few' is not a class and its share"),
        (("yes=0.2:",), 2, "'yes=0.2:' is not a class and its share"),
        (("yes=0.2:0.3:0.4",), 2, "'yes=0.2:0.3:0.4' is not a class and its share"),
        (("yes=30",), 1, "prior bounds the share of class 'yes' by 30 and 30: pass a lower and an"),
        (("yes=nan",), 1, "prior bounds the share of class 'yes' by nan and nan"),
        (("yes=0.4:0.2",), 1, "prior bounds the share of class 'yes' by 0.4 and 0.2"),
        (("yes=0.2", "yes=0.4"), 2, "the class 'yes' is named twice: bounds are written as yes="),
        (("confidence", "yes=0.4"), 2, "'confidence' bounds the shares of all classes: pass it al"),
        (("maybe=0.4",), 1, "names the class 'maybe', but the classes are ['no', 'yes']: use"),
        (("yes=0.6", "no=0.6"), 1, "The shares of prior add up to 1.2"),
        (("yes=0.1:0.2", "no=0:0.5"), 1, "allow sums between 0.1 and 0.7"),
    ],
    ids=str,
)
def test_bad_shares(fit, refused, tmp_path, arguments, code, words):
    refused(fit(*(part for share in arguments for part in ("--prior", share))), code, words)
    assert not (tmp_path / "m.skops").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--prior-level", "0.9"), "'--prior-level': has an effect only with --prior confidence."),
        (("--prior-level", "0.9", "--prior", "yes=0.3"), "has an effect only with --prior con"),
        (("--prior-level", "95", "--prior", "confidence"), "must be above 0 and below 1, got 95."),
        (("--prior", "yes=0.3", "--method", "usm"), "--prior requires --method icls."),
        (("--prior", "confidence", "--method", "supervised"), "--prior requires --method icls."),
    ],
    ids=str,
)
def test_options_that_do_not_fit_together(fit, refused, arguments, words):
    refused(fit(*arguments), 2, words)
