"""The card of the recommended model: what it does with every class, and when it says beware."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import primum
from primum import SafeClassifier, SelfLearningClassifier
from primum.comparison.card import card_of, guessing_loss
from primum.judging.losses import read_scoring

pytestmark = pytest.mark.usefixtures("quick_drift")

SAFE = SafeClassifier(["spreading"], baseline=["logistic"], cv=4, n_repeats=2)
QUICK = {
    "methods": [("self-learning", SelfLearningClassifier())],
    "baseline": [("logistic", LogisticRegression())],
    "n_repeats": 2,
    "curves": False,
    "verbose": False,
}
N_LABELED = 60


def rows(shift, shares=(0.8, 0.2), seed=0):
    """Return rows whose first feature tells the classes apart, by ``shift``, and the labels."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(shares)), (np.array(shares) * N_LABELED).round().astype(int))
    y = np.r_[rng.permutation(truth), np.full(80, -1)]
    X = rng.normal(size=(len(y), 2))
    X[:, 0] += shift * np.r_[y[:N_LABELED], rng.integers(0, len(shares), 80)]
    names = np.array(["ok", "late", "lost"], dtype=object)
    return X, np.where(y < 0, None, names[y])


@pytest.fixture(scope="module")
def constant():
    """Return a comparison whose baseline predicts the frequent class, always."""
    X, y = rows(0.4)
    return primum.compare(X, y, **{**QUICK, "baseline": [("flat", LogisticRegression(C=1e-4))]})


@pytest.fixture(scope="module")
def clear():
    return primum.compare(*rows(9.0), **QUICK)


def test_a_constant_classifier_is_called_one_in_the_verdict(constant):
    card = constant.model_card
    late, ok = card.classes
    assert (late.name, late.n_labeled, late.recall, late.precision) == ("late", 12, 0.0, None)
    assert (ok.recall, ok.precision) == (1.0, pytest.approx(0.8))
    assert card.loss == card.guessing == pytest.approx(0.2)
    assert card.gain == pytest.approx(0)
    guessing, neglected = card.alerts
    assert (guessing.kind, neglected.kind) == ("guessing", "neglected class")
    assert "is no better than guessing: error 20.0% (90% interval " in guessing.text
    assert "); guessing: 20.0%." in guessing.text
    assert neglected.text.startswith(
        "On held-out rows, the recommended model never predicts 'late' (12 labelled). "
    )
    assert "another scoring, such as balanced_accuracy or roc_auc" in neglected.text
    assert "label more rows of that class" in neglected.text
    assert guessing.text in constant.verdict
    assert neglected.text in constant.verdict


def test_a_good_ranking_suggests_another_threshold(constant):
    card = constant.model_card
    ranking = replace(card, roc_auc=0.64).alerts[1].text
    assert "(area under the ROC curve 0.64)" in ranking
    assert "say what errors cost (cost= of compare, --cost)" in ranking
    assert "say what errors cost" not in replace(card, roc_auc=0.5).alerts[1].text


def test_a_model_that_ranks_well_is_not_said_to_know_little(constant):
    late, ok = constant.model_card.classes
    card = replace(constant.model_card, classes=(replace(late, recall=0.1), ok))
    (ranking,) = replace(card, roc_auc=0.75).alerts
    assert "Yet it ranks rows well (area under the ROC curve 0.75)" in ranking.text
    (neither,) = replace(card, roc_auc=0.5).alerts
    assert "Either the columns say little about the class" in neither.text
    assert "hardly any row is more likely than not to be of the rarer class" in ranking.text
    often = replace(card, roc_auc=0.75, confusion=((6.0, 6.0), (5.0, 43.0))).alerts[0].text
    assert "hardly any" not in often
    assert often.endswith("more labels are needed to say whether it is better than guessing.")
    ruled = replace(card, roc_auc=0.75, decides=True).alerts[0].text
    assert "say what errors cost" not in ruled
    assert "label more rows, above all of 'late', so that its decision rule becomes" in ruled


def test_classes_that_are_hardly_found_are_named(constant):
    card = constant.model_card
    late, ok = card.classes
    hardly = replace(
        card, classes=(replace(late, recall=0.04), ok), confusion=((0.5, 11.5), (1.0, 47.0))
    )
    assert "finds less than 5% of the rows of class 'late' (12 labelled)." in hardly.alerts[1].text
    found = replace(card, classes=(replace(late, recall=0.06), ok))
    assert [alert.kind for alert in found.alerts] == ["guessing"]
    assert "more labels are needed" in found.alerts[0].text


def test_few_errors_are_no_certainty_and_a_good_model_has_no_alerts(clear):
    card = clear.model_card
    assert card.loss == 0
    assert card.interval[0] == 0
    assert 0.03 < card.interval[1] < 0.2
    assert card.beats_guessing
    assert card.alerts == []
    assert card.n_methods == 2
    assert card.level == pytest.approx(0.9)


def test_a_gain_that_does_not_matter_hardly_beats_guessing(clear):
    card = clear.model_card
    assert not replace(card, guessing=0.009, interval=(0, 0.005)).beats_guessing
    hardly = replace(card, loss=0.1, interval=(0.05, 0.2), guessing=0.2)
    assert "hardly beats guessing" in hardly.alerts[0].text
    assert replace(hardly, guessing=0.21).beats_guessing


def test_the_confusion_matrix_counts_every_held_out_row_once(constant):
    found, labels = constant.records.held_out("baseline"), constant.plan.table.labels
    matrix = np.array(constant.model_card.confusion)
    np.testing.assert_allclose(matrix.sum(axis=1), np.bincount(labels.codes))
    expected = np.zeros((2, 2))
    for split in found.splits:
        np.add.at(expected, (split.truth, split.predicted), 0.5)  # two repeats
    np.testing.assert_allclose(matrix, expected)
    mean = np.mean([np.mean(split.truth != split.predicted) for split in found.splits])
    assert 1 - matrix.trace() / matrix.sum() == pytest.approx(mean) == constant.model_card.loss


