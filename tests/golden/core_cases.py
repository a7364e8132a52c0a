"""Fits of every kind, on small problems: what the core computes may not change unnoticed."""

import tempfile
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import config_context
from threadpoolctl import threadpool_limits

import primum
from primum_lab import as_published

CASES = {}


@dataclass
class Fit:
    """An estimator, the arguments of its fit, constants that are replaced meanwhile, its rows."""

    name: str
    kind: str
    args: tuple[Any, ...]
    options: dict[str, Any]
    parameters: dict[str, Any]
    constants: dict[str, Any] = field(default_factory=dict)
    slow: bool = False
    device: bool = False

    def __call__(self):
        """Return the fitted estimator."""
        kind = getattr(primum, self.kind, None) or getattr(as_published, self.kind)
        with ExitStack() as stack:
            for name, value in self.constants.items():
                module, constant = name.rsplit(".", 1)
                stack.enter_context(patch.object(import_module(module), constant, value))
            stack.enter_context(warnings.catch_warnings())
            stack.enter_context(threadpool_limits(1))
            if self.device:
                stack.enter_context(config_context(array_api_dispatch=True))
            warnings.simplefilter("ignore")
            args = [arg() if callable(arg) else arg for arg in self.args]
            return kind(**self.parameters).fit(*args, **self.options)

    @property
    def rows(self):
        """Up to 200 rows of X."""
        X = self.args[0]
        X = X() if callable(X) else X
        return X.iloc[:200] if isinstance(X, pd.DataFrame) else X[:200, :]


def add(
    name,
    args,
    options=None,
    kind="ICLSClassifier",
    constants=None,
    slow=False,
    device=False,
    **parameters,
):
    assert name not in CASES
    CASES[name] = Fit(name, kind, args, options or {}, parameters, constants or {}, slow, device)


