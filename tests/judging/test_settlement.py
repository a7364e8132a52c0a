"""The labels of rows on which models differ: bounds, words, names of rows, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from primum.judging.error_bounds import Pair, bounds_after
from primum.judging.settlement import Settlement

SAFE, BASE, TWIN = "the safe stack", "the baseline", "the supervised stack"
CLASSES = ("no", "yes")


def asked(n_rows=1000, n_different=100, classes=CLASSES, seed=0, **more):
    """Two models that differ on some rows, the first of them, in random order."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(n_different)
    baseline = rng.integers(len(classes), size=n_different)
    challenger = (baseline + rng.integers(1, len(classes), size=n_different)) % len(classes)
    codes = np.stack([baseline, challenger], axis=1)[:, None]
    return Settlement.ask([(SAFE, BASE)], rows, codes, n_rows=n_rows, classes=classes, **more)


def labelled(asked, right, number=0):
    """Labels from the top by which the challenger (1), the baseline (0) or nobody (?) is right."""
    codes = asked.questions[number].codes
    return {
        asked.keys[i]: "?" if one == "?" else asked.classes[codes[i, int(one)]]
        for i, one in enumerate(right)
        if one != "_"
    }


def answer_of(asked, right):
    return asked.with_labels(labelled(asked, right)).pairs[0]


def test_help_harm_and_no_difference_in_words():
    found = answer_of(asked(), "1" * 12 + "0" + "1" * 5)
    assert (found.answer, found.n_labels, found.expected_more) == ("help", 18, (0, 0))
    assert found.text == (
        "On your 1,000 rows the safe stack makes between 32 and 98 fewer errors than the baseline "
        "(95% sure; they differ on 100 rows). It was settled after 9 rows (18 labels so far)."
    )
    assert found.deploy == "Use the safe stack on these rows."
    assert "9 labels were needed." in answer_of(asked(), "1" * 9).text
    found = answer_of(asked(), "0" * 9)
    assert (found.answer, found.low, found.high) == ("harm", 16, 100)
    assert "makes between 16 and 100 more errors than the baseline" in found.text
    assert found.deploy == "Use the baseline on these rows: the safe stack would do harm."
    found = answer_of(asked(n_different=20), "10" * 8)
    assert found.answer == "no_difference"
    assert ", which makes no practical difference. " in found.text
    assert found.deploy == "Use the baseline, the simpler of the two."


@pytest.mark.parametrize(
    ("n_different", "words"),
    [
        (0, "so the choice between them changes nothing. No label was needed."),
        (
            1,
            "in 1 prediction, so the choice between them affects only this one. This is at most 1%",
        ),
        (
            10,
            "in 10 predictions, so the choice between them affects only these. This is at most 1%",
        ),
    ],
)
def test_few_changed_predictions_need_no_label(n_different, words):
    asking = asked(n_different=n_different)
    (found,) = asking.pairs
    assert len(asking.rows) == 0
    assert asking.settled
    assert asking.request == ""
    assert found.answer == "no_difference"
    assert words in found.text
    assert "Use the baseline, the simpler" in found.deploy


def test_open_not_worse_and_not_better_say_how_many_labels_are_left():
    before = asked().leading
    low, high = before.expected_more
    assert 0 < low < high <= 100
    assert before.text.startswith(
        "On your 1,000 unlabelled rows the safe stack and the baseline differ in 100 predictions, "
        f"so the choice between them affects only these. Labelling about {low} to {high} of these "
        "100 rows should settle which of the two is better; about "
    )
    assert before.deploy == "Use the baseline for now, the cautious choice."
    found = answer_of(asked(), "10")
    assert found.answer == "open"
    assert found.text.startswith("Still open: on your 1,000 rows the safe stack makes between ")
    assert " more labels should settle it; about " in found.text
    assert " should show whether the safe stack is not worse." in found.text
    found = answer_of(asked(n_rows=2000), "111011110111")
    assert found.answer == "not_worse"
    assert found.uses_challenger
    assert ", so it is not worse in practice. About " in found.text
    assert " more labels should settle whether it is better." in found.text
    assert found.deploy == (
        "Use the safe stack on these rows: it is not worse, and so far it has made 2 errors "
        "where the baseline has made 10."
    )
    found = answer_of(asked(n_rows=2000), "000100001000")
    assert found.answer == "not_better"
    assert not found.uses_challenger
    assert found.deploy == "Use the baseline on these rows: the safe stack is not better."


