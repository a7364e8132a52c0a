"""``primum fit`` and ``primum predict`` with three classes, from CSV and Parquet."""

import numpy as np
import pandas as pd
import pytest
import skops.io

from primum import LeastSquaresClassifier
from primum.cli.fit import METHODS
from primum.labellings import HyperplaneLabels
from primum.models import MODEL_FORMAT, StoredModel, load_model, save_model


@pytest.fixture(name="call")
def call_with_numbers(call_without_preparation):
    return call_without_preparation


NAMES = ["a", "b", "c"]
KINDS = np.array(["oak", "pine", "yew"])


@pytest.fixture(name="trees")
def rows_of_three_classes(rng):
    y = np.arange(240) % 3
    X = rng.normal(size=(240, 3)) + 2.0 * np.eye(3)[y]
    frame = pd.DataFrame(X, columns=NAMES)
    frame["kind"] = KINDS[y]
    return frame


@pytest.fixture(name="data", params=["trees.csv", "trees.parquet"])
def write_data(request, tmp_path, trees):
    """Forty rows, ten of them without a label."""
    data = trees[:40].copy()
    data.loc[30:, "kind"] = None
    write(data, tmp_path / request.param)
    return request.param


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)


def read(path):
    return pd.read_parquet(path) if path.endswith("parquet") else pd.read_csv(path)


@pytest.fixture(name="fit")
def fit_supervised(call):
    def fit(data, *arguments):
        method = ("--method", "supervised", "--target", "kind")
        return call("fit", data, *method, *arguments, "--out", "m.skops")

    return fit


def least_squares_scores(trees, new):
    """Return the scores of a least-squares fit to the one-hot labels of the first thirty rows."""
    X = np.column_stack([np.ones(len(trees)), trees[NAMES]])
    one_hot = (trees["kind"].to_numpy()[:30, None] == KINDS).astype(float)
    theta = np.linalg.lstsq(X[:30], one_hot, rcond=None)[0]
    return X[new] @ theta


def nearest_probabilities(scores):
    """Return max(0, s - t) with sum 1: t is the largest of (sum of the k largest - 1) / k."""
    largest = -np.sort(-scores, axis=1)
    t = ((np.cumsum(largest, axis=1) - 1) / np.arange(1, scores.shape[1] + 1)).max(axis=1)
    return np.maximum(0, scores - t[:, None])


def test_fit_says_the_classes_and_their_labelled_rows(fit, data, tmp_path):
    answer = fit(data)
    assert answer.exit_code == 0, answer.output
    for words in (
        "Fitted LeastSquaresClassifier to 30 labelled rows and 10 unlabelled rows.",
        "Its 3 classes, with their labelled rows, are 'oak' (10), 'pine' (10), 'yew' (10).",
        "Its 3 features are a, b, c. It has one score per class, fitted to 1 in rows of that class "
        "and to 0 in the others; the class with the largest score is predicted.",
    ):
        assert words in answer.stdout, words
    assert load_model(tmp_path / "m.skops").estimator.coef_.shape == (3, 3)


@pytest.mark.parametrize("method", ["icls", "usm"])
@pytest.mark.parametrize("more", ["more.csv", "more.parquet"])
def test_unlabelled_rows(call, data, trees, tmp_path, method, more):
    write(trees[40:].drop(columns="kind"), tmp_path / more)
    fit = ("fit", data, "--target", "kind", "--method", method, "--unlabeled", more)
    answer = call(*fit, "--out", "m.skops")
    assert answer.exit_code == 0, answer.output
    labels = trees["kind"].where(trees.index < 30, None)
    expected = METHODS[method]().fit(trees[NAMES], labels)
    model = load_model(tmp_path / "m.skops").estimator
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    if method == "icls":
        assert f"labelled rows: {expected.certificate_.labeled_loss:.6g}, of the s" in answer.stdout
        assert "(proven; tolerance 1." in answer.stdout
    trees.to_csv("new.csv", index=False)
    call("predict", "m.skops", "new.csv", "--score", "clipped", "--out", "p.csv")
    table = pd.read_csv("p.csv")
    probabilities = nearest_probabilities(expected.decision_function(trees[NAMES]))
    np.testing.assert_allclose(table[table.columns[1:]], probabilities, atol=1e-6)
    assert table["prediction"].tolist() == expected.predict(trees[NAMES]).tolist()


