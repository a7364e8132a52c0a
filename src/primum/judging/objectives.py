"""What predictions of classes are judged by: costs of errors, or a score of one class.

    cost                     mean over rows of C[true class, predicted class], in the user's unit
    balanced_accuracy        the same with the cost 1 / share of the true class
    f1                       harmonic mean of precision and recall of the positive class
    recall_at_precision=p    recall of the positive class, minus what its precision lacks to p
    average_precision        area under precision against recall; of scores, whatever the threshold

All but the last depend on which class is predicted for given scores, so that a model has to follow
them: ``primum.judging.decisions`` chooses the rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats, Index
from primum._words import listed

ACCURACY, COST, BALANCED, F1 = "accuracy", "cost", "balanced_accuracy", "f1"
AVERAGE_PRECISION, RECALL = "average_precision", "recall_at_precision"
# Those that are about one of two classes.
OF_POSITIVE = (F1, AVERAGE_PRECISION, RECALL)
# An error whose cost was not given costs this.
UNIT_COST = 1.0


@dataclass(frozen=True)
class Objective:
    """What predictions are judged by, and what a decision rule is chosen for.

    Classes are codes, so that it holds for classes by name and by code.

    Attributes
    ----------
    name : str
        One of the names above, without the precision.
    cost : tuple of tuples of float, or None
        The costs of predicted classes (columns) for true classes (rows), if they are given.
    positive : int or None
        The class that the score, or the threshold, is about; None with more than two classes.
    precision : float or None
        The precision that is asked for.
    """

    name: str
    cost: tuple[tuple[float, ...], ...] | None = None
    positive: int | None = None
    precision: float | None = None

    @property
    def scoring(self) -> str:
        """The name as ``scoring`` spells it."""
        return self.name if self.precision is None else f"{self.name}={self.precision:g}"

    @property
    def has_rule(self) -> bool:
        """Whether the class with the largest score is not always the best to predict."""
        return self.name not in (ACCURACY, AVERAGE_PRECISION)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted classifier, as scorers of scikit-learn do; more is better.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X : array-like
            Rows.
        y : array-like
            Their classes.

        Returns
        -------
        float
            Minus the mean cost, or the score.
        """
        from primum.judging.losses import Predictions, read_scoring

        codes = np.searchsorted(estimator.classes_, np.asarray(y))
        predicted = np.searchsorted(estimator.classes_, estimator.predict(X))
        scores = None if self.has_rule else np.asarray(estimator.predict_proba(X))
        own = Predictions(codes, predicted, scores)
        return -read_scoring(self, estimator.classes_).of_split(own)

    def cost_matrix(self, codes: Index, n_classes: int, weight: Floats | None = None) -> Floats:
        """Return the costs of predicted classes (columns) for true classes (rows).

        Those of the balanced error depend on the labels; a class without one has none.
        """
        if self.cost is not None:
            return np.array(self.cost)
        totals = np.bincount(codes, weight, minlength=n_classes).astype(float)
        present = np.count_nonzero(totals)
        each = np.divide(totals.sum(), present * totals, out=np.zeros(n_classes), where=totals > 0)
        return np.asarray(each[:, None] * (1 - np.eye(n_classes)))


def read_objective(
    scoring: Any, classes: AnyArray, cost: Any = None, positive: Any = None
) -> Objective | None:
    """Return what the arguments ``scoring``, ``cost`` and ``positive`` ask for.

    Parameters
    ----------
    scoring : str, callable or Objective
        The scoring.
    classes : array of shape (n_classes,)
        Names of the classes.
    cost : mapping, array-like or DataFrame, optional
        Costs of errors; see ``read_cost``.
    positive : object, optional
        One of two classes.

    Returns
    -------
    Objective or None
        None if the class with the largest score is to be predicted.
    """
    if isinstance(scoring, Objective):
        return scoring
    code = None if positive is None else positive_code(positive, classes)
    if cost is not None:
        if scoring not in (None, ACCURACY, COST):
            raise ValueError(
                f"Costs of errors replace the scoring, but scoring={scoring!r} is given too: pass "
                "one of them."
            )
        return _of_costs(read_cost(cost, classes), code)
    if not isinstance(scoring, str):
        return None
    name, _, asked = scoring.partition("=")
    if name == RECALL:
        return Objective(RECALL, None, _needed(scoring, classes, code), _precision(scoring, asked))
    if scoring == COST:
        raise ValueError("scoring='cost' needs the costs of errors: pass them without a scoring.")
    if scoring == BALANCED:
        return Objective(BALANCED, positive=_second(classes) if code is None else code)
    if scoring in OF_POSITIVE and (len(classes) == 2 or code is not None):
        return Objective(scoring, positive=_needed(scoring, classes, code))
    return None


def names_a_rule(scoring: str) -> bool:
    """Return whether models follow a scoring of that name."""
    return scoring.partition("=")[0] in (BALANCED, F1, RECALL)


def _second(classes: AnyArray) -> int | None:
    return 1 if len(classes) == 2 else None


def _of_costs(matrix: Floats, positive: int | None) -> Objective:
    """Return the objective of costs; the class that costs more to miss is positive."""
    if len(matrix) == 2 and positive is None:
        positive = int(matrix[1, 0] >= matrix[0, 1])
    return Objective(COST, tuple(map(tuple, matrix.tolist())), positive)


def _precision(scoring: str, asked: str) -> float:
    try:
        precision = float(asked)
    except ValueError:
        precision = float("nan")
    if not 0 < precision < 1:
        raise ValueError(
            f"scoring={scoring!r} needs a precision between 0 and 1: write for example "
            f"'{RECALL}=0.9'."
        )
    return precision