def test_all_labels_give_the_exact_difference():
    for n_classes in (2, 3):
        asking = asked(n_rows=300, n_different=40, classes=tuple("abc"[:n_classes]))
        truth = np.random.default_rng(1).integers(n_classes, size=40)
        labels = {key: "abc"[code] for key, code in zip(asking.keys, truth, strict=True)}
        found = asking.with_labels(labels).leading
        baseline, challenger = asking.questions[0].codes.T
        exact = np.sum(challenger != truth) - np.sum(baseline != truth)
        assert found.low == found.high == exact
        assert found.bounds.complete
        assert found.errors_so_far == (np.sum(challenger != truth), np.sum(baseline != truth))
        assert "they differ on 40 rows, and all are labelled" in found.text


def test_undecided_rows_widen_the_bounds_and_the_decidable_ones_stand_beside():
    found = answer_of(asked(), "1111?11111?1")
    without = answer_of(asked(), "1111111111")
    assert (found.bounds.n_undecided, found.n_labels) == (2, 10)
    assert found.high > without.high
    alone = found.bounds.decidable
    assert (
        "2 rows could not be decided; on the decidable rows alone, the safe stack makes between "
        f"{-alone.high} and {-alone.low} fewer errors than the baseline (95% sure)."
    ) in found.text
    gap = answer_of(asked(), "1111_11111_1")
    assert (gap.low, gap.high, gap.bounds.n_blank) == (found.low, found.high, 2)
    whole = answer_of(asked(n_different=12, n_rows=300), "10?" * 4)
    assert "No row is left that could settle it." in whole.text


def test_skipped_rows_are_named_while_it_is_open():
    asking = asked()
    rest = "; rows below a gap count only in part until it is filled."
    for right, words in (
        ("10", ""),
        ("10?0", ""),
        ("10_0", f"Row r3 was skipped: label it first{rest}"),
        ("_0__1", f"Rows r1, r3, r4 were skipped: label these first{rest}"),
        ("_0_____1", f"Rows r1, r3, r4 and 3 more were skipped: label these first{rest}"),
        ("_" + "1" * 20, ""),  # settled all the same
    ):
        assert asking.with_labels(labelled(asking, right)).skipped == words
    assert asking.skipped == ""


def test_skipped_rows_are_left_although_the_last_row_is_labelled():
    asking = asked(n_rows=100, n_different=10)
    found = asking.with_labels({"r10": "yes"})
    assert "No row is left" not in str(found)
    assert "Only labels of the rows that were skipped can settle it. Rows r1, r2, r3" in str(found)


def test_the_request_leaves_out_what_is_known():
    asking = asked()
    assert "rule out that the safe stack is worse)." in asking.request
    found = asking.with_labels(labelled(asking, "111011110111"))
    assert found.answer == "not_worse"
    assert "rule out" not in found.request
    assert "more of its 100 rows decide between the safe stack and the baseline." in found.request
    two = asked(n_rows=20, n_different=1)
    assert two.request == (
        "Label rows from the top of the sheet: about 1 of its 1 row decides between the safe "
        "stack and the baseline."
    )
    assert two.leading.text.endswith("of these 1 rows should settle which of the two is better.")


def test_labels_that_contradict_a_random_order_claim_only_what_is_certain():
    found = answer_of(asked(n_different=1000, n_rows=2000), "1" * 100 + "0" * 300)
    assert found.bounds.contradicted
    assert found.text.startswith("These labels contradict a random order of the rows")
    assert (found.low, found.high) == (200 - 600, 200 + 600)
    assert "(certain; they differ on 1,000 rows)" in found.text


def test_nothing_is_said_of_decidable_rows_if_there_are_none():
    found = answer_of(asked(n_different=12, n_rows=300), "?" * 12)
    assert (found.low, found.high, found.n_labels) == (-12, 12, 0)
    assert found.text.endswith("No row is left that could settle it. No row could be decided.")
    assert answer_of(asked(), "???").text.endswith(" No row could be decided so far.")


def test_one_more_label_is_singular():
    found = answer_of(asked(n_rows=20, n_different=3), "10")
    assert " About 1 more label should settle it." in found.text


