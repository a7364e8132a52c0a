"""The recommended model, wherever a comparison says or saves it, and which stacks are safe."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import primum
from primum import LeastSquaresClassifier, SafeClassifier, SafeRegressor
from primum.comparison.settle import settled_in
from primum.judging.words import Alert

pytestmark = pytest.mark.usefixtures("quick_drift")

BASELINE = [("line", LeastSquaresClassifier(alpha=0.1))]
SAFE = SafeClassifier(["spreading"], cv=3, n_repeats=1)
NEAR = ("near", KNeighborsClassifier(1), False)
LINEAR = ("logistic", LogisticRegression(), False)
QUICK = {"baseline": BASELINE, "n_repeats": 1, "curves": False, "verbose": False}


def rings(noise, n_rows=324, n_labeled=24, seed=0):
    """Return rows on two rings, which no line separates, and labels of the first of them."""
    rng = np.random.default_rng(seed)
    truth, angle = np.arange(n_rows) % 2, rng.uniform(0, 2 * np.pi, n_rows)
    X = (1 + 2 * truth)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += rng.normal(scale=noise, size=X.shape)
    return X, np.where(np.arange(n_rows) < n_labeled, truth, -1)


@pytest.fixture(scope="module")
def unproven():
    X, y = rings(0.9)
    return primum.compare(X, y, methods=[("safe stack", SAFE), LINEAR], **QUICK)


def test_a_probable_gain_is_followed_by_everything_that_follows_the_recommendation(unproven):
    verdict = next(m.verdict for m in unproven.methods if m.name == "safe stack")
    assert verdict.answer == "cannot_tell"
    assert verdict.probabilities.help > verdict.probabilities.harm
    assert unproven.recommended == "safe stack"
    assert unproven.headline.answer.startswith("Use the safe stack. It is ")
    assert ", but your labels do not prove it; about " in unproven.headline.answer
    assert unproven.headline.answer.endswith(" more should decide it for your rows.")
    assert unproven.headline.kind == ""
    assert unproven.fit_recommended() is unproven.fit("safe stack")
    assert unproven.model_card.name == "safe stack"
    assert unproven.to_dict()["recommended"] == "safe stack"
    assert unproven.to_dict()["headline"]["answer"] == unproven.headline.answer
    assert unproven.headline.answer in unproven.to_markdown()
    settled = unproven.settled
    assert settled.deployed == "safe stack"
    assert settled.deploy == "Use the safe stack for now, as cross-validation recommends."
    assert unproven.answer.recommended == "safe stack"


def test_labels_so_far_count_against_a_recommendation_that_is_not_proven(unproven):
    """As many labelled rows as the stack won in cross-validation, and one more, turn it."""
    asked = unproven.settlement
    question = asked.questions[0]
    lead = int(np.ceil(question.wins[0] - question.wins[1]))
    wrong = [place for place in range(len(asked.rows)) if question.differs[place]][: lead + 1]
    labels = {asked.keys[place]: asked.classes[question.codes[place, 0]] for place in wrong}
    for n_labels, deployed in ((max(lead - 1, 0), "safe stack"), (lead + 1, "baseline")):
        some = dict(list(labels.items())[:n_labels])
        settling = settled_in(unproven, asked.with_labels(some))
        assert settling.answer == "open"
        assert settling.deployed == deployed
    assert settling.deploy == "Use the baseline for now, the cautious choice."


def test_where_claims_are_withheld_the_baseline_is_recommended(unproven):
    doubtful = replace(unproven, data_alerts=[Alert("groups", "Who is who?", withholds=True)])
    assert doubtful.recommended == "baseline"
    assert doubtful.model_card.name == "baseline"
    assert doubtful.headline.answer.startswith("Use the baseline (line); whether anything is")


def safe_names(methods, X=None, y=None, **options):
    X_, y_ = rings(0.5) if X is None else (X, y)
    plan = primum.compare(X_, y_, methods=methods, **{**QUICK, **options}).plan
    return set(plan.safe)


def test_a_stack_is_safe_if_it_is_shrunk_enough_towards_the_baseline_of_the_comparison():
    small = {"cv": 3, "n_repeats": 1}
    methods = [
        ("stack", SafeClassifier(["spreading"], **small)),
        ("piped", make_pipeline(StandardScaler(), SafeClassifier(["spreading"], **small))),
        ("bold", SafeClassifier(["spreading"], shrinkage=0.5, **small)),
        ("careful", SafeClassifier(["spreading"], shrinkage=10.0, **small)),
        ("elsewhere", SafeClassifier(["spreading"], baseline="ridge", **small)),
        NEAR,
    ]
    assert safe_names(methods) == {"stack", "piped", "careful"}
    tuned = [("logistic", LogisticRegression())]
    assert "stack" in safe_names([methods[0]], baseline=tuned, nested=True, cv=3)


def test_a_stack_of_numbers_is_safe_too():
    X, _ = rings(0.5, n_rows=90)
    y = np.where(np.arange(90) < 40, X[:, 0] ** 2 + X[:, 1], np.nan)
    small = SafeRegressor(["forest"], cv=3, n_repeats=1)
    options = {"target_kind": "numbers", "baseline": "default"}
    assert safe_names([("stack", small)], X, y, **options) == {"stack"}
    bold = SafeRegressor(["forest"], cv=3, n_repeats=1, shrinkage=0.1)
    assert safe_names([("stack", bold)], X, y, **options) == set()


class Unlicensed(LogisticRegression):
    def fit(self, X, y):
        raise RuntimeError("no licence")


def test_where_one_of_several_baselines_fails_it_is_said_why_nothing_is_compared():
    X, y = rings(0.5)
    both = [("mine", Unlicensed()), *BASELINE]
    with pytest.raises(
        ValueError, match=r"The baseline mine failed in split 0: .*no licence"
    ) as why:
        primum.compare(X, y, methods=[LINEAR], **{**QUICK, "baseline": both})
    assert str(why.value).endswith(
        ": there is nothing to compare with, because the baseline is the average of mine and line. "
        "Correct mine, or leave it out of the baselines."
    )
    with pytest.raises(ValueError, match=r"there is nothing to compare with\.$"):
        primum.compare(X, y, methods=[LINEAR], **{**QUICK, "baseline": both[:1]})
