"""Models of other packages as candidates: TabPFN, TabICL and CatBoost.

None of the packages is a dependency, and each is imported only when it is used. A name stands for
the package's classifier or regressor with default settings, but for a seed; CatBoost runs on one
thread and writes no files. All of them receive the rows as dense numbers.

TabPFN and TabICL learn in context: a fit stores the labelled rows and loads the weights of a
network, which are downloaded at first use, and the work is done when rows are predicted. So such a
candidate is prepared by a fit to a few rows, which downloads the weights: if this fails, the
candidate fails once and not in every fold. With a time budget, predictions are timed
(``Candidate.slow_prediction``).

A fitted model consists of its training rows. The package's own object is made from them when it is
first needed, so that a model file contains only arrays, and runs no code but that of the installed
package. (CatBoost is fitted again with the same seed.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import numpy as np

from primum._lazy import is_installed, package_advice
from primum._typing import AnyArray, Floats
from primum.reading.classifiers import class_scores
from primum.reading.targets import TargetScale
from primum.rows import as_dense
from primum.safe.candidates.alone import CandidateClassifier, CandidateRegressor
from primum.safe.candidates.base import (
    Candidate,
    CandidateModel,
    PreparedRows,
    Supervised,
    constant_model,
)
from primum.safe.candidates.trees import BoostingClassifier, BoostingRegressor, histogram_boosting
from primum.safe.rows import Scaling, SharedRows, Targets, standardisation

# A model is fitted to at most this many labelled rows to load its weights, which is all that this
# fit is for: few take no time.
MAX_LOADING_ROWS = 20


@dataclass(frozen=True)
class Package:
    """A package with a classifier and a regressor.

    Attributes
    ----------
    name : str
        The name for installing and importing it, and of the candidate.
    classifier, regressor : str
        Names of the classes.
    licence : str
        What to know before installing it, in a sentence.
    seed : str
        The parameter for the seed.
    settings : mapping
        Other parameters.
    takes_weights : bool
        Whether ``fit`` accepts weights of rows.
    in_context : bool
        Whether it downloads weights, and learns when it predicts.
    """

    name: str
    classifier: str
    regressor: str
    licence: str
    seed: str = "random_state"
    settings: Mapping[str, Any] = field(default_factory=dict)
    takes_weights: bool = False
    in_context: bool = False

    def require(self) -> None:
        """Raise an error if the package is not installed."""
        if not is_installed(self.name):
            raise ImportError(
                package_advice(f"The model {self.name!r} needs", self.name, self.licence)
            )

    def estimator(self, seed: int, *, of_classes: bool) -> Any:
        """Return the classifier or the regressor, not fitted."""
        self.require()
        cls = getattr(import_module(self.name), self.classifier if of_classes else self.regressor)
        return cls(**{self.seed: seed}, **self.settings)


# Packages whose models can be candidates, by the name under which they are requested.
PACKAGES = {
    package.name: package
    for package in (
        Package(
            "tabpfn",
            "TabPFNClassifier",
            "TabPFNRegressor",
            "The licence of its code is Apache-2.0; that of the weights of its latest versions, "
            "which are downloaded at first use after a login, excludes commercial use.",
            in_context=True,
        ),
        Package(
            "tabicl",
            "TabICLClassifier",
            "TabICLRegressor",
            "Its licence is BSD-3-Clause; its weights are downloaded at first use.",
            in_context=True,
        ),
        Package(
            "catboost",
            "CatBoostClassifier",
            "CatBoostRegressor",
            "Its licence is Apache-2.0; it has no weights to download.",
            seed="random_seed",
            settings={"verbose": False, "allow_writing_files": False, "thread_count": 1},
            takes_weights=True,
        ),
    )
}


@dataclass(frozen=True)
class PackagedModel(CandidateModel):
    """A model of a package, as the rows that it was fitted to.

    Attributes
    ----------
    package : str
        Its name.
    X : array of shape (n_rows, n_features)
        The training rows.
    y : array of shape (n_rows,)
        Their classes as codes (at least two different ones), or standardised numbers.
    n_classes : int
        Number of classes; 0 for numbers.
    weight : array or None
        Weights of the rows.
    seed : int
        Seed of whatever is random.
    """

    package: str
    X: Floats
    y: AnyArray
    n_classes: int
    weight: Floats | None
    seed: int

    @cached_property
    def fitted(self) -> Any:
        """The estimator of the package."""
        package = PACKAGES[self.package]
        weights = package.takes_weights and self.weight is not None
        options = {"sample_weight": self.weight} if weights else {}
        estimator = package.estimator(self.seed, of_classes=self.n_classes > 0)
        return estimator.fit(self.X.copy(), self.y, **options)

    @cached_property
    def _last(self) -> dict[str, Floats]:
        """Cache of the rows that were predicted last, and their scores."""
        return {}

    def predict(self, X: Any) -> Floats:  # noqa: D102
        rows = as_dense(X)
        # Comparisons ask for classes and probabilities of the same rows, and each takes long.
        if self._last and np.array_equal(self._last["rows"], rows):
            return self._last["scores"].copy()
        scores = self._scores(rows)
        self._last.update(rows=rows.copy(), scores=scores)
        return scores.copy()

    def _scores(self, rows: Floats) -> Floats:
        if self.n_classes:
            return class_scores(self.fitted, rows, self.n_classes, self.package)
        return np.asarray(self.fitted.predict(rows.copy()), dtype=float).reshape(-1, 1)

    def __getstate__(self) -> dict[str, Any]:
        # The object of the package is left out, because it is made again from the rows.
        return {name: vars(self)[name] for name in self.__dataclass_fields__}


def fit_package(
    name: str, X: Any, labels: Targets, seed: int, scaling: Scaling = standardisation
) -> CandidateModel:
    """Return the model of a package fitted to labelled rows."""
    if labels.are_equal:
        return constant_model(labels, X.shape[1])
    rows = as_dense(X).astype(np.float64, copy=True)
    n_classes = labels.n_outputs if labels.are_shares else 0
    y = labels.y if n_classes else labels.values[:, 0]
    model = PackagedModel(name, rows, y, n_classes, labels.weight, seed)
    _ = model.fitted  # fitted now, so that errors are raised by fit
    return model


class Packaged(Supervised):
    """The model of a package; its time is taken to grow with the square of the number of rows.

    Parameters
    ----------
    name : str
        Name of the package.
    of_classes : bool, default=True
        Whether the targets are classes rather than numbers; the network may differ between the two.
    """

    slow_prediction = True

    def __init__(self, name: str, *, of_classes: bool = True) -> None:
        super().__init__(name, partial(fit_package, name), growth=2.0)
        self.of_classes = of_classes

    def prepare(self, rows: SharedRows) -> PreparedRows:
        """Import the package, and load the weights of its network by a fit to a few rows."""
        package = PACKAGES[self.name]
        package.require()
        if package.in_context:
            few = rows.labeled[:MAX_LOADING_ROWS]
            codes = np.arange(few.shape[0]) % 2
            targets = Targets.of_classes(codes, 2)
            if not self.of_classes:
                numbers = codes.astype(float)
                targets = Targets(numbers, numbers[:, None], TargetScale(0.0, 1.0))
            self.fit_rows(few, targets, rows.seed, rows.scaling)
        ignored = rows.weighted and not package.takes_weights
        note = f"{self.name} ignores sample_weight." if ignored else ""
        return replace(super().prepare(rows), note=note)


class OfPackage:
    """Base of the model of a package as an estimator; an error says if it cannot use weights."""

    def __init__(self, package: str, random_state: Any = None) -> None:
        self.package = package
        self.random_state = random_state

    def _fitted(self, X: Any, targets: Targets) -> CandidateModel:
        from sklearn.utils import check_random_state

        if targets.weight is not None and not PACKAGES[self.package].takes_weights:
            raise ValueError(
                f"{self.package} does not support weights of rows: choose another model, or pass "
                "no weights."
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return fit_package(self.package, X, targets, seed)


class PackagedClassifier(OfPackage, CandidateClassifier):
    """The classifier of a package, by the name of the package.

    Parameters
    ----------
    package : str
        "tabpfn", "tabicl" or "catboost".
    random_state : int, RandomState instance or None, default=None
        Seed of whatever is random.
    """


class PackagedRegressor(OfPackage, CandidateRegressor):
    """The regressor of a package, by the name of the package.

    Parameters
    ----------
    package : str
        "tabpfn", "tabicl" or "catboost".
    random_state : int, RandomState instance or None, default=None
        Seed of whatever is random.
    """


BOOSTING = "hist_gradient_boosting"
# Popular models by name, for classes and for numbers. They are neither default candidates nor
# counterparts.
ON_REQUEST: dict[str, Candidate] = {
    BOOSTING: Supervised(BOOSTING, histogram_boosting),
    **{name: Packaged(name) for name in PACKAGES},
}
NUMBERS_ON_REQUEST: dict[str, Candidate] = {
    BOOSTING: Supervised(BOOSTING, histogram_boosting),
    **{name: Packaged(name, of_classes=False) for name in PACKAGES},
}


def require_installed(name: str) -> None:
    """Raise an error if a name stands for a package that is not installed."""
    if name in PACKAGES:
        PACKAGES[name].require()


def classifier_on_request(name: str) -> CandidateClassifier:
    """Return the classifier of a name in ``ON_REQUEST``."""
    require_installed(name)
    return BoostingClassifier() if name == BOOSTING else PackagedClassifier(name)


def regressor_on_request(name: str) -> CandidateRegressor:
    """Return the regressor of a name in ``NUMBERS_ON_REQUEST``."""
    require_installed(name)
    return BoostingRegressor() if name == BOOSTING else PackagedRegressor(name)
