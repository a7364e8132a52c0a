"""Weights with which labelled rows that are not a random sample represent the unlabelled ones.

A loss on the unlabelled rows is a mean over p_U(x, y), and the labelled rows come from p_L(x, y):

    E_U loss = E_L [w loss],    w = p_U(x, y) / p_L(x, y).

The ratio is known only under an assumption, which the user makes.

* Label shift, p_U(x | y) = p_L(x | y): w = q_y / pi_y, the share of the row's class among the
  unlabelled rows (``shares``) over that among the labelled ones.
* Covariate shift, p_U(y | x) = p_L(y | x): w = p_U(x) / p_L(x), the odds that a logistic regression
  takes a row for an unlabelled one, out of fold, with both kinds weighted equally.

Few rows with large weights would decide everything, so weights are clipped at their 95% quantile,
which trades a little bias for much variance. The effective sample size (Kish 1965) is

    (sum w)^2 / sum w^2,

the number of rows of equal weights that give a mean of the same variance. If it is below 20, the
labelled rows cannot represent the unlabelled ones, and covariate weights raise an error.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from primum._sklearn import count_rows, logistic_regression_cv, take_rows
from primum._typing import AnyArray, Floats, Index
from primum.judging.shares import ASSUMPTIONS, COVARIATE, LABEL, EstimatedShares
from primum.reading.data import effective_size, stack_rows

CLIPPED_AT = 0.95
LEAST_EFFECTIVE = 20
# No class is given up: with the weight 0 there would be no rows of it.
LEAST_CLASS_SHARE = 0.005
# More unlabelled rows than this many times the labelled ones, or this number, add little but time.
TIMES_LABELED, MAX_UNLABELED = 20, 5000
FOLDS, INNER_FOLDS = 5, 3
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0)


def options_in_words(*, numeric: bool = False) -> str:
    """Return what can be done where labelled and unlabelled rows differ, each with its assumption.

    Parameters
    ----------
    numeric : bool, default=False
        Whether numbers are predicted, which have no shares.

    Returns
    -------
    str
        One sentence for each option.
    """
    if numeric:
        return (
            "You can allow for this with shift='covariate' (--shift covariate), if "
            f"{ASSUMPTIONS[COVARIATE]}."
        )
    return (
        f"Two ways to allow for this, if you accept the assumption: shift='label' (--shift "
        f"label), if {ASSUMPTIONS[LABEL]}; shift='covariate' (--shift covariate), if "
        f"{ASSUMPTIONS[COVARIATE]}."
    )


@dataclass(frozen=True)
class ShiftWeights:
    """The weights of labelled rows that are not a random sample.

    Attributes
    ----------
    kind : {"label", "covariate"}
        What is assumed.
    weight : array of shape (n_labeled,)
        Weights of the labelled rows, 1 on average.
    """

    kind: str
    weight: Floats

    @property
    def effective_size(self) -> float:
        """The number of equally weighted rows that would be worth as much."""
        return effective_size(self.weight)

    @property
    def text(self) -> str:
        """What was done, and what it assumes, in two sentences."""
        clipped = f", clipped at their {CLIPPED_AT:.0%} quantile" if self.kind == COVARIATE else ""
        return (
            f"Losses are weighted to estimate those on the unlabelled rows (shift={self.kind!r}), "
            f"and so are the labels that models learn from. This assumes that "
            f"{ASSUMPTIONS[self.kind]}. With these weights{clipped}, the {len(self.weight):,} "
            f"labelled rows are worth {self.effective_size:.0f} of equal weight."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what was done as plain JSON values."""
        return {
            "kind": self.kind,
            "assumption": ASSUMPTIONS[self.kind],
            "effective_size": self.effective_size,
            "n_labeled": len(self.weight),
            "text": self.text,
        }


def label_weights(codes: Index, shares: EstimatedShares) -> ShiftWeights:
    """Return the weights with which labelled rows have the class shares of the unlabelled ones.

    Parameters
    ----------
    codes : array of shape (n_labeled,)
        Classes of the labelled rows.
    shares : EstimatedShares
        Those of the unlabelled rows.

    Returns
    -------
    ShiftWeights
        One for every labelled row.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.judging.shares import ClassShare, EstimatedShares
    >>> from primum.judging.shift import label_weights
    >>> classes = [ClassShare("a", 0.8, 0.7, 0.9, 0.5), ClassShare("b", 0.2, 0.1, 0.3, 0.5)]
    >>> shares = EstimatedShares(classes, "", "", 0.95, 4, 100)
    >>> label_weights(np.array([0, 0, 1, 1]), shares).weight.round(1).tolist()
    [1.6, 1.6, 0.4, 0.4]
    """
    wanted = np.maximum([one.estimate for one in shares.classes], LEAST_CLASS_SHARE)
    counts = np.bincount(codes, minlength=len(wanted))
    weight = (wanted / np.maximum(counts, 1))[codes]
    return ShiftWeights(LABEL, weight / weight.mean())


