"""``primum fit`` and ``primum predict``: the answers of the library, from files to files."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.linear_model import LinearRegression

from primum import ICLSClassifier
from primum.cli import _progress
from primum.cli._models import load_model
from primum.cli.main import primum

NAMES = ["a", "b", "c"]


@pytest.fixture(name="call")
def call_primum(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(primum, [str(a) for a in arguments])


@pytest.fixture(name="rows")
def some_rows(rng):
    y = np.tile([0, 1], 250)
    X = rng.normal(size=(500, 3)) + y[:, None]
    frame = pd.DataFrame(X, columns=NAMES)
    frame["label"] = np.where(y == 1, "yes", "no")
    return frame


@pytest.fixture(name="files")
def three_files(tmp_path, rows):
    """Ten labelled rows, ten without a label, and the others in CSV and Parquet."""
    data = rows[:20].copy()
    data.loc[10:, "label"] = None
    data.to_csv(tmp_path / "data.csv", index=False)
    data.to_parquet(tmp_path / "data.parquet")
    more = rows[20:].drop(columns="label")
    more.to_csv(tmp_path / "more.csv", index=False)
    (tmp_path / "more").mkdir()
    more[:100].to_parquet(tmp_path / "more" / "0.parquet")
    more[100:].to_parquet(tmp_path / "more" / "1.parquet", row_group_size=50)
    return tmp_path


@pytest.fixture(name="expected")
def fit_in_memory(rows):
    labels = rows["label"].where(rows.index < 10, None)
    return ICLSClassifier().fit(rows[NAMES], labels)


def said(answer):
    """The one sentence of an error."""
    lines = answer.output.strip().splitlines()
    assert "Traceback" not in answer.output
    assert isinstance(answer.exception, SystemExit)
    return lines[-1]


@pytest.mark.parametrize("data", ["data.csv", "data.parquet"])
@pytest.mark.parametrize("more", ["more.csv", "more"])
def test_fit_equals_the_library(call, files, expected, data, more):
    answer = call("fit", data, "--target", "label", "--unlabeled", more, "--out", "model.skops")
    assert answer.exit_code == 0, answer.output
    model = load_model(files / "model.skops")
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-8)
    assert model.classes_.tolist() == ["no", "yes"]
    loss = f"{expected.certificate_.labeled_loss:.6g}"
    for part in (loss, "10 labelled rows", "unlabelled rows moved", "within", "Model: model.skops"):
        assert part in answer.output
    assert sorted(path.name for path in files.iterdir() if path.is_file()) == [
        "data.csv",
        "data.parquet",
        "model.skops",
        "more.csv",
    ]


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out.csv.gz"])
@pytest.mark.parametrize("data", ["more.csv", "more"])
def test_predictions_equal_the_library(call, files, rows, expected, data, out, monkeypatch):
    monkeypatch.setattr("primum.cli._tables.CHUNK", 70)
    monkeypatch.setattr("primum.cli.predict.ROWS_PER_PART", 150)
    call("fit", "data.csv", "--target", "label", "--unlabeled", "more", "--out", "model.skops")
    answer = call("predict", "model.skops", data, "--out", out)
    assert answer.exit_code == 0, answer.output
    table = pd.read_parquet(out) if out.endswith("parquet") else pd.read_csv(out)
    assert list(table.columns) == ["prediction", "score"]
    new = rows[20:][NAMES]
    np.testing.assert_allclose(table["score"], expected.decision_function(new), atol=1e-6)
    assert table["prediction"].tolist() == expected.predict(new).tolist()
    assert not list(files.glob(".*"))


def test_columns_are_chosen_and_found_by_name(call, files, rows):
    rows[["label", "c", "a"]].assign(id="x").to_csv("new.csv", index=False)
    for choice in (["--features", "a,c"], ["--drop", "b"]):
        call("fit", "data.csv", "--target", "label", *choice, "--out", "model.skops")
        assert load_model(files / "model.skops").feature_names_in_.tolist() == ["a", "c"]
        assert call("predict", "model.skops", "new.csv", "--out", "out.csv").exit_code == 0
        assert len(pd.read_csv("out.csv")) == 500


@pytest.mark.parametrize("method", ["usm", "supervised"])
def test_other_methods(call, files, method):
    arguments = ("fit", "data.csv", "--target", "label", "--method", method, "--out", "m.skops")
    assert call(*arguments, "--unlabeled", "more", "--alpha", 0.1).exit_code == 0
    assert load_model(files / "m.skops").alpha == 0.1
    assert call("predict", "m.skops", "more", "--out", "out.csv").exit_code == 0
    wrong = call(*arguments, "--metric", "all")
    assert wrong.exit_code == 2
    assert "--metric is for --method icls only" in said(wrong)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["0", "1", ""], [0, 1]),
        (["1.0", "2.0", ""], [1, 2]),
        (["NA", "null", ""], ["NA", "null"]),
        (["True", "False", ""], ["False", "True"]),
        (["1", "2", "-1"], [1, 2]),
    ],
)
def test_labels_of_a_csv(call, files, rows, labels, classes):
    data = rows[:60].assign(label=np.tile(labels, 20))
    data.to_csv("labels.csv", index=False)
    answer = call("fit", "labels.csv", "--target", "label", "--out", "m.skops")
    assert answer.exit_code == 0, answer.output
    assert "40 labelled rows, 20 unlabelled" in answer.output
    model = load_model(files / "m.skops")
    assert model.classes_.tolist() == classes
    assert type(model.classes_.tolist()[0]) is type(classes[0])


def test_whole_numbers_of_parquet_stay_whole_and_digits_stay_text(call, files, rows):
    for labels, classes in (([0, 1, None], [0, 1]), (["007", "7", None], ["007", "7"])):
        data = rows[:60].drop(columns="label")
        data["label"] = pd.Series(labels * 20)
        data.to_parquet("labels.parquet")
        call("fit", "labels.parquet", "--target", "label", "--out", "m.skops")
        assert load_model(files / "m.skops").classes_.tolist() == classes


def test_a_table_without_rows(call, files, rows):
    call("fit", "data.csv", "--target", "label", "--out", "m.skops")
    rows[:0].to_csv("none.csv", index=False)
    rows[:0].to_parquet("none.parquet")
    for data in ("none.csv", "none.parquet"):
        for out in ("out.csv", "out.parquet"):
            assert call("predict", "m.skops", data, "--out", out).exit_code == 0
            table = pd.read_csv(out) if out.endswith("csv") else pd.read_parquet(out)
            assert list(table.columns) == ["prediction", "score"]
            assert len(table) == 0


def test_progress_is_shown_on_a_terminal_only(files, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    arguments = ["fit", "data.csv", "--target", "label", "--unlabeled", "more", "--out", "m.skops"]
    monkeypatch.chdir(files)
    monkeypatch.setattr(_progress.sys, "stderr", screen)
    primum(arguments, standalone_mode=False)
    assert "fitting, pass 1: 100%" in screen.getvalue()
    monkeypatch.undo()
    monkeypatch.chdir(files)
    primum(arguments, standalone_mode=False)
    assert capsys.readouterr().err == ""


class TestRefusals:
    """One sentence, the right exit code, and nothing half-written."""

    def refused(self, answer, code, *words):
        assert answer.exit_code == code, answer.output
        sentence = said(answer)
        for word in words:
            assert word in sentence

    def test_target_that_is_not_there(self, call, files):
        answer = call("fit", "data.csv", "--target", "lable", "--out", "m.skops")
        self.refused(answer, 1, "data.csv has no column 'lable'", "did you mean 'label'?")

    def test_features_that_are_no_numbers(self, call, files, rows):
        rows.assign(id="x", when="y").to_csv("words.csv", index=False)
        answer = call("fit", "words.csv", "--target", "label", "--out", "m.skops")
        self.refused(answer, 1, "not numbers", "'id'", "'when'")
        assert not (files / "m.skops").exists()

    def test_missing_values(self, call, files, rows):
        rows.loc[7, "b"] = np.nan
        rows.to_csv("holes.csv", index=False)
        answer = call("fit", "holes.csv", "--target", "label", "--out", "m.skops")
        self.refused(answer, 1, "Row 7 (holes.csv) has nan in column 'b'")
        call("fit", "data.csv", "--target", "label", "--out", "m.skops")
        rows.to_parquet("holes.parquet")
        for data in ("holes.csv", "holes.parquet"):
            answer = call("predict", "m.skops", data, "--out", "out.csv")
            self.refused(answer, 1, "Row 7", data, "has nan in column 'b'")
        assert not [path for path in files.iterdir() if "out.csv" in path.name]

    def test_unlabeled_rows_with_other_columns(self, call, files, rows):
        rows.rename(columns={"b": "bb"}).to_parquet("other.parquet")
        rows.rename(columns={"b": "bb"}).to_csv("other.csv", index=False)
        for more in ("other.csv", "other.parquet"):
            answer = call(
                "fit", "data.csv", "--target", "label", "--unlabeled", more, "--out", "m.skops"
            )
            self.refused(answer, 1, f"{more} has no column 'b'", "did you mean 'bb'")

    def test_several_parquet_sources(self, call, files):
        more = ("--unlabeled", "more", "--unlabeled", "more/0.parquet")
        answer = call("fit", "data.csv", "--target", "label", *more, "--out", "m.skops")
        self.refused(answer, 2, "put several files into one folder")

    def test_one_class(self, call, files, rows):
        rows[::2].to_csv("one.csv", index=False)
        answer = call("fit", "one.csv", "--target", "label", "--out", "m.skops")
        self.refused(answer, 1, "Only one class")

    def test_places_and_names(self, call, files):
        (files / "data.txt").write_text("a,b\n")
        fit = ("--target", "label", "--out")
        self.refused(call("fit", "none.csv", *fit, "m.skops"), 2, "does not exist")
        self.refused(call("fit", "data.txt", *fit, "m.skops"), 2, "neither CSV nor Parquet")
        self.refused(call("fit", "data.csv", *fit, "no/m.skops"), 2, "there is no folder no")
        call("fit", "data.csv", *fit, "m.skops")
        self.refused(call("predict", "m.skops", "more", "--out", "o.txt"), 2, "neither CSV")
        self.refused(call("predict", "m.skops", "more.csv", "--out", "more.csv"), 2, "DATA itself")

    def test_an_empty_csv(self, call, files):
        (files / "empty.csv").touch()
        answer = call("fit", "empty.csv", "--target", "label", "--out", "m.skops")
        self.refused(answer, 1, "No columns to parse from file")

    def test_what_was_there_stays_if_the_new_is_not_complete(self, call, files, rows):
        call("fit", "data.csv", "--target", "label", "--out", "m.skops")
        (files / "out.csv").write_text("precious")
        rows.loc[300, "b"] = np.nan
        rows.to_parquet("holes.parquet", row_group_size=50)
        assert call("predict", "m.skops", "holes.parquet", "--out", "out.csv").exit_code == 1
        assert (files / "out.csv").read_text() == "precious"
        assert not list(files.glob(".*"))


class TestModelsThatAreNotOurs:
    def refused(self, call, *words):
        answer = call("predict", "m.skops", "more.csv", "--out", "out.csv")
        assert answer.exit_code == 1
        for word in words:
            assert word in said(answer)

    def test_pickle(self, call, files, expected):
        (files / "m.skops").write_bytes(pickle.dumps(expected))
        self.refused(call, "m.skops is not a model written by primum fit")

    def test_foreign_types(self, call, files):
        skops.io.dump(print, files / "m.skops")
        self.refused(call, "refused because it holds builtins.print")
        skops.io.dump(np.testing.assert_allclose, files / "m.skops")
        self.refused(call, "refused because it holds numpy")

    def test_another_estimator(self, call, files):
        skops.io.dump(LinearRegression(), files / "m.skops")
        self.refused(call, "holds a LinearRegression, not a fitted model")

    def test_not_fitted(self, call, files):
        skops.io.dump(ICLSClassifier(), files / "m.skops")
        self.refused(call, "not a fitted model")

    def test_cut_off(self, call, files):
        call("fit", "data.csv", "--target", "label", "--out", "m.skops")
        (files / "m.skops").write_bytes((files / "m.skops").read_bytes()[:-200])
        self.refused(call, "is not a model written by primum fit, or it is damaged")

    def test_without_names(self, call, files, rows):
        X = rows[NAMES].to_numpy()
        model = ICLSClassifier().fit(X, np.tile([0, 1], 250))
        skops.io.dump(model, files / "m.skops")
        assert call("predict", "m.skops", "more.csv", "--out", "out.csv").exit_code == 0
        scores = pd.read_csv("out.csv")["score"]
        np.testing.assert_allclose(scores, model.decision_function(X[20:]))
        rows.to_csv("more.csv", index=False)
        self.refused(call, "more.csv has 4 columns but the model has 3 features without names")
