"""The safe choice with unlabelled rows in Parquet files and Dask collections."""

import numpy as np
import pandas as pd
import pytest

from generate import several_classes, two_classes
from primum import ICLSClassifier, SafeClassifier, SafeRegressor
from primum.equations import sampled as sampling
from primum.rows import ArrayRows, ParquetRows
from primum.safe.candidates import linear
from primum.safe.rows import SharedRows, as_given, standardisation

pytestmark = pytest.mark.usefixtures("quick_drift")

COLUMNS = ["a", "b", "c"]
QUICK = {"baseline": ["ridge"], "cv": 3, "n_repeats": 1, "random_state": 0}


@pytest.fixture(autouse=True)
def in_this_thread():
    """Let Dask compute here."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


def as_parquet(X, folder, rows_per_group=17):
    path = folder / f"rows-{rows_per_group}.parquet"
    pd.DataFrame(X, columns=COLUMNS).to_parquet(path, row_group_size=rows_per_group)
    return path


def as_array(X, folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(23, 2))


def as_frame(X, folder):
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(pd.DataFrame(X, columns=COLUMNS), npartitions=3)


KINDS = pytest.mark.parametrize("store", [as_parquet, as_array, as_frame])


@KINDS
@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_rows_outside_memory_give_the_fit_in_memory(tmp_path, store, n_classes):
    if n_classes == 2:
        X, y, more, _ = two_classes(30, 60, 3, separation=2.0)
    else:
        X, y, more, _ = several_classes(30, 60, 3, n_classes)
    table, there = pd.DataFrame(X, columns=COLUMNS), store(more, tmp_path)
    y = np.array(["no", "yes", "perhaps"])[y].astype(object)
    y[25:] = None
    clf = SafeClassifier(["components", "kernel"], **QUICK)
    expected = clf.fit(table, y, pd.DataFrame(more, columns=COLUMNS))
    weights, asked = expected.weights_, expected.settlement_
    rows = pd.DataFrame(more, columns=COLUMNS)
    names = ["predict_proba", "decision_function", "predict"]
    values = [getattr(expected, name)(rows) for name in names]
    found = clf.fit(table, y, X_unlabeled=there)
    assert found.weights_ == pytest.approx(weights, abs=1e-10)
    assert found.settlement_.questions == asked.questions
    for model in (found, found.baseline_):
        streamed = [getattr(model, name)(there) for name in names]
        assert {type(value).__name__ for value in streamed} == {
            "ndarray" if store is as_parquet else "Array"
        }
    streamed = [np.asarray(getattr(found, name)(there)) for name in names]
    np.testing.assert_allclose(streamed[0], values[0], atol=1e-10)
    np.testing.assert_allclose(streamed[1], values[1], atol=1e-10)
    np.testing.assert_array_equal(streamed[2], values[2])


def test_numbers(tmp_path):
    X, _, more, _ = two_classes(40, 80, 3)
    y = X @ [1.0, 2.0, 3.0]
    reg = SafeRegressor(["components"], **QUICK).fit(X, y, more)
    weights, expected, baseline = reg.weights_, reg.predict(more), reg.baseline_.predict(more)
    path = as_parquet(more, tmp_path)
    reg.fit(X, y, path)
    assert reg.weights_ == pytest.approx(weights, abs=1e-10)
    np.testing.assert_allclose(reg.predict(path), expected, atol=1e-10)
    np.testing.assert_allclose(reg.baseline_.predict(path), baseline, atol=1e-10)
    np.testing.assert_allclose(reg.predict(as_array(more, tmp_path)).compute(), expected)


@KINDS
@pytest.mark.parametrize("standardize", [True, False])
def test_components_are_those_of_all_rows_outside_memory(tmp_path, monkeypatch, store, standardize):
    """They depend on the rows by their moments only, of which a sample would not have all."""
    monkeypatch.setattr(sampling, "MAX_SAMPLED_ROWS", 40)
    X, y, more, _ = two_classes(30, 200, 3, separation=2.0)
    more = more * [1.0, 30.0, 0.1] + [0.0, 500.0, 0.0]
    X = X * [1.0, 30.0, 0.1] + [0.0, 500.0, 0.0]
    y[20:] = -1
    clf = SafeClassifier(["components"], standardize=standardize, **QUICK)
    expected = clf.fit(X, y, more).report_
    of_sample = clf.fit(X, y, more[:40]).report_["brier"]
    found = clf.fit(X, y, store(more, tmp_path)).report_
    at = expected["model"].index("components")
    assert found["brier"] == pytest.approx(expected["brier"], abs=1e-8)
    assert found["weight"][at] == pytest.approx(expected["weight"][at], abs=1e-8)
    assert abs(of_sample[at] - expected["brier"][at]) > 1e-5


def test_a_sample_of_many_rows_is_named_and_the_same_wherever_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "MAX_SAMPLED_ROWS", 50)
    X, y, more, _ = two_classes(30, 200, 3, separation=2.0)
    y[20:] = -1
    own = ("own", ICLSClassifier(0.1), True, "ridge")
    clf = SafeClassifier(["spreading", own], **QUICK)
    stores = [as_parquet(more, tmp_path), as_parquet(more, tmp_path, 200), as_array(more, tmp_path)]
    found = []
    for there in stores:
        clf.fit(X, y, there, sample_weight=np.linspace(1.0, 2.0, 30), groups=np.arange(30) // 2)
        found.append([*clf.weights_.values(), *clf.predict_proba(more)[:, 1]])
    np.testing.assert_allclose(found[1:], found[:1] * 2, atol=1e-10)
    for name in ("spreading", "own"):
        assert f"{name} uses a random sample of 50 of the 210 unlabelled rows." in clf.notes_
    note = "The model is compared with others on a random sample of 50 of the 210 unlabelled rows"
    assert note in str(clf.verdict_)
    assert clf.settlement_ is None
    with pytest.raises(ValueError, match="or to more than 20,000 of them: pass them to"):
        clf.rows_to_label()
    clf.rows_to_label(stores[0])
    assert clf.settlement_.questions[0].pair.n_rows == 200


@pytest.mark.parametrize("rows_per_group", [13, 300])
def test_a_sample_has_the_rows_of_its_positions_and_all_moments(
    tmp_path, monkeypatch, rng, rows_per_group
):
    monkeypatch.setattr(sampling, "MAX_SAMPLED_ROWS", 100)
    X = rng.normal(size=(360, 3)) * [1.0, 5.0, 0.0] + 100.0
    X[:, 2] = np.arange(360)
    labeled, inside, more = np.split(X, [20, 60])
    there = ParquetRows(as_parquet(more, tmp_path, rows_per_group), COLUMNS, 3)
    sample, sampled = sampling.read_sample(ArrayRows(inside), there, labeled, 7)
    assert there.passes == 1
    np.testing.assert_array_equal(sample, X[20:][sampled.positions])
    assert len(np.unique(sampled.positions)) == 100
    assert sampled.n_rows == 340
    np.testing.assert_array_equal(sampled.take(inside), sample[sample[:, 2] < 60])
    np.testing.assert_allclose(sampled.moments.mean, X.mean(axis=0))
    np.testing.assert_allclose(sampled.moments.scatter / 360, np.cov(X.T, bias=True), rtol=1e-12)


def test_bad_rows_are_named(tmp_path):
    X, y, more, _ = two_classes(30, 60, 3)
    table, bad = pd.DataFrame(X, columns=COLUMNS), more.copy()
    bad[40, 1] = np.nan
    clf = SafeClassifier(["components"], **QUICK)
    message = r"Row 40 \(row groups 0 to 3 of rows-17.parquet\) has nan in column 'b'"
    with pytest.raises(ValueError, match=message):
        clf.fit(table, y, as_parquet(bad, tmp_path))
    clf.fit(table, y)
    with pytest.raises(ValueError, match=message):
        clf.predict(as_parquet(bad, tmp_path))
    other = tmp_path / "other.parquet"
    pd.DataFrame(more, columns=["a", "b", "d"]).to_parquet(other)
    for use in (clf.predict, lambda path: clf.fit(table, y, path)):
        with pytest.raises(ValueError, match="has no column 'c'"):
            use(other)


@pytest.mark.parametrize("scaling", [standardisation, as_given])
def test_components_of_many_rows_in_memory_come_from_their_moments(monkeypatch, scaling):
    X, _, more, _ = two_classes(30, 200, 4, separation=2.0)
    X, more = (rows * [1.0, 30.0, 0.1, 0.0] + [0.0, 500.0, 0.0, 7.0] for rows in (X, more))
    X[:, 2], more[:, 2] = 2 * X[:, 0], 2 * more[:, 0]  # and the last column is constant
    rows, candidate = SharedRows(X, more, scaling=scaling), linear.AllComponents()
    expected = candidate.prepare(rows).prepared.labeled
    monkeypatch.setattr(linear, "MAX_PCA_ROWS", 199)
    monkeypatch.delattr(linear, "find_components")
    found = candidate.prepare(rows)
    assert found.prepared.labeled.shape == expected.shape == (30, 2)
    assert found.note == ""
    # Components have arbitrary signs.
    np.testing.assert_allclose(
        found.prepared.labeled @ found.prepared.labeled.T, expected @ expected.T, atol=1e-9
    )


def test_no_rows_outside_memory(tmp_path):
    X, y, more, _ = two_classes(30, 60, 3)
    table, empty = pd.DataFrame(X, columns=COLUMNS), as_parquet(more[:0], tmp_path)
    clf = SafeClassifier(["components"], **QUICK)
    expected = clf.fit(table, y).weights_
    assert clf.fit(table, y, X_unlabeled=empty).weights_ == expected
    assert "There are no unlabelled rows, so the model is supervised." in clf.notes_
    assert clf.predict_proba(empty).shape == (0, 2)


def test_a_sample_of_sorted_rows_is_uniform(tmp_path, monkeypatch):
    """The largest deviation from the uniform distribution is below its 1% quantile (Smirnov)."""
    monkeypatch.setattr(sampling, "MAX_SAMPLED_ROWS", 500)
    X = np.arange(6000.0)[:, None] * [1.0, 0.0, -1.0]
    there = ParquetRows(as_parquet(X, tmp_path, 170), COLUMNS, 3)
    sample, _ = sampling.read_sample(ArrayRows(X[:0]), there, X[:10], 3)
    deviation = np.abs(sample[:, 0] / 6000 - np.arange(500) / 500).max()
    assert deviation < 1.63 / np.sqrt(500)
    other, _ = sampling.read_sample(ArrayRows(X[:0]), there, X[:10], 4)
    assert not np.array_equal(sample, other)