def covariate_weights(
    X_labeled: Any,
    X_unlabeled: Any,
    *,
    prepare: Any = None,
    groups: AnyArray | None = None,
    random_state: int = 0,
) -> ShiftWeights:
    """Return the weights with which labelled rows have the features of the unlabelled ones.

    Parameters
    ----------
    X_labeled, X_unlabeled : array, sparse matrix or DataFrame
        The rows.
    prepare : transformer, default=None
        Turns rows into numbers, fitted inside every fold; None: they are numbers, and are scaled.
    groups : array of shape (n_labeled,), default=None
        Labelled rows of one group are held out together.
    random_state : int, default=0
        Seed of the sample and of the folds.

    Returns
    -------
    ShiftWeights
        One for every labelled row.

    Examples
    --------
    >>> import numpy as np
    >>> from primum.judging.shift import covariate_weights
    >>> rng = np.random.default_rng(0)
    >>> labeled, unlabeled = rng.normal(size=(200, 1)), rng.normal(size=(1000, 1)) + 0.5
    >>> found = covariate_weights(labeled, unlabeled)
    >>> bool(abs(np.average(labeled[:, 0], weights=found.weight) - 0.5) < 0.2)
    True
    """
    odds = _odds_of_unlabeled(X_labeled, X_unlabeled, prepare, groups, random_state)
    weight = np.minimum(odds, np.quantile(odds, CLIPPED_AT))
    found = ShiftWeights(COVARIATE, weight / weight.mean())
    if found.effective_size < LEAST_EFFECTIVE:
        raise ValueError(
            f"With shift='covariate' the {len(odds)} labelled rows are worth "
            f"{found.effective_size:.1f}, fewer than {LEAST_EFFECTIVE}: they are too few, or too "
            "unlike the unlabelled rows, to represent them, so label more rows, drawn at random, "
            "or leave shift out."
        )
    return found


def _odds_of_unlabeled(
    X_labeled: Any, X_unlabeled: Any, prepare: Any, groups: AnyArray | None, seed: int
) -> Floats:
    """Return the out-of-fold odds that labelled rows are taken for unlabelled ones."""
    n_labeled, rng = count_rows(X_labeled), np.random.default_rng(seed)
    most = min(count_rows(X_unlabeled), TIMES_LABELED * n_labeled, MAX_UNLABELED)
    if min(n_labeled, most) < LEAST_EFFECTIVE:
        raise ValueError(
            f"shift='covariate' needs at least {LEAST_EFFECTIVE} labelled and as many unlabelled "
            f"rows, and there are {n_labeled} and {count_rows(X_unlabeled)}: leave it out."
        )
    some = np.sort(rng.choice(count_rows(X_unlabeled), most, replace=False))
    X = stack_rows([X_labeled, take_rows(X_unlabeled, some)])
    kind = np.repeat([0, 1], [n_labeled, most])
    if prepare is None:
        prepare = StandardScaler(with_mean=not sparse.issparse(X))
    logistic = logistic_regression_cv(
        Cs=list(PENALTIES),
        cv=INNER_FOLDS,
        scoring="neg_log_loss",
        class_weight="balanced",
        max_iter=1000,
    )
    splitter: Any = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    of_row = None
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        of_row = np.concatenate([codes, codes.max() + 1 + np.arange(most)])
        splitter = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    odds = np.empty(n_labeled)
    for train, test in splitter.split(np.zeros(len(kind)), kind, of_row):
        own = test[test < n_labeled]
        model = make_pipeline(clone(prepare), logistic).fit(take_rows(X, train), kind[train])
        shares = model.predict_proba(take_rows(X, own)) if len(own) else np.empty((0, 2))
        odds[own] = shares[:, 1] / np.maximum(shares[:, 0], np.finfo(float).tiny)
    return odds
