"""``primum.save`` and ``primum.load``, from Python to the command line and back."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import primum
from primum.cli.main import primum as command
from primum.comparison.models import default_baselines
from primum.models import columns_of, load_model
from primum.tables.preparation import ScaledTogether
from primum.tables.problem import table_problem


@pytest.fixture(name="table")
def mixed_table(rng):
    red = rng.random(60) < 0.5
    age = rng.normal(50, 10, 60)
    health = np.where(age + 10 * red > 55, "ill", "well")
    return pd.DataFrame(
        {
            "case": [f"{number:04d}" for number in range(60)],
            "age": np.where(np.arange(60) % 7 == 3, np.nan, age),
            "colour": np.where(red, "red", "blue"),
            "health": np.where(np.arange(60) < 40, health, None),
        }
    )


@pytest.fixture(name="fitted")
def fit_pipeline(table):
    problem = table_problem(table, "health", id="case")
    pipeline = make_pipeline(problem.transformer, primum.ICLSClassifier(alpha=0.1))
    return pipeline.fit(problem.X, problem.labels)


def test_a_model_comes_back(tmp_path, fitted, table):
    primum.save(fitted, tmp_path / "m.skops", id="case", target="health")
    loaded = primum.load(str(tmp_path / "m.skops"))
    np.testing.assert_array_equal(loaded.predict(table), fitted.predict(table))
    np.testing.assert_array_equal(loaded.predict_proba(table), fitted.predict_proba(table))


def test_a_model_of_python_predicts_on_the_command_line(tmp_path, fitted, table):
    primum.save(fitted, tmp_path / "m.skops", id="case")
    table.to_csv(tmp_path / "new.csv", index=False)
    arguments = [str(tmp_path / name) for name in ("m.skops", "new.csv")]
    answer = CliRunner().invoke(
        command, ["predict", *arguments, "--out", str(tmp_path / "out.csv")]
    )
    assert answer.exit_code == 0, answer.output
    found = pd.read_csv(tmp_path / "out.csv", dtype={"case": str})
    assert found["case"].tolist() == table["case"].tolist()
    assert found["prediction"].tolist() == fitted.predict(table).tolist()


def test_the_columns_of_a_table_are_found_in_the_pipeline(tmp_path, fitted):
    primum.save(fitted, tmp_path / "m.skops", id="case", target="health")
    stored = load_model(tmp_path / "m.skops")
    assert (stored.id_column, stored.target) == ("case", "health")
    assert stored.columns == {"age": ["number", "."], "colour": ["category", ""]}
    assert columns_of(primum.ICLSClassifier()) is None
    assert columns_of(make_pipeline(StandardScaler(), primum.ICLSClassifier())) is None


@pytest.mark.parametrize(
    "classifier",
    [LogisticRegression(), *(baseline for _, baseline in default_baselines())],
    ids=lambda classifier: type(classifier).__name__,
)
def test_classifiers_of_scikit_learn_are_stored_too(tmp_path, classifier):
    X, y = np.arange(20.0)[:, None], np.arange(20) > 9
    model = make_pipeline(StandardScaler(), classifier).fit(X, y)
    primum.save(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(primum.load(tmp_path / "m.skops").predict(X), model.predict(X))


@pytest.mark.parametrize(
    "regressor",
    [LinearRegression(), primum.LeastSquaresRegressorCV(), primum.ICLSRegressor(bounds=(-1, 40))],
    ids=str,
)
def test_regressors_are_stored_too(tmp_path, regressor):
    X, y = np.arange(20.0)[:, None], np.arange(20.0) ** 1.2
    model = make_pipeline(StandardScaler(), regressor).fit(X, y)
    primum.save(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(primum.load(tmp_path / "m.skops").predict(X), model.predict(X))
    model[-1].coef_ = model[-1].coef_ * np.nan
    if not hasattr(regressor, "alphas"):  # those of a tuned model are in its best estimator
        with pytest.raises(ValueError, match="because its predictions are not finite numbers"):
            primum.save(model, tmp_path / "spoilt.skops")


@pytest.mark.parametrize(
    "model",
    [
        primum.SafeClassifier([], baseline=[("mine", LogisticRegression())], cv=2, n_repeats=1),
        primum.SafeRegressor([], baseline=[("mine", LinearRegression())], cv=2, n_repeats=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_safe_stack_with_a_model_of_scikit_learn_is_stored(tmp_path, model):
    X = np.arange(20.0)[:, None]
    y = np.arange(20) % 3 // 2 if isinstance(model, primum.SafeClassifier) else X[:, 0] ** 1.2
    model.fit(X, y)
    primum.save(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(primum.load(tmp_path / "m.skops").predict(X), model.predict(X))


def test_what_could_not_be_loaded_is_not_stored(tmp_path):
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    own = make_pipeline(FunctionTransformer(np.array), primum.ICLSClassifier()).fit(X, y)
    for model, words in (
        (StandardScaler().fit(X, y), "stores fitted classifiers and regressors, got StandardSc"),
        (LinearRegression(), "fitted classifiers and regressors, got LinearRegression: call fit"),
        (primum.ICLSClassifier(), "classifiers and regressors, got ICLSClassifier: call fit first"),
        (own, "it contains numpy.array, which primum.load would refuse"),
        (RandomForestClassifier(2).fit(X, y), "it contains sklearn.tree._tree.Tree"),
    ):
        with pytest.raises(ValueError, match=words):
            primum.save(model, tmp_path / "m.skops")
    spoilt = primum.ICLSClassifier().fit(X, y)
    spoilt.coef_ = spoilt.coef_ * np.nan
    with pytest.raises(ValueError, match="not stored, because its coef_ is not an array of finite"):
        primum.save(spoilt, tmp_path / "m.skops")
    assert not list(tmp_path.iterdir())


def test_a_model_without_a_number_of_features_is_told_to_set_it(tmp_path):
    model = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
    del model.n_features_in_
    with pytest.raises(ValueError, match="it has no n_features_in_, which its fit must set"):
        primum.save(model, tmp_path / "m.skops")


def test_what_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"There is no file .*none\.skops"):
        primum.load(tmp_path / "none.skops")


def test_loading_needs_neither_click_nor_pandas(tmp_path):
    """With names of columns pandas is needed, as it was to fit."""
    clf = primum.LeastSquaresClassifier().fit([[0.0], [1.0]], [0, 1])
    primum.save(clf, tmp_path / "m.skops")
    code = f"""
