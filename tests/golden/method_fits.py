"""Fits of every method but the safe choice: data, parameters, and where they are recorded.

After a change of results on purpose, ``SCIPY_ARRAY_API=1 python tests/golden/method_fits.py``
records them anew, those of arrays on a device included; read the difference before you commit it.
"""

import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.svm import NuSVC

sys.path.insert(0, str(Path(__file__).parents[1]))
import primum
from generate import several_classes, two_classes
from golden import recordings
from primum.labellings import implicit
from primum.methods.gaussian import label_search
from primum.methods.least_squares import grid_search
from primum.rows.array import ArrayRows
from primum.solvers import sample

PATH = Path(__file__).with_name("method_fits.json")


def together(X, y, X_u, _):
    """Return all rows in one array, with -1 where the label is unknown."""
    return np.vstack([X, X_u]), np.append(y, np.full(len(X_u), -1))


TWO = together(*two_classes(14, 46, 3, seed=1))
THREE = together(*several_classes(24, 50, 3, 3, seed=2, separation=1.0))
WIDE = together(*two_classes(12, 18, 50, seed=3, separation=3.0))
THREE_WIDE = together(*several_classes(12, 18, 50, 3, seed=3))
WEIGHTS = np.tile([1.0, 0.5, 2.0, 0.0, 1.0], 12)
FURTHER = np.random.default_rng(7).normal(size=(9, 3))
TRUTH_3 = np.random.default_rng(8).integers(0, 3, len(THREE[1]))
POSSIBLE = np.random.default_rng(9).random((len(THREE[1]), 3)) < 0.7
POSSIBLE[np.arange(len(POSSIBLE)), np.where(THREE[1] < 0, TRUTH_3, THREE[1])] = True
BOUNDS = np.where(TWO[1][:, None] < 0, [0.1, 0.8], np.nan)
FEW = {"alphas": (0.01, 0.3), "cv": 3}
# More columns than this, and fewer rows, are searched in coordinates of their span.
N_WIDE = grid_search.MAX_NARROW_SIZE + 50


def numbers(n_labeled=20, n=60, seed=4):
    """Return rows and targets, the first of them known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=n)
    return X, np.where(np.arange(n) < n_labeled, y, np.nan)


def sparse_rows(n=60, d=20, seed=5):
    """Return sparse rows of two classes."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, density=0.2, format="csr", random_state=rng)
    return sparse.csr_array(X), np.where(np.arange(n) < 16, np.arange(n) % 2, -1)


SPARSE = sparse_rows()
SPARSE_WIDE = sparse_rows(30, 60)


def moons():
    """Return rows of two moons, of which few are labelled, and one twice."""
    X, truth = sklearn.datasets.make_moons(60, noise=0.1, random_state=0)
    return np.vstack([X, X[:1]]), np.append(np.where(np.arange(60) < 12, truth, -1), -1)


MOONS = moons()


def fitted(name, data, *, fit=None, **parameters):
    """Fit a method to (X, y); return it, and rows for predictions."""
    X, y = data
    return getattr(primum, name)(**parameters).fit(X, y, **(fit or {})), X


def rbf(X, Z, width=1.0):
    """Return kernel values, as a function that users pass."""
    squares = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-squares / width)


def precomputed(name, data, **parameters):
    """Fit to a kernel matrix."""
    X, y = data
    K = X @ X.T + 1.0
    return getattr(primum, name)(kernel="precomputed", **parameters).fit(K, y), K


def manifold_kernel(X, **parameters):
    """Fit the transformer."""
    return primum.ManifoldKernel(graph_neighbors=5, **parameters).fit(X), X


def few_free_shares(*arguments, **parameters):
    """Fit with a working set of labels, which otherwise only many rows have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_search, "MAX_FREE_SHARES", 60)
        return fitted(*arguments, **parameters)


def many_rows(kind, K=2, U=6000, d=4, L=12, seed=0):
    """Return (X, y, X_unlabeled) with rows that only the solver for many rows can afford."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(L + U, d)), rng.integers(0, K, L + U)
    y[:K] = np.arange(K)
    X[:, 0] += y * X[:, 0].std()
    if kind == "clusters":
        X = 5 * rng.normal(size=(20, d))[rng.integers(0, 20, L + U)]
        X += 0.01 * rng.normal(size=X.shape)
    elif kind == "copies":
        X = X[rng.integers(0, 100, L + U)]
    elif kind == "half copies":
        X[L + np.flatnonzero(rng.random(U) < 0.5)] = X[L]
    elif kind == "heavy tails":
        X = rng.standard_t(2.5, size=X.shape)
    return X[:L], y[:L], X[L:]


