"""The comparison on tables as people have them."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import LabelSpreading

import primum
from primum import ICLSClassifier, LeastSquaresClassifier, SafeClassifier
from primum.tables.files import open_table

pytestmark = pytest.mark.usefixtures("quick_drift")

pytestmark = pytest.mark.usefixtures("quick_drift")

BASELINES = [("ridge", LeastSquaresClassifier(alpha=0.1)), ("logistic", LogisticRegression())]
QUICK = {
    "baseline": BASELINES,
    "methods": [("ICLS", ICLSClassifier(alpha=0.1))],
    "n_repeats": 1,
    "curves": False,
    "verbose": False,
}


def customers(n_rows=120, n_labeled=40, classes=("bleibt", "kündigt"), seed=0):
    """Return a table in which age and colour depend on the class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(classes), n_rows)
    codes[: 5 * len(classes)] = np.tile(np.arange(len(classes)), 5)
    age = np.where(rng.random(n_rows) < 0.3, np.nan, 30 + 10 * codes + rng.normal(size=n_rows))
    return pd.DataFrame(
        {
            "nr": [f"c{i:04d}" for i in range(n_rows)],
            "age": age,
            "price": [f"{v:.2f}".replace(".", ",") for v in rng.normal(10, 2, n_rows)],
            "<script>alert(1)</script>": rng.choice(["=1+1", "<b>bold</b>"], n_rows),
            "town": [f"t{i}" for i in rng.integers(0, 200, n_rows) % 50],
            "since": pd.Series(pd.date_range("2020-01-01", periods=n_rows)).sample(
                frac=1, random_state=seed
            ).dt.strftime("%d.%m.%Y").to_numpy(),
            "constant": "same",
            "mixed": rng.choice(["1", "2.5", "many", "few"], n_rows),
            "left this year?": [
                classes[code] if i < n_labeled else "" for i, code in enumerate(codes)
            ],
        }
    )  # fmt: skip


@pytest.fixture(name="result", scope="module")
def compare_customers():
    return primum.compare(customers(), target="left this year?", id="nr", **QUICK)


def test_every_column_is_accounted_for(result):
    frame = customers()
    assert [column.name for column in result.columns] == frame.columns.tolist()
    assert {column.name for column in result.columns if not column.used} == {
        "nr", "constant", "left this year?",
    }  # fmt: skip
    assert all(column.action for column in result.columns)
    assert result.table.loc["baseline", "loss"] < 0.3


def test_everything_is_plain_json(result):
    found = json.loads(json.dumps(result.to_dict()))
    assert found["target"] == "left this year?"
    assert found["classes"] == ["bleibt", "kündigt"]
    assert len(found["columns"]) == 9
    assert found["changed"]["n_compared"] == 80
    assert found["coefficients"][0]["feature"] == "age"
    assert found["coefficients"][0]["direction"] == "more likely kündigt"


def test_the_recommended_model_takes_the_table_as_it_is(result, tmp_path):
    model = result.fit_recommended()
    assert isinstance(model, Pipeline)
    frame = customers(seed=1)
    assert set(model.predict(frame)) == {"bleibt", "kündigt"}
    frame.to_csv(tmp_path / "new.csv", sep=";", decimal=",", index=False)
    new = open_table(tmp_path / "new.csv").frame().drop(columns=["left this year?", "nr"])
    np.testing.assert_allclose(model.predict_proba(new), model.predict_proba(frame))


def test_the_averaged_baseline_is_a_model(result):
    assert result.recommended == "baseline"
    model = result.fit_recommended()
    frame = customers()
    known = frame["left this year?"] != ""
    parts = [
        Pipeline([("prepare", result.problem.transformer), ("classify", classifier)])
        .fit(frame[known], frame["left this year?"][known])
        .predict_proba(frame)
        for _, classifier in BASELINES
    ]
    np.testing.assert_allclose(model.predict_proba(frame), np.mean(parts, axis=0))


def test_changed_rows_are_those_with_another_class(result):
    frame = customers()
    changed = result.changed
    own, baseline = (result._model(name).predict(frame) for name in ("ICLS", "baseline"))
    rows = [i for i in range(40, 120) if own[i] != baseline[i]]
    assert changed.method == "ICLS"
    assert changed.n_changed == len(rows) == sum(count for *_, count in changed.counts)
    assert [row.row for row in changed.rows] == rows
    assert [row.id for row in changed.rows] == [f"c{i:04d}" for i in rows]
    assert [row.method for row in changed.rows] == own[rows].tolist()