import sys
import zipfile
for name in ("click", "pandas", "pyarrow"):
    sys.modules[name] = None
import primum
print(primum.load({str(tmp_path / "m.skops")!r}).predict([[0.9]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[1]\n", done.stderr


def test_a_stack_keeps_sparse_rows(tmp_path):
    """Nearest neighbours of wide sparse rows are stored as they are."""
    rng, codes = np.random.default_rng(0), np.arange(60) % 2
    X = sparse.csr_array(rng.poisson(0.2 + 0.3 * codes[:, None] * (np.arange(40) < 9), (60, 40)))
    y = np.where(np.arange(60) < 20, codes, -1)
    clf = primum.SafeClassifier([], baseline=["neighbours"], cv=2, n_repeats=1, random_state=0)
    clf.fit(X.astype(float), y)
    primum.save(clf, tmp_path / "model.skops")
    loaded = primum.load(tmp_path / "model.skops")
    assert sparse.issparse(loaded.models_["neighbours"].rows)
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))


def test_a_class_that_has_moved_is_found_where_it_is_now(tmp_path):
    numbers = np.arange(48.0).reshape(6, 8) % 5 + 0.1
    model = make_pipeline(ScaledTogether(), LogisticRegression()).fit(numbers, [0, 1] * 3)
    primum.save(model, tmp_path / "now.skops")
    with (
        zipfile.ZipFile(tmp_path / "now.skops") as now,
        zipfile.ZipFile(tmp_path / "before.skops", "w") as before,
    ):
        for name in now.namelist():
            member = now.read(name)
            if name == "schema.json":
                assert b"primum.tables.preparation" in member
                member = member.replace(b"primum.tables.preparation", b"primum.tables.vectors")
            before.writestr(name, member)
    loaded = primum.load(tmp_path / "before.skops")
    assert type(loaded[0]) is ScaledTogether
    assert np.array_equal(loaded.predict_proba(numbers), model.predict_proba(numbers))


STORED = Path(__file__).parents[1] / "data" / "format-4" / "safe.zip"


@pytest.mark.parametrize(
    "name",
    [
        *("safe_classifier", "safe_regressor", "safe_costs", "safe_text", "alone_ridge"),
        *("alone_logistic", "alone_forest", "alone_boosting", "alone_ridge_numbers"),
        *("alone_forest_numbers", "alone_boosting_numbers"),
    ],
)
def test_safe_choices_of_format_4_remain_readable(tmp_path, name):
    with zipfile.ZipFile(STORED) as archive:
        archive.extract(f"{name}.skops", tmp_path)
        expected = json.loads(archive.read("predictions.json"))[name]
    loaded = primum.load(tmp_path / f"{name}.skops")
    rows = np.array(expected["rows"])
    rows = sparse.csr_array(rows) if name == "safe_text" else rows
    found = loaded.predict(rows)
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected["predicted"], rtol=1e-12)
        return
    assert found.tolist() == expected["predicted"]
    np.testing.assert_allclose(loaded.predict_proba(rows), expected["probabilities"], atol=1e-12)


def test_a_safe_choice_with_an_alert_comes_back(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2)).round(1)
    X[10:20] = X[:10]
    y = np.where(np.arange(60) < 30, X[:, 0] > 0, -1)
    clf = primum.SafeClassifier(["ridge"], cv=2, n_repeats=1, random_state=0).fit(X, y)
    assert clf.verdict_.alerts
    primum.save(clf, tmp_path / "m.skops")
    assert primum.load(tmp_path / "m.skops").verdict_ == clf.verdict_