def test_several_questions_share_one_order_and_the_probability_of_error():
    rng = np.random.default_rng(0)
    predicted = rng.integers(2, size=(400, 3))
    predicted[:396, 2] = predicted[:396, 0]  # the third agrees with the first on almost all rows
    rows = rng.permutation(400)
    codes = predicted[rows][:, [[1, 0], [2, 0], [2, 1]]]
    asking = Settlement.ask(
        [(SAFE, BASE), (SAFE, TWIN), (BASE, TWIN)], rows, codes, n_rows=1000, classes=CLASSES
    )
    assert [question.pair.alpha for question in asking.questions] == [0.025, 0.0, 0.025]
    assert asking.level == 0.95
    assert asking.pairs[1].answer == "no_difference"
    differs = (predicted[:, 1] != predicted[:, 0]) | (predicted[:, 1] != predicted[:, 2])
    assert set(asking.rows) == set(np.flatnonzero(differs))
    truth = rng.integers(2, size=400)
    found = asking.with_labels({int(row): CLASSES[truth[row]] for row in asking.rows[:90]})
    for question, answer in zip(found.questions, found.pairs, strict=True):
        labels = np.full(len(found.rows), -2)
        labels[:90] = truth[found.rows[:90]]
        own = question.differs
        right = np.where(labels == question.codes[:, 1], 0, np.where(labels >= 0, 1, 4))[own]
        pair = Pair(1000, question.pair.n_different, True, question.pair.alpha)
        bounds = bounds_after(pair, right)
        assert (answer.low, answer.high) == (bounds.low, bounds.high)


def test_rows_that_only_settled_questions_need_are_not_asked_for_again():
    rng = np.random.default_rng(3)
    first, second = np.zeros(60, int), np.zeros(60, int)
    first[:30], second[30:] = 1, 1
    rows = rng.permutation(60)
    codes = np.stack([np.zeros((60, 2), int), np.stack([first, second], axis=1)], axis=-1)[rows]
    asking = Settlement.ask([(SAFE, BASE), (TWIN, BASE)], rows, codes, n_rows=600, classes=CLASSES)
    more = asking.forecast()
    own = np.flatnonzero(asking.questions[0].differs)
    assert more.high == own[asking.leading.expected_more[1] - 1] + 1
    assert asking.request.startswith("Label rows from the top of the sheet: about ")
    assert f"of its 60 rows decide between {SAFE} and {BASE}" in asking.request
    assert asking.request.endswith(f" differ on 30; the other rows compare {TWIN} and {BASE}.")
    assert not asking.settled
    found = asking.with_labels({int(row): "yes" for row in asking.rows if row < 30})
    assert found.pairs[0].settled
    both = found.with_labels({int(row): "no" for row in found.rows[found.places_to_label[:2]]})
    assert "(30 of the 32 labels so far are on rows where these two differ)" in both.leading.text
    assert not found.pairs[1].settled
    assert found.settled  # the first question decides
    assert found.request.startswith("Optional: label rows from the top of the sheet: about ")
    assert f"more of its 60 rows decide between {TWIN} and {BASE}" in found.request
    assert found.further[0].endswith("is not worse. This question is optional.")
    assert set(found.rows[found.places_to_label]) == set(range(30, 60))


def test_a_random_part_of_the_rows_bounds_them_all():
    part = asked(n_different=500)
    whole = Settlement.ask(
        [(SAFE, BASE)],
        part.rows,
        part.questions[0].codes[:, None],
        n_rows=10**6,
        n_different=[200_000],
        classes=CLASSES,
    )
    found = answer_of(whole, "1" * 30)
    assert found.answer == "help"
    assert found.low == -200_000
    assert not answer_of(whole, "1" * 500).bounds.complete
    assert max(whole.leading.expected_more) <= 500


IDS = tuple(f"c{100 + i}" for i in range(100))


@pytest.mark.parametrize("form", ["keys", "ids", "positions", "series", "sheet", "table"])
def test_labels_by_any_name_are_the_same(form):
    asking = asked(ids=IDS, id_name="customer", target="churn")
    keys = asking.with_labels(labelled(asking, "1101")).labels
    classes = [asking.classes[keys[place]] for place in range(4)]
    names = {
        "keys": asking.keys,
        "ids": IDS,
        "positions": asking.rows.tolist(),
        "series": asking.rows.tolist(),
    }
    if form in names:
        given = dict(zip(names[form][:4], classes, strict=True))
        given = pd.Series(given) if form == "series" else given
    else:
        given = pd.DataFrame({"churn": [*classes, None, ""]}, index=[7, 3, 1, 0, 5, 6])
        column = {"sheet": ("primum_row", asking.keys), "table": ("customer", IDS)}[form]
        given[column[0]] = column[1][:6]
        given = given.sample(frac=1, random_state=0)
    assert asking.with_labels(given).labels == keys
    assert asking.with_labels(given).notes == ()


def test_labels_add_up_and_an_undecided_row_may_be_decided_later():
    asking = asked()
    once = asking.with_labels(labelled(asking, "1101?1"))
    twice = asking.with_labels(labelled(asking, "11?")).with_labels(labelled(asking, "__01?1"))
    assert once.labels == twice.labels
    assert once.cleared().labels == {}