def at_scale(kind="plain", K=2, U=6000, outside=False, single=False, all_rows=True, **parameters):
    """Fit by the solver for many rows, whose sample is small."""
    X, y, X_u = many_rows(kind, K, U, L=30 if K > 2 else 12)
    with pytest.MonkeyPatch.context() as patch, sklearn.config_context(array_api_dispatch=single):
        patch.setattr(implicit, "MAX_FORMED_NUMBERS", 0)
        patch.setattr(sample, "MIN_SAMPLE_ROWS", 512)
        if outside:
            patch.setattr(ArrayRows, "in_memory", False)
        if not all_rows:
            patch.setattr("primum.solvers.scale.MAX_STAGES", 1)
        if single:
            xp = pytest.importorskip("array_api_strict")
            X, X_u = (xp.asarray(rows, dtype=xp.float32) for rows in (X, X_u))
        model = primum.ICLSClassifier(**parameters).fit(X, y, X_unlabeled=X_u)
        if single:
            for one in (model, model.supervised_):
                one.coef_, one.intercept_ = np.asarray(one.coef_), np.asarray(one.intercept_)
            model.soft_labels_ = np.asarray(model.soft_labels_)
            X_u = np.asarray(X_u)
    return model, X_u[:60]


def tuned(name, X, y, *arguments, **options):
    """Fit a tuned method; options that are not parameters are for ``fit``."""
    kind = getattr(primum, name)
    known = kind().get_params()
    model = kind(**{key: value for key, value in options.items() if key in known})
    return model.fit(X, y, *arguments, **{k: v for k, v in options.items() if k not in known}), X