def test_unlabelled_rows_are_counted_by_the_fitted_model(clear):
    card, unlabeled = clear.model_card, clear.plan.table.labels.unlabeled
    predicted = clear.fit_recommended().predict(clear.plan.table.X[unlabeled])
    assert card.n_assigned == len(unlabeled) == 80
    for one in card.classes:
        assert one.n_unlabeled == np.sum(predicted == one.name)


def test_the_card_is_part_of_the_plain_values(constant):
    found = json.loads(json.dumps(constant.to_dict()))["model_card"]
    assert found["name"] == "baseline"
    assert found["measure"] == "error"
    assert found["beats_guessing"] is False
    assert [one["name"] for one in found["classes"]] == ["late", "ok"]
    assert [alert["kind"] for alert in found["alerts"]] == ["guessing", "neglected class"]


@pytest.mark.parametrize(
    ("scoring", "guessing"),
    [
        ("balanced_accuracy", 1 - 1 / 3),
        ("neg_brier_score", 0.5 * (1 - 0.5**2 - 2 * 0.25**2)),
        ("neg_log_loss", -0.5 * np.log(0.5) - 0.5 * np.log(0.25)),
        ("roc_auc_ovr", -0.5),
        ("f1_macro", -(2 / 3) / 3),
    ],
)
def test_guessing_is_that_of_the_scoring(scoring, guessing):
    codes = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    loss = read_scoring(scoring, np.array(["a", "b", "c"]))
    assert guessing_loss(codes, 3, loss) == pytest.approx(guessing)


def test_guessing_is_unknown_where_the_score_is_undefined():
    def score(estimator, X, y):
        if len(set(estimator.predict(X))) == 1:
            raise ValueError("one class")
        return float(np.mean(estimator.predict(X) == y))

    X, y = rows(9.0)
    card = primum.compare(X, y, **QUICK, scoring=score).model_card
    assert card.guessing is card.gain is card.beats_guessing is None
    assert card.alerts == []
    assert card.interval[0] < card.loss == -1 < card.interval[1]


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "neg_brier_score", "roc_auc"])
def test_every_scoring_has_an_interval_around_the_loss(scoring):
    card = primum.compare(*rows(1.0, (0.6, 0.4)), **QUICK, scoring=scoring).model_card
    low, high = card.interval
    assert low < card.loss < high
    assert high - low < 0.7


def test_three_classes_at_the_level_of_chance_are_no_better_than_guessing():
    X, y = rows(0.0, (0.4, 0.3, 0.3))
    card = primum.compare(X, y, **QUICK, scoring="balanced_accuracy").model_card
    assert card.guessing == pytest.approx(2 / 3)
    assert card.alerts[0].kind == "guessing"
    assert card.roc_auc is None
    assert np.array(card.confusion).shape == (3, 3)


def test_groups_of_copies_are_counted_once():
    X, y = rows(1.0, (0.5, 0.5))
    at = np.r_[np.repeat(np.arange(20), 3), np.arange(60, 140)]
    X, y = X[at], y[at]
    settings = {**QUICK, "n_repeats": 1}
    free, grouped = (
        primum.compare(X, y, groups=groups, **settings).model_card for groups in (None, at)
    )
    widths = [(card.interval[1] - card.interval[0]) for card in (free, grouped)]
    assert widths[1] > 1.3 * widths[0]


@pytest.fixture(scope="module")
def stack():
    methods = [("safe", SAFE), ("self-learning", SelfLearningClassifier())]
    return primum.compare(*rows(1.5, (0.5, 0.5)), **{**QUICK, "methods": methods})


def test_the_stack_is_described_by_its_cross_fitted_predictions(stack):
    found, card = stack.records.held_out("safe"), card_of(stack, "safe")
    record = stack.records.done["whole/safe", 0]
    every = np.sort(found.rows)
    np.testing.assert_array_equal(every, np.repeat(np.arange(N_LABELED), 2))
    assert len(found.folds) == 10
    for fold, split in zip(found.folds, found.splits, strict=True):
        assert len(np.intersect1d(fold.train, fold.test)) == 0
        np.testing.assert_array_equal(split.truth, stack.plan.table.labels.codes[fold.test])
    np.testing.assert_allclose(np.array(card.confusion).sum(), N_LABELED)
    wrong = found.all.predicted != found.all.truth
    assert 1 - np.trace(card.confusion) / N_LABELED == pytest.approx(wrong.mean())
    assert {which: len(codes) for which, codes in record.unlabeled.items()} == {
        "own": 80,
        "supervised": 80,
    }
    assert card.n_methods == 3


def test_the_scores_of_the_stack_belong_to_its_rows():
    X, y = rows(1.5, (0.5, 0.5))
    clf = SAFE.__class__(**{**SAFE.get_params(), "random_state": 0}).fit(X[::-1], y[::-1])
    assert clf.held_out_scores_.shape == (2 * N_LABELED, 2)
    assert set(clf.held_out_rows_) == set(np.flatnonzero(y[::-1] != None))  # noqa: E711
    assert np.bincount(clf.held_out_folds_).tolist() == [15] * 8
    predicted = clf.classes_[(clf.held_out_scores_[:, 1] >= clf.held_out_scores_[:, 0]).astype(int)]
    error = np.mean(predicted != y[::-1][clf.held_out_rows_])
    assert error == clf.report_["error"][clf.report_["model"].index("safe stack")]
