"""Warnings name the line of the user's program, not one of the package."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import primum
from primum import _warnings


def issued_by(call):
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return caught


def few_labels(n_rows=60, n_columns=30):
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    return X, np.where(np.arange(n_rows) < 12, X[:, 0] > 0, -1).astype(int)


def faint_column():
    X, y = few_labels(n_columns=3)
    return X * [1, 1e-170, 1], y


def cases():
    """Yield fits that warn, from shallow and deep in the package, and through joblib."""
    rng, (X, y), (faint, y_faint) = np.random.default_rng(1), few_labels(), faint_column()
    marked = np.where(np.arange(40) < 15, 5 + rng.random(40), -1.0)
    Z = rng.normal(size=(40, 2))
    yield primum.ICLSClassifier(metric="labeled"), X, y, primum.UndeterminedModelWarning
    yield (
        primum.ICLSClassifierCV(alphas=[0.0], metrics=["labeled"], cv=2),
        X,
        y,
        primum.UndeterminedModelWarning,
    )
    yield primum.ICLSClassifier(), faint, y_faint, UserWarning
    yield primum.KernelICLSClassifier(max_iter=1, tol=1e-14), X, y, ConvergenceWarning
    yield primum.HealyWestmacottClassifier(max_iter=1), faint[:, :1], y_faint, ConvergenceWarning
    yield primum.SafeRegressor(cv=2), Z, marked, UserWarning


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: type(case[0]).__name__)
def test_a_warning_of_a_fit_names_the_line_that_called_it(case):
    estimator, X, y, category = case
    caught = [one for one in issued_by(lambda: estimator.fit(X, y)) if one.category is category]
    assert caught
    assert {one.filename for one in caught} == {__file__}


def test_a_warning_names_the_outermost_call_even_through_another_package():
    X, y = few_labels()
    search = GridSearchCV(primum.ICLSClassifier(), {"metric": ["labeled"]}, cv=2)
    caught = issued_by(lambda: search.fit(X[:12], y[:12]))
    assert not [one for one in caught if one.filename.startswith(_warnings.PACKAGE)]


def test_a_fit_warns_once_of_a_column_that_it_reads_several_times():
    X, y = faint_column()
    assert len(issued_by(lambda: primum.ICLSClassifier().fit(X, y))) == 1


def test_the_next_fit_warns_again():
    X, y = faint_column()
    model = primum.ICLSClassifier()
    assert len(issued_by(lambda: [model.fit(X, y), model.fit(X, y)])) == 2


def test_a_warning_outside_a_fit_names_the_caller():
    with pytest.warns(UserWarning, match="something") as caught:
        _warnings.warn("something")
    assert caught[0].filename == __file__


def test_all_warnings_are_issued_by_the_function_that_looks_for_the_caller():
    def is_plain(node):
        return isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"

    assert not [
        f"{path}:{node.lineno}"
        for path in Path(_warnings.PACKAGE).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if is_plain(node)
    ]