def test_the_safe_stack_lists_its_changes_without_another_fit():
    methods = [("safe stack", SafeClassifier(["spreading"], n_repeats=1))]
    options = {**QUICK, "methods": methods}
    result = primum.compare(customers(), target="left this year?", id="nr", **options)
    changed = result.changed
    assert (changed.method, changed.n_compared) == ("safe stack", 80)
    assert list(result.records.models) == ["baseline"]
    model = result._model("safe stack")
    assert model is result.records.cross_fitted["safe stack"].model
    safe, rows = model[-1], model[:-1].transform(customers()[40:])
    assert isinstance(safe, SafeClassifier)
    baseline = result.fit("baseline").predict(customers()[40:])
    assert changed.n_changed == np.sum(safe.predict(rows) != baseline)


def test_categories_have_the_same_scales_in_the_stack_as_in_the_baseline():
    result = primum.compare(
        customers().drop(columns="nr"),
        target="left this year?",
        methods=[("stack", SafeClassifier(["components"], n_repeats=1))],
        n_repeats=1,
        curves=False,
        verbose=False,
    )
    assert not result.fit("stack")[-1].standardize


@pytest.mark.parametrize("n_classes", [3, 10])
def test_several_classes(n_classes):
    classes = [f"classe n° {i} é" for i in range(n_classes)]
    frame = customers(200, 100, classes)
    result = primum.compare(frame, target="left this year?", exclude=["nr"], **QUICK)
    assert result.to_dict()["classes"] == sorted(classes)
    assert set(result.fit_recommended().predict(frame)) <= set(classes)
    assert {one.of_class for one in result.coefficients} == set(classes)


def test_few_rows_of_a_class_give_fewer_folds():
    frame = customers()
    frame.loc[frame.index[3:40], "left this year?"] = "bleibt"
    frame.loc[:2, "left this year?"] = "kündigt"
    result = primum.compare(frame, target="left this year?", **QUICK)
    assert result.plan.n_folds == 3


def test_all_rows_labelled():
    frame = customers(60, 60)
    result = primum.compare(frame, target="left this year?", **QUICK)
    assert result.verdict.startswith("All rows are labelled, so no unlabelled rows can help.")
    assert result.changed is None
    assert len(result.fit_recommended().predict(frame)) == 60


def test_groups_stay_together_without_a_splitter():
    frame = customers().assign(patient=[f"p{i // 4}" for i in range(120)])
    options = {**QUICK, "methods": [("safe stack", SafeClassifier(["icls"], n_repeats=1))]}
    result = primum.compare(frame, target="left this year?", group="patient", **options)
    groups = result.plan.table.groups
    for fold in result.plan.folds[0]:
        assert not set(groups[:40][fold.train]) & set(groups[:40][fold.test])
    fit = result.records.cross_fitted["safe stack"]
    assert fit.verdicts["baseline"].difference.n_rows == 10
    again = primum.compare(frame, target="left this year?", group="patient", cv=3, **options)
    assert again.plan.n_folds == 3


def test_a_class_in_one_group_is_an_error():
    frame = customers().assign(patient=lambda f: f["left this year?"])
    frame.loc[40:, "patient"] = "other"
    with pytest.raises(ValueError, match="All labelled rows of class 'bleibt' belong to one group"):
        primum.compare(frame, target="left this year?", group="patient", **QUICK)


def test_further_unlabelled_rows_need_no_labels():
    frame = customers()
    more = customers(30, 0, seed=1).drop(columns="left this year?")
    result = primum.compare(frame, X_unlabeled=more, target="left this year?", id="nr", **QUICK)
    assert result.plan.table.n_unlabeled == 110
    with pytest.raises(ValueError, match="X_unlabeled has no column 'age'"):
        primum.compare(
            frame, X_unlabeled=more.drop(columns="age"), target="left this year?", **QUICK
        )


def test_methods_of_other_libraries_are_fitted_to_names():
    methods = [("spreading", LabelSpreading("knn", n_neighbors=5))]
    frame = customers()
    result = primum.compare(frame, target="left this year?", **{**QUICK, "methods": methods})
    model = result._model("spreading")
    assert set(model.predict(frame)) <= {"bleibt", "kündigt"}
    assert result.changed.method == "spreading"