def wide_search(name="ICLSClassifierCV", n=30, **parameters):
    """Fit a tuned method to few rows of many columns, or to a sample of more."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(n, N_WIDE)) + 0.5
    y = np.where(np.arange(n) < 20, np.arange(n) % 2, -1)
    if name.endswith("RegressorCV"):
        y = np.where(y < 0, np.nan, X[:, 0])
    return tuned(name, X, y, alphas=(0.3, 1.0), cv=2, **parameters)


def numeric_grid(**options):
    """Fit the tuned regressor."""
    return tuned("ICLSRegressorCV", *numbers(), **FEW, bounds=(-9, 9), **options)


def frame(data):
    """Return data with named columns and named classes."""
    X, y = data
    named = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    return named, np.array(["no", "yes", None], dtype=object)[y]


TARGET_BOUNDS = np.tile([-6.0, 6.0], (60, 1))
GROUPS = {"groups": np.repeat(np.arange(12), 5), "cv": GroupKFold(3), "alphas": (0.01, 0.3)}
POLY = {"kernel": "poly", "degree": 2, "coef0": 0.5}

CALLS = {
    "L2SVM": ("L2SVMClassifier", TWO),
    "L2SVM three": ("L2SVMClassifier", THREE, {"alpha": 0.1}),
    "L2SVM wide": ("L2SVMClassifier", WIDE),
    "L2SVM sparse": ("L2SVMClassifier", SPARSE),
    "L2SVM sparse wide": ("L2SVMClassifier", SPARSE_WIDE),
    "L2SVM weights": ("L2SVMClassifier", TWO, {"fit": {"sample_weight": WEIGHTS}}),
    "L2SVM linearsvc": ("L2SVMClassifier", TWO, {"costs": "sum", "penalize_intercept": True}),
    "L2SVM no intercept": ("L2SVMClassifier", TWO, {"fit_intercept": False, "max_iter": 1}),
    "TSVM": ("TSVMClassifier", TWO),
    "TSVM further": ("TSVMClassifier", TWO, {"fit": {"X_unlabeled": FURTHER}}),
    "TSVM weights": ("TSVMClassifier", TWO, {"fit": {"sample_weight": WEIGHTS}, "alpha": 0.1}),
    "TSVM prior": ("TSVMClassifier", TWO, {"prior": {0: 0.3, 1: 0.7}, "unlabeled_weight": 0.5}),
    "TSVM wide": ("TSVMClassifier", WIDE),
    "TSVM sparse": ("TSVMClassifier", SPARSE),
    "TSVM few steps": ("TSVMClassifier", TWO, {"max_iter": 1, "tol": 1e-12}),
    "annealing": ("TSVMClassifier", TWO, {"method": "annealing", "alpha": 0.1}),
    "annealing wide": ("TSVMClassifier", WIDE, {"method": "annealing"}),
    "annealing wide no intercept": (
        "TSVMClassifier",
        WIDE,
        {"method": "annealing", "fit_intercept": False},
    ),
    "annealing sparse": ("TSVMClassifier", SPARSE, {"method": "annealing"}),
    "cccp": ("TSVMClassifier", TWO, {"method": "cccp", "alpha": 0.1}),
    "cccp wide": ("TSVMClassifier", WIDE, {"method": "cccp", "ramp": -0.5}),
    "cccp sparse": ("TSVMClassifier", SPARSE, {"method": "cccp"}),
    "S4VM": ("S4VMClassifier", TWO, {"alpha": 0.1, "n_init": 12, "n_separators": 4}),
    "S4VM wide": ("S4VMClassifier", WIDE, {"n_init": 6, "fit_intercept": False}),
    "WellSVM": ("WellSVMClassifier", TWO, {"alpha": 0.1}),
    "WellSVM exact": ("WellSVMClassifier", TWO, {"tol": 1e-4, "max_iter": 8}),
    "WellSVM sparse": ("WellSVMClassifier", SPARSE),
    "WellSVM weights": ("WellSVMClassifier", TWO, {"fit": {"sample_weight": WEIGHTS}}),
    "entropy": ("EntropyLogisticClassifier", TWO, {"unlabeled_weight": 1.0}),
    "entropy three": ("EntropyLogisticClassifier", THREE, {"unlabeled_weight": 0.5}),
    "entropy sparse": ("EntropyLogisticClassifier", SPARSE, {"fit_intercept": False}),
    "entropy weights": ("EntropyLogisticClassifier", TWO, {"fit": {"sample_weight": WEIGHTS}}),
    "entropy few steps": ("EntropyLogisticClassifier", TWO, {"max_iter": 2}),
    "logistic": ("EntropyLogisticClassifier", THREE, {"unlabeled_weight": 0.0}),
    "LDA": ("LDAClassifier", TWO),
    "LDA three": ("LDAClassifier", THREE, {"prior": [0.2, 0.3, 0.5]}),
    "LDA nearest mean": ("LDAClassifier", TWO, {"covariance": "spherical", "prior": "equal"}),
    "LDA singular": ("LDAClassifier", WIDE),
    "LDA ridge": ("LDAClassifier", WIDE, {"alpha": 0.1}),
    "EM-LDA": ("EMLDAClassifier", TWO),
    "EM-LDA three": ("EMLDAClassifier", THREE, {"unlabeled_weight": 0.5, "alpha": 0.01}),
    "EM-LDA nothing": ("EMLDAClassifier", TWO, {"unlabeled_weight": 0.0}),
    "EM-LDA few rounds": ("EMLDAClassifier", TWO, {"max_iter": 2, "covariance": "spherical"}),
    "EM-LDA weights": ("EMLDAClassifier", TWO, {"fit": {"sample_weight": WEIGHTS}}),
    "MC-LDA": ("MomentConstrainedLDAClassifier", TWO),
    "MC-LDA three": ("MomentConstrainedLDAClassifier", THREE, {"alpha": 0.1}),
    "MC-LDA spherical": ("MomentConstrainedLDAClassifier", TWO, {"covariance": "spherical"}),
    "MC-LDA singular": ("MomentConstrainedLDAClassifier", WIDE),
    "IC-LDA": ("ICLDAClassifier", TWO),
    "IC-LDA three": ("ICLDAClassifier", THREE, {"alpha": 0.1}),
    "IC-LDA spherical": ("ICLDAClassifier", TWO, {"covariance": "spherical", "max_iter": 2}),
    "CP-LDA": ("ContrastivePessimisticLDAClassifier", TWO),
    "CP-LDA three": ("ContrastivePessimisticLDAClassifier", THREE, {"prior": "equal"}),
    "CP-LDA few rounds": ("ContrastivePessimisticLDAClassifier", TWO, {"max_iter": 1}),
    "scatter LDA": ("ScatterLDAClassifier", TWO),
    "scatter LDA three": ("ScatterLDAClassifier", THREE, {"alpha": 0.01}),
    "Laplacian LS": ("LaplacianLeastSquaresClassifier", MOONS, {"graph_neighbors": 5}),
    "Laplacian LS three": ("LaplacianLeastSquaresClassifier", THREE, {"kernel": "linear"}),
    "Laplacian LS heat": (
        "LaplacianLeastSquaresClassifier",
        MOONS,
        {"graph_weights": "heat", "graph_power": 2, "graph_normalized": False},
    ),
    "Laplacian LS sparse": ("LaplacianLeastSquaresClassifier", SPARSE, {"graph_alpha": 0.01}),
    "Laplacian SVM": ("LaplacianSVMClassifier", MOONS, {"gamma": 5.0}),
    "Laplacian SVM three": ("LaplacianSVMClassifier", THREE, {"alpha": 0.01, "kernel": "poly"}),
    "manifold": ("ManifoldClassifier", MOONS, {"graph_neighbors": 4, "kernel": rbf}),
    "manifold nu": (
        "ManifoldClassifier",
        THREE,
        {"estimator": NuSVC(nu=0.4, kernel="precomputed"), "graph_ratio": 1.0},
    ),
    "manifold none": ("ManifoldClassifier", MOONS, {"graph_ratio": 0.0}),
    "kernel LS": ("KernelLeastSquaresClassifier", MOONS),
    "kernel LS three": ("KernelLeastSquaresClassifier", THREE, POLY),
    "kernel LS function": ("KernelLeastSquaresClassifier", TWO, {"kernel": rbf, "alpha": 0.1}),
    "kernel LS sparse": ("KernelLeastSquaresClassifier", SPARSE, {"gamma": None}),
    "kernel LS weights": ("KernelLeastSquaresClassifier", TWO, {"fit": {"sample_weight": WEIGHTS}}),
    "self-learning": ("SelfLearningClassifier", TWO),
    "self-learning three": ("SelfLearningClassifier", THREE, {"fit": {"X_unlabeled": FURTHER}}),
    "self-learning frame": ("SelfLearningClassifier", frame(TWO)),
    "self-learning SVM": ("SelfLearningClassifier", THREE, {"estimator": primum.L2SVMClassifier()}),
    "self-learning logistic": (
        "SelfLearningClassifier",
        TWO,
        {"estimator": LogisticRegression(), "max_iter": 1, "fit": {"sample_weight": WEIGHTS}},
    ),
    "EM-LS": ("EMLeastSquaresClassifier", TWO),
    "EM-LS three": ("EMLeastSquaresClassifier", THREE),
    "EM-LS ridge": ("EMLeastSquaresClassifier", THREE, {"alpha": 0.1, "fit_intercept": False}),
    "EM-LS wide": ("EMLeastSquaresClassifier", THREE_WIDE, {"alpha": 0.1}),
    "EM-LS singular": ("EMLeastSquaresClassifier", WIDE),
    "EM-LS sparse": ("EMLeastSquaresClassifier", SPARSE),
    "EM-LS weights": ("EMLeastSquaresClassifier", TWO, {"fit": {"sample_weight": WEIGHTS}}),
    "EM-LS one step": ("EMLeastSquaresClassifier", TWO, {"max_iter": 1}),
    "EM-LS hard": ("EMLeastSquaresClassifier", TWO, {"labels": "hard"}),
    "EM-LS hard three": ("EMLeastSquaresClassifier", THREE, {"labels": "hard", "max_iter": 1}),
    "USM": ("USMClassifier", TWO),
    "USM three": ("USMClassifier", THREE, {"alpha": 0.1, "fit": {"X_unlabeled": FURTHER}}),
    "USM wide": ("USMClassifier", WIDE),
    "USM sparse": ("USMClassifier", SPARSE, {"fit_intercept": False}),
    "Healy-Westmacott": ("HealyWestmacottClassifier", TWO),
    "Healy-Westmacott three": ("HealyWestmacottClassifier", THREE, {"max_iter": 5}),
    "Healy-Westmacott wide": ("HealyWestmacottClassifier", WIDE, {"tol": 1e-4}),
}
FITS = {name: partial(fitted, *call[:2], **dict(*call[2:])) for name, call in CALLS.items()} | {
    "CP-LDA working sets": partial(few_free_shares, "ContrastivePessimisticLDAClassifier", THREE),
    "kernel LS precomputed": partial(precomputed, "KernelLeastSquaresClassifier", TWO),
    "manifold kernel": partial(manifold_kernel, MOONS[0]),
    "manifold kernel linear": partial(manifold_kernel, TWO[0], kernel="linear", graph_ratio=2.0),
    "LS CV": partial(tuned, "LeastSquaresClassifierCV", *TWO),
    "LS CV three": partial(tuned, "LeastSquaresClassifierCV", *THREE, scoring="accuracy"),
    "LS CV frame": partial(
        tuned, "LeastSquaresClassifierCV", *frame(TWO), cv=4, shuffle=True, random_state=0
    ),
    "LS CV numbers": partial(tuned, "LeastSquaresRegressorCV", *numbers(), cv=4),
    "LS CV numbers scored": partial(
        tuned, "LeastSquaresRegressorCV", *numbers(), scoring="neg_mean_absolute_error"
    ),
    "ICLS CV": partial(tuned, "ICLSClassifierCV", *TWO, **FEW),
    "ICLS CV three": partial(tuned, "ICLSClassifierCV", *THREE, **FEW, metrics=("auto", 0.5)),
    "ICLS CV frame": partial(
        tuned, "ICLSClassifierCV", *frame(TWO), **FEW, scoring="balanced_accuracy"
    ),
    "ICLS CV further": partial(tuned, "ICLSClassifierCV", *TWO, FURTHER, **FEW, alpha_labeled=0.1),
    "ICLS CV weights": partial(tuned, "ICLSClassifierCV", *TWO, **FEW, sample_weight=WEIGHTS),
    "ICLS CV groups": partial(tuned, "ICLSClassifierCV", *TWO, **GROUPS),
    "ICLS CV prior": partial(tuned, "ICLSClassifierCV", *TWO, **FEW, prior="confidence"),
    "ICLS CV possible": partial(tuned, "ICLSClassifierCV", *THREE, **FEW, possible=POSSIBLE),
    "ICLS CV bounds": partial(tuned, "ICLSClassifierCV", *TWO, **FEW, label_bounds=BOUNDS),
    "ICLS CV sparse": partial(tuned, "ICLSClassifierCV", *SPARSE, **FEW),
    "ICLS CV no intercept": partial(
        tuned, "ICLSClassifierCV", *TWO, **FEW, fit_intercept=False, metrics=("all", "euclidean")
    ),
    "ICLS CV one step": partial(tuned, "ICLSClassifierCV", *THREE, **FEW, max_iter=1),
    "ICLS CV wide": partial(wide_search),
    "ICLS CV wide scored": partial(wide_search, scoring="accuracy"),
    "ICLS CV wide numbers": partial(wide_search, "ICLSRegressorCV", bounds=(-5, 5)),
    "ICLS CV numbers": numeric_grid,
    "ICLS CV numbers bounded": partial(numeric_grid, target_bounds=TARGET_BOUNDS, metrics=(0, 1)),
    "ICLS CV numbers scored": partial(numeric_grid, scoring="r2", fit_intercept=False),
    "scale": partial(at_scale),
    "scale three": partial(at_scale, K=3),
    "scale all": partial(at_scale, metric="all", alpha=0.01),
    "scale mixed": partial(at_scale, "heavy tails", metric=0.3),
    "scale clusters": partial(at_scale, "clusters"),
    "scale clusters six": partial(at_scale, "clusters", K=6),
    "scale copies": partial(at_scale, "copies"),
    "scale half copies": partial(at_scale, "half copies", K=6, outside=True),
    "scale prior": partial(at_scale, prior=[0.3, 0.7], alpha=0.01),
    "scale prior three": partial(at_scale, K=3, U=1500, prior=[0.2, 0.3, 0.5], tol=1e-10),
    "scale prior no intercept": partial(at_scale, prior=[0.4, 0.6], fit_intercept=False),
    "scale outside": partial(at_scale, outside=True),
    "scale single": partial(at_scale, single=True),
    "scale one stage": partial(at_scale, all_rows=False),
    "scale one stage outside": partial(at_scale, outside=True, all_rows=False),
    "scale no tolerance": partial(at_scale, tol=0.0),
}


# Arrays of other libraries are dispatched only in a process that was started for it.
FITS_ON_DEVICES = {"scale single"}


if __name__ == "__main__":
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        sys.exit("Set SCIPY_ARRAY_API=1: some of the fits are of arrays on a device.")
    recordings.write(PATH, FITS)
