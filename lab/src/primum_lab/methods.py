"""The classifiers of the experiments, each listed once.

A method is an estimator, the labels it sees, and how its scores are read. To add one to an
experiment, list it there.

Self-learning with an SVM is run as the published Table 3 appears to have run it. The loop is plain:
label the unlabelled rows, refit to all rows, repeat until no label changes. But on data sets with
unequal classes (USPS, SPECT, SPECTF, Ionosphere) the published values agree with it only if the
first SVM, which gives the first labels, saw the constant feature twice, so that its intercept was
penalised half as much, while the refits saw it once. This is inferred from the values, not stated
in the paper.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV

from primum import L2SVMClassifier, SelfLearningClassifier, TSVMClassifier
from primum._sklearn import logistic_regression_cv
from primum._typing import AnyArray, Floats, Index
from primum._words import key_of
from primum.comparison.store import identity_of
from primum.methods.registry import Variant, commands
from primum_lab import as_published, measures


class TwiceConstantSelfLearning(SelfLearningClassifier):
    """Self-learning whose first SVM sees the constant feature twice.

    Parameters
    ----------
    svm : L2SVMClassifier
        The SVM, with a penalised intercept.
    max_iter : int, default=100
        Maximum number of rounds of labelling and refitting.
    """

    def __init__(self, svm: L2SVMClassifier, *, max_iter: int = 100) -> None:
        self.svm = svm
        self.max_iter = max_iter

    @property
    def _kind(self) -> L2SVMClassifier:
        return self.svm

    def _fit_supervised(
        self, X: Any, weight: Floats | None, classes: AnyArray, codes: Index
    ) -> L2SVMClassifier:
        """Fit with a further constant feature, and add its coefficient to the intercept."""
        twice = np.column_stack([X, np.ones(len(X))])
        svm: L2SVMClassifier = super()._fit_supervised(twice, weight, classes, codes)
        svm.intercept_ = svm.intercept_ + svm.coef_[:, -1]
        svm.coef_ = svm.coef_[:, :-1].copy()
        svm.n_features_in_ -= 1
        return svm


SEES = ("labeled", "partly", "shares", "all")


@dataclass(frozen=True)
class Method:
    """A classifier in an experiment.

    Parameters
    ----------
    name : str
        Name in tables and figures.
    estimator : estimator
        Cloned for every fit.
    sees : {"labeled", "partly", "shares", "all"}
        Which rows it is trained on: labelled rows only; all training rows, with -1 for unknown
        labels; the same, with the true class shares of the unlabelled rows as the parameter
        ``prior`` of the estimator; or all training rows with their true labels (an oracle).
    score : callable (fitted estimator, X) -> scores, or None
        The scores, on a scale on which the labels are 0 and 1: ``score_minus_half``,
        ``score_signed``, ``score_probability`` or your own. With two classes, an array of shape
        (n_rows,) for class 1; with more, one of shape (n_rows, n_classes). None means the known
        scale of this library's classes, otherwise ``predict_proba``; without this the method has an
        error, from ``predict``, but no loss.
    loss : callable (scores, labels 0, 1, ...) -> float
        The loss that is reported in addition to the error.
    every : int
        Run it only in every ``every``-th repeat, if it is slow.
    parts : mapping of str to str
        Further models that the same fit provides, by name, and which rows each sees. The fitted
        estimator has them in ``parts_``, a dict of classifiers. They are measured like methods, but
        have no time of their own.

    Examples
    --------
    >>> from primum import ICLSClassifier
    >>> from primum_lab import Method
    >>> Method("ICLS", ICLSClassifier()).sees
    'partly'
    """

    name: str
    estimator: Any
    sees: str = "partly"
    score: measures.Score | None = None
    loss: Callable[[Floats, Index], float] = measures.squared_loss
    every: int = 1
    parts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, sees in self.sees_by_name.items():
            if sees not in SEES:
                raise ValueError(f"sees of {name!r} must be one of {SEES}, got {sees!r}.")
        if self.every < 1:
            raise ValueError(f"every of {self.name!r} must be at least 1, got {self.every}.")

    @property
    def sees_by_name(self) -> dict[str, str]:
        """Which rows the method and each of its parts see."""
        return {self.name: self.sees, **self.parts}

    @property
    def config(self) -> dict[str, Any]:
        """The identity of the method, by content."""
        subject = f"Method {self.name!r}: its"
        return {
            "estimator": identity_of(self.estimator, f"{subject} estimator"),
            "sees": self.sees,
            "score": identity_of(self.score, f"{subject} score"),
            "loss": identity_of(self.loss, f"{subject} loss"),
            "every": int(self.every),
            **({"parts": dict(self.parts)} if self.parts else {}),
        }


_least_squares_method = partial(Method, score=measures.score_minus_half)
_least_squares = as_published.PublishedLeastSquares()
# The paper's method, as run in all of its experiments.
PAPER_ICLS = as_published.PublishedICLS()
_projection = as_published.PublishedICLS(metric="all", tie_break="twin")

LEAST_SQUARES = (
    _least_squares_method("Supervised", _least_squares, sees="labeled"),
    _least_squares_method("Self-Learning", SelfLearningClassifier(_least_squares)),
    _least_squares_method("USM", as_published.PublishedUSM()),
    _least_squares_method("ICLS", PAPER_ICLS),
    _least_squares_method("Oracle", _least_squares, sees="all"),
)

# In the published learning curves, in addition to the five of the tables.
FURTHER_LEAST_SQUARES = (
    _least_squares_method("Projection", _projection),
    _least_squares_method("EM-LS", as_published.PublishedEM()),
)

# ICLS and Projection with the true class shares of the unlabelled rows: with a single unlabelled
# row its label is known, and both are the oracle.
WITH_TRUE_SHARES = (
    _least_squares_method("ICLS_prior", PAPER_ICLS, sees="shares"),
    _least_squares_method("Projection_prior", _projection, sees="shares"),
)

# ICLS with this library's tie-break, for when the labelled rows do not determine the model.
NEAREST_TWIN = _least_squares_method("ICLS (twin)", as_published.PublishedICLS(tie_break="twin"))

# What is possible without unlabelled rows: regularisation chosen by cross-validation on the
# labelled ones.
BASELINES = (
    Method(
        "Ridge (CV)",
        RidgeClassifierCV(alphas=np.geomspace(1e-3, 1e4, 15)),
        sees="labeled",
        score=measures.score_signed,
        every=5,
    ),
    Method(
        "Logistic (CV)",
        logistic_regression_cv(
            Cs=[1e-3, 1e-2, 1e-1, 1.0], cv=3, max_iter=1000, scoring="neg_log_loss"
        ),
        sees="labeled",
        score=measures.score_probability,
        every=10,
    ),
)

# As in the published runs, the constant feature is penalised, and every row costs 1 in the
# supervised SVMs but 1/L or 1/U in the transductive one, which is thus regularised L times as much.
SVM = L2SVMClassifier(alpha=1.0, costs="sum", penalize_intercept=True)
_machine = partial(Method, score=measures.score_signed, loss=measures.squared_hinge)

# The methods of Table 3.
SUPPORT_VECTORS = (
    _machine("Supervised", SVM, sees="labeled"),
    _machine("Self-Learning", TwiceConstantSelfLearning(SVM)),
    _machine("Self-Learning (plain)", SelfLearningClassifier(SVM)),
    _machine("TSVM", TSVMClassifier(alpha=1.0, penalize_intercept=True)),
    # Another search for the minimum of the same objective, which shows how much the search matters.
    _machine("TSVM (annealing)", TSVMClassifier("annealing", penalize_intercept=True), every=10),
    _machine("Oracle", SVM, sees="all"),
)


# Methods that commands offer with a pseudo-inverse, as in the paper's runs.
AS_PUBLISHED = {
    "EM-LS (hard)": as_published.PublishedEM("hard"),
    "Healy-Westmacott": as_published.PublishedHealyWestmacott(tol=1e-4),
}


def _on_request(variant: Variant) -> Method:
    """Return a method of the registry; its scores are read as its class implies."""
    estimator = AS_PUBLISHED.get(variant.name) or variant.estimator()
    sees = "labeled" if variant.supervised else "partly"
    score = measures.default_score(estimator) or measures.score_signed
    hinge = score is measures.score_signed
    loss = measures.squared_hinge if hinge else measures.squared_loss
    return Method(variant.name, estimator, sees, score, loss)


# Further columns on request, from no experiment of the paper. The penalty is the default, and the
# features of the experiments are standardised.
ON_REQUEST = tuple(_on_request(variant) for variant in commands())


def named_apart(methods: Iterable[Method], used: Container[str], mark: str) -> list[Method]:
    """Return the methods; to a name that is taken, a mark is added."""
    return [
        replace(one, name=f"{one.name} ({mark})") if one.name in used else one for one in methods
    ]


# All methods, by the name under which they can be requested.
METHODS = {
    key_of(method.name): method
    for method in (
        *LEAST_SQUARES,
        *FURTHER_LEAST_SQUARES,
        *WITH_TRUE_SHARES,
        NEAREST_TWIN,
        *BASELINES,
        *named_apart(SUPPORT_VECTORS, [method.name for method in LEAST_SQUARES], "SVM"),
        *ON_REQUEST,
    )
}


def find_method(name: str) -> Method:
    """Return the method of this name, as typed or as shown; otherwise raise an error.

    Parameters
    ----------
    name : str
        A key of ``METHODS``, or the name of a method.

    Returns
    -------
    Method
        The method.

    Examples
    --------
    >>> from primum_lab import find_method
    >>> find_method("EM-LS").estimator
    PublishedEM()
    """
    key = key_of(name)
    if key in METHODS:
        return METHODS[key]
    close = get_close_matches(key, METHODS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    raise ValueError(f"Unknown method {name!r}: {hint}Known ones are {', '.join(METHODS)}.")
