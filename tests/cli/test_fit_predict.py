"""``primum fit`` and ``primum predict``: the answers of the library, from files to files."""

import io
import os

import numpy as np
import pandas as pd
import pytest

from primum import ICLSClassifier, _progress
from primum.cli.main import primum
from primum.models import load_model, save_model


@pytest.fixture(name="call")
def call_with_numbers(call_without_preparation):
    return call_without_preparation


NAMES = ["a", "b", "c"]


@pytest.fixture(name="expected")
def fit_in_memory(rows):
    labels = rows["label"].where(rows.index < 10, None)
    return ICLSClassifier().fit(rows[NAMES], labels)


@pytest.mark.parametrize("data", ["data.csv", "data.parquet"])
@pytest.mark.parametrize("more", ["more.csv", "more"])
def test_fit_equals_the_library(call, files, expected, data, more):
    answer = call("fit", data, "--target", "label", "--unlabeled", more, "--out", "model.skops")
    assert answer.exit_code == 0, answer.output
    model = load_model(files / "model.skops").estimator
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-8)
    assert model.classes_.tolist() == ["no", "yes"]
    loss = f"{expected.certificate_.labeled_loss:.6g}"
    for part in (
        loss,
        "10 labelled rows",
        "unlabelled rows moved",
        "(proven;",
        "Model: model.skops",
    ):
        assert part in answer.output
    assert sorted(path.name for path in files.iterdir() if path.is_file()) == [
        "data.csv",
        "data.parquet",
        "model.skops",
        "more.csv",
    ]


@pytest.mark.parametrize(
    ("data", "more", "sentence"),
    [
        ("data.csv", (), "10 labelled rows and 10 unlabelled rows."),
        ("labelled.csv", (), "10 labelled rows and no unlabelled rows."),
        ("labelled.csv", ("--unlabeled", "more"), "10 labelled rows and the 480 unlabelled rows o"),
        (
            "data.csv",
            ("--unlabeled", "more"),
            "rows, 10 unlabelled rows and the 480 unlabelled row",
        ),
    ],
)
def test_fit_says_which_rows_it_had(call, files, rows, data, more, sentence):
    rows[:10].to_csv("labelled.csv", index=False)
    answer = call("fit", data, "--target", "label", *more, "--out", "model.skops")
    assert sentence in answer.stdout
    assert "passes" not in answer.stdout


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out.csv.gz"])
@pytest.mark.parametrize("data", ["more.csv", "more"])
def test_predictions_equal_the_library(call, files, rows, expected, data, out, monkeypatch):
    monkeypatch.setattr("primum.tables.csv.CELLS_PER_PART", 210)
    monkeypatch.setattr("primum.cli.predict.ROWS_PER_PART", 150)
    call("fit", "data.csv", "--target", "label", "--unlabeled", "more", "--out", "model.skops")
    answer = call("predict", "model.skops", data, "--score", "raw", "--out", out)
    assert answer.exit_code == 0, answer.output
    table = pd.read_parquet(out) if out.endswith("parquet") else pd.read_csv(out)
    assert list(table.columns) == ["prediction", "score"]
    new = rows[20:][NAMES]
    np.testing.assert_allclose(table["score"] - 0.5, expected.decision_function(new), atol=1e-6)
    assert table["prediction"].tolist() == expected.predict(new).tolist()
    assert not list(files.glob(".*"))


def test_columns_are_chosen_and_found_by_name(call, files, rows):
    rows[["label", "c", "a"]].assign(id="x").to_csv("new.csv", index=False)
    for choice in (["--features", "a,c"], ["--exclude", "b"]):
        call("fit", "data.csv", "--target", "label", *choice, "--out", "model.skops")
        assert load_model(files / "model.skops").estimator.feature_names_in_.tolist() == ["a", "c"]
        assert call("predict", "model.skops", "new.csv", "--out", "out.csv").exit_code == 0
        assert len(pd.read_csv("out.csv")) == 500


@pytest.mark.parametrize("method", ["usm", "supervised"])
def test_other_methods(call, files, refused, method):
    arguments = ("fit", "data.csv", "--target", "label", "--method", method, "--out", "m.skops")
    assert call(*arguments, "--unlabeled", "more", "--alpha", 0.1).exit_code == 0
    assert load_model(files / "m.skops").estimator.alpha == 0.1
    assert call("predict", "m.skops", "more", "--out", "out.csv").exit_code == 0
    for option, value in (("--metric", "all"), ("--alpha-labeled", 0)):
        wrong = call(*arguments, option, value)
        refused(wrong, 2, f"{option} requires --method icls")


