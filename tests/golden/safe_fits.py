"""Fits of SafeClassifier and SafeRegressor, and all that a user can read of them, as plain JSON.

After a change of results on purpose, ``python tests/golden/safe_fits.py`` writes the records anew;
names of fits as arguments write only these. Read the difference before you commit it.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, make_moons
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.semi_supervised import LabelSpreading
from sklearn.tree import DecisionTreeRegressor

sys.path.insert(0, str(Path(__file__).parents[1]))
from golden.machine import machine
from primum import (
    ICLSClassifier,
    LeastSquaresClassifier,
    SafeClassifier,
    SafeRegressor,
)

FOLDER = Path(__file__).with_name("safe_fits")
# Few candidates and folds keep a fit below a second; every candidate is in one of the fits.
QUICK = {"cv": 3, "n_repeats": 1, "random_state": 0}


class FailsLater(ClassifierMixin, BaseEstimator):
    """Predicts held-out rows, and fails when it is fitted to all 40 labelled ones."""

    def fit(self, X, y):
        if len(y) == 40:
            raise RuntimeError("too many rows")
        self.classes_ = np.unique(y)
        self.mean_ = X.mean(axis=0)
        return self

    def predict_proba(self, X):
        p = 1.0 / (1.0 + np.exp(4.0 * (X[:, 1] - self.mean_[1])))
        return np.stack([1.0 - p, p], axis=1)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class Fails(BaseEstimator):
    """Fails whenever it is fitted."""

    def fit(self, X, y):
        raise RuntimeError("no")

    def predict(self, X):
        return None

    decision_function = predict


def moons(n=200, n_labeled=40, seed=0):
    """Return X, y with -1 for unknown classes."""
    X, truth = make_moons(n, noise=0.25, random_state=seed)
    return X, np.where(np.arange(n) < n_labeled, truth, -1)


def digits():
    X, truth = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:260]
    return X[rows], np.where(np.arange(260) < 80, truth[rows], -1)


def texts():
    """Return sparse counts of 1,500 words, and three topics as text, of which 45 are known."""
    rng = np.random.default_rng(1)
    topic = rng.integers(0, 3, 150)
    rate = rng.gamma(0.05, 1.0, (3, 1500))
    X = sparse.csr_array(rng.poisson(0.6 * rate[topic]).astype(float))
    names = np.array(["art", "law", "tax"], dtype=object)[topic]
    return X, np.where(np.arange(150) < 45, names, None)


def numbers(n=160, n_labeled=40, seed=2):
    """Return X, y with NaN for unknown numbers."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    X = hidden @ rng.normal(size=(2, 12)) + 0.5 * rng.normal(size=(n, 12))
    y = 20.0 + 3.0 * np.abs(hidden[:, 0]) + rng.normal(size=n)
    return X, np.where(np.arange(n) < n_labeled, y, np.nan)