def problem(seed, n=200, d=2, n_labeled=16, n_classes=2, noise=0.3):
    """Return X, y with unknown labels, and all labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    truth = (X @ rng.normal(size=(d, n_classes)) + noise * rng.normal(size=(n, n_classes))).argmax(
        axis=1
    )
    y = np.where(np.arange(n) < n_labeled, truth, -1)
    assert len(set(y[:n_labeled])) == n_classes
    return X, y, truth


@cache
def folder():
    """Return a folder with Parquet files."""
    path = Path(tempfile.mkdtemp(prefix="primum-golden-"))
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(rng.normal(size=(40000, 2)), columns=["a", "b"])
    rows.to_parquet(path / "many.parquet", row_group_size=7000)
    rows[:3000].to_parquet(path / "few.parquet", row_group_size=1000)
    copies = pd.DataFrame(rng.integers(0, 3, size=(40000, 2)).astype(float), columns=["a", "b"])
    copies.to_parquet(path / "copies.parquet", row_group_size=7000)
    return path


def parquet(name):
    return lambda: folder() / f"{name}.parquet"


def dask_rows(name):
    def rows():
        import dask.dataframe

        return dask.dataframe.from_pandas(pd.read_parquet(folder() / f"{name}.parquet"), 4)

    return rows


X, y, _ = problem(0)
add("two classes", (X, y))
X, y, _ = problem(1, 400, 10, 40)
ten = X, y
add("ten columns", ten)
add("ridge", ten, alpha=1e-2)
add("ridge of all rows only", ten, alpha=1e-2, alpha_labeled=0.0)
for metric in ("labeled", "all", "euclidean", 0.2, 0.7):
    add(f"metric {metric}", ten, metric=metric)
add("no intercept", ten, fit_intercept=False)
add("lbfgsb", ten, solver="lbfgsb", alpha=1e-3)
weight = np.random.default_rng(3).uniform(0, 2, size=len(y))
weight[::17] = 0
add("weights, some 0", ten, {"sample_weight": weight})
add("fixed shares", ten, alpha=1e-2, prior=[0.5, 0.5])
add("shares by confidence", ten, prior="confidence")
add("shares without intercept", ten, prior=[0.3, 0.7], fit_intercept=False)
add("far means", (X + 1e3, y))
add("constant column", (np.c_[X, np.ones(len(X))], y))
add("repeated columns", (np.c_[X, X[:, :2]], y))
bounds = np.full((len(y), 2), np.nan)
bounds[100:200] = [0.2, 0.9]
add("label bounds", ten, {"label_bounds": bounds})
add("few iterations", ten, max_iter=3, tol=0.0, alpha=1e-3)

X, y, truth = problem(2, 300, 4, 40, 4)
four = X, y
add("four classes", four)
add("four classes, ridge", four, alpha=1e-2)
add("four classes, no intercept", four, fit_intercept=False, alpha=1e-2)
add("four classes, shares", four, alpha=1e-2, prior={0: (0.2, 0.3), 1: (0, 0.3)})
add("four classes, euclidean", four, metric="euclidean", alpha=1e-3)
mask = np.ones((300, 4), bool)
mask[np.arange(300), (truth + 1) % 4] = np.random.default_rng(9).random(300) < 0.5
add("four classes, possible", four, {"possible": mask}, alpha=1e-3)
add("three classes, weights", problem(12, 500, 8, 60, 3)[:2],
    {"sample_weight": np.random.default_rng(1).uniform(0.1, 3, 500)}, alpha=1e-3)  # fmt: skip
add("six classes", problem(11, 1500, 12, 120, 6)[:2], alpha=1e-3)
add("six classes, kernel", problem(11, 400, 12, 120, 6)[:2], kind="KernelICLSClassifier",
    constants={"primum.solvers.newton.MIN_LARGE_SIZE": 100})  # fmt: skip

X, y, _ = problem(4, 150, 30, 12)
add("tie", (X, y), metric="labeled")
add("too few labels", (X, y))
add("tie of three classes", problem(6, 150, 30, 16, 3)[:2], metric="labeled")
add("tie, twin out of reach", problem(14, 60, 8, 6)[:2], metric="labeled")
S = sparse.random(300, 60, density=0.1, random_state=1, format="csr")
side = np.asarray(S @ np.random.default_rng(1).normal(size=60)) > 0
of_sparse = S, np.where(np.arange(300) < 50, side, -1).astype(int)
add("sparse rows", of_sparse, alpha=1e-2)
add("sparse rows, no ridge", of_sparse)
add("labelled sparse, further dense", (S[:50], of_sparse[1][:50], S[50:].toarray()), alpha=1e-2)
add("labelled dense, further sparse", (S[:90].toarray(), of_sparse[1][:90], S[90:]), alpha=1e-2)
X = np.random.default_rng(8).normal(size=(60, 400))
wide = X, np.where(np.arange(60) < 20, X[:, 0] > 0, -1).astype(int)
spans = {"primum.equations.normal.MIN_SPAN_NUMBERS": 1}
add("wide rows", wide, alpha=1e-2)
add("span of the rows", wide, constants=spans, alpha=1e-1)
add("span of far rows", (X + 1e3, wide[1]), constants=spans, alpha=10.0)
add("wide without factorisation", wide, alpha=1e-2, constants={
    "primum.equations.normal.MAX_FACTORISED_NUMBERS": 100,
    "primum.equations.normal.MIN_SPAN_NUMBERS": 10**9,
})  # fmt: skip

X, y, _ = problem(0)
few = pd.DataFrame(X[:16], columns=["a", "b"]), y[:16]
three = np.where(np.arange(16) < 3, 2, y[:16])
for name, place in {"Parquet": parquet, "Dask": dask_rows}.items():
    add(name, (*few, place("many")))
    add(f"{name}, few rows", (*few, place("few")))
    add(f"{name}, metric", (*few, place("many")), metric=0.3)
    add(f"{name}, shares", (*few, place("many")), prior=[0.4, 0.6], alpha=1e-2)
    add(f"{name}, shares without intercept", (*few, place("many")), prior=[0.4, 0.6], alpha=1e-2,
        fit_intercept=False, slow=True)  # fmt: skip
    add(f"{name}, three classes", (few[0], three, place("many")), alpha=1e-2, slow=name == "Dask")
    add(f"{name}, copies", (*few, place("copies")))
    add(f"{name}, numbers", (few[0], few[0]["a"] + 0.1, place("many")), kind="ICLSRegressor",
        bounds=(-5.0, 5.0), alpha=1e-3, slow=name == "Dask")  # fmt: skip
    add(f"{name}, tie", (few[0][:2], y[[0, 1]] * 0 + [0, 1], place("many")), metric="labeled",
        slow=name == "Dask")  # fmt: skip

rng = np.random.default_rng(5)
X = rng.normal(size=(30000, 5))
y = np.where(np.arange(30000) < 60, X[:, 0] + 0.3 * rng.normal(size=30000) > 0, -1).astype(int)
of_three = (X[:, :3] + 0.3 * rng.normal(size=(30000, 3))).argmax(1)
add("many rows", (X, y))
add("many rows in single precision", (X.astype(np.float32), y))
add("many rows, three classes", (X, np.where(np.arange(30000) < 60, of_three, -1)), alpha=1e-3,
    slow=True)  # fmt: skip
add("further rows", (X[:60], y[:60], X[60:3000]))
add("no unlabelled rows", (X[:60], y[:60]))

X, y = ten
numbers = X @ np.arange(1, 11) + np.random.default_rng(1).normal(size=400)
numbers = np.where(np.arange(400) < 40, numbers, np.nan)
of_rows = np.full((400, 2), np.nan)
of_rows[100:] = -10, 12
add("numbers", (X, numbers), kind="ICLSRegressor", bounds=(-60, 60))
add("numbers, wide bounds", (X, numbers), kind="ICLSRegressor", bounds=(-1e6, 1e6))
add("numbers, weights", (X, numbers), {"sample_weight": weight}, kind="ICLSRegressor",
    bounds=(-60, 60), alpha=0.1)  # fmt: skip
add("numbers, bounds of rows", (X, numbers), {"target_bounds": of_rows}, kind="ICLSRegressor",
    bounds=(-60, 60))  # fmt: skip
add("numbers, few", (X[20:], numbers[20:][:, None].ravel()), kind="ICLSRegressor",
    bounds=(-1e4, 1e4), metric="labeled", fit_intercept=False)  # fmt: skip

X, y, _ = problem(0)
kernel = {"kind": "KernelICLSClassifier"}
weight = np.random.default_rng(3).uniform(0.1, 2, 200)
add("kernel", (X, y), **kernel)
add("kernel, four classes", four, **kernel)
add("kernel, shares", (X, y), prior="confidence", **kernel)
add("kernel, weights", (X, y), {"sample_weight": weight}, metric=0.3, **kernel)
add("linear kernel", (X, y), **{"kernel": "linear", "metric": "euclidean"}, **kernel)
add("kernel, further rows", (X[:50], y[:50], X[50:]), **kernel)

add("least squares", (X, y), kind="LeastSquaresClassifier")
add("least squares, four classes", four, kind="LeastSquaresClassifier", alpha=1e-2)
add("least squares, weights", (X, y), {"sample_weight": weight}, kind="LeastSquaresClassifier")
add("least squares, wide", wide, kind="LeastSquaresClassifier")
add("least squares, numbers", (ten[0], numbers), kind="LeastSquaresRegressor", alpha=1e-2)
for kind in ("USMClassifier", "EMLeastSquaresClassifier", "HealyWestmacottClassifier"):
    add(kind, (X, y), kind=kind)
    add(f"{kind}, three classes", problem(12, 300, 4, 40, 3)[:2], kind=kind)

for tie_break in ("half", "twin"):
    for rcond in (None, 1e-9):
        add(f"published, {tie_break}, {rcond}", problem(4, 60, 12, 8)[:2], kind="PublishedICLS",
            tie_break=tie_break, rcond=rcond)  # fmt: skip
add("published, repeated columns", (np.c_[ten[0], ten[0][:, :2]], ten[1]), kind="PublishedICLS")
add("published, shares", ten, kind="PublishedICLS", alpha=1e-2, prior=[0.5, 0.5])
for kind in ("PublishedUSM", "PublishedEM", "PublishedHealyWestmacott", "PublishedLeastSquares"):
    add(kind, ten, kind=kind)

tuning = {"alphas": [1e-3, 1e-1], "metrics": ["labeled", 0.2, "all"], "cv": 3}
add("tuned", problem(1, 150, 5, 30)[:2], kind="ICLSClassifierCV", **tuning)
add("tuned, three classes", problem(2, 150, 5, 40, 3)[:2], kind="ICLSClassifierCV", **tuning)
add("tuned numbers", (ten[0][:150], numbers[:150]), kind="ICLSRegressorCV", bounds=(-60, 60),
    **tuning)  # fmt: skip
add("tuned twin", problem(1, 150, 5, 30)[:2], kind="LeastSquaresClassifierCV",
    alphas=[1e-3, 1e-1], cv=3)  # fmt: skip


def on_device(values):
    """Return a function that makes an array on the second device of array-api-strict."""

    def convert():
        import array_api_strict as xp

        return xp.asarray(values, device=xp.Device("device1"))

    return convert


def on_devices(arrays):
    return tuple(map(on_device, arrays))


X, y = ten
add("device", on_devices(ten), device=True)
add("device, ridge", on_devices(ten), device=True, alpha=1e-2)
add("device, single precision", (on_device(X.astype(np.float32)), on_device(y)), device=True)
add("device, four classes", on_devices(four), device=True, alpha=1e-2)
add("device, shares", on_devices(ten), device=True, prior=[0.5, 0.5], alpha=1e-2)
add("device, scale", on_devices(ten), device=True, alpha=1e-2, constants={
    "primum.labellings.implicit.MAX_FORMED_ROWS": 50,
    "primum.labellings.implicit.FEW_ROWS_PER_DIMENSION": 0,
})  # fmt: skip
add("device, least squares", on_devices(ten), device=True, kind="LeastSquaresClassifier")
