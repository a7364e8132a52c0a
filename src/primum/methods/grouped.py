"""Penalties that are chosen in folds which keep groups of rows together.

Otherwise similar rows would be in both training and test sets, and the penalty chosen would be too
small for new groups.
"""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

from sklearn.linear_model import LogisticRegressionCV

from primum._typing import Index
from primum.methods.least_squares.tuning import Tuned
from primum.reading.classifiers import last_step
from primum.reading.folds import tuning_folds

# What scikit-learn's classifiers mean by cv=None.
USUAL_FOLDS = 5


def keep_groups(estimator: Any, labeled: Index, codes: Index, groups: Index) -> None:
    """Let a classifier that chooses its penalty in a number of folds keep groups together.

    Parameters
    ----------
    estimator : classifier or pipeline
        About to be fitted, and changed. Other classifiers than those whose ``cv`` is known to
        split rows are left alone.
    labeled : array of int
        Positions of the labelled rows among those that it is fitted to.
    codes, groups : array
        Classes, of which numbers have one, and groups of the labelled rows.
    """
    for part in _tuned_parts(last_step(estimator)):
        if part.cv is None or isinstance(part.cv, Integral):
            most = USUAL_FOLDS if part.cv is None else int(part.cv)
            folds = tuning_folds(most, codes, groups)
            if folds:
                part.set_params(cv=[(labeled[fold.train], labeled[fold.test]) for fold in folds])
                if getattr(part, "shuffle", False):  # of a number of folds only
                    part.set_params(shuffle=False)


def _tuned_parts(classifier: Any) -> Iterator[Any]:
    """Yield the classifiers that tune themselves: this one, or those that it averages."""
    from sklearn.ensemble import VotingClassifier, VotingRegressor  # loads all trees

    if isinstance(classifier, VotingClassifier | VotingRegressor):
        for _, part in classifier.estimators:
            yield from _tuned_parts(part)
    elif isinstance(classifier, Tuned | LogisticRegressionCV):
        yield classifier
