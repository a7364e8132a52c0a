"""The preparation of a table's columns, as a scikit-learn transformer."""

from datetime import time

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from primum.models.trusted import TRUSTED
from primum.tables.columns import describe_columns
from primum.tables.preparation import preparing
from primum.tables.problem import table_problem

N = 80


def mixed_table(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.3, np.nan, rng.normal(40, 10, N)),
            "price": [f"{v:.2f}".replace(".", ",") for v in rng.normal(10, 2, N)],
            "colour": rng.choice(["red", "green", "bläu"], N),
            "town": [f"t{i}" for i in rng.integers(0, 35, N)],
            "joined": pd.date_range("2024-01-01", periods=N).strftime("%d.%m.%Y"),
            "active": rng.choice(["yes", "no", None], N),
            "constant": 1,
        }
    )


def transformer_of(frame):
    return preparing(describe_columns(frame))


def test_the_output_follows_the_definitions():
    frame = mixed_table()
    transformer = transformer_of(frame).fit(frame)
    found = pd.DataFrame(transformer.transform(frame), columns=transformer.get_feature_names_out())
    age = frame["age"].fillna(frame["age"].median())
    np.testing.assert_allclose(found["age"], (age - age.mean()) / age.std(ddof=0))
    np.testing.assert_array_equal(found["age (missing)"], frame["age"].isna())
    np.testing.assert_array_equal(found["colour=bläu"], frame["colour"] == "bläu")
    days = np.arange(N)
    np.testing.assert_allclose(found["joined (days)"], (days - days.mean()) / days.std())
    price = frame["price"].str.replace(",", ".").astype(float)
    np.testing.assert_allclose(found["price"], (price - price.mean()) / price.std(ddof=0))
    towns = [name for name in found if name.startswith("town=")]
    assert len(towns) == 20
    assert "town=(other)" in towns
    np.testing.assert_array_equal(found[towns].sum(axis=1), 1)
    assert not any(name.startswith("constant") for name in found)


def test_read_and_raw_cells_give_the_same():
    frame = mixed_table().assign(label=["a", "b"] * (N // 2))
    problem = table_problem(frame, "label")
    read = problem.transformer.fit(problem.X)
    raw = clone(problem.transformer).fit(frame)
    np.testing.assert_allclose(read.transform(problem.X), raw.transform(frame))
    np.testing.assert_allclose(read.transform(frame), raw.transform(problem.X))
    without = frame.drop(columns=["label", "constant"])
    np.testing.assert_allclose(raw.transform(without), raw.transform(frame))


def test_new_rows_may_have_anything_in_their_cells():
    frame = mixed_table()
    transformer = transformer_of(frame).fit(frame)
    new = pd.DataFrame(
        {
            "age": ["forty", None, np.inf],
            "price": [None, "x", 3.5],
            "colour": ["purple", None, 7],
            "town": ["nowhere", None, "t1"],
            "joined": ["31.12.2030", pd.Timestamp("2024-01-01"), "soon"],
            "active": [True, "?", "NO"],
        }
    )
    found = transformer.transform(new)
    assert np.isfinite(found).all()
    names = transformer.get_feature_names_out().tolist()
    assert found[0, names.index("town=(other)")] == 1
    assert found[:, names.index("age (missing)")].tolist() == [1, 1, 1]
    assert found[2, names.index("active")] < found[0, names.index("active")]


def test_another_decimal_mark_is_understood():
    frame = mixed_table()
    transformer = transformer_of(frame).fit(frame)
    other = frame.assign(
        price=frame["price"].str.replace(",", "."),
        age=[None if v != v else f"{v:.12f}".replace(".", ",") for v in frame["age"]],
    )
    np.testing.assert_allclose(transformer.transform(other), transformer.transform(frame))


def test_a_missing_column_is_named():
    frame = mixed_table()
    transformer = transformer_of(frame).fit(frame)
    with pytest.raises(ValueError, match=r"columns are missing: \{'age'\}"):
        transformer.transform(frame.drop(columns="age"))


def test_it_is_fitted_to_the_rows_it_is_given():
    """A column may be empty in a fold, and levels may be unknown there."""
    frame = mixed_table()
    transformer = transformer_of(frame)
    frame.loc[:9, "age"] = np.nan
    few = clone(transformer).fit(frame[:10])
    assert np.isfinite(few.transform(frame)).all()
    assert few.transform(frame).shape[1] < clone(transformer).fit(frame).transform(frame).shape[1]


def test_it_works_in_pipelines_and_can_be_stored(tmp_path):
    frame, y = mixed_table(), np.arange(N) % 2
    model = make_pipeline(transformer_of(frame), LogisticRegression(max_iter=1000)).fit(frame, y)
    skops.io.dump(model, tmp_path / "model.skops")
    strange = skops.io.get_untrusted_types(file=tmp_path / "model.skops")
    assert set(strange) <= set(TRUSTED)
    loaded = skops.io.load(tmp_path / "model.skops", trusted=strange)
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))


def test_equal_names_are_told_apart():
    frame = mixed_table()[["colour", "age"]]
    frame["colour=red"] = np.arange(N) % 7
    names = transformer_of(frame).fit(frame).get_feature_names_out()
    assert len(set(names)) == len(names)


def test_nothing_to_learn_from():
    frame = pd.DataFrame({"constant": [1] * 30, "empty": [None] * 30})
    with pytest.raises(ValueError, match=r"No column is left .*'constant': It has the same value"):
        transformer_of(frame)


def test_times_are_hours_however_stored():
    written = pd.DataFrame({"departs": ["13:30", "9:00", None, "18:00"]})
    stored = pd.DataFrame({"departs": [time(13, 30), time(9), None, time(18)]})
    columns = describe_columns(written)
    transformer = preparing(columns).fit(written)
    names = ["departs (hours)", "departs (missing)"]
    assert transformer.get_feature_names_out().tolist() == names
    hours = np.array([13.5, 9, 13.5, 18])  # the median where missing
    expected = np.column_stack([(hours - hours.mean()) / hours.std(), [0, 0, 1, 0]])
    for frame in (written, stored):
        np.testing.assert_allclose(transformer.transform(frame), expected, atol=1e-12)
