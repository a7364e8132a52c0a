"""Stored models: what is not a fitted model of primum is refused with one sentence."""

import io
import os
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import primum
from primum import ICLSClassifier, KernelLeastSquaresClassifier, SafeClassifier, TSVMClassifier
from primum.models import MODEL_FORMAT, StoredModel, load_model, save_model
from primum.models.trusted import CLASSIFIERS

NAMES = ["a", "b", "c"]


@pytest.fixture(name="fitted")
def fit_in_memory(rows):
    return ICLSClassifier().fit(rows[NAMES], rows["label"])


@pytest.fixture(name="predict_refused")
def predict_and_be_refused(call, refused, files):
    def check(*words):
        refused(call("predict", "m.skops", "more.csv", "--out", "out.csv"), 1, *words)
        assert not (files / "out.csv").exists()

    return check


@pytest.mark.parametrize("id_column", [None, "patient"])
def test_what_is_stored_is_read(tmp_path, fitted, id_column):
    save_model(StoredModel(fitted, id_column), tmp_path / "m.skops")
    stored = load_model(tmp_path / "m.skops")
    assert stored.id_column == id_column
    np.testing.assert_array_equal(stored.estimator.coef_, fitted.coef_)


@pytest.mark.parametrize(
    ("name", "coef", "intercept"),
    [
        ("icls", [0.17314165877591053, 0.17520913158712678], -0.14343398371979543),
        ("usm", [0.200734087635315, 0.1613088410318232], -0.19725478861275147),
    ],
)
def test_models_of_format_4_remain_readable(call, name, coef, intercept):
    folder = Path(__file__).parents[1] / "data" / "format-4"
    predict = ("predict", folder / f"{name}.skops", folder / "rows.csv", "--score", "raw")
    answer = call(*predict, "--out", "p.csv")
    assert answer.exit_code == 0, answer.output
    found, rows = pd.read_csv("p.csv"), pd.read_csv(folder / "rows.csv")
    scores = rows[["width", "height"]] @ coef + intercept + 0.5
    np.testing.assert_allclose(found["score"], scores, atol=1e-12)
    assert found["prediction"].tolist() == np.where(scores >= 0.5, "yes", "no").tolist()
    assert found["name"].tolist() == rows["name"].tolist()


def test_pickle(files, predict_refused, fitted):
    (files / "m.skops").write_bytes(pickle.dumps(fitted))
    predict_refused("m.skops is not a model written by primum")


def test_foreign_types(files, predict_refused):
    skops.io.dump(print, files / "m.skops")
    predict_refused("not loaded, because it contains builtins.print")
    skops.io.dump(np.testing.assert_allclose, files / "m.skops")
    predict_refused("not loaded, because it contains numpy")


def test_another_estimator(files, predict_refused):
    skops.io.dump(LinearRegression(), files / "m.skops")
    predict_refused("type LinearRegression, not a fitted classifier")
    save_model(StoredModel(LinearRegression()), files / "m.skops")
    predict_refused("type LinearRegression, not a fitted classifier")


@pytest.mark.parametrize("version", [{}, {"format": MODEL_FORMAT + 1}, {"format": "x"}], ids=str)
def test_another_version(files, predict_refused, fitted, version):
    skops.io.dump({**version, "estimator": fitted, "id_column": None}, files / "m.skops")
    predict_refused("m.skops was written by another version of primum (format", "fit the model")


def test_types_of_another_version(files, predict_refused, fitted, monkeypatch):
    save_model(StoredModel(fitted), files / "m.skops")
    monkeypatch.setattr("primum.models.trusted.TRUSTED", [])
    predict_refused("m.skops contains primum.", "which model files do not contain")


def test_a_model_with_a_prior_is_read(tmp_path, rows):
    y = rows["label"].where(np.arange(len(rows)) % 3 > 0)
    fitted = ICLSClassifier(prior="confidence").fit(rows[NAMES], y)
    skops.io.dump(fitted, tmp_path / "m.skops")
    stored = load_model(tmp_path / "m.skops").estimator
    np.testing.assert_array_equal(stored.prior_, fitted.prior_)
    for model in (stored, fitted):
        assert model.certificate_.prior.shares.shape == ()


