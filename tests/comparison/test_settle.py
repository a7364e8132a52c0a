"""Settling a comparison: rows to label, exact answers, and the model to use afterwards."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

import primum
from primum import LeastSquaresClassifier, SafeClassifier, SelfLearningClassifier
from primum.comparison.page import answer_block
from primum.comparison.settle import TWO_QUESTIONS, duels_of, settled_by, settlement_blocks
from primum.comparison.words import BEFORE_LABELS, REFITTED, Findings, MethodResult
from primum.judging.difference import Difference, Disagreement, Posterior
from primum.judging.losses import ERROR
from primum.judging.settlement import SettledPair, Settlement
from primum.judging.words import verdict_of
from primum.pages.page import markdown_of

pytestmark = pytest.mark.usefixtures("quick_drift")

SAFE = SafeClassifier(["spreading"], baseline=["ridge"], cv=3, n_repeats=1)
QUICK = {
    "methods": [("safe stack", SAFE)],
    "baseline": [("ridge", LeastSquaresClassifier(alpha=0.1))],
    "n_repeats": 1,
    "curves": False,
    "verbose": False,
}
N_LABELED = 24


def rings(n_rows=324, n_classes=2, seed=0, noise=0.2):
    """Return rows on rings, which no line separates, as a table, and all labels."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_rows) % n_classes
    angle, radius = rng.uniform(0, 2 * np.pi, n_rows), 1 + 2 * truth
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += rng.normal(scale=noise, size=X.shape)
    frame = pd.DataFrame(X, columns=["east", "north"])
    frame["nr"] = [f"c{i:03d}" for i in range(n_rows)]
    frame["note"] = rng.choice(["=1+1", "ü;,"], n_rows)
    return frame, np.array(["no", "yes", "both"], dtype=object)[truth]


def as_table(frame, labels):
    known = np.arange(len(frame)) < N_LABELED
    return frame.assign(**{"left?": np.where(known, labels, None)})


def compared(n_classes=2, noise=0.2, **options):
    frame, labels = rings(n_classes=n_classes, noise=noise)
    settings = {**QUICK, "target": "left?", "id": "nr", "exclude": ["note"], **options}
    return primum.compare(as_table(frame, labels), **settings), frame, labels


@pytest.fixture(scope="module")
def once():
    return compared()


@pytest.fixture
def fresh(once):
    """A comparison that no test has settled before."""
    result, frame, labels = once
    return replace(result), frame, labels