@pytest.mark.parametrize(
    ("cell", "code"), [(1.0, 1), ("1.0", 1), (np.int64(2), 2), (" YES ", 0), (True, None)]
)
def test_classes_are_found_again_as_spreadsheets_write_them(cell, code):
    asking = asked(classes=("Yes", "1", "2"))
    if code is None:
        with pytest.raises(
            ValueError, match=r"label 'True' of row r1 is not one of the classes Yes"
        ):
            asking.with_labels({"r1": cell})
    else:
        assert asking.with_labels({"r1": cell}).labels == {0: code}


def test_spaces_around_classes_are_no_part_of_them_unless_they_tell_classes_apart():
    census = asked(classes=(" <=50K", " >50K"))
    for given in ("<=50K", " <=50K", " <=50k "):
        assert census.with_labels({"r1": given}).labels == {0: 0}
    assert asked(classes=("a ", "b")).with_labels({"r1": "a ", "r2": "b "}).labels == {0: 0, 1: 1}
    apart = asked(classes=("a", " a"))
    assert apart.with_labels({"r1": "a", "r2": " a"}).labels == {0: 0, 1: 1}
    with pytest.raises(ValueError, match="label 'a ' of row r1 may be the class 'a' or ' a'"):
        apart.with_labels({"r1": "a "})
    with pytest.raises(ValueError, match="label 'A' of row r1 is not one of the classes"):
        apart.with_labels({"r1": "A"})


def test_empty_cells_are_no_labels():
    asking = asked()
    for empty in (None, np.nan, "", "  ", pd.NA, pd.NaT, -1):
        assert asking.with_labels({"r1": empty}).labels == {}


def test_empty_cells_are_no_labels_of_a_class_that_is_called_so():
    asking = asked(classes=("Mild", "None", "nan", "NaT", "<NA>", "-1"))
    for empty in (None, np.nan, np.float32(np.nan), "", "  ", pd.NA, pd.NaT, np.datetime64("NaT")):
        assert asking.with_labels({"r1": empty}).labels == {}
    written = {f"r{code + 1}": name for code, name in enumerate(asking.classes)}
    assert asking.with_labels(written).labels == {code: code for code in range(6)}
    assert asking.with_labels({"r1": -1}).labels == {0: 5}


def test_labels_that_cannot_count_are_refused_in_a_sentence():
    asking = asked(ids=IDS, id_name="customer").with_labels({"r1": "yes"})
    with pytest.raises(ValueError, match="r1 was given the label 'yes' before and 'no' now"):
        asking.with_labels({"r1": "no"})
    assert asking.with_labels({"r1": "no"}, correct=True).labels == {0: 0}
    twice = pd.DataFrame({"primum_row": ["r2", "r2"], "label": ["yes", "no"]})
    with pytest.raises(ValueError, match="r2 is given twice, with the labels 'yes' and 'no'"):
        asking.with_labels(twice)
    with pytest.raises(ValueError, match="'maybe' of row r2 is not one of the classes no, yes"):
        asking.with_labels({"r2": "maybe"})
    with pytest.raises(ValueError, match=r"None of these rows was asked for \(the first is r500\)"):
        asking.with_labels({"r500": "yes"})
    with pytest.raises(ValueError, match="no column 'label', got primum_row"):
        asking.with_labels(twice[["primum_row"]])
    with pytest.raises(TypeError, match=r"as a mapping, a Series or the DataFrame.*got list"):
        asking.with_labels(["yes", "no"])
    known = {500: 1, "c7": 0}
    with pytest.raises(ValueError, match="Row 500 already has the label 'yes' in the table"):
        asking.with_labels({500: "no", 0: "yes"}, known=known)
    with pytest.raises(ValueError, match="Row c7 already has the label 'no' in the table"):
        asking.with_labels({"c7": "yes"}, known=known)
    found = asking.with_labels({500: "yes", int(asking.rows[1]): "no", 777: "no"}, known=known)
    assert found.labels == {0: 1, 1: 0}
    assert found.notes == (
        "1 labelled row was not asked for and does not count, because hand-picked rows "
        "would void the guarantee: 777.",
    )