FAST = {SafeClassifier: SafeClassifier([], cv=2, n_repeats=1)}


PUBLIC = [kind for kind in CLASSIFIERS if kind.__name__ in primum.__all__]


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_every_public_classifier_is_read_and_predicts(call, files, rows, kind):
    y = rows["label"].where(np.arange(len(rows)) < 40)[:120]
    model = make_pipeline(StandardScaler(), FAST.get(kind, kind()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit(rows[NAMES][:120], np.where(y.isna(), -1, y == "yes").astype(int))
    skops.io.dump(fitted, files / "m.skops")
    score = "clipped" if hasattr(fitted, "predict_proba") else "raw"
    answer = call("predict", "m.skops", "more.csv", "--score", score, "--out", "p.csv")
    assert answer.exit_code == 0, answer.output
    found, X = pd.read_csv("p.csv"), pd.read_csv("more.csv")
    assert found["prediction"].tolist() == fitted.predict(X).tolist()
    if score == "clipped":
        np.testing.assert_allclose(found["score"], fitted.predict_proba(X)[:, 1], atol=1e-12)
    else:
        np.testing.assert_allclose(found["score"], fitted.decision_function(X), atol=1e-12)


def test_a_model_without_probabilities(files, rows, call, refused):
    fitted = TSVMClassifier().fit(rows[NAMES][:60], np.arange(60) % 2)
    skops.io.dump(fitted, files / "m.skops")
    answer = call("predict", "m.skops", "more.csv", "--score", "clipped", "--out", "out.csv")
    refused(answer, 1, "TSVMClassifier has no probabilities: pass --score raw")


def test_a_damaged_kernel_model(files, rows, predict_refused):
    fitted = KernelLeastSquaresClassifier().fit(rows[NAMES][:60], np.arange(60) % 2)
    fitted.dual_coef_ = "abc"
    skops.io.dump(fitted, files / "m.skops")
    predict_refused("m.skops is not a valid model, because it cannot predict", "fit it again")


def test_another_id_column(files, predict_refused, fitted):
    save_model(StoredModel(fitted, 3), files / "m.skops")
    predict_refused("type dict, not a fitted classifier")


@pytest.mark.parametrize("columns", ["a", {"a": 1}, {"a": [1, 2]}, {1: ["number", "."]}], ids=str)
def test_other_columns(files, predict_refused, fitted, columns):
    save_model(StoredModel(fitted, None, "label", columns), files / "m.skops")
    predict_refused("type dict, not a fitted classifier")


def test_not_fitted(files, predict_refused):
    skops.io.dump(ICLSClassifier(), files / "m.skops")
    predict_refused("not a fitted classifier")


def test_cut_off(call, files, predict_refused):
    call("fit", "data.csv", "--target", "label", "--out", "m.skops")
    (files / "m.skops").write_bytes((files / "m.skops").read_bytes()[:-200])
    predict_refused("is not a model written by primum, or it is damaged")


def test_a_pipe(files, predict_refused):
    os.mkfifo(files / "m.skops")
    predict_refused("is not a model written by primum")


def test_nested_json(files, predict_refused):
    with zipfile.ZipFile(files / "m.skops", "w") as archive:
        archive.writestr("schema.json", "[" * 100_000)
    predict_refused("is not a model written by primum, or it is damaged")


def test_an_archive_that_inflates_is_never_unpacked(files, predict_refused, monkeypatch):
    with zipfile.ZipFile(files / "m.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", " " * 10_000_000)
    monkeypatch.setattr("skops.io.get_untrusted_types", lambda **_: pytest.fail("was unpacked"))
    predict_refused("is not a model written by primum, or it is damaged")


def test_an_array_whose_header_promises_more_memory_than_there_is(files, predict_refused, fitted):
    save_model(StoredModel(fitted), files / "m.skops")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (2**60,)}
    )
    with zipfile.ZipFile(files / "m.skops") as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(files / "m.skops", "w") as new:
        for name, content in members.items():
            new.writestr(name, header.getvalue() if name.endswith(".npy") else content)
    predict_refused("is not a model written by primum, or it is damaged")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coef_", np.ones((1, 3), dtype=complex)),
        ("coef_", np.ones((1, 4))),
        ("coef_", np.ones(3)),
        ("coef_", np.array([[1.0, np.nan, 1.0]])),
        ("coef_", np.array([[1.0, np.inf, 1.0]])),
        ("coef_", np.array([["1", "2", "3"]])),
        ("coef_", "abc"),
        ("intercept_", np.ones(2)),
        ("intercept_", np.array([1j])),
        ("intercept_", 0.5),
        ("classes_", np.array(["no", "yes", "maybe"])),
        ("classes_", np.array(["no", "no"])),
        ("classes_", np.array(["no"])),
        ("classes_", np.array([["no", "yes"]])),
        ("classes_", ["no", "yes"]),
        ("classes_", np.array([1j, 2j])),
        ("n_features_in_", 4),
        ("n_features_in_", "3"),
        ("feature_names_in_", np.array(["a", "b", "b"], dtype=object)),
        ("feature_names_in_", np.array(["a", "b"], dtype=object)),
        ("feature_names_in_", np.array(["a", "b", 3], dtype=object)),
    ],
)
def test_tampered_attributes(files, predict_refused, fitted, name, value):
    setattr(fitted, name, value)
    save_model(StoredModel(fitted), files / "m.skops")
    said = "coef_" if name == "n_features_in_" and value == 4 else name
    predict_refused("m.skops is not a valid model, because its", said, "fit it again")