def test_a_table_without_rows(call, files, rows):
    call("fit", "data.csv", "--target", "label", "--out", "m.skops")
    rows[:0].to_csv("none.csv", index=False)
    rows[:0].to_parquet("none.parquet")
    for data in ("none.csv", "none.parquet"):
        for out in ("out.csv", "out.parquet"):
            assert call("predict", "m.skops", data, "--out", out).exit_code == 0
            table = pd.read_csv(out) if out.endswith("csv") else pd.read_parquet(out)
            assert list(table.columns) == ["prediction"]
            assert len(table) == 0


class TestIdentifiers:
    @pytest.fixture(name="with_ids")
    def tables_with_ids(self, files, rows):
        """Ids that look like numbers, and would tell the classes apart if they were features."""
        named = rows.assign(id=[f"{i:04}" for i in np.argsort(np.argsort(rows["label"]))])
        named[:40].to_csv(files / "named.csv", index=False)
        named.drop(columns="label").to_csv(files / "new.csv", index=False)
        named.drop(columns="label").to_parquet(files / "new.parquet", row_group_size=60)
        return named

    @pytest.mark.parametrize("out", ["p.csv", "p.parquet"])
    @pytest.mark.parametrize("data", ["new.csv", "new.parquet"])
    def test_an_id_is_no_feature_and_is_carried_over(self, call, files, with_ids, data, out):
        answer = call("fit", "named.csv", "--target", "label", "--id", "id", "--out", "m.skops")
        assert answer.exit_code == 0, answer.output
        model = load_model(files / "m.skops").estimator
        assert model.feature_names_in_.tolist() == NAMES
        assert call("predict", "m.skops", data, "--out", out).exit_code == 0
        table = pd.read_parquet(out) if out.endswith("parquet") else pd.read_csv(out, dtype=str)
        assert table.columns.tolist() == ["id", "prediction"]
        assert table["id"].tolist() == with_ids["id"].tolist()
        assert table["prediction"].tolist() == model.predict(with_ids[NAMES]).tolist()

    def test_an_id_named_for_the_predictions_only(self, call, files, with_ids):
        call("fit", "data.csv", "--target", "label", "--out", "m.skops")
        assert call("predict", "m.skops", "new.csv", "--id", "id", "--out", "p.csv").exit_code == 0
        assert pd.read_csv("p.csv", dtype=str)["id"].tolist() == with_ids["id"].tolist()

    def test_an_id_that_is_not_there(self, call, files, with_ids, refused):
        call("fit", "named.csv", "--target", "label", "--id", "id", "--out", "m.skops")
        answer = call("predict", "m.skops", "more.csv", "--out", "p.csv")
        assert answer.exit_code == 0
        assert "Warning: the predictions have no id column, because more.csv has" in answer.output
        assert pd.read_csv("p.csv").columns.tolist() == ["prediction"]
        answer = call("predict", "m.skops", "more.csv", "--id", "id", "--out", "p.csv")
        refused(answer, 1, "more.csv has no column 'id'")
        answer = call("predict", "m.skops", "more.csv", "--id", "score", "--out", "p.csv")
        refused(answer, 2, "'--id': 'score' is a column of the predictions: rename the id")

    def test_row_names_are_no_features(self, call, files, rows):
        rows[:40].to_csv("r.csv")  # as R's write.csv: the first column has no name
        rows[:40].assign(patient=np.arange(40) ** 2).set_index("patient").to_parquet("r.parquet")
        for data, name in (("r.csv", "column 1"), ("r.parquet", "patient")):
            fit = ("fit", data, "--target", "label", "--out", "m.skops")
            answer = call(*fit)
            assert f"Warning: {name!r} of {data} seems to identify the rows" in answer.output
            assert load_model(files / "m.skops").estimator.feature_names_in_.tolist() == NAMES
            assert "Warning" not in call(*fit, "--id", name).output
            assert "Warning" not in call(*fit, "--exclude", name).output
            call(*fit, "--features", f"a,{name}")
            assert load_model(files / "m.skops").estimator.n_features_in_ == 2


class TestScores:
    def test_raw_and_clipped(self, call, files, rows, expected):
        call("fit", "data.csv", "--target", "label", "--unlabeled", "more", "--out", "m.skops")
        table = {}
        for kind in ("raw", "clipped"):
            call("predict", "m.skops", "more.csv", "--score", kind, "--out", "p.csv")
            table[kind] = pd.read_csv("p.csv")
            assert table[kind].columns.tolist() == ["prediction", "score"]
        scores = table["raw"]["score"]
        assert scores.min() < 0
        assert scores.max() > 1
        np.testing.assert_array_equal(table["clipped"]["score"], scores.clip(0, 1))
        new = rows[20:][NAMES]
        clipped = table["clipped"]["score"]
        np.testing.assert_allclose(clipped, expected.predict_proba(new)[:, 1], atol=1e-6)
        assert (clipped >= 0.5).equals(table["raw"]["prediction"] == "yes")

    def test_the_help_does_not_call_them_probabilities(self, call):
        words = " ".join(call("predict", "--help").output.split())
        assert "an uncalibrated estimate of the probability of the second class" in words


