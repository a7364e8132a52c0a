"""The models of a comparison: the default ones, and the baseline as part of a safe stack."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sklearn.linear_model import LogisticRegression

from primum.comparison.data import Data
from primum.methods import ICLSClassifierCV, ICLSRegressorCV, SelfLearningClassifier, TSVMClassifier
from primum.reading.classifiers import Entry
from primum.safe.candidates import BASELINE as DEFAULT_BASELINE
from primum.safe.candidates import CANDIDATES, NUMBER_CANDIDATES
from primum.safe.candidates.alone import CandidateClassifier, CandidateRegressor
from primum.safe.candidates.baselines import (
    TunedLogisticClassifier,
    TunedRidgeClassifier,
    TunedRidgeRegressor,
)
from primum.safe.candidates.packages import ON_REQUEST
from primum.safe.candidates.trees import (
    BoostingClassifier,
    BoostingRegressor,
    ForestClassifier,
    ForestRegressor,
)
from primum.safe.classifier import SafeClassifier
from primum.safe.regressor import SafeRegressor

# Grids as coarse as that of logistic regression, because tuning is repeated in every training set.
FEW_ALPHAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
FEW_METRICS = (0.0, 0.5)
# A smaller grid for several classes, with which a fit takes many times as long.
SEVERAL_CLASSES_GRID = ((1e-2, 1e-1, 1.0), (0.0,))
# Types of the baselines that safe stacks have under the same name.
OF_STACK: dict[str, type] = {
    "ridge": TunedRidgeClassifier,
    "logistic": TunedLogisticClassifier,
    **dict.fromkeys(ON_REQUEST, CandidateClassifier),
}
OF_NUMBER_STACK: dict[str, type] = {
    "ridge": TunedRidgeRegressor,
    **dict.fromkeys(ON_REQUEST, CandidateRegressor),
}
# (name, model, whether it uses unlabelled rows) of methods.
Methods = list[tuple[str, Any, bool]]


def default_baselines(*, numeric: bool = False) -> list[tuple[str, Any]]:
    """Return the tuned supervised models that a safe stack has too."""
    if numeric:
        return [("ridge", TunedRidgeRegressor())]
    return [("ridge", TunedRidgeClassifier()), ("logistic", TunedLogisticClassifier())]


def default_methods(
    inner: int, n_classes: int, scoring: Any, baseline: Any = DEFAULT_BASELINE
) -> Methods:
    """Return the safe stack, given its baseline, and the other methods, tuned in ``inner`` folds.

    The last two are supervised alternatives to the baseline, which show whether another kind of
    model is better than a linear one with unlabelled rows.
    """
    grid = (FEW_ALPHAS, FEW_METRICS) if n_classes == 2 else SEVERAL_CLASSES_GRID
    methods = [
        ("safe stack", SafeClassifier(baseline=baseline, scoring=scoring), True),
        ("ICLS", ICLSClassifierCV(*grid, cv=inner), True),
        ("self-learning", SelfLearningClassifier(LogisticRegression()), True),
    ]
    if n_classes == 2:
        methods.append(("TSVM", TSVMClassifier("annealing", alpha=0.1), True))
    alternatives = (("forest", ForestClassifier()), ("boosting", BoostingClassifier()))
    return [*methods, *((name, estimator, False) for name, estimator in alternatives)]


def default_number_methods(
    inner: int, limits: tuple[float, float] | None, scoring: Any, baseline: Any
) -> Methods:
    """Return the safe stack and the other methods for numbers; ICLS only if they have limits.

    The last two are supervised alternatives to the baseline.
    """
    stack = SafeRegressor(baseline=baseline, scoring=scoring, bounds=limits)
    methods: Methods = [("safe stack", stack, True)]
    if limits is not None:
        tuned = ICLSRegressorCV(FEW_ALPHAS, FEW_METRICS, bounds=limits, cv=inner, shuffle=True)
        methods.append(("ICLS", tuned, True))
    alternatives = (("forest", ForestRegressor()), ("boosting", BoostingRegressor()))
    return [*methods, *((name, estimator, False) for name, estimator in alternatives)]


def default_methods_for(
    data: Data, inner: int, scoring: Any, baselines: Sequence[Entry]
) -> Methods:
    """Return the methods that are compared on some data, tuned in ``inner`` folds."""
    baseline = stack_baseline(baselines, numeric=data.numeric)
    if data.classes is None:
        return default_number_methods(inner, data.limits, scoring, baseline)
    return default_methods(inner, len(data.classes), scoring, baseline)


def stack_baseline(baselines: Sequence[Entry], *, numeric: bool = False) -> Any:
    """Return the baselines of a comparison as the baseline of its safe stack.

    "Safe" refers to the model with which everything is compared. The stack has ridge and logistic
    regression, and models on request, by name. A classifier without scores cannot be part of a
    stack, whose baseline is then the default one.
    """
    if numeric:
        parts = [_in_stack(entry, OF_NUMBER_STACK, NUMBER_CANDIDATES) for entry in baselines]
        return "ridge" if parts == ["ridge"] else parts
    if not all(map(has_scores, baselines)):
        return DEFAULT_BASELINE
    parts = [_in_stack(entry, OF_STACK, CANDIDATES) for entry in baselines]
    return DEFAULT_BASELINE if parts == list(DEFAULT_BASELINE) else parts


def has_scores(entry: Entry) -> bool:
    """Return whether a classifier has scores, which a part of a stack needs."""
    return any(hasattr(entry.estimator, name) for name in ("predict_proba", "decision_function"))


def _in_stack(entry: Entry, of_stack: Mapping[str, type], used_names: Collection[str]) -> Any:
    """Return a baseline's name, if a stack has it, or else (free name, model)."""
    model = entry.estimator  # with the steps before it, if it is a pipeline
    if isinstance(model, of_stack.get(entry.name, ())):
        return entry.name
    return f"{entry.name} (baseline)" if entry.name in used_names else entry.name, model