def latent(n=240, n_labeled=40, seed=4):
    """Return X, y with -1 for unknown classes: two of 40 columns' components tell them apart."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 2))
    X = 1.5 * hidden @ rng.normal(size=(2, 40)) + 2.0 * rng.normal(size=(n, 40))
    truth = (hidden[:, 0] + 0.7 * rng.normal(size=n) > 0.8).astype(int)
    return X, np.where(np.arange(n) < n_labeled, truth, -1)


def drifting():
    """Return latent rows whose unlabelled ones are shifted, with copies among the labelled."""
    X, y = latent()
    X[40:, :5] += 4.0
    X[10:18] = X[0:8]
    return X, y


def classes_by(*candidates, data=moons, more=None, **settings):
    X, y = data()
    model = SafeClassifier([*candidates] or "default", **{**QUICK, **settings})
    return model.fit(X, y, **(more or {})), X


def numbers_by(*candidates, data=numbers, more=None, **settings):
    X, y = data()
    model = SafeRegressor([*candidates] or "default", **{**QUICK, **settings})
    return model.fit(X, y, **(more or {})), X


def weights(n):
    return {"sample_weight": np.random.default_rng(3).random(n) + 0.5}


FITS = {
    "default": lambda: classes_by(),
    "balanced": lambda: classes_by("spreading", scoring="balanced_accuracy", n_repeats=2),
    "auc": lambda: classes_by("kernel", scoring="roc_auc"),
    "costs": lambda: classes_by("components", data=latent, cost={(1, 0): 5}),
    "recall": lambda: classes_by(
        "components", data=latent, scoring="recall_at_precision=0.6", positive=1, n_repeats=2
    ),
    "drift": lambda: classes_by("components", data=drifting, n_repeats=2),
    "icls": lambda: classes_by("icls", "components", cv=2),
    "own_baseline": lambda: classes_by(
        "components", baseline=[("bayes", GaussianNB()), "ridge"], shrinkage=0.5
    ),
    "groups_weights_chosen": lambda: classes_by(
        "components",
        "spreading",
        more={"groups": np.arange(200) // 3, "chosen": np.arange(6), **weights(200)},
    ),
    "more_rows": lambda: classes_by(
        "spreading",
        data=lambda: moons(60, 40),
        more={"X_unlabeled": make_moons(150, noise=0.25, random_state=9)[0]},
    ),
    "ten_classes": lambda: classes_by("components", "spreading", data=digits, cv=2),
    "failing": lambda: classes_by(
        "components", ("no", Fails(), False), ("late", FailsLater(), False)
    ),
    "own_candidates": lambda: classes_by(
        ("graph", LabelSpreading("knn", n_neighbors=7)),
        ("paired", ICLSClassifier(0.1), True, LeastSquaresClassifier(0.1)),
        shrinkage=0.3,
        n_repeats=2,
    ),
    "long_budget": lambda: classes_by("components", "tsvm", data=latent, time_budget=600),
    "no_budget": lambda: classes_by("components", "tsvm", data=latent, time_budget=0),
    "sparse_text": lambda: classes_by("components", "kernel", data=texts, cv=2),
    "numbers": lambda: numbers_by(),
    "numbers_bounds": lambda: numbers_by("icls", bounds=(10.0, 45.0), cv=2),
    "numbers_groups_weights_chosen": lambda: numbers_by(
        "components",
        scoring="mae",
        more={"groups": np.arange(160) // 3, "chosen": np.arange(6), **weights(160)},
    ),
    "numbers_own_baseline": lambda: numbers_by(
        "components",
        ("no", Fails(), False),
        ("neighbours", KNeighborsRegressor(3), False),
        baseline=DecisionTreeRegressor(max_depth=2, random_state=0),
        scoring="r2",
    ),
    "numbers_long_budget": lambda: numbers_by("components", "kernel", time_budget=600),
    "numbers_supervised": lambda: numbers_by("components", data=lambda: numbers(60, 60), cv=4),
}


def record(name):
    """Return what a fit leaves behind, as values of JSON, without seconds."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        model, X = FITS[name]()
    rows = X[:: max(1, X.shape[0] // 40)]
    answer = {
        "weights": model.weights_,
        "gap": model.gap_,
        "models": list(model.models_),
        "stacks": {
            part: {"weights": stack.weights_, "models": list(stack.models_)}
            for part, stack in (("supervised", model.supervised_), ("baseline", model.baseline_))
        },
        "held_out_rows": model.held_out_rows_,
        "held_out_folds": model.held_out_folds_,
        "held_out_predictions": model.held_out_predictions_,
        "verdict": model.verdict_.to_dict(),
        "report": {name: column for name, column in model.report_.items() if name != "seconds"},
        "notes": model.notes_,
        "failures": [str(failure) for failure in model.failures_],
        "warnings": [f"{w.category.__name__}: {w.message}" for w in issued],
        "predictions": model.predict(rows),
        "supervised": model.supervised_.predict(rows),
        "baseline": model.baseline_.predict(rows),
    }
    if isinstance(model, SafeClassifier):
        answer["held_out_scores"] = model.held_out_scores_
        answer["probabilities"] = model.predict_proba(rows)
        answer["thresholds"] = [
            getattr(getattr(stack, "rule_", None), "threshold", None)
            for stack in (model, model.supervised_, model.baseline_)
        ]
        answer["threshold"] = model.threshold_
        answer["settlement"] = None if model.settlement_ is None else str(model.settlement_)
        if model.settlement_ is not None:
            table = model.rows_to_label(n=12, show_predictions=True)
            table = table.iloc[:, :8].astype(object)
            answer["rows_to_label"] = {
                "index": table.index.to_numpy(),
                **{str(column): list(table[column]) for column in table},
            }
    else:
        answer["scale"] = [model.target_mean_, model.target_scale_]
    return json.loads(json.dumps(answer, default=_plain))


def _plain(value):
    return value.tolist()


def written(name):
    """Return the record of a fit, and the machine that wrote it."""
    content = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content["record"], content["machine"]


def write(name):
    """Write the record of a fit as it is now."""
    FOLDER.mkdir(exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(part)}" for key, part in record(name).items()]
    text = f'{{"machine": {json.dumps(machine())}, "record": {{\n'
    (FOLDER / f"{name}.json").write_text(text + ",\n".join(lines) + "\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or FITS:
        write(chosen)