def test_semicolons_and_decimal_commas(call, files, rows, expected):
    data = rows[:20].assign(label=rows["label"].where(rows.index < 10, None))
    data.to_csv("german.csv", index=False, sep=";", decimal=",")
    rows[20:].to_csv("more_german.csv", index=False, sep=";", decimal=",")
    fit = ("fit", "german.csv", "--target", "label", "--out", "m.skops")
    answer = call(*fit, "--unlabeled", "more_german.csv")
    assert answer.exit_code == 0, answer.output
    coef = load_model(files / "m.skops").estimator.coef_
    np.testing.assert_allclose(coef, expected.coef_, atol=1e-8)
    arguments = ("--sep", ";", "--decimal", ",", "--encoding", "latin-1")
    assert call(*fit, "--unlabeled", "more_german.csv", *arguments).exit_code == 0
    np.testing.assert_array_equal(load_model(files / "m.skops").estimator.coef_, coef)
    assert call("predict", "m.skops", "more_german.csv", "--out", "p.csv").exit_code == 0
    assert (
        pd.read_csv("p.csv")["prediction"].tolist() == expected.predict(rows[20:][NAMES]).tolist()
    )


@pytest.mark.parametrize("option", [("--sep", "ab"), ("--sep", '"'), ("--encoding", "rot13")])
def test_options_of_csv_files_are_checked(call, files, refused, option):
    answer = call("fit", "data.csv", "--target", "label", *option, "--out", "m.skops")
    refused(answer, 2, f"Invalid value for '{option[0]}'")


def test_penalties(call, files, refused, rows):
    fit = ("fit", "data.csv", "--target", "label", "--out", "m.skops")
    assert call(*fit, "--alpha", 0.1, "--alpha-labeled", 0.2).exit_code == 0
    model = load_model(files / "m.skops").estimator
    assert (model.alpha, model.alpha_labeled) == (0.1, 0.2)
    labels = rows["label"].where(rows.index < 10, None)[:20]
    again = ICLSClassifier(0.1, alpha_labeled=0.2).fit(rows[:20][NAMES], labels)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-8)
    for option in ("--alpha", "--alpha-labeled"):
        for value in ("1e308", "nan", "inf", "-1"):
            refused(call(*fit, option, value), 2, f"'{option}': must be from 0 to 1e+100")


class TestProgress:
    arguments = (
        *("fit", "data.csv", "--target", "label", "--unlabeled", "more", "--out", "m.skops"),
        "--no-prepare",
    )

    def test_a_bar_on_a_terminal(self, files, monkeypatch):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        screen = Terminal()
        monkeypatch.chdir(files)
        monkeypatch.setattr(_progress.sys, "stderr", screen)
        primum(self.arguments, standalone_mode=False)
        assert "fitting, pass 1: 100%" in screen.getvalue()

    def test_a_line_per_pass_in_a_log(self, files, monkeypatch, capsys):
        monkeypatch.chdir(files)
        primum(self.arguments, standalone_mode=False)
        lines = capsys.readouterr().err.splitlines()
        assert lines[0] == "reading data.csv: 100%"
        assert len(lines) > 2
        assert lines[1:] == [f"fitting, pass {i}: 100%" for i in range(1, len(lines))]
        primum(["predict", "m.skops", "more.csv", "--out", "p.csv"], standalone_mode=False)
        assert capsys.readouterr().err == "predicting: 100%\n"

    def test_lines_during_a_long_pass(self, call, files, monkeypatch):
        call(*self.arguments)
        monkeypatch.setattr(_progress, "SECONDS_BETWEEN_LINES", 0.0)
        lines = call("predict", "m.skops", "more", "--out", "p.csv").output.splitlines()
        assert lines[0] == "predicting: 21%"
        assert lines[-2:] == ["predicting: 100%", "Predictions: p.csv"]


