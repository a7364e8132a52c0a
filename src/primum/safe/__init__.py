"""Safe choices: models that use unlabelled rows only as far as labelled rows support it."""

from typing import TYPE_CHECKING

from primum._lazy import lazy

if TYPE_CHECKING:
    from primum.safe.agnostic import AgnosticClassifier
    from primum.safe.classifier import SafeClassifier
    from primum.safe.decision import TunedDecisionClassifierCV
    from primum.safe.regressor import SafeRegressor
    from primum.safe.safew import SAFEWClassifier

__all__ = [
    "AgnosticClassifier",
    "SAFEWClassifier",
    "SafeClassifier",
    "SafeRegressor",
    "TunedDecisionClassifierCV",
]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy(
        __name__,
        {
            "AgnosticClassifier": "primum.safe.agnostic",
            "SAFEWClassifier": "primum.safe.safew",
            "SafeClassifier": "primum.safe.classifier",
            "SafeRegressor": "primum.safe.regressor",
            "TunedDecisionClassifierCV": "primum.safe.decision",
        },
    )
