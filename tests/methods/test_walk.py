"""How many functions and files one reads to follow a fit."""

import numpy as np
import pandas as pd
import pytest

import primum
from walk import files_of, functions_of

# The most functions, files, and returns to a file already left: lower them as walks get shorter.
LIMITS = {
    "two classes": (166, 20, 79),
    "three classes": (181, 20, 78),
    "prior": (196, 24, 90),
    "kernel": (160, 20, 84),
    "Parquet": (191, 23, 87),
    "least squares": (55, 13, 16),
}


def problem(seed, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 2))
    scores = X @ rng.normal(size=(2, n_classes)) + 0.3 * rng.normal(size=(200, n_classes))
    return X, np.where(np.arange(200) < 16, scores.argmax(axis=1), -1)


def fits(folder):
    """Return the fits by name, with their arguments."""
    X, y = problem(0, 2)
    few, path = pd.DataFrame(X[:16], columns=["a", "b"]), folder / "rows.parquet"
    rows = np.random.default_rng(5).normal(size=(5000, 2))
    pd.DataFrame(rows, columns=["a", "b"]).to_parquet(path, row_group_size=1000)
    return {
        "two classes": (primum.ICLSClassifier(), X, y),
        "three classes": (primum.ICLSClassifier(alpha=1e-2), *problem(2, 3)),
        "prior": (primum.ICLSClassifier(prior=[0.5, 0.5]), X, y),
        "kernel": (primum.KernelICLSClassifier(), X, y),
        "Parquet": (primum.ICLSClassifier(), few, y[:16], path),
        "least squares": (primum.LeastSquaresClassifier(), X, y),
    }


@pytest.mark.parametrize("name", LIMITS)
def test_a_fit_runs_few_functions(name, tmp_path):
    estimator, *data = fits(tmp_path)[name]
    functions = functions_of(lambda: estimator.fit(*data))
    files = files_of(functions)
    found = len(functions), len(set(files)), len(files) - len(set(files))
    assert all(np.array(found) <= LIMITS[name]), "\n".join([str(found), *functions])
