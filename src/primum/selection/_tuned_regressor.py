"""What the tuned regressors share: their scores, and what they remember of a model."""

from typing import Any

from primum._typing import AnyArray, Index
from primum.estimators._linear_regressor import LeastSquaresRegressionBase
from primum.estimators._targets import KnownTargets, read_targets
from primum.selection._models import Model
from primum.selection._scores import squared_errors
from primum.selection._tuned import Tuned


class TunedRegressor(Tuned, LeastSquaresRegressionBase):
    """A least-squares regressor with parameters chosen by cross-validation."""

    _default_score = staticmethod(squared_errors)

    @staticmethod
    def _remembered(estimator: Any, known: KnownTargets, model: Model) -> Any:
        return estimator._remember(*model)

    @staticmethod
    def _known_of(y: Any) -> tuple[Index, AnyArray]:
        known = read_targets(y, len(y))
        return known.labeled, known.targets
