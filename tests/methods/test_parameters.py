"""The declaration of the parameters of methods."""

import pickle
from dataclasses import field
from inspect import signature
from typing import Any, ClassVar

import pytest
from sklearn.base import BaseEstimator, clone

from primum.methods.base import PARAMETER_RANGES, with_parameters


class Shrunken(BaseEstimator):
    """A base that is not decorated: its annotations are types."""

    alpha: float
    coef_: float


@with_parameters
class Example(Shrunken):
    """An estimator."""

    alpha: float = field(default=0.5, kw_only=False)
    labels: str = "soft"
    _ranges: ClassVar[dict[str, list[Any]]] = {"labels": [str]}


def test_annotated_attributes_become_parameters():
    assert str(signature(Example)) == "(alpha: float = 0.5, *, labels: str = 'soft') -> None"
    assert Example._parameter_constraints == {"alpha": PARAMETER_RANGES["alpha"], "labels": [str]}


def test_parameters_survive_clone_and_pickle():
    given = Example(2.0, labels="hard")
    for copy in (clone(given), pickle.loads(pickle.dumps(given))):
        assert copy.get_params() == {"alpha": 2.0, "labels": "hard"}


def test_every_parameter_has_a_range():
    class Unchecked(BaseEstimator):
        alpha: float = 0.5
        sharpness: float = 0.0

    with pytest.raises(TypeError, match="Unchecked has no range for sharpness, so scikit-learn"):
        with_parameters(Unchecked)


def test_fitted_attributes_are_no_parameters():
    class Fitted(BaseEstimator):
        alpha: float = 0.5
        coef_: float = 0.0

    with pytest.raises(TypeError, match="Fitted annotates coef_, which would become parameters"):
        with_parameters(Fitted)
