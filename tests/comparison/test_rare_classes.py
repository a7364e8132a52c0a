"""Classes with one or two labels: grouped or left unlabelled, and said to be so."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import primum
from primum import ICLSClassifier
from primum.comparison.data import judged_by, read_data
from primum.comparison.plan import identity_of_fits
from primum.comparison.rare_classes import RareClasses

pytestmark = pytest.mark.usefixtures("quick_drift")

QUICK = {
    "methods": [("ICLS", ICLSClassifier(0.1))],
    "n_repeats": 1,
    "curves": False,
    "verbose": False,
}


def animals(n_rows=150, n_labeled=60):
    """Return rows, the labels of some, and all classes: two common ones and four rare ones."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(n_rows) < 0.5, "cat", "dog").astype(object)
    truth[:6] = ["fox", "elk", "elk", "owl", "owl", "yak"]
    truth[n_labeled : n_labeled + 9] = "elk"
    centers = {"cat": 0.0, "dog": 3.0}
    X = rng.normal(size=(n_rows, 3))
    X[:, 0] += [centers.get(name, 9.0) for name in truth]
    return X, np.where(np.arange(n_rows) < n_labeled, truth, None), truth


@pytest.mark.parametrize("how", ["group", "drop"])
def test_the_result_is_that_of_labels_regrouped_by_hand(how):
    X, y, _ = animals()
    by_hand = [None if one is None else one for one in y]
    rare = {"fox", "elk", "owl", "yak"}
    by_hand = np.array(
        [("other" if how == "group" else None) if one in rare else one for one in y], dtype=object
    )
    result = primum.compare(X, y, rare_classes=how, **QUICK)
    expected = primum.compare(X, by_hand, **QUICK)
    columns = ["loss", "P(help)", "P(harm)", "low", "high"]
    pd.testing.assert_frame_equal(result.table[columns], expected.table[columns])
    assert result.plan.table.classes.tolist() == expected.plan.table.classes.tolist()
    assert identity_of_fits(result.plan)["labels"] == identity_of_fits(expected.plan)["labels"]


def test_what_was_grouped_is_said_everywhere_and_predicted(tmp_path):
    X, y, truth = animals()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(animal=y)
    result = primum.compare(frame, target="animal", rare_classes="group", **QUICK)
    sentence = (
        "The class 'other' stands for 4 classes with fewer than 3 labelled rows: 'elk' (2), 'fox' "
        "(1), 'owl' (2), 'yak' (1)."
    )
    assert result.left_out[0] == result.model_card.details == sentence
    found = json.loads(json.dumps(result.to_dict()))
    assert found["rare_classes"]["into"] == "other"
    assert found["rare_classes"]["text"] == found["model_card"]["rare"] == sentence
    assert result.to_markdown().count(sentence) == 2
    assert "rare_classes='group'" in result.to_markdown()
    primum.save(result.fit_recommended(), tmp_path / "model.skops")
    model = primum.load(tmp_path / "model.skops")
    assert model.classes_.tolist() == ["cat", "dog", "other"]
    assert set(model.predict(frame[truth == "elk"])) == {"other"}
    whole = pd.concat([frame, frame], ignore_index=True)
    larger = replace(result, whole=whole)
    known = larger._asked_models.known_labels()
    assert [known[row] for row in (0, 1, 150)] == [2, 2, 2]


def test_what_was_left_out_is_said_everywhere_and_not_predicted():
    X, y, _ = animals()
    result = primum.compare(X, y, rare_classes="drop", **QUICK)
    sentence = result.plan.table.rare.text
    assert sentence == (
        "No model predicts the 4 classes with fewer than 3 labelled rows: 'elk' (2), 'fox' (1), "
        "'owl' (2), 'yak' (1). Their rows count as unlabelled, and errors do not include them: 6 "
        "of 60 labelled rows."
    )
    assert result.left_out[0] == result.to_dict()["model_card"]["rare"] == sentence
    assert result.plan.table.n_unlabeled == 96
    assert result.fit_recommended().classes_.tolist() == ["cat", "dog"]