class TestRefusals:
    """One sentence, the right exit code, and nothing half-written."""

    def test_target_that_is_not_there(self, call, files, refused):
        answer = call("fit", "data.csv", "--target", "lable", "--out", "m.skops")
        refused(answer, 1, "data.csv has no column 'lable'", "did you mean 'label'?")

    def test_features_that_are_no_numbers(self, call, files, refused, rows):
        rows.assign(id="x", when="y").to_csv("words.csv", index=False)
        answer = call("fit", "words.csv", "--target", "label", "--out", "m.skops")
        refused(answer, 1, "not numbers", "'id'", "'when'")
        assert not (files / "m.skops").exists()

    def test_missing_values(self, call, files, refused, rows):
        rows.loc[7, "b"] = np.nan
        rows.to_csv("holes.csv", index=False)
        answer = call("fit", "holes.csv", "--target", "label", "--out", "m.skops")
        refused(answer, 1, "holes.csv, line 9, has a missing value in column 'b'")
        call("fit", "data.csv", "--target", "label", "--out", "m.skops")
        rows.to_parquet("holes.parquet")
        for data, place in (("holes.csv", "line 9"), ("holes.parquet", "Row 7")):
            answer = call("predict", "m.skops", data, "--out", "out.csv")
            refused(answer, 1, place, data, "in column 'b'")
        assert not [path for path in files.iterdir() if "out.csv" in path.name]

    def test_unlabeled_rows_with_other_columns(self, call, files, refused, rows):
        rows.rename(columns={"b": "bb"}).to_parquet("other.parquet")
        rows.rename(columns={"b": "bb"}).to_csv("other.csv", index=False)
        for more in ("other.csv", "other.parquet"):
            answer = call(
                "fit", "data.csv", "--target", "label", "--unlabeled", more, "--out", "m.skops"
            )
            refused(answer, 1, f"{more} has no column 'b'", "did you mean 'bb'")

    def test_several_parquet_sources(self, call, files, refused):
        more = ("--unlabeled", "more", "--unlabeled", "more/0.parquet")
        answer = call("fit", "data.csv", "--target", "label", *more, "--out", "m.skops")
        refused(answer, 2, "put several files into one folder")

    def test_one_class(self, call, files, refused, rows):
        rows[::2].to_csv("one.csv", index=False)
        answer = call("fit", "one.csv", "--target", "label", "--out", "m.skops")
        refused(answer, 1, "There is only one class")

    def test_places_and_names(self, call, files, refused):
        (files / "data.dat").write_text("a,b\n")
        fit = ("--target", "label", "--out")
        refused(call("fit", "none.csv", *fit, "m.skops"), 2, "does not exist")
        refused(call("fit", "data.dat", *fit, "m.skops"), 1, "neither CSV nor Parquet")
        refused(call("fit", "data.csv", *fit, "no/m.skops"), 2, "there is no folder no")
        call("fit", "data.csv", *fit, "m.skops")
        refused(call("predict", "m.skops", "more", "--out", "o.txt"), 2, "neither CSV")
        refused(call("predict", "m.skops", "more.csv", "--out", "more.csv"), 2, "DATA itself")

    def test_columns_without_rows(self, call, files, refused, rows):
        rows[:0].to_csv("none.csv", index=False)
        answer = call("fit", "none.csv", "--target", "label", "--out", "m.skops")
        refused(answer, 1, "none.csv has column names but no rows")

    def test_columns_that_are_two_things(self, call, files, refused):
        fit = ("fit", "data.csv", "--target", "label", "--out", "m.skops")
        refused(call(*fit, "--features", "a,a"), 2, "'a' is listed twice")
        refused(call(*fit, "--features", "a,label"), 1, "'label' is both a feature and the target")
        refused(call(*fit, "--features", "a", "--id", "a"), 1, "'a' is both a feature and")
        refused(call(*fit, "--features", "a,b", "--exclude", "a"), 1, "'a' is both a feature and")

    def test_values_so_large_that_scores_overflow(self, call, files, refused, rows):
        (rows[:20].assign(a=1e150) * 1).to_parquet("large.parquet")
        call("fit", "data.csv", "--target", "label", "--alpha", 1e-3, "--out", "m.skops")
        model = load_model(files / "m.skops")
        model.estimator.coef_[0, 0] = 1e200
        save_model(model, files / "m.skops")
        answer = call("predict", "m.skops", "large.parquet", "--out", "p.csv")
        refused(answer, 1, "scores overflow: rescale them")

    def test_pipes_as_tables(self, call, files, refused):
        os.mkfifo("pipe.csv")
        answer = call("fit", "pipe.csv", "--target", "label", "--out", "m.skops")
        refused(answer, 2, "pipe.csv is not a regular file")

    def test_what_was_there_stays_if_the_new_is_not_complete(self, call, files, refused, rows):
        call("fit", "data.csv", "--target", "label", "--out", "m.skops")
        (files / "out.csv").write_text("precious")
        rows.loc[300, "b"] = np.nan
        rows.to_parquet("holes.parquet", row_group_size=50)
        assert call("predict", "m.skops", "holes.parquet", "--out", "out.csv").exit_code == 1
        assert (files / "out.csv").read_text() == "precious"
        assert not list(files.glob(".*"))