def test_without_names(call, files, predict_refused, rows):
    X = rows[NAMES].to_numpy()
    model = ICLSClassifier().fit(X, np.tile([0, 1], 250))
    skops.io.dump(model, files / "m.skops")
    arguments = ("predict", "m.skops", "more.csv", "--score", "raw", "--out", "p.csv")
    assert call(*arguments).exit_code == 0
    scores = pd.read_csv("p.csv")["score"]
    np.testing.assert_allclose(scores - 0.5, model.decision_function(X[20:]))
    rows.to_csv("more.csv", index=False)
    predict_refused("more.csv has 4 columns but the model has 3 features without names")
    assert call(*arguments, "--id", "label").exit_code == 0
    assert pd.read_csv("p.csv")["label"].tolist() == rows["label"].tolist()


def test_a_stored_safe_choice_predicts(call, tmp_path):
    """Stored from Python, it is read and applied as the models of ``primum fit`` are."""
    rng = np.random.default_rng(0)
    truth = np.arange(80) % 2
    table = pd.DataFrame(rng.normal(size=(80, 3)) + truth[:, None], columns=["a", "b", "c"])
    y = np.where(np.arange(80) < 30, truth, -1)
    clf = SafeClassifier(cv=2, n_repeats=1, random_state=0, shrinkage=0.1).fit(table, y)
    skops.io.dump(clf, tmp_path / "safe.skops")
    table.to_csv(tmp_path / "rows.csv", index=False)
    predict = ("predict", tmp_path / "safe.skops", tmp_path / "rows.csv", "--score", "clipped")
    answer = call(*predict, "--out", tmp_path / "out.csv")
    assert answer.exit_code == 0, answer.output
    written = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_array_equal(written["prediction"], clf.predict(table))
    np.testing.assert_allclose(written["score"], clf.predict_proba(table)[:, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("attribute", "value", "fault"),
    [
        ("weights_", {"ridge": 0.5}, "its weights_ are not shares that add up to 1"),
        ("weights_", {"ridge": "1"}, "its weights_ are not numbers by name"),
        ("models_", {}, "its models_ lack a candidate that has a weight"),
    ],
)
def test_a_spoilt_safe_choice_is_refused(tmp_path, attribute, value, fault):
    X = np.random.default_rng(0).normal(size=(30, 2))
    clf = SafeClassifier([], baseline=["ridge"], cv=2).fit(X, np.arange(30) % 2)
    setattr(clf, attribute, value)
    skops.io.dump(clf, tmp_path / "safe.skops")
    with pytest.raises(ValueError, match=fault):
        load_model(tmp_path / "safe.skops")
