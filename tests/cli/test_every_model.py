"""Model files of every method: ``primum predict`` gives the answer of the model in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor

import primum
from primum.methods.registry import METHODS, commands
from primum.models import load_model

NAMES = ["a", "b", "c"]
BOUNDS = {"ICLSRegressor": {"bounds": (-50.0, 50.0)}, "ICLSRegressorCV": {"bounds": (-50.0, 50.0)}}
SAFE = {"SafeClassifier": primum.SafeClassifier(), "SafeRegressor": primum.SafeRegressor()}
# A manifold kernel is no model, and self-learning needs one: a command offers it with one.
METHODS_BY_NAME = {
    method.name: method.load()(**BOUNDS.get(method.name, {}))
    for method in METHODS
    if method.name not in ("ManifoldKernel", "SelfLearningClassifier")
}
MODELS = {**METHODS_BY_NAME, **{offer.name: offer.estimator() for offer in commands()}, **SAFE}


def fitted_to_some(model, rows):
    """Return a model fitted to 40 rows, of which 24 have labels."""
    X, known = rows[NAMES][:40], np.arange(40) < 24
    target = X.sum(axis=1) if is_regressor(model) else rows["label"][:40]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows, and folds that are small
        return model.fit(X, target.where(known))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_file_predicts_rows_of_a_path(call, files, rows, name):
    fitted = fitted_to_some(MODELS[name], rows)
    primum.save(fitted, files / "m.skops")
    X = pd.read_csv(files / "more.csv")
    expected = fitted.predict(X)
    np.testing.assert_array_equal(load_model(files / "m.skops").estimator.predict(X), expected)
    for data in ("more.csv", "more"):
        answer = call("predict", "m.skops", data, "--out", "p.csv")
        assert answer.exit_code == 0, answer.output
        found = pd.read_csv("p.csv")["prediction"]
        if is_regressor(fitted):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        else:
            assert found.tolist() == expected.tolist()