def test_many_unlabelled_rows(call, data, rng, tmp_path):
    """Their labels are stored as hyperplanes, with the label set."""
    y = rng.integers(0, 3, 20_000)
    X = rng.normal(size=(20_000, 3)) + 2.0 * np.eye(3)[y]
    pd.DataFrame(X, columns=NAMES).to_parquet("many.parquet")
    fit = ("fit", data, "--target", "kind", "--unlabeled", "many.parquet", "--out", "m.skops")
    answer = call(*fit)
    assert answer.exit_code == 0, answer.output
    stored = load_model(tmp_path / "m.skops").estimator
    assert isinstance(stored._labels, HyperplaneLabels)
    soft = stored.soft_labels("many.parquet")
    assert soft.shape == (20_000, 3)
    np.testing.assert_allclose(soft.sum(axis=1), 1)
    assert call("predict", "m.skops", "many.parquet", "--out", "p.csv").exit_code == 0
    assert np.mean(pd.read_csv("p.csv")["prediction"] == KINDS[y]) > 0.7


def test_many_classes_are_not_all_listed(fit, trees):
    trees.assign(kind=np.arange(240) % 15).to_csv("many.csv", index=False)
    words = "Its 15 classes, with their labelled rows, are 0 (16), 1 (16), "
    assert words in (said := fit("many.csv").stdout)
    assert ", 11 (16) and 3 more.\n" in said


def test_two_classes_and_their_labelled_rows(call, files):
    answer = call("fit", "data.csv", "--target", "label", "--out", "m.skops")
    assert "Its 2 classes, with their labelled rows, are 'no' (5), 'yes' (5).\n" in answer.stdout
    assert "Its score is fitted to 0 for 'no' and to 1 for 'yes', with the" in answer.stdout


@pytest.mark.parametrize("out", ["p.csv", "p.parquet", "p.csv.gz"])
@pytest.mark.parametrize("new", ["new.csv", "new.parquet"])
@pytest.mark.parametrize("kind", ["raw", "clipped"])
def test_predictions(call, fit, data, trees, tmp_path, monkeypatch, new, out, kind):
    monkeypatch.setattr("primum.tables.csv.CELLS_PER_PART", 150)
    monkeypatch.setattr("primum.cli.predict.ROWS_PER_PART", 100)
    assert fit(data).exit_code == 0
    write(trees[30:].drop(columns="kind"), tmp_path / new)
    answer = call("predict", "m.skops", new, "--score", kind, "--out", out)
    assert answer.exit_code == 0, answer.output
    table = read(out)
    assert table.columns.tolist() == ["prediction", "score_oak", "score_pine", "score_yew"]
    scores = least_squares_scores(trees, slice(30, None))
    assert table["prediction"].tolist() == KINDS[scores.argmax(axis=1)].tolist()
    expected = scores if kind == "raw" else nearest_probabilities(scores)
    np.testing.assert_allclose(table[table.columns[1:]], expected, atol=1e-10)
    if kind == "clipped":
        np.testing.assert_allclose(table[table.columns[1:]].sum(axis=1), 1)
        assert (table[table.columns[1:]] == 0).any(axis=None)


def test_without_scores(call, fit, data, trees):
    fit(data)
    trees.to_csv("new.csv", index=False)
    assert call("predict", "m.skops", "new.csv", "--out", "p.csv").exit_code == 0
    assert pd.read_csv("p.csv").columns.tolist() == ["prediction"]


