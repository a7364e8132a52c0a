"""What the parameters of methods may be: one name is one thing, with one range unless a class says.

scikit-learn validates parameters by the ``_parameter_constraints`` of a class. Here they follow
from the names of its parameters.
"""

from dataclasses import dataclass, field
from inspect import get_annotations, signature
from numbers import Real
from typing import Any, dataclass_transform

from sklearn.metrics.pairwise import kernel_metrics

from primum._sklearn import HasMethods, Interval, StrOptions
from primum.methods.base import AT_LEAST_ONE, N_JOBS, NOT_NEGATIVE

POSITIVE = [Interval(Real, 0, None, closed="neither")]
YES_OR_NO = ["boolean"]

RANGES: dict[str, list[Any]] = {
    "alpha": POSITIVE,
    "alpha_labeled": [*NOT_NEGATIVE, None],
    "alphas": ["array-like"],
    "bounds": ["array-like", None],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "covariance": [StrOptions({"full", "spherical"})],
    "cv": ["cv_object"],
    "degree": NOT_NEGATIVE,
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
    "metrics": ["array-like"],
    "n_init": AT_LEAST_ONE,
    "n_jobs": N_JOBS,
    "penalize_intercept": YES_OR_NO,
    "prior": [StrOptions({"equal"}), dict, "array-like", None],
    "prior_level": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state"],
    "scoring": [str, callable, None],
    "shuffle": YES_OR_NO,
    "tol": NOT_NEGATIVE,
    "unlabeled_weight": POSITIVE,
    "warm_start": YES_OR_NO,
}


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def with_parameters(cls: Any) -> Any:
    """Make the annotated attributes of a class the parameters of its constructor.

    They are those of its decorated bases and its own, as in a dataclass, and passed by name unless
    a field says otherwise. Annotations of other bases are types and nothing more. ``_ranges`` are
    the constraints of a class and of its subclasses that differ from the table.
    """
    if fitted := [name for name in get_annotations(cls) if name.endswith("_")]:
        raise TypeError(
            f"{cls.__name__} annotates {', '.join(fitted)}, which would become parameters of its "
            "constructor: state the type of what fit finds in fit."
        )
    dataclass(eq=False, repr=False, match_args=False, kw_only=True)(cls)
    ranges = dict(RANGES)
    for kind in reversed(cls.__mro__):
        ranges |= vars(kind).get("_ranges", {})
    names = [name for name in signature(cls.__init__).parameters if name != "self"]
    if unknown := [name for name in names if name not in ranges]:
        raise TypeError(
            f"{cls.__name__} has no range for {', '.join(unknown)}, so scikit-learn would not "
            "check it: add it to RANGES or to _ranges of the class."
        )
    cls._parameter_constraints = {name: ranges[name] for name in names}
    return cls