def test_one_class_left_out_is_singular():
    assert RareClasses("drop", {"fox": 1}, 3, 40).text.startswith(
        "No model predicts the class with"
    )


@pytest.mark.parametrize(
    ("names", "into"),
    [
        (["cat", "dog"], "other"),
        (["cat", "Other "], "other (rare)"),
        (["other", "Other (rare)"], "other (rare 2)"),
    ],
)
def test_the_class_of_grouped_rows_has_a_name_of_its_own(names, into):
    y = [*np.repeat(names, 9), "fox", "owl", "owl"]
    target = read_data(np.zeros((21, 1)), y, rare_classes="group")
    assert target.classes.tolist() == sorted([*names, into])
    assert target.rare.into == into
    assert target.known.counts[target.classes.tolist().index(into)] == 3


def test_numbers_as_classes_become_text_only_if_some_are_grouped():
    y = np.repeat([1, 2, 7, 8], [9, 9, 2, 2])
    targets = {how: read_data(np.zeros((22, 1)), y, rare_classes=how) for how in ("group", "drop")}
    assert targets["group"].classes.tolist() == ["1", "2", "other"]
    assert targets["drop"].classes.tolist() == [1, 2]
    assert targets["drop"].known.codes.tolist() == [0] * 9 + [1] * 9
    assert targets["drop"].known.unlabeled.tolist() == [18, 19, 20, 21]
    many = read_data(np.zeros((18, 1)), y[:18], rare_classes="drop")
    assert many.rare is None


def test_chosen_labels_do_not_count():
    y = np.repeat(["a", "b", "c", "d"], [9, 9, 5, 4])
    chosen = np.isin(np.arange(27), [18, 19, 20, 21, 22, 23, 24])  # all of c, two of d
    table = read_data(np.zeros((27, 1)), y, chosen=chosen, rare_classes="drop")
    assert table.rare.classes == {"c": 0, "d": 2}
    assert table.n_chosen == 0


@pytest.mark.parametrize(
    ("counts", "how", "message"),
    [
        ([9, 9, 1], "group", r"'c' \(1\), have only 1 together, .*: pass rare_classes='drop', or"),
        (
            [9, 2, 1],
            "drop",
            r"Fewer than two classes would be left .*, 'b' \(2\), 'c' \(1\): label",
        ),
        ([9, 9, 9], "merge", "rare_classes must be 'group', 'drop' or None, got 'merge'"),
    ],
)
def test_what_cannot_be_done(counts, how, message):
    y = np.repeat(["a", "b", "c"], counts)
    with pytest.raises(ValueError, match=message):
        primum.compare(np.zeros((len(y), 1)), y, rare_classes=how)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("group", "grouped with other rare classes: name 'other', which stands for them"),
        ("drop", "dropped, so no model predicts it: leave it out"),
    ],
)
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("cost", {("elk", "cat"): 5}),
        ("cost", pd.DataFrame({"cat": [0, 1], "elk": [1, 0]}, index=["cat", "elk"])),
        ("positive", "elk"),
    ],
)
def test_a_class_that_was_grouped_or_dropped_is_not_called_unknown(how, message, parameter, value):
    X, y, _ = animals()
    with pytest.raises(ValueError, match=f"^{parameter} names the class 'elk', .* has {message}"):
        primum.compare(X, y, rare_classes=how, **{parameter: value}, **QUICK)


def test_costs_name_the_class_of_grouped_rows_although_a_rare_class_has_its_name():
    X, y, _ = animals()
    y = np.where(y == "elk", "other", y)
    data = read_data(X, y, rare_classes="group", needed=3)
    assert "other" in data.rare.classes
    judged = judged_by(data, None, {("other", "cat"): 5}, None)
    assert judged.cost[list(data.classes).index("other")][list(data.classes).index("cat")] == 5


def test_numbers_have_no_rare_classes():
    y = np.random.default_rng(0).normal(size=40)
    with pytest.raises(ValueError, match="rare_classes is for classes, but numbers are predicted"):
        primum.compare(np.zeros((40, 1)), y, rare_classes="drop")