def test_names_that_may_mean_different_rows_are_refused():
    rows = np.array([3, 1, 2])
    codes = np.tile([0, 1], (3, 1, 1))
    both = Settlement.ask(
        *([(SAFE, BASE)], rows, codes),
        n_rows=10,
        classes=CLASSES,
        ids=["1", "2", "3"],
        id_name="id",
    )
    with pytest.raises(ValueError, match="such as 1 may be positions or ids, which mean different"):
        both.with_labels({1: "yes"})
    assert both.with_labels({"1": "yes"}).labels == {0: 1}
    same = Settlement.ask(
        *([(SAFE, BASE)], rows, codes), n_rows=10, classes=CLASSES, ids=["7", "7", "3"]
    )
    with pytest.raises(ValueError, match="There are 2 rows to label with the id '7'"):
        same.with_labels({"7": "yes"})


def with_ids(ids):
    """Rows 10 to 49 of a table of 1,000 unlabelled ones, with ids."""
    codes = np.tile([0, 1], (40, 1, 1))
    rows = np.arange(10, 50)
    return Settlement.ask(
        *([(SAFE, BASE)], rows, codes), n_rows=1000, classes=CLASSES, ids=ids, id_name="id"
    )


def test_names_of_rows_not_asked_for_are_not_read_in_another_way():
    like_keys = with_ids([f"r{i}" for i in range(100, 140)])
    refused = "may be keys or ids, which mean different rows: pass the table of rows to label"
    with pytest.raises(ValueError, match=f"such as 'r3' {refused}"):
        like_keys.with_labels({"r3": "yes"})
    assert like_keys.with_labels({"r100": "yes"}).labels == {0: 1}
    found = like_keys.with_labels({"r3": "no", "r100": "yes"})  # there are 40 keys only
    assert found.labels == {0: 1}
    assert "1 labelled row was not asked for" in found.notes[0]
    integers = with_ids([str(i + 1) for i in range(10, 50)])
    for name in (10, 11, 50, 11.0, 900):
        if name == 900:
            match = "None of these rows was asked for"
        else:
            match = f"such as {name} may be positions or ids, which mean different rows"
        with pytest.raises(ValueError, match=match):
            integers.with_labels({name: "yes"})
    assert integers.with_labels({"11": "yes"}).labels == {0: 1}
    for form in ("primum_row", "id"):
        names = {"primum_row": ["r1"], "id": [11]}[form]
        assert integers.with_labels(pd.DataFrame({form: names, "label": "yes"})).labels == {0: 1}
    same = with_ids([str(i) for i in range(10, 50)])  # both ways mean the same rows
    assert same.with_labels({10: "yes", 700: "no"}).labels == {0: 1}


def test_keys_and_unknown_names_together_are_keys():
    asking = with_ids([f"c{i}" for i in range(40)])
    found = asking.with_labels({"r1": "yes", "r500": "no"})
    assert found.labels == {0: 1}
    assert found.notes[0].endswith(": r500.")


def test_a_settlement_is_the_same_after_json():
    asking = asked(ids=IDS, id_name="customer", target="churn", wins=[(7, 3)])
    found = asking.with_labels(labelled(asking, "11?01"))
    again = Settlement.read(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
    assert again.labels == found.labels
    assert str(again.leading) == str(found.leading)
    assert json.loads(json.dumps(found.leading.to_dict()))["answer"] == found.leading.answer
    with pytest.raises(ValueError, match="format 99, but this version of primum reads 1"):
        Settlement.read({"format": 99})


@pytest.mark.parametrize(
    "labels",
    [
        *({"r101": 0}, {"r0": 0}, {"r-1": 0}, {"r01": 0}, {"x": 0}, {"r1": 2}, {"r1": -2}),
        *({"r1": True}, {"r1": 1.0}, {"r1": "yes"}, {"r1": None}),
    ],
)
def test_stored_labels_that_are_none_are_refused(labels):
    """They would count on another row, or as no class: rows are r1 to r100, classes two."""
    damaged = asked().to_dict() | {"labels": labels}
    with pytest.raises(
        ValueError,
        match=r"This settlement is damaged: it has the label .* for the row '.*', but rows are r1 "
        "to r100 and labels whole numbers from -1 to 1; restore the file, or compare again",
    ):
        Settlement.read(damaged)


def test_parts_of_a_settlement_must_fit():
    asking = asked()
    with pytest.raises(ValueError, match="at least one pair of models, got none"):
        Settlement((), asking.rows, CLASSES)
    with pytest.raises(ValueError, match="There are 3 rows to label, but 100 codes of"):
        Settlement(asking.questions, asking.rows[:3], CLASSES)
    with pytest.raises(ValueError, match="There are 100 rows to label, but 2 ids"):
        Settlement(asking.questions, asking.rows, CLASSES, ("a", "b"))
