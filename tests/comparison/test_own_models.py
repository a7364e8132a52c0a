"""Comparisons with models that people already use, by name."""

import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import primum
from generate import two_classes
from primum.comparison.models import default_baselines, default_methods, stack_baseline
from primum.reading.classifiers import Entry
from primum.safe.candidates.packages import PackagedClassifier
from primum.safe.candidates.trees import BoostingClassifier

BOOSTING = "hist_gradient_boosting"
QUICK = {"n_repeats": 1, "cv": 3, "curves": False, "verbose": False, "prepare": None}


def partly(n_labeled=30, n_unlabeled=40):
    X, y, X_u, _ = two_classes(n_labeled, n_unlabeled, 3)
    return np.vstack([X, X_u]), np.r_[y, np.full(n_unlabeled, -1)]


def test_a_baseline_and_a_method_by_name():
    X, y = partly()
    methods = [BOOSTING, ("neighbours", KNeighborsClassifier(), False)]
    result = primum.compare(X, y, baseline=["logistic"], methods=methods, **QUICK)
    assert list(result.table.index) == ["baseline", BOOSTING, "neighbours"]
    against = primum.compare(X, y, baseline=BOOSTING, methods=methods[1:], **QUICK)
    assert against.table.loc["baseline", "loss"] == result.table.loc[BOOSTING, "loss"]
    assert isinstance(against.fit("baseline"), BoostingClassifier)
    assert f"baseline='{BOOSTING}'" in against.to_markdown()


def test_a_missing_package_is_an_error_before_any_fit(monkeypatch):
    monkeypatch.setitem(sys.modules, "tabicl", None)
    X, y = partly()
    advice = "'tabicl' needs tabicl: pip install tabicl. Its licence is BSD"
    with pytest.raises(ImportError, match=advice.replace(".", r"\.")):
        primum.compare(X, y, baseline="tabicl", **QUICK)
    with pytest.raises(ImportError, match=advice.replace(".", r"\.")):
        primum.compare(X, y, methods=["tabicl"], **QUICK)


def test_missing_values_are_refused_whatever_the_name():
    X, y = partly()
    X[3, 1] = np.nan
    for baseline in ("default", BOOSTING):
        with pytest.raises(ValueError, match="row 3, column 1 of X is missing: pass prepare="):
            primum.compare(X, y, baseline=baseline, methods=[BOOSTING], n_repeats=1)


def baseline_of_stack(*entries):
    found = stack_baseline([Entry(*entry) for entry in entries])
    (_, stack, _), *_ = default_methods(2, 2, "accuracy", found)
    return stack.baseline


def test_the_safe_stack_is_safe_against_the_same_baseline():
    default = default_baselines()
    assert baseline_of_stack(*default) == ("ridge", "logistic")
    assert baseline_of_stack(default[1]) == ["logistic"]
    assert baseline_of_stack(("tabpfn", PackagedClassifier("tabpfn"))) == ["tabpfn"]
    own = KNeighborsClassifier()
    assert baseline_of_stack(("mine", own), default[0]) == [("mine", own), "ridge"]
    # Names of other candidates are taken in the stack.
    (name, estimator), = baseline_of_stack(("ridge", RidgeClassifier()))  # fmt: skip
    assert name == "ridge (baseline)"
    assert isinstance(estimator, RidgeClassifier)
    without_scores = type("NoScores", (Perceptron,), {"decision_function": property()})
    assert baseline_of_stack(("mine", without_scores())) == ("ridge", "logistic")


@pytest.mark.parametrize("own", [{}, {"baseline": ["ridge"]}])
def test_a_stack_of_the_user_is_judged_against_the_baseline_of_the_comparison(own):
    X, y = partly(40)
    stack = primum.SafeClassifier(["logistic"], cv=3, n_repeats=1, **own)
    knows_nothing = make_pipeline(FunctionTransformer(np.zeros_like), LogisticRegression())
    options = {**QUICK, "baseline": [("nothing", knows_nothing)]}
    result = primum.compare(X, y, methods=[("stack", stack)], **options)
    # Against its own baseline, which is as good, it would not have been better.
    saved = result.table.loc["baseline", "loss"] - result.table.loc["stack", "loss"]
    assert round(40 * saved) >= 2  # of forty rows
    assert not result.plan.nested


@pytest.mark.slow
def test_the_stack_of_a_comparison_is_compared_with_its_baseline():
    X, y = partly(24)
    result = primum.compare(X, y, baseline=BOOSTING, methods=["safe stack"], **QUICK)
    stack = result.fit("safe stack")
    assert stack.baseline_.weights_ == {BOOSTING: 1.0}
    assert result.methods[1].verdict.difference == stack.verdict_.baseline.difference


class Limited(ClassifierMixin, BaseEstimator):
    """Refuses more rows than those of a split."""

    def fit(self, X, y):
        if len(X) > 35:
            raise ValueError("no more than 35 rows")
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


@pytest.mark.parametrize("of", ["baseline", "methods"])
@pytest.mark.parametrize("options", [{}, {"scoring": "f1", "positive": 1}])
def test_a_model_that_fails_on_all_rows_alone_ends_no_report(of, options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.where(np.arange(120) < 40, X[:, 0] + rng.normal(size=120) > 0, -1)
    models = {"methods": [("lda", LinearDiscriminantAnalysis(), False)]}
    models |= {"baseline": [("logistic", LogisticRegression())]}
    models[of] = [("limited", Limited(), False)[: 3 if of == "methods" else 2]]
    quick = {"n_repeats": 1, "curves": False, "verbose": False}
    result = primum.compare(X, y, **models, **options, **quick)
    said = "fails on all rows, so it cannot be deployed: ValueError: no more than 35 rows"
    assert [said in sentence for sentence in result.left_out] == [True]
    assert (said in " ".join(str(result).split())) == (of == "baseline")
    assert said in str(result.to_dict())
    assert said in result.to_markdown()
    assert result.changed is None
    assert result.settlement is None
    assert "Labels of unlabelled rows" not in str(result)
    with pytest.raises(ValueError, match="no more than 35 rows"):
        result.fit(of if of == "baseline" else "limited")
