"""Models of other packages by name, with stand-ins of the same interface, and boosting for real."""

import subprocess
import sys
from importlib import import_module, invalidate_caches

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import check_random_state

import primum
from generate import several_classes
from primum import SafeClassifier, SafeRegressor
from primum.safe.candidates.packages import (
    PackagedClassifier,
    fit_package,
    regressor_on_request,
)
from primum.safe.candidates.trees import BoostingClassifier
from primum.safe.rows import Targets

# Nearest neighbours under the names of the packages: TabPFN and TabICL load weights when they are
# fitted, and refuse sparse rows; CatBoost takes other parameters.
STAND_IN = """
import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

LOADED = []

class {name}Classifier(KNeighborsClassifier):
    def __init__(self, *, random_state=0):
        super().__init__(3)
        self.random_state = random_state
    def fit(self, X, y):
        if not isinstance(X, np.ndarray):
            raise TypeError("dense rows only")
        LOADED.append(len(X))
        {refuse}
        return super().fit(X, y)

class {name}Regressor(KNeighborsRegressor):
    def __init__(self, *, random_state=0):
        super().__init__(3)
        self.random_state = random_state
"""
CATBOOST = """
from sklearn.ensemble import RandomForestClassifier

class CatBoostClassifier(RandomForestClassifier):
    def __init__(self, *, random_seed=None, verbose=None, allow_writing_files=None,
                 thread_count=-1):
        assert verbose is False and allow_writing_files is False and thread_count == 1
        super().__init__(10, random_state=random_seed)
        self.random_seed, self.verbose = random_seed, verbose
        self.allow_writing_files, self.thread_count = allow_writing_files, thread_count
"""
REFUSE = 'raise OSError("the weights cannot be downloaded")'
QUICK = {"cv": 3, "n_repeats": 1, "random_state": 0}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a stand-in of a package."""

    def install(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)
        invalidate_caches()

    yield install
    for name in ("tabpfn", "tabicl", "catboost"):
        sys.modules.pop(name, None)


def stand_in(name, refuse="pass"):
    return STAND_IN.format(name=name, refuse=refuse)


def problem(n_classes=2, n_labeled=30, n_unlabeled=60):
    X, y, X_new, _ = several_classes(n_labeled, n_unlabeled, 3, n_classes, separation=1.0)
    return np.vstack([X, X_new]), np.concatenate([y, np.full(n_unlabeled, -1)])


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tabpfn", r"Apache-2.0; .*weights .*downloaded at first use .*excludes commercial use\."),
        ("tabicl", r"Its licence is BSD-3-Clause; its weights are downloaded at first use\."),
        ("catboost", r"Its licence is Apache-2.0"),
    ],
)
def test_a_missing_package_is_named_with_its_licence(name, what, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    X, y = problem()
    advice = rf"The model '{name}' needs {name}: pip install {name}\. .*{what}"
    with pytest.raises(ImportError, match=advice):
        SafeClassifier([name]).fit(X, y)
    with pytest.raises(ImportError, match=advice):
        SafeClassifier(baseline=name).fit(X, y)


def test_the_stack_is_safe_against_the_model_that_it_is_given(installed):
    installed("tabpfn", stand_in("TabPFN"))
    X, y = problem()
    clf = SafeClassifier(["tabpfn", "ridge"], baseline="tabpfn", **QUICK).fit(X, y)
    assert clf.baseline_.weights_ == {"tabpfn": 1.0}
    assert "the baseline (tabpfn)" in str(clf.verdict_)
    theirs = KNeighborsClassifier(3).fit(X[:30], y[:30])
    assert np.allclose(clf.baseline_.predict_proba(X), theirs.predict_proba(X))
    # A fit to few rows loads the weights, then come three folds and the final fit.
    assert import_module("tabpfn").LOADED == [20, 20, 20, 20, 30]
    assert import_module("tabpfn").TabPFNClassifier().random_state == 0


def test_weights_that_cannot_be_loaded_are_one_failure(installed):
    installed("tabicl", stand_in("TabICL", REFUSE))
    X, y = problem()
    with pytest.warns(FitFailedWarning, match="left out: tabicl"):
        clf = SafeClassifier(["tabicl"], baseline="ridge", **QUICK).fit(X, y)
    assert [(one.candidate, one.step) for one in clf.failures_] == [("tabicl", "preparation")]
    assert len(import_module("tabicl").LOADED) == 1
    with pytest.raises(ValueError, match=r"baseline cannot be fitted .*cannot be downloaded"):
        SafeClassifier(["ridge"], baseline="tabicl", **QUICK).fit(X, y)


def test_sparse_rows_weights_and_files(installed, tmp_path):
    installed("tabicl", stand_in("TabICL"))
    installed("catboost", CATBOOST)
    X, y = problem(n_classes=3)
    weight = np.linspace(0.5, 1.5, len(y))
    clf = SafeClassifier(["tabicl"], baseline="catboost", **QUICK)
    clf.fit(sparse.csr_array(X), y, sample_weight=weight)
    assert clf.notes_[-1] == "tabicl ignores sample_weight."
    assert clf.failures_ == []
    primum.save(clf, tmp_path / "m.skops")
    again = primum.load(tmp_path / "m.skops")
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
    sys.modules["catboost"] = None
    with pytest.raises(ImportError, match="The model 'catboost' needs catboost"):
        primum.load(tmp_path / "m.skops")


def test_a_user_may_use_the_name_for_a_model_of_their_own():
    X, y = problem()
    clf = SafeClassifier([("tabpfn", KNeighborsClassifier(5), False)], baseline="ridge", **QUICK)
    assert set(clf.fit(X, y).weights_) == {"ridge", "tabpfn"}


def test_packages_are_imported_only_where_they_are_used(tmp_path):
    for name in ("tabpfn", "tabicl", "catboost"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import primum, primum.comparison.compare, primum.cli.compare, primum.models.trusted\n"
        "clf = primum.SafeClassifier(['catboost'])\n"
        "assert not {'tabpfn', 'tabicl', 'catboost'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_boosting_is_a_candidate_and_a_baseline():
    X, y = problem()
    name = "hist_gradient_boosting"
    clf = SafeClassifier([name], baseline=name, **QUICK).fit(X, y)
    assert clf.weights_ == {name: 1.0}
    seed = check_random_state(QUICK["random_state"]).randint(2**31 - 1)
    alone = BoostingClassifier(random_state=seed).fit(X[:30], y[:30])
    assert np.array_equal(clf.baseline_.predict_proba(X), alone.predict_proba(X))
    assert len(np.unique(clf.predict_proba(X), axis=0)) > 5  # 30 labels are enough for leaves


def test_a_class_that_is_absent_or_alone(installed):
    installed("tabicl", stand_in("TabICL"))
    X, y = problem()
    only = fit_package("tabicl", X[:5], Targets.of_classes(np.ones(5, int), 3), 0)
    assert np.array_equal(only.predict(X[:2]), [[0, 1, 0]] * 2)
    two = fit_package("tabicl", X[:30], Targets.of_classes(2 * y[:30], 3), 0)
    assert two.predict(X).shape == (len(X), 3)
    assert (two.predict(X)[:, 1] == 0).all()


def test_alone_it_predicts_names(installed):
    installed("tabpfn", stand_in("TabPFN"))
    X, y = problem()
    names = np.array(["no", "yes"])[y[:30]]
    clf = clone(PackagedClassifier("tabpfn", random_state=0)).fit(X[:30], names)
    theirs = KNeighborsClassifier(3).fit(X[:30], names)
    assert (clf.predict(X) == theirs.predict(X)).all()


def test_weights_are_not_lost_without_a_word(installed):
    installed("tabpfn", stand_in("TabPFN"))
    X, y = problem()
    with pytest.raises(ValueError, match="tabpfn does not support weights of rows"):
        PackagedClassifier("tabpfn").fit(X[:30], y[:30], sample_weight=np.ones(30))


def test_numbers_are_predicted_by_regressors(installed):
    installed("tabpfn", stand_in("TabPFN"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    truth = 100 + 10 * X[:, 0]
    y = np.where(np.arange(90) < 60, truth, np.nan)
    name = "hist_gradient_boosting"
    reg = SafeRegressor([name], baseline="tabpfn", **QUICK).fit(X, y)
    assert reg.baseline_.weights_ == {"tabpfn": 1.0}
    theirs = KNeighborsRegressor(3).fit(X[:60], y[:60])
    np.testing.assert_allclose(reg.baseline_.predict(X), theirs.predict(X))
    options = {"max_iter": 100, "max_leaf_nodes": 8, "max_bins": 63, "early_stopping": False}
    booster = HistGradientBoostingRegressor(**options, min_samples_leaf=3, random_state=0)
    mean, width = y[:60].mean(), y[:60].std()
    booster.fit(X[:60], (y[:60] - mean) / width)
    theirs = mean + width * booster.predict(X)
    alone = regressor_on_request(name).set_params(random_state=0).fit(X[:60], y[:60])
    np.testing.assert_allclose(alone.predict(X), theirs)
    near = clone(regressor_on_request("tabpfn")).fit(X[:60], y[:60])
    np.testing.assert_allclose(near.predict(X), reg.baseline_.predict(X))
    own = SafeRegressor([name], baseline=name, **QUICK).fit(X, y)
    np.testing.assert_allclose(own.predict(X), theirs)
