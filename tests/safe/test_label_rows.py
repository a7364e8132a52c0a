"""A fitted SafeClassifier: the rows on which its stacks differ, and what their labels settle."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons

import primum
from primum import SafeClassifier, UnlabeledRows
from primum.safe.label_rows import own_index
from primum.safe.verdict import verdict_text

pytestmark = pytest.mark.usefixtures("quick_drift")

N_LABELED = 30
X, TRUTH = make_moons(500, noise=0.1, random_state=0)
Y = np.where(np.arange(500) < N_LABELED, TRUTH, -1)


def quick(**parameters):
    given = {"candidates": ["spreading"], "baseline": "ridge", "cv": 3, "n_repeats": 1}
    given["random_state"] = 0
    return SafeClassifier(**(given | parameters))


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(X, Y)


@pytest.fixture
def model(fitted, monkeypatch):
    """A fitted model whose labels are forgotten after the test."""
    monkeypatch.setattr(fitted, "_to_label", fitted._to_label)
    return fitted


def errors(model, other, rows, truth):
    return sum(model.predict(rows) != truth) - sum(other.predict(rows) != truth)


def test_rows_are_those_on_which_the_stacks_differ(model):
    unlabeled = np.arange(N_LABELED, 500)
    own, baseline, supervised = (m.predict(X) for m in (model, model.baseline_, model.supervised_))
    table = model.rows_to_label(n=500, show_predictions=True)
    of_baseline, of_supervised = model.settlement_.questions
    assert of_baseline.pair.n_rows == of_supervised.pair.n_rows == 470
    assert of_baseline.pair.n_different == sum((own != baseline)[unlabeled])
    assert of_supervised.pair.n_different == sum((own != supervised)[unlabeled])
    assert (own != baseline)[table.index].all()
    assert table["primum_row"].tolist() == [f"r{i + 1}" for i in range(len(table))]
    np.testing.assert_array_equal(table[["x0", "x1"]], X[table.index])
    np.testing.assert_array_equal(table["predicted by the model"], own[table.index])
    np.testing.assert_array_equal(table["predicted by the baseline"], baseline[table.index])
    np.testing.assert_array_equal(
        table["predicted by the supervised stack"], supervised[table.index]
    )


def test_labels_settle_what_all_labels_say(model, capsys):
    table = model.rows_to_label()
    assert model.settlement_.request.startswith("Label rows from the top of the sheet: about ")
    assert table["label"].isna().all()
    found = model.settle(table.assign(label=TRUTH[table.index]))
    assert "fewer errors than the baseline (95% sure" in capsys.readouterr().out
    change = errors(model, model.baseline_, X[N_LABELED:], TRUTH[N_LABELED:])
    assert found.answer == "help"
    assert found.low <= change <= found.high < 0
    assert found.n_labels == len(table)
    every = model.settle(pd.Series(TRUTH[N_LABELED:], np.arange(N_LABELED, 500)), verbose=False)
    assert every.low == every.high == change
    assert len(model.rows_to_label()) == 0
    assert [pair.baseline for pair in every.pairs] == ["the baseline", "the supervised stack"]


def test_labels_are_cumulative_and_a_fit_forgets_them():
    model = quick().fit(X, Y)
    first = model.rows_to_label(n=4)
    model.settle(dict(zip(first["primum_row"], TRUTH[first.index], strict=True)), verbose=False)
    second = model.rows_to_label(n=3)
    assert second["primum_row"].tolist() == ["r5", "r6", "r7"]
    found = model.settle(second.assign(label=TRUTH[second.index]), verbose=False)
    assert found.n_labels == 7
    assert model.fit(X, Y).settlement_.labels == {}


def test_the_verdict_leads_with_what_is_certain(fitted):
    """An open one asks for these rows, and not for random labels."""
    verdict, leading = fitted.verdict_, fitted.settlement_.leading
    lead = (
        "On your 470 unlabelled rows the model and the baseline differ in "
        f"{leading.pair.n_different} predictions, so the choice between them affects only these. "
    )
    assert verdict.answer == "cannot_tell"
    assert verdict.text.startswith(
        f"{lead}{verdict.baseline.reason} {leading.needed} rows_to_label() returns these "
        "rows as a sheet, and settle() reads their labels."
    )
    assert "at random" not in verdict.text
    clear = replace(verdict.baseline, answer="help", reason="It is better.")
    assert verdict_text(clear, None, None, [], leading) == f"{lead}It is better."


def test_few_differences_need_no_label():
    rows = np.concatenate([X, X[N_LABELED:] * 50])  # far away, both models predict the same
    model = quick(shrinkage=1e9).fit(rows, np.concatenate([Y, np.full(470, -1)]))
    assert len(model.rows_to_label()) == 0
    assert (
        "so the choice between them changes nothing. No label was needed."
        in model.settlement_.leading.text
    )
    assert "same classes, so the choice between them changes nothing. " in str(model.verdict_)


def test_given_rows_are_the_same_as_those_of_fit(model, tmp_path):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    rows = X[N_LABELED:]
    pd.DataFrame(rows, columns=["p", "q"]).to_parquet(tmp_path / "rows.parquet")
    expected = None
    with dask.config.set(scheduler="synchronous"):
        for given in (
            rows,
            sparse.csr_array(rows),
            UnlabeledRows(rows.tolist()),
            tmp_path / "rows.parquet",
            da.from_array(rows, chunks=(100, 2)),
        ):
            table = model.rows_to_label(given, n=10)
            expected = table if expected is None else expected
            pd.testing.assert_frame_equal(
                table.astype({"x0": float, "x1": float}), expected, check_names=False
            )
    np.testing.assert_array_equal(expected[["x0", "x1"]], rows[expected.index])


def test_the_order_is_that_of_the_fit(model):
    n_different = model.settlement_.questions[0].pair.n_different
    positions = model.rows_to_label(n=500).index - N_LABELED
    again = model.rows_to_label(X[N_LABELED:], n=500).index
    assert len(again) == n_different
    np.testing.assert_array_equal(positions, again)


def test_the_same_rows_keep_their_labels_and_others_do_not(model):
    table = model.rows_to_label(X[40:], n=5)
    model.settle(table.assign(label=TRUTH[40:][table.index]), verbose=False)
    assert model.rows_to_label(X[40:], n=1)["primum_row"].tolist() == ["r6"]
    assert model.rows_to_label(sparse.csr_array(X[40:]), n=1)["primum_row"].tolist() == ["r6"]
    assert model.rows_to_label(X[50:], n=1)["primum_row"].tolist() == ["r1"]


def test_other_rows_at_the_same_positions_do_not_keep_labels(model):
    rows = X[40:]
    for form in (np.asarray, sparse.csr_array):
        table = model.rows_to_label(form(rows), n=5)
        model.settle(table.assign(label=TRUTH[40:][table.index]), verbose=False)
        near = rows + 1e-9  # other rows, for which all models predict the same
        assert model.rows_to_label(form(near), n=1)["primum_row"].tolist() == ["r1"]
        assert model.settlement_.labels == {}


def test_rows_are_known_by_the_index_of_a_table():
    frame = pd.DataFrame(X, columns=["p", "label"])
    y = Y.astype(object)
    y[Y < 0] = None
    for index in (
        np.arange(500)[::-1] * 3,
        np.arange(500.0)[::-1],  # as positions, these are those of other rows
        np.arange(500, dtype=np.uint64) + np.uint64(2**63),
        [f"id{i}" for i in range(500)],
    ):
        named = frame.set_axis(index)
        more = named[400:]
        model = quick().fit(named[:400], y[:400], more)
        table = model.rows_to_label(n=400)
        assert list(table.columns) == ["primum_row", "primum_label", "p", "label"]
        np.testing.assert_array_equal(table[["p", "label"]], named.loc[table.index])
        truth = pd.Series(TRUTH, index)
        found = model.settle(truth[table.index], verbose=False)
        change = errors(model, model.baseline_, named[N_LABELED:], TRUTH[N_LABELED:])
        assert found.low == found.high == change
        wrong = pd.Series(1 - TRUTH[:N_LABELED], index[:N_LABELED])
        with pytest.raises(ValueError, match=r"already has the label '.' in the table"):
            model.settle(wrong)


def test_features_may_be_called_as_the_columns_of_a_table_to_label(model):
    asked = model._rows_asked(X[N_LABELED:])
    own = [f"predicted by the {name}" for name in ("model", "baseline", "supervised stack")]
    named = replace(asked, X=pd.DataFrame(asked.X, columns=["predicted by the model", "q"]))
    columns = list(named.table(2, model.classes_).columns[:5])
    assert columns == ["primum_row", "label", f"primum_{own[0]}", *own[1:]]
    keys = replace(asked, X=pd.DataFrame(asked.X, columns=["primum_row", "q"]))
    with pytest.raises(ValueError, match="X has a column 'primum_row', the name of the column of"):
        keys.table(2, None)
    fitted = quick().fit(pd.DataFrame(X, columns=["label", "primum_label"]), Y)
    table = fitted.rows_to_label(n=3)
    assert list(table.columns[:2]) == ["primum_row", "primum_primum_label"]
    filled = table.assign(primum_primum_label=TRUTH[table.index])
    assert fitted.settle(filled, verbose=False).n_labels == 3


def test_an_index_that_does_not_tell_rows_is_not_used():
    frame = pd.DataFrame(X[:3])
    for index in ([1, "1", 2], ["a", " a", "b"], [7, 7, 8]):
        assert own_index([frame.set_axis(index)]) is None
    assert own_index([frame.set_axis([1.0, 0.5, np.nan])]) is not None


def test_rows_of_x_unlabeled_are_below_those_of_x():
    model = quick().fit(X[:100], Y[:100], X[100:])
    table = model.rows_to_label(n=500)
    np.testing.assert_array_equal(table[["x0", "x1"]], X[table.index])


def test_a_model_file_has_no_rows_and_finds_the_same_ones_again(model, tmp_path):
    path = tmp_path / "model.skops"
    primum.save(model, path)
    loaded = primum.load(path)
    assert "_to_label" not in vars(loaded)
    assert loaded.settlement_ is None
    for call in (loaded.rows_to_label, lambda: loaded.settle({"r1": 0})):
        with pytest.raises(ValueError, match=r"loaded from a file, .* pass them to rows_to_label"):
            call()
    rows = X[N_LABELED:]
    table = loaded.rows_to_label(rows, n=9)
    pd.testing.assert_frame_equal(table, model.rows_to_label(rows, n=9))
    assert loaded.settle(table.assign(label=TRUTH[N_LABELED:][table.index])).n_labels == 9


def test_other_measures_are_not_settled():
    model = quick(scoring="roc_auc").fit(X, Y)
    with pytest.raises(ValueError, match="but not which is better by roc_auc: fit with scoring"):
        model.rows_to_label()
    assert "the choice between them" not in str(model.verdict_)


def test_bad_numbers_and_no_unlabelled_rows(model):
    with pytest.raises(TypeError, match="X must be rows, got 20: pass the number of rows to label"):
        model.rows_to_label(20)
    with pytest.raises(ValueError, match="n must be an int >= 1, or None for the expected"):
        model.rows_to_label(n=0)
    supervised = quick().fit(X, TRUTH)
    with pytest.raises(
        ValueError,
        match="fitted without unlabelled rows, within a time_b",
    ):
        supervised.rows_to_label()
    assert "the choice between them" not in str(supervised.verdict_)


@pytest.fixture
def compares_samples(monkeypatch):
    """Let a fit compare stacks on 200 rows."""
    monkeypatch.setattr("primum.safe.classifier.MAX_PREDICTED_ROWS", 200)


def test_a_sample_of_many_rows_is_compared_in_fit_and_all_of_those_that_are_passed(
    fitted, compares_samples
):
    model = quick().fit(X, Y)
    assert model.weights_ == fitted.weights_
    assert model.settlement_ is None
    assert model.verdict_.baseline.disagreement.n_compared == 200
    note = "on a random sample of 200 of the 470 unlabelled rows; rows_to_label(X) compares them"
    assert note in str(model.verdict_)
    for call in (model.rows_to_label, lambda: model.settle({"r1": 0})):
        with pytest.raises(ValueError, match=r"more than 200 of them: pass them to rows_to_l"):
            call()
    table, expected = model.rows_to_label(X[N_LABELED:], n=99), fitted.rows_to_label(n=99)
    np.testing.assert_array_equal(table.index + N_LABELED, expected.index)
    pd.testing.assert_frame_equal(table.reset_index(drop=True), expected.reset_index(drop=True))
    assert [one.pair for one in model.settlement_.questions] == [
        one.pair for one in fitted.settlement_.questions
    ]
    found = model.settle({"r1": 0, "r2": 1, "r3": 0}, verbose=False)
    assert found.n_labels == 3


def test_all_rows_are_compared_unless_time_is_short(monkeypatch):
    few = quick().fit(X, Y)
    monkeypatch.setattr("primum.safe.classifier.MAX_COMPARED_ROWS", 100)
    many = clone(few).fit(X, Y)
    pd.testing.assert_frame_equal(many.rows_to_label(n=99), few.rows_to_label(n=99))
    assert many.verdict_.text == few.verdict_.text
    short = quick(time_budget=1000.0).fit(X, Y)
    assert short.verdict_.baseline.disagreement.n_compared == 100
    with pytest.raises(ValueError, match="within a time_budget"):
        short.rows_to_label()


def test_a_fit_with_further_labels_has_another_order(model):
    """Otherwise the rows that come first are those that the new model has learnt by heart."""
    first = model.rows_to_label(n=500).index
    labels = Y.copy()
    labels[first[-1]] = TRUTH[first[-1]]
    again = quick().fit(X, labels)
    assert again.order_seed_ != model.order_seed_
    assert quick().fit(X, Y).order_seed_ == model.order_seed_
    second = again.rows_to_label(n=500).index
    common = first.intersection(second, sort=False)
    assert len(common) > 20
    ranks = [[list(order).index(row) for row in common] for order in (first, second)]
    assert abs(np.corrcoef(ranks)[0, 1]) < 4 / np.sqrt(len(common))


def test_labelled_rows_are_no_part_of_the_pool(model, tmp_path):
    """Models make fewer errors on them, and their labels are known."""
    both = quick().fit(X[:N_LABELED], Y[:N_LABELED], X)
    asked = both.settlement_
    assert asked.questions[0].pair.n_rows == 470
    said = "30 of the 500 unlabelled rows are also labelled rows (the same cells): they are left"
    assert said in asked.left_out
    assert said in str(asked)
    assert any(said in note for note in both.notes_)
    assert both.rows_to_label(n=500).index.min() >= 2 * N_LABELED
    path = tmp_path / "model.skops"
    primum.save(both, path)
    for fitted in (both, primum.load(path)):
        fitted.rows_to_label(X)
        assert fitted.settlement_.questions[0].pair.n_rows == 470
        with pytest.raises(ValueError, match="All 30 rows are labelled rows of fit, on which"):
            fitted.rows_to_label(X[:N_LABELED])
    # In a table of few categories, rows equal labelled ones by chance.
    model.rows_to_label(np.r_[X, X[:1]])
    assert model.settlement_.questions[0].pair.n_rows == 501
    assert model.settlement_.left_out == ""
