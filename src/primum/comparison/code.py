"""The Python code that repeats a comparison."""

import inspect
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.preprocessing import StandardScaler

from primum.comparison.arguments import has_rules, inner_folds
from primum.comparison.decision import without_rules
from primum.judging.objectives import Objective
from primum.reading.classifiers import Entry, last_step
from primum.safe.candidates.alone import CandidateClassifier, CandidateRegressor
from primum.tables.labels import MARKS_CHOSEN

if TYPE_CHECKING:
    from primum.comparison.compare import Comparison
    from primum.tables.problem import TableProblem


INDENT = "    "


def code_of(result: "Comparison", read: str = 'pd.read_csv("your-table.csv")') -> str:
    """Return code that repeats a comparison, with all settings that are not the default.

    Parameters
    ----------
    result : Comparison
        What ``primum.compare`` returned.
    read : str
        The expression that reads the table.

    Returns
    -------
    str
        Python code; the data are called ``df``, or ``X`` and ``y``.
    """
    target = target_of(result)
    data = ["X", "y"] if target is None else ["df", f"target={target!r}", *_roles(result.problem)]
    if target is None and result.plan.table.groups is not None:
        data.append("groups=groups")
    if _is_given_as_rows(result):
        data.append("chosen=chosen")
    if target is None and result.independent_rows:
        data.append("independent_rows=True")
    chosen = list(_entries(result))
    arguments = [*data, *_settings(result), *(text for text, _ in chosen)]
    imports = sorted({line for _, found in chosen for line in found})
    first = "import pandas as pd\n" if target is not None else ""
    table = f"df = {read}\n" if target is not None else ""
    call = f",\n{INDENT}".join(arguments)
    lines = "".join(f"{line}\n" for line in imports)
    return (
        f"{first}import primum\n{lines}\n{table}"
        f"result = primum.compare(\n{INDENT}{call},\n)\n"
        'print(result.verdict)\nresult.to_html("report.html")'
    )


def target_of(result: "Comparison") -> str | None:
    """Return the name of the column that is predicted, if the data are a table."""
    return None if result.problem is None else str(result.problem.target)


def _is_given_as_rows(result: "Comparison") -> bool:
    """Return whether chosen labels were named by their rows, not by a column of the table."""
    if result.plan.table.chosen is None:
        return False
    return result.problem is None or not any(c.note == MARKS_CHOSEN for c in result.columns)


def _roles(problem: "TableProblem | None") -> Iterator[str]:
    """Yield what was said of the columns of a table."""
    for name, value in problem.arguments.items() if problem is not None else ():
        if value and (name, value) != ("decimal", "."):  # which is assumed anyway
            yield f"{name}={value!r}"


def _settings(result: "Comparison") -> Iterator[str]:
    """Yield the arguments that differ from the default, and always the seed."""
    plan, target = result.plan, result.plan.table.target
    if target.kind.told:
        yield f"target_kind={target.kind.word!r}"
    if target.limits is not None:
        yield f"bounds={target.limits!r}"
    yield from _objective(result)
    if plan.cv is not None:
        yield f"cv={_written(plan.cv)}"
    # Repeats may depend on the size of the data by default, so they are always stated.
    yield f"n_repeats={plan.n_repeats}"
    yield f"curves={plan.curves}"
    if result.shift is not None:
        yield f"shift={result.shift.kind!r}"
    if plan.nested:
        yield "nested=True"
    if result.equivalence != target.default_equivalence:
        yield f"equivalence={result.equivalence!r}"
    if result.level != 0.95:
        yield f"level={result.level!r}"
    yield f"random_state={plan.seed}"


def _objective(result: "Comparison") -> Iterator[str]:
    """Yield what predictions are judged by: costs, or a scoring and the class that it is about."""
    loss, objective, target = result.loss, result.loss.objective, result.plan.table.target
    names = target.class_names
    if objective is not None and objective.cost is not None:
        costs = {
            (names[i], names[j]): cost
            for i, row in enumerate(objective.cost)
            for j, cost in enumerate(row)
            if i != j
        }
        yield f"cost={costs!r}"
    elif loss.scoring != target.default_scoring:
        yield f"scoring={_written(loss.scoring)}"
    if objective is not None and objective.positive is not None:
        yield f"positive={names[objective.positive]!r}"


def _written(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


def _entries(result: "Comparison") -> Iterator[tuple[str, list[str]]]:
    """Yield arguments for classifiers and preparation other than the default, with imports."""
    plan = result.plan
    given = without_rules(plan.methods), without_rules(plan.baselines)
    for name, entries, default in zip(
        ("methods", "baseline"), given, _defaults(result), strict=True
    ):
        usual = [(other, repr(estimator)) for other, estimator, *_ in default]
        if [(entry.name, repr(last_step(entry.estimator))) for entry in entries] != usual:
            others = [e for e in entries if not _has_only_a_name(e)]
            yield _listed(name, entries), _imports([last_step(e.estimator) for e in others])
    first = _preparation(plan.entries[0].estimator)
    if first is None:
        yield "prepare=None", []
    elif not isinstance(first, StandardScaler) and result.problem is None:
        yield f"prepare={first!r}", _imports([first])


def _defaults(result: "Comparison") -> tuple[list[Any], list[Any]]:
    """Return the methods and baselines that ``primum.compare`` has by default for these data."""
    try:
        scoring, target = result.loss.objective or result.loss.scoring, result.plan.table.target
        inner = inner_folds(result.plan, within=has_rules(scoring))
        scoring = "accuracy" if isinstance(scoring, Objective) else scoring
        methods = target.default_methods(inner, scoring, without_rules(result.plan.baselines))
        return methods, target.default_baselines(inner)
    except ValueError:  # with so few labels of a class there are none
        return [], []


def _preparation(estimator: Any) -> Any:
    """Return the transformer before a classifier, if there is one."""
    steps = getattr(estimator, "steps", [])
    return steps[0][1] if len(steps) > 1 else None


def _has_only_a_name(entry: Entry) -> bool:
    """Return whether a classifier of primum is not public: ``primum.compare`` takes its name."""
    return isinstance(last_step(entry.estimator), CandidateClassifier | CandidateRegressor)


def _listed(name: str, entries: Sequence[Entry]) -> str:
    """Return a list of (name, classifier, whether it uses unlabelled rows) as an argument."""
    items = []
    for entry in entries:
        if _has_only_a_name(entry):
            items.append(repr(entry.name))
            continue
        classifier = " ".join(repr(last_step(entry.estimator)).split())
        supervised = name == "methods" and not entry.uses_unlabeled
        items.append(f"({entry.name!r}, {classifier}{', False' if supervised else ''})")
    return f"{name}=[\n{INDENT * 2}" + f",\n{INDENT * 2}".join(items) + f",\n{INDENT}]"


def _imports(estimators: Sequence[Any]) -> list[str]:
    """Return import lines for the classes of estimators and of estimators inside them."""
    lines = []
    for estimator in estimators:
        inner = estimator.get_params(deep=True).values()
        for found in [estimator, *(value for value in inner if hasattr(value, "get_params"))]:
            cls = found if inspect.isclass(found) else type(found)
            parts = cls.__module__.split(".")
            public = [part for part in parts if not part.startswith("_")]
            package = parts[0] if parts[0] == "primum" else ".".join(public)
            lines.append(f"from {package} import {cls.__name__}")
    return lines