@pytest.mark.parametrize(
    ("kinds", "names"),
    [
        ([1, 2, 3], ["1", "2", "3"]),
        ([-5, 0, 10], ["-5", "0", "10"]),
        (["007", "7", "x,y"], ["007", "7", "x,y"]),
    ],
)
@pytest.mark.parametrize("new", ["new.csv", "new.parquet"])
def test_numbers_and_text_as_classes(call, fit, trees, tmp_path, new, kinds, names):
    labels = np.array(kinds)[np.arange(240) % 3]
    write(trees.assign(kind=labels), tmp_path / new)
    assert fit(new).exit_code == 0
    assert load_model(tmp_path / "m.skops").estimator.classes_.tolist() == kinds
    call("predict", "m.skops", new, "--score", "raw", "--out", "p.csv")
    dtype = {"prediction": str if isinstance(kinds[0], str) else int}
    table = pd.read_csv("p.csv", dtype=dtype)
    assert table.columns.tolist() == ["prediction", *(f"score_{name}" for name in names)]
    assert set(table["prediction"]) == set(kinds)


def test_a_table_without_rows(call, fit, data, trees):
    fit(data)
    trees[:0].to_csv("none.csv", index=False)
    for out in ("p.csv", "p.parquet"):
        assert call("predict", "m.skops", "none.csv", "--score", "raw", "--out", out).exit_code == 0
        table = read(out)
        assert table.columns.tolist() == ["prediction", "score_oak", "score_pine", "score_yew"]
        assert len(table) == 0


def test_an_id_that_is_named_like_a_score(call, fit, data, trees, refused):
    fit(data)
    trees.assign(score_oak=np.arange(240)).to_csv("new.csv", index=False)
    predict = ("predict", "m.skops", "new.csv", "--id", "score_oak", "--out", "p.csv")
    answer = call(*predict, "--score", "raw")
    refused(answer, 1, "'score_oak' is a column of the predictions: rename the id column")
    assert call(*predict).exit_code == 0


@pytest.mark.parametrize("new", ["new.csv", "new.parquet"])
def test_measurements_are_no_classes(fit, trees, tmp_path, refused, new):
    write(trees.assign(kind=trees["a"].round(1)), tmp_path / new)
    refused(fit(new), 1, f"Column 'kind' of {new} is a numeric target (", "put a letter")


def test_a_marker_among_three_classes(fit, trees, tmp_path, refused):
    write(
        trees.assign(kind=np.array(["oak", "pine", "unknown"])[np.arange(240) % 3]),
        tmp_path / "new.csv",
    )
    refused(
        fit("new.csv"),
        1,
        "'unknown' in column 'kind' of new.csv is one of 3 different labels",
        "pass --missing 'unknown'",
        "rename it if it is a class",
    )
    answer = fit("new.csv", "--missing", "unknown")
    assert "Its 2 classes, with their labelled rows, are 'oak' (80), 'pine' (80)" in answer.output


class TestModels:
    @pytest.fixture(name="fitted")
    def fit_in_memory(self, trees):
        return LeastSquaresClassifier().fit(trees[NAMES], trees["kind"])

    def test_round_trip(self, tmp_path, fitted):
        save_model(StoredModel(fitted, "id"), tmp_path / "m.skops")
        found = load_model(tmp_path / "m.skops")
        np.testing.assert_array_equal(found.estimator.coef_, fitted.coef_)
        assert found.estimator.classes_.tolist() == KINDS.tolist()
        assert (
            skops.io.load(
                tmp_path / "m.skops",
                trusted=["primum.methods.least_squares.classifier.LeastSquaresClassifier"],
            )["format"]
            == MODEL_FORMAT
        )

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("coef_", np.ones((1, 3)), "coef_ is not an array of finite real numbers of shape"),
            ("coef_", np.full((3, 3), np.nan), "coef_ is not an array of finite real numbers"),
            ("intercept_", np.ones(1), r"of shape (3,), as its 3 classes_ and 3 features require"),
            ("classes_", np.array(["oak", "oak", "yew"]), "its classes_ are not different labels"),
            ("classes_", KINDS[:2], "(1, 3), as its 2 classes_ and 3 features require"),
            ("classes_", KINDS[:1], "its classes_ are 1, not two or more"),
        ],
    )
    def test_tampered_attributes(self, call, trees, tmp_path, refused, fitted, name, value, words):
        setattr(fitted, name, value)
        save_model(StoredModel(fitted), tmp_path / "m.skops")
        trees.to_csv("new.csv", index=False)
        refused(call("predict", "m.skops", "new.csv", "--out", "p.csv"), 1, words, "fit it again")
