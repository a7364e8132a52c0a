"""The models of a comparison: the default and the chosen ones, prepared, with decision rules."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from primum._sklearn import learner_of
from primum._words import find_name, suggestion
from primum.comparison.data import Data
from primum.comparison.decision import baseline_with_rule, with_rules
from primum.comparison.plan import (
    Folds,
    inner_folds,
    judge_of,
    rule_folds,
    self_judged,
)
from primum.comparison.words import BASELINE
from primum.judging.objectives import Objective
from primum.judging.words import judges_itself
from primum.methods import ICLSClassifierCV, ICLSRegressorCV, SelfLearningClassifier, TSVMClassifier
from primum.reading.classifiers import Entry, last_step, read_entries
from primum.safe.candidates import BASELINE as DEFAULT_BASELINE
from primum.safe.candidates import CANDIDATES, NUMBER_CANDIDATES
from primum.safe.candidates.alone import CandidateClassifier, CandidateRegressor
from primum.safe.candidates.baselines import (
    TunedLogisticClassifier,
    TunedRidgeClassifier,
    TunedRidgeRegressor,
)
from primum.safe.candidates.packages import ON_REQUEST, classifier_on_request, regressor_on_request
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
# Names of the steps of a pipeline.
PREPARE, WEIGH, CLASSIFY = "prepare", "weigh", "classify"
# Advice that does not apply to the command.
OWN_MODEL = ", or pass (name, estimator)"
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


def choose_models(
    data: Data, folds: Folds, methods: Any, baseline: Any, prepare: Any, judged: Any
) -> tuple[list[Entry], list[Entry], tuple[str, ...]]:
    """Return the baselines, the methods, and the names of methods that are safe stacks.

    ``methods`` and ``baseline`` are "default" or lists, ``prepare`` is put before every model, and
    ``judged`` is the scoring of methods that judge themselves; an objective gives the others
    decision rules.
    """
    for parameter, entries in (("baseline", baseline), ("methods", methods)):
        if entries is None or (isinstance(entries, str) and entries != "default"):
            raise ValueError(
                f"{parameter} must be 'default' or a list of (name, estimator), got {entries!r}."
            )

    # The baselines, and how a safe stack has them. Without scores it has its own.
    default: Sequence[Any] = default_baselines(numeric=data.numeric)
    if isinstance(baseline, str):
        baseline = default
    baseline = named_models(baseline, "baseline", default, numeric=data.numeric)
    baselines = read_entries(baseline, "baseline", uses_unlabeled=False)
    of_stack = None
    if data.numeric or all(map(has_scores, baselines)):
        of_stack = stack_baseline(baselines, numeric=data.numeric)

    # The methods. The default ones are tuned, for which every class needs enough labels.
    ruled = isinstance(judged, Objective) and judged.has_rule
    default = []
    if isinstance(methods, str) or any(_is_default(one) for one in methods):
        inner = inner_folds(data, folds, within=ruled)
        default = default_methods_for(data, inner, judged, baselines)
    if isinstance(methods, str):
        methods = default
    methods = read_entries(
        named_models(methods, "methods", default, numeric=data.numeric), "methods"
    )

    # Safe stacks have the baseline of the comparison, unless theirs was set.
    safe = []
    for place, entry in enumerate(methods):
        last = last_step(entry.estimator)
        if of_stack is None or not judges_itself(last):
            continue
        if last.baseline == type(last)().baseline:
            estimator = clone(entry.estimator)
            last = last_step(estimator).set_params(baseline=of_stack)
            methods[place] = replace(entry, estimator=estimator)
        # A stack is called safe if it is shrunk towards this baseline, at least as by default.
        both = [
            list(one) if isinstance(one, list | tuple) else [one]
            for one in (last.baseline, of_stack)
        ]
        is_stack = isinstance(last, SafeClassifier | SafeRegressor)
        if is_stack and both[0] == both[1] and last.shrinkage >= type(last)().shrinkage:
            safe.append(entry.name)

    # A transformer before every model; names and kinds are checked.
    baselines, methods = (
        [
            replace(one, estimator=with_preparation(prepare, one.estimator, one.uses_unlabeled))
            for one in entries
        ]
        for entries in (baselines, methods)
    )
    names = [entry.name for entry in (*baselines, *methods)]
    duplicates = {name for name in names if names.count(name) > 1 or name == BASELINE}
    if duplicates:
        raise ValueError(
            f"Every method and baseline needs a name of its own other than {BASELINE!r}, but "
            f"{sorted(duplicates)[0]!r} is taken: rename it."
        )
    for entry in (*baselines, *methods):
        last = last_step(entry.estimator)
        if learner_of(last) not in (data.learner, None):
            raise ValueError(
                f"{entry.name!r} is a {learner_of(last)} ({type(last).__name__}), but "
                f"{data.kind.word} are predicted: pass a {data.learner}."
            )

    # Decision rules, chosen in folds of the training sets; the scoring of safe stacks.
    if ruled:
        n_folds = rule_folds(data, folds)
        baselines = baseline_with_rule(baselines, judged, n_folds)
        methods = with_rules(methods, judged, n_folds)
    judge_of(data, [fold for repeat in folds for fold in repeat]).undefined_folds(judged)
    return baselines, [self_judged(one, scoring=judged) for one in methods], tuple(safe)


def _is_default(entry: Any) -> bool:
    """Return whether an entry is the name of a default method, or of none."""
    return isinstance(entry, str) and find_name(entry, list(ON_REQUEST)) is None


def named_models(
    entries: Sequence[Any], parameter: str, default: Sequence[Any], *, numeric: bool
) -> list[Any]:
    """Return entries with names replaced by default models, or by those on request."""
    models = {entry[0]: entry for entry in default}
    names = [*models, *ON_REQUEST]
    found: list[Any] = []
    for entry in entries:
        if not isinstance(entry, str):
            found.append(entry)
        elif (name := find_name(entry, list(ON_REQUEST))) is not None:
            model = regressor_on_request(name) if numeric else classifier_on_request(name)
            found.append((name, model, False))
        elif (name := find_name(entry, list(models))) is not None:
            found.append(models[name])
        else:
            raise ValueError(
                f"{parameter}={entry!r} is not the name of a model that can be used here"
                f"{suggestion(entry, names)}: choose from {', '.join(map(repr, names))}{OWN_MODEL}."
            )
    return found


def with_preparation(prepare: Any, classifier: Any, uses_unlabeled: bool = True) -> Any:
    """Return a pipeline of a transformer and a classifier, or the latter without the former.

    The baseline of a safe stack must equal that of the comparison. So the stack receives features
    of a table that were prepared by the labelled rows, and keeps the scales of categories, text and
    embeddings. It weights and reduces the terms of text itself, for each of its candidates; other
    classifiers have a step for this.
    """
    if prepare is None:
        return classifier
    from primum.tables import preparation

    after = preparation.steps_after(prepare, uses_unlabeled=uses_unlabeled)
    classifier = clone(classifier)
    if "standardize" in classifier.get_params(deep=False):
        after = []
        if preparation.sets_scales(prepare):
            classifier.set_params(standardize=False)
        if isinstance(prepare, preparation.PreparedColumns):
            prepare = preparation.PreparedByLabeled(**prepare.get_params(deep=False))
    weigh = [(WEIGH, step) for step in after]
    return Pipeline([(PREPARE, clone(prepare)), *weigh, (CLASSIFY, classifier)])