def test_arrays_have_coefficients_and_changes_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = np.where(np.arange(100) < 40, (X[:, 1] > 0).astype(int), -1)
    result = primum.compare(X, y, **QUICK)
    assert result.columns == []
    assert result.coefficients[0].feature == "x1"
    assert result.coefficients[0].direction == "more likely 1"
    assert result.changed.rows == [] or result.changed.rows[0].id is None
    assert result.fit_recommended().predict(X[:3]).shape == (3,)


def test_baselines_without_probabilities_cannot_be_averaged():
    baselines = [("ridge", RidgeClassifier()), BASELINES[1]]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 40, (X[:, 1] > 0).astype(int), -1)
    result = primum.compare(X, y, **{**QUICK, "baseline": baselines})
    assert result.changed is None
    assert result.to_dict()["coefficients"][0]["model"] == "logistic"
    assert result.recommended == "baseline"
    with pytest.raises(ValueError, match="The baseline 'ridge' has no predict_proba"):
        result.fit_recommended()


def test_labels_come_from_one_place():
    frame = customers()
    with pytest.raises(ValueError, match="either as y, or as target"):
        primum.compare(frame, **QUICK)
    with pytest.raises(ValueError, match="both are given"):
        primum.compare(frame, [1] * 120, target="left this year?", **QUICK)
    with pytest.raises(ValueError, match="are for a table: pass target too"):
        primum.compare(np.zeros((4, 1)), [0, 1, 0, 1], id="nr", **QUICK)
    with pytest.raises(ValueError, match="pass the name of a column as group"):
        primum.compare(frame, target="left this year?", groups=[1] * 120, **QUICK)


def test_the_verdict_warns_of_a_column_that_gives_the_label_away():
    frame = customers()
    frame["note"] = frame["left this year?"].replace("", None)
    found = primum.compare(frame, target="left this year?", id="nr", **QUICK)
    assert "The column 'note' is empty in every unlabelled row" in found.verdict
    assert "The column 'note' is empty in every unlabelled row" in json.dumps(found.to_dict())


def test_one_unlabelled_row():
    frame = customers(n_rows=41)
    found = primum.compare(frame, target="left this year?", id="nr", **QUICK)
    assert "40 labelled and 1 unlabelled row" in found.to_html()
    assert "1 unlabelled rows" not in found.verdict + found.to_html()


def test_no_help_is_claimed_before_it_is_known_which_rows_belong_together():
    """The neighbours of a row are the other rows of its person, so they know its label."""
    rng, person = np.random.default_rng(0), np.repeat(np.arange(60), 5)
    place = rng.normal(size=(60, 2))[person] + 0.01 * rng.normal(size=(300, 2))
    label = rng.integers(0, 2, 60)[person]
    frame = pd.DataFrame({"id": person, "a": place[:, 0], "b": place[:, 1]})
    frame["y"] = np.where(person < 30, np.array(["no", "yes"], dtype=object)[label], None)
    near = ("near", KNeighborsClassifier(1), False)
    given = {"methods": [near], "n_repeats": 1, "exclude": ["id"]}
    given |= {"curves": False, "verbose": False}
    claimed = primum.compare(frame, target="y", independent_rows=True, **given)
    assert claimed.recommended == "near"
    assert "independent_rows=True" in claimed.to_markdown()
    asked = primum.compare(frame, target="y", **given)
    assert asked.recommended == "baseline"
    assert asked.table["answer"].dropna().tolist() == ["cannot_tell"]
    assert asked.verdict.startswith("Warning: Rows may belong together: of 60 values of 'id'")
    assert "Rows may belong together" in asked.to_html()
    assert asked.to_dict()["headline"]["alerts"][0]["withholds"]
    assert asked.methods[-1].verdict.text.startswith("If no rows belong together:")
    told = primum.compare(frame, target="y", group="id", **{**given, "exclude": []})
    assert told.recommended == "baseline"
    assert not any(alert.withholds for alert in told.alerts)
    with pytest.raises(ValueError, match="no rows belong together, but group says which do"):
        primum.compare(frame, target="y", group="id", independent_rows=True, **given)


def test_the_groups_that_are_left_are_counted():
    """Of unlabelled rows in groups that are labelled already, there are no further groups."""
    frame = customers()
    frame["shop"] = np.arange(len(frame)) % 20
    found = primum.compare(frame, target="left this year?", id="nr", group="shop", **QUICK)
    assert found._judge.sample.n_unlabeled == 0