def errors(model, frame, labels):
    return int(np.sum(model.predict(frame[N_LABELED:]) != labels[N_LABELED:]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_of_all_rows_on_which_models_differ_give_the_exact_difference(n_classes):
    result, frame, labels = compared(n_classes)
    rows = result.settlement.rows
    found = result.settle({int(row): labels[row] for row in rows}, verbose=False)
    safe, baseline = result.fit("safe stack"), result.fit("baseline")
    assert found.low == found.high == errors(safe, frame, labels) - errors(baseline, frame, labels)
    prepared = safe[:-1].transform(frame[N_LABELED:])
    own, twin = (
        np.sum(model.predict(prepared) != labels[N_LABELED:])
        for model in (safe[-1], safe[-1].supervised_)
    )
    against_twin = found.pairs[1]
    assert against_twin.baseline == "the supervised stack"
    if against_twin.pair.needs_labels:
        assert against_twin.low == against_twin.high == own - twin
    assert found.low < -10


def test_the_rows_to_label_are_those_that_differ_in_one_random_order(fresh):
    result, frame, _ = fresh
    own, baseline = (result.fit(name).predict(frame) for name in ("safe stack", "baseline"))
    differ = np.flatnonzero(own != baseline)
    differ = set(differ[differ >= N_LABELED])
    table = result.rows_to_label(10**6)
    assert differ <= set(table.index) <= set(range(N_LABELED, len(frame)))
    assert list(table) == ["primum_row", "left?", "primum_chosen", "nr", "east", "north", "note"]
    assert table["primum_row"].tolist() == [f"r{i + 1}" for i in range(len(table))]
    assert set(table["primum_chosen"]) == {"yes"}
    assert table["left?"].isna().all()
    pd.testing.assert_frame_equal(
        table[["nr", "east", "north", "note"]],
        frame.loc[table.index, ["nr", "east", "north", "note"]],
    )
    assert table.index.tolist() != sorted(table.index)
    pd.testing.assert_frame_equal(result.rows_to_label(5), table[:5])
    assert len(result.rows_to_label()) == result.settlement.forecast().high
    shown = result.rows_to_label(10**6, show_predictions=True)
    assert shown["predicted by the safe stack"].tolist() == own[table.index].tolist()
    assert shown["predicted by the baseline"].tolist() == baseline[table.index].tolist()


def test_the_order_is_the_same_after_a_resume(fresh, tmp_path):
    result, *_ = fresh
    order = result.rows_to_label(10**6)
    for options in ({}, {"resume": True}):
        again, frame, _ = compared(folder=tmp_path, **options)
        pd.testing.assert_frame_equal(again.rows_to_label(10**6), order)
        assert again.settlement.to_dict() == result.settlement.to_dict()
    # The resumed comparison has not fitted the stack: it does so when asked, and alike.
    assert again.records.cross_fitted["safe stack"].model is None
    models = [one.fit("safe stack") for one in (again, result)]
    np.testing.assert_array_equal(*(model.predict_proba(frame) for model in models))


@pytest.mark.slow
def test_the_order_does_not_depend_on_the_number_of_processes(fresh):
    result, *_ = fresh
    again, *_ = compared(n_jobs=2)
    pd.testing.assert_frame_equal(again.rows_to_label(10**6), result.rows_to_label(10**6))
    assert again.fit("safe stack") is again.records.cross_fitted["safe stack"].model


def test_labels_add_up_and_lead_the_report(capsys):
    result, _, labels = compared(noise=1.0)
    assert result.recommended == "baseline"
    assert result.headline.certain.startswith("On your 300 unlabelled rows the safe stack and the")
    assert "so the choice between them affects only these." in result.verdict
    assert "at random" not in result.verdict + result.to_markdown()
    assert result.headline.next_step.startswith("Label rows from the top of the sheet: about ")
    assert result.to_dict()["settlement"]["n_labels"] == 0
    table = result.rows_to_label(12)
    table["left?"] = labels[table.index]
    first = result.settle(table[:6])
    assert str(first) in capsys.readouterr().out
    found = result.settle(table[6:], verbose=False)
    assert (first.n_labels, found.n_labels) == tuple(
        result.settlement.questions[0].differs[:size].sum() for size in (6, 12)
    )
    assert result.settlement.labels.keys() == set(range(12))
    assert isinstance(result.settlement, Settlement)
    assert isinstance(found.pairs[0], SettledPair)
    assert (found.answer, found.low, found.high) == (
        found.pairs[0].answer, found.pairs[0].low, found.pairs[0].high,
    )  # fmt: skip
    assert result.headline.answer == found.deploy
    assert found.pairs[0].known in result.to_markdown()
    assert json.loads(json.dumps(result.to_dict()))["settlement"]["text"] == found.text
    rest = result.rows_to_label(10**6)
    assert set(rest.index).isdisjoint(table.index)


def test_copies_keep_the_labels(fresh):
    result, _, labels = fresh
    table = result.rows_to_label(6)
    table["left?"] = labels[table.index]
    found = result.settle(table, verbose=False)
    copy = replace(result, level=0.6)  # a level at which other questions might be asked
    assert copy.settlement.labels == result.settlement.labels
    assert (copy.settled.low, copy.settled.high) == (found.low, found.high)
    more = copy.rows_to_label(3)
    more["left?"] = labels[more.index]
    copy.settle(more, verbose=False)
    assert len(copy.settlement.labels) == 9
    assert len(result.settlement.labels) == 6  # a copy's labels are its own


def test_after_settling_the_model_to_use_is_fitted_to_all_labels(fresh):
    result, _, labels = fresh
    rows = result.settlement.rows
    undecided, settled = int(rows[0]), [int(row) for row in rows[1:]]
    before = result.fit_recommended()
    assert before is result.fit(result.recommended)
    answers = {**{row: labels[row] for row in settled}, undecided: "?"}
    found = result.settle(answers, verbose=False)
    assert found.answer == "help"
    assert found.deployed == "safe stack"
    assert f"{REFITTED}; fit_recommended() fits it, to all labels" in result.headline.next_step
    assert result.headline.kind == "help"
    new = result.fit_recommended()
    assert new is not result.fit("safe stack")
    assert isinstance(new[-1], SafeClassifier)


def test_the_refitted_baseline_has_the_new_labels(fresh):
    result, frame, labels = fresh
    rows, model = np.sort(result.settlement.rows), result.fit("baseline")
    baseline = model.predict(frame)
    # The baseline is right wherever the models differ.
    found = result.settle({int(row): baseline[row] for row in rows}, verbose=False)
    assert (found.answer, found.deployed) == ("harm", "baseline")
    known = np.r_[np.arange(N_LABELED), rows]
    direct = clone(model).fit(frame.loc[known], np.r_[labels[:N_LABELED], baseline[rows]])
    np.testing.assert_allclose(
        result.fit_recommended().predict_proba(frame), direct.predict_proba(frame)
    )


def test_labels_are_followed_where_cross_validation_says_otherwise(fresh):
    result, frame, _ = fresh
    assert result.recommended == "safe stack"
    baseline = result.fit("baseline").predict(frame)
    rows = result.settlement.rows
    found = result.settle({int(row): baseline[row] for row in rows}, verbose=False)
    assert found.contradicts
    assert found.deployed == "baseline"
    assert found.text.endswith(TWO_QUESTIONS)
    assert result.headline.reason.startswith(BEFORE_LABELS)
    assert TWO_QUESTIONS in result.headline.reason
    parts = answer_block(result.headline).to_markdown()
    assert "On your rows: " in parts
    assert f"Earlier: {BEFORE_LABELS}" in parts
    assert result.headline.answer.startswith("Use the baseline on these rows")


def test_contradicted_labels_of_the_table_are_refused(fresh):
    result, _, labels = fresh
    row = int(result.settlement.rows[0])
    other = "no" if labels[0] == "yes" else "yes"
    with pytest.raises(ValueError, match=r"Row 0 already has the label .* in the table"):
        result.settle({0: other, row: labels[row]})
    with pytest.raises(ValueError, match=r"Row c000 already has the label .* in the table"):
        result.settle({"c000": other, f"c{row:03d}": labels[row]})
    assert not result.settlement.labels
    with pytest.raises(ValueError, match="n must be an int >= 1, or None for the expected number"):
        result.rows_to_label(0)


def test_the_most_promising_method_is_asked_about_if_none_judges_itself():
    frame, labels = rings()
    X, y = frame[["east", "north"]].to_numpy(), np.where(np.arange(324) < N_LABELED, labels, None)
    methods = [("self", SelfLearningClassifier(LogisticRegression()))]
    result = primum.compare(X, y, **{**QUICK, "methods": methods})
    assert [(q.challenger, q.baseline) for q in result.settlement.questions] == [
        ('"self"', "the baseline")
    ]
    assert list(result.rows_to_label(3))[:5] == ["primum_row", "label", "primum_chosen", "x0", "x1"]
    rows = result.settlement.rows
    found = result.settle(pd.Series(labels[rows], index=rows), verbose=False)
    own, baseline = (result.fit(name) for name in ("self", "baseline"))
    wrong = [np.sum(m.predict(X[N_LABELED:]) != labels[N_LABELED:]) for m in (own, baseline)]
    if len(rows):
        assert found.low == found.high == wrong[0] - wrong[1]
    else:
        assert abs(wrong[0] - wrong[1]) <= found.pairs[0].pair.n_margin


def test_what_labels_cannot_settle_is_said_in_a_sentence():
    frame, labels = rings(84)
    X, y = frame[["east", "north"]], np.where(np.arange(84) < N_LABELED, labels, None)
    plain = {**QUICK, "methods": [("self", SelfLearningClassifier(LogisticRegression()))]}
    for options, sentence in (
        ({"scoring": "roc_auc"}, "but this comparison is by"),
        (
            {"baseline": [("a", RidgeClassifier()), ("b", LogisticRegression())]},
            "baselines cannot be averaged into one model",
        ),
    ):
        result = primum.compare(X, y, **{**plain, **options})
        assert result.settlement is None
        assert result.to_dict()["settlement"] is None
        with pytest.raises(ValueError, match=sentence):
            result.rows_to_label()
        with pytest.raises(ValueError, match=sentence):
            result.settle({1: "yes"})
    whole = primum.compare(X, labels, **plain)
    with pytest.raises(ValueError, match="all rows are labelled"):
        whole.rows_to_label()


FOREST = {
    "methods": [("forest", RandomForestClassifier(10, random_state=0), False)],
    "baseline": [("ridge", LeastSquaresClassifier(alpha=0.1))],
    "n_repeats": 1,
    "curves": False,
    "verbose": False,
}


def test_a_second_settlement_has_another_order():
    """The labels of the first have trained its models; the same rows first would flatter them."""
    frame, labels = rings(noise=0.6)
    X, codes = frame[["east", "north"]].to_numpy(), (labels == "yes").astype(int)
    first = primum.compare(X[:N_LABELED], codes[:N_LABELED], X[N_LABELED:], **FOREST)
    asked = first.rows_to_label(20).index.to_numpy()
    both = np.r_[np.arange(N_LABELED), asked]
    chosen = np.arange(len(both)) >= N_LABELED
    second = primum.compare(X[both], codes[both], X[N_LABELED:], chosen=chosen, **FOREST)
    said = "20 of the 300 unlabelled rows are also labelled rows (the same cells): they are left"
    assert said in second.settlement.left_out
    assert said in second.headline.certain
    assert said in second.settled.text
    assert second.settlement.questions[0].pair.n_rows == 280
    rows = second.rows_to_label(10**6).index.to_numpy() - len(both) + N_LABELED
    assert not np.isin(rows, asked).any()
    before = first.rows_to_label(10**6).index.to_numpy()
    common = [row for row in before if row in rows]
    assert len(common) > 20
    ranks = [[list(order).index(row) for row in common] for order in (before, rows)]
    assert abs(np.corrcoef(ranks)[0, 1]) < 4 / np.sqrt(len(common))
    # The same labels again are the same fit, whose order is the same.
    again = primum.compare(X[:N_LABELED], codes[:N_LABELED], X[N_LABELED:], **FOREST)
    np.testing.assert_array_equal(again.settlement.rows, first.settlement.rows)


def test_equal_rows_of_few_categories_are_labelled_by_chance_unless_a_name_tells():
    frame, labels = rings(noise=0.6)
    frame[["east", "north"]] = frame[["east", "north"]].round(0)
    table = as_table(frame, labels)
    n_equal = frame[N_LABELED:].merge(frame[:N_LABELED], on=["east", "north"]).nr_x.nunique()
    assert n_equal > 60
    named = {**FOREST, "target": "left?", "exclude": ["note"]}
    plain = primum.compare(table.drop(columns="nr"), **named)
    assert plain.settlement.left_out == ""
    sheet = plain.rows_to_label(12)
    copies = sheet.assign(**{"left?": labels[sheet.index]})

    def left_out(result):
        found = result._asked_models.also_labeled[0]
        return result.settlement, result._asked_models.rows[found]

    # Rows that were copied from a sheet with their keys: one equal row is left out for each.
    added = pd.concat([table.drop(columns="nr"), copies], ignore_index=True)
    settlement, rows = left_out(primum.compare(added, **named))
    assert settlement.left_out.startswith("12 of the 300 unlabelled rows are also labelled rows")
    cells = ["east", "north"]
    assert sorted(map(tuple, added.loc[rows, cells].to_numpy())) == sorted(
        map(tuple, copies[cells].to_numpy())
    )
    # Rows with an id are known by it, and by their cells too if ids repeat.
    copies = copies.assign(nr=frame.nr[copies.index]).drop(columns="primum_row")
    added = pd.concat([table, copies], ignore_index=True)
    settlement, rows = left_out(primum.compare(added, id="nr", **named))
    assert "are also labelled rows (the same id)" in settlement.left_out
    np.testing.assert_array_equal(np.sort(rows), np.sort(sheet.index))
    patients = added.assign(nr=[f"p{int(one[1:]) % 100}" for one in added.nr])
    settlement, rows = left_out(primum.compare(patients, id="nr", **named))
    assert set(sheet.index) <= set(rows)
    assert len(rows) < 150


def test_nothing_is_settled_where_all_unlabelled_rows_are_labelled_too():
    frame, labels = rings(60, noise=0.6)
    X = frame[["east", "north"]].to_numpy()
    result = primum.compare(X, labels, X, **FOREST)
    assert result.settlement is None
    with pytest.raises(ValueError, match="All unlabelled rows are also labelled rows, so there is"):
        result.rows_to_label()


@pytest.mark.slow
def test_bounds_of_second_settlements_hold():
    """With the order of the first, they miss the truth in four of ten runs."""
    missed = 0
    for number in range(40):
        rng = np.random.default_rng(9000 + number)
        X = rng.normal(size=(660, 6))
        t = (rng.random(660) < 1 / (1 + np.exp(-X[:, 0] - 0.6 * X[:, 1]))).astype(int)
        first = primum.compare(X[:60], t[:60], X[60:], **FOREST)
        both = np.r_[np.arange(60), first.rows_to_label(60).index]
        chosen = np.arange(len(both)) >= 60
        second = primum.compare(X[both], t[both], X[60:], chosen=chosen, **FOREST)
        rows = second.settlement.rows - len(both) + 60
        found = second.settle(
            dict(zip(second.settlement.rows.tolist(), t[rows], strict=True)), verbose=False
        )
        path = found.leading.bounds.path
        truth = found.low
        assert truth == found.high
        missed += bool(np.any((path[:, 0] > truth) | (path[:, 1] < truth)))
    assert missed <= 6  # binomial of 40 at 5 %: more than 6 has a probability of 1 %


def test_what_needs_no_label_is_certain_and_not_100_per_cent_probable():
    asked = Settlement.ask(
        [("the safe stack", "the baseline")],
        rows=[1],
        codes=[[[0, 1]]],
        n_rows=1000,
        classes=["no", "yes"],
    )
    settling = settled_by(asked, "baseline", ["safe stack"], "cannot_tell")
    report = markdown_of("Report", [("Settled", settlement_blocks(settling, "baseline"))])
    assert "Change in errors on 1,000 unlabelled rows: bounds that are certain." in report
    assert "100%" not in report


def comparison_of(changes, *, safe=("safe stack",), recommended="baseline", equivalence=0.01):
    """Return what ``duels_of`` reads of a comparison: change, its error and rows that differ."""
    compared = []
    for name, (change, error, share) in changes.items():
        posterior = Posterior(Difference(change, error, 99, 100), equivalence=equivalence)
        verdict = verdict_of(posterior, level=0.99)
        held_out = Disagreement(30, 20, 0, 1000 * share, 1000, 0.8, 2)
        verdict = replace(verdict, disagreement=held_out)
        compared.append(MethodResult(name, True, 0.3, 1.0, 5, verdict=verdict))
    findings = Findings(compared, recommended, ERROR, 1000)
    records = SimpleNamespace(cross_fitted=dict.fromkeys(safe))
    return SimpleNamespace(
        findings=findings,
        compared=compared,
        records=records,
        equivalence=equivalence,
        why_unfitted=lambda name: "",
    )


def asked_in(result):
    return [(duel.challenger[0], duel.baseline) for duel in duels_of(result)]


def test_the_pairs_asked_about_are_those_that_could_change_the_recommendation():
    """A booster with P(help) .92 is asked about; what is refuted is not."""
    baseline, twin = ("baseline", "own"), ("safe stack", "supervised")
    methods = {
        "safe stack": (-0.015, 0.01, 0.1),
        "boosting": (-0.1, 0.04, 0.4),
        "worse": (0.09, 0.02, 0.3),
        "alike": (0.0, 0.001, 0.2),
        "same rows": (-0.02, 0.05, 0.005),
        "forest": (-0.06, 0.04, 0.3),
    }
    odds = {one.name: one.judged.probabilities for one in comparison_of(methods).compared}
    assert 0.9 < odds["boosting"].help < 0.94
    found = asked_in(comparison_of(methods))
    assert found == [(name, baseline) for name in ("boosting", "forest", "safe stack")]
    # The recommended one leads; labels may refute it.
    found = asked_in(comparison_of(methods, recommended="safe stack"))
    assert found == [(name, baseline) for name in ("safe stack", "boosting", "forest")]
    # In a place that is left, the stack is compared with its supervised one.
    del methods["forest"]
    found = asked_in(comparison_of(methods))
    assert found == [("boosting", baseline), ("safe stack", baseline), ("safe stack", twin)]
    # If nothing could change it, the most promising one alone is asked about.
    refuted = {name: methods[name] for name in ("worse", "alike")}
    assert asked_in(comparison_of(refuted)) == [("alike", baseline)]
    assert asked_in(comparison_of({})) == []


def test_rows_of_all_pairs_come_in_one_random_order():
    frame, labels = rings(noise=0.6)
    X, codes = frame[["east", "north"]].to_numpy(), (labels == "yes").astype(int)
    methods = [
        ("forest", RandomForestClassifier(10, random_state=0), False),
        ("neighbours", KNeighborsClassifier(5), False),
    ]
    options = FOREST | {"methods": methods}
    result = primum.compare(X[:N_LABELED], codes[:N_LABELED], X[N_LABELED:], **options)
    asked = result.settlement
    assert {question.challenger for question in asked.questions} == {'"forest"', '"neighbours"'}
    assert [question.pair.alpha for question in asked.questions] == [0.025, 0.025]
    baseline = result.fit("baseline").predict(X[N_LABELED:])
    union = np.zeros(len(baseline), dtype=bool)
    for question in asked.questions:
        own = result.fit(question.challenger.strip('"')).predict(X[N_LABELED:])
        differ = np.flatnonzero(own != baseline)
        union[differ] = True
        assert sorted(asked.rows[question.differs] - N_LABELED) == differ.tolist()
        # No pair's rows come first: the mean place is in the middle.
        places = np.flatnonzero(question.differs)
        spread = len(asked.rows) / np.sqrt(12 * len(places))
        assert abs(places.mean() - len(asked.rows) / 2) < 4 * spread
    assert sorted(asked.rows - N_LABELED) == np.flatnonzero(union).tolist()
