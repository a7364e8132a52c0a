"""A semi-supervised classifier of another library, fitted to the names of classes."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if

from primum._sklearn import count_rows
from primum._typing import AnyArray, Floats
from primum.estimators._labels import read_labels


def _has_decision(self: "NamedClassifier") -> bool:
    return hasattr(getattr(self, "classifier_", self.classifier), "decision_function")


def _has_probabilities(self: "NamedClassifier") -> bool:
    return hasattr(getattr(self, "classifier_", self.classifier), "predict_proba")


def named(fitted: Any, classes: AnyArray) -> "NamedClassifier":
    """Return a classifier that was fitted to class codes as one that predicts names."""
    found = NamedClassifier(fitted)
    found.classes_, found.classifier_ = classes, fitted
    return found


class NamedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that wants class codes and -1, fitted to names and None.

    Parameters
    ----------
    classifier : classifier
        Fitted to codes 0, 1, ... of the classes and -1 where a label is unknown, as scikit-learn's
        LabelSpreading and SelfTrainingClassifier are.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Names of the classes.
    classifier_ : classifier
        The fitted classifier.

    Examples
    --------
    >>> from primum.selection.named import NamedClassifier
    >>> from sklearn.semi_supervised import LabelSpreading
    >>> clf = NamedClassifier(LabelSpreading()).fit([[0.0], [1.0], [0.1]], ["a", "b", None])
    >>> clf.predict([[0.9]]).tolist()
    ['b']
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes; None, NaN or, among integers, -1 where unknown.

        Returns
        -------
        self
            The fitted classifier.
        """
        labels = read_labels(y, count_rows(X), multi_class=True)
        codes = np.full(count_rows(X), -1)
        codes[labels.labeled] = labels.codes
        self.classes_ = labels.classes
        self.classifier_ = clone(self.classifier).fit(X, codes)
        return self

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            Names of classes.
        """
        return np.asarray(self.classes_[np.asarray(self.classifier_.predict(X), dtype=np.intp)])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            One column per class.
        """
        return np.asarray(self.classifier_.predict_proba(X))

    @available_if(_has_decision)
    def decision_function(self, X: Any) -> Floats:
        """Return the decision values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Those of the classifier.
        """
        return np.asarray(self.classifier_.decision_function(X))
