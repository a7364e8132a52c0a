"""What the parameters of methods may be: one name is one thing, with one range unless a class says.

scikit-learn validates parameters by the ``_parameter_constraints`` of a class. Here they follow
from the names in the signature of its constructor.
"""

from inspect import signature
from numbers import Real
from typing import Any, ClassVar

from sklearn.metrics.pairwise import kernel_metrics

from primum._sklearn import HasMethods, Interval, StrOptions
from primum.methods.base import AT_LEAST_ONE, NOT_NEGATIVE

POSITIVE = [Interval(Real, 0, None, closed="neither")]
YES_OR_NO = ["boolean"]

RANGES: dict[str, list[Any]] = {
    "alpha": POSITIVE,
    "covariance": [StrOptions({"full", "spherical"})],
    "estimator": [HasMethods(["fit", "predict"]), None],
    "fit_intercept": YES_OR_NO,
    "gamma": [StrOptions({"scale"}), *POSITIVE, None],
    "graph_alpha": NOT_NEGATIVE,
    "graph_neighbors": AT_LEAST_ONE,
    "graph_normalized": YES_OR_NO,
    "graph_power": AT_LEAST_ONE,
    "graph_ratio": NOT_NEGATIVE,
    "graph_weights": [StrOptions({"binary", "heat"})],
    "kernel": [StrOptions(set(kernel_metrics())), callable],
    "kernel_params": [dict, None],
    "max_iter": AT_LEAST_ONE,
    "n_init": AT_LEAST_ONE,
    "penalize_intercept": YES_OR_NO,
    "prior": [StrOptions({"equal"}), dict, "array-like", None],
    "random_state": ["random_state"],
    "tol": NOT_NEGATIVE,
    "unlabeled_weight": POSITIVE,
    "warm_start": YES_OR_NO,
}


class RangesByName:
    """A mixin: the constraints of all parameters of the constructor, by their names.

    ``_ranges`` are those of a class and of its subclasses that are not in the common table.
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        ranges = dict(RANGES)
        for kind in reversed(cls.__mro__):
            ranges |= vars(kind).get("_ranges", {})
        names = signature(cls).parameters
        cls._parameter_constraints = {name: ranges[name] for name in names if name in ranges}