def _needed(scoring: str, classes: AnyArray, code: int | None) -> int:
    """Return the positive class; 1 is one, of 0 and 1 or of False and True."""
    names = classes.tolist()
    if code is not None:
        return code
    if len(names) != 2:
        raise ValueError(
            f"scoring={scoring!r} is about one of two classes, but there are {len(names)}: choose "
            "another scoring, or pass the costs of errors."
        )
    if names in ([0, 1], [-1, 1]):
        return 1
    raise ValueError(
        f"scoring={scoring!r} is about one class, and nothing says which of {names[0]!r} and "
        f"{names[1]!r} it is: pass positive={names[1]!r}, for example."
    )


def positive_code(positive: Any, classes: AnyArray) -> int:
    """Return the code of the class of interest, of two."""
    code = _code_of(positive, classes, "positive")
    if len(classes) != 2:
        raise ValueError(
            f"positive={positive!r} is for two classes, but there are {len(classes)} "
            f"({listed([repr(name) for name in classes.tolist()])}): pass the costs of errors "
            "instead."
        )
    return code


def _code_of(name: Any, classes: AnyArray, what: str) -> int:
    """Return the code of a class, by its name or by how that is written."""
    names = classes.tolist()
    if name in names:
        return int(names.index(name))
    written = [str(one) for one in names]
    if str(name) in written:
        return written.index(str(name))
    raise ValueError(
        f"{what} names the class {name!r}, which no labelled row has: the classes are "
        f"{listed([repr(one) for one in names])}."
    )


def read_cost(cost: Any, classes: AnyArray) -> Floats:
    """Return the matrix of costs: one row for each true class, one column for each predicted one.

    Parameters
    ----------
    cost : mapping, DataFrame or array-like
        ``{(true class, predicted class): cost}``, in which every other error costs 1; a DataFrame
        with true classes as index and predicted ones as columns; or a matrix in the order of the
        classes.
    classes : array of shape (n_classes,)
        Names of the classes.

    Returns
    -------
    array of shape (n_classes, n_classes)
        The costs; 0 on the diagonal.
    """
    n_classes = len(classes)
    if hasattr(cost, "iloc"):
        cost = _pairs_of_frame(cost, classes)
    if isinstance(cost, Mapping):
        matrix = UNIT_COST * (1 - np.eye(n_classes))
        for pair, value in cost.items():
            matrix[_pair(pair, classes)] = _number(value, pair)
    else:
        try:
            matrix = np.array(cost, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(
                f"cost is {cost!r}: pass {{(true class, predicted class): cost}}, or a matrix of "
                "numbers."
            ) from None
        if matrix.shape != (n_classes, n_classes):
            raise ValueError(
                f"cost has the shape {matrix.shape}, but there are {n_classes} classes: pass a row "
                "for each true class and a column for each predicted one."
            )
    return _checked(matrix, classes)


def _pairs_of_frame(frame: Any, classes: AnyArray) -> dict[tuple[Any, Any], Any]:
    """Return the cells of a table of costs; all classes must be in it."""
    for names, what in ((frame.index, "rows"), (frame.columns, "columns")):
        found = {_code_of(name, classes, "cost") for name in names}
        if len(found) != len(classes) or len(names) != len(classes):
            raise ValueError(
                f"The {what} of cost are {list(names)}: it needs one for each of the classes "
                f"{classes.tolist()}."
            )
    values = frame.to_numpy()
    return {
        (true, predicted): values[i, j]
        for i, true in enumerate(frame.index)
        for j, predicted in enumerate(frame.columns)
        if values[i, j] != 0 or str(true) != str(predicted)
    }


def _pair(pair: Any, classes: AnyArray) -> tuple[int, int]:
    if not (isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2):
        raise ValueError(
            f"cost has the key {pair!r}: pass pairs (true class, predicted class) as keys."
        )
    true, predicted = (_code_of(name, classes, "cost") for name in pair)
    if true == predicted:
        raise ValueError(
            f"cost has a cost for predicting {pair[0]!r} where it is right: correct predictions "
            "cost 0, so subtract it from the other costs of that class."
        )
    return true, predicted


def _number(value: Any, pair: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"The cost of {pair!r} is {value!r}: pass a number.") from None


def _checked(matrix: Floats, classes: AnyArray) -> Floats:
    names = classes.tolist()
    for true, predicted in np.argwhere(~(matrix >= 0) | np.isinf(matrix)).tolist():
        raise ValueError(
            f"The cost of predicting {names[predicted]!r} for {names[true]!r} is "
            f"{matrix[true, predicted]:g}: costs are finite and not negative."
        )
    if matrix.diagonal().any():
        wrong = int(np.flatnonzero(matrix.diagonal())[0])
        raise ValueError(
            f"cost has the cost {matrix[wrong, wrong]:g} for predicting {names[wrong]!r} where it "
            "is right: correct predictions cost 0, so subtract it from the other costs of that "
            "class."
        )
    if not matrix.any():
        raise ValueError(
            "All costs are 0, so all predictions are equally good: pass a positive cost."
        )
    return matrix


def with_storable_cost(state: dict[str, Any], matrix: Any) -> dict[str, Any]:
    """Return the state of an estimator with its costs as the matrix that they stand for.

    Model files have no mappings by pairs.
    """
    given = state.get("cost")
    pairs = isinstance(given, Mapping) or hasattr(given, "iloc")
    return state | {"cost": np.array(matrix)} if pairs and matrix is not None else state


def cost_digits(matrix: Floats) -> int:
    """Return the digits after the decimal point with which mean costs are shown.

    They are three for costs of 1 to 99, where a hundredth of the most expensive error counts.
    """
    power = floor(log10(matrix.max()))
    return int(np.clip(3 - (max(power - 1, 0) if power > 0 else power), 0, 9))
