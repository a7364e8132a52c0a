"""Semi-supervised learning that aims never to do worse than supervised learning."""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from primum.comparison.compare import compare as compare
    from primum.comparison.result import Comparison as Comparison
    from primum.labellings import Certificate as Certificate
    from primum.methods import *  # noqa: F403
    from primum.models import load as load
    from primum.models import save as save
    from primum.reading.data import UnlabeledRows as UnlabeledRows
    from primum.reading.folds import SemiSupervisedSplit as SemiSupervisedSplit
    from primum.safe.agnostic import AgnosticClassifier as AgnosticClassifier
    from primum.safe.classifier import SafeClassifier as SafeClassifier
    from primum.safe.decision import TunedDecisionClassifierCV as TunedDecisionClassifierCV
    from primum.safe.regressor import SafeRegressor as SafeRegressor
    from primum.safe.safew import SAFEWClassifier as SAFEWClassifier
else:  # type checkers would accept any name
    from primum._lazy import lazy
    from primum.methods.registry import modules

    _MODULES = modules() | {
        name: f"primum.{room}"
        for room, names in {
            "comparison.compare": ["compare"],
            "comparison.result": ["Comparison"],
            "labellings": ["Certificate"],
            "models": ["load", "save"],
            "reading.data": ["UnlabeledRows"],
            "reading.folds": ["SemiSupervisedSplit"],
            "safe.agnostic": ["AgnosticClassifier"],
            "safe.classifier": ["SafeClassifier"],
            "safe.decision": ["TunedDecisionClassifierCV"],
            "safe.regressor": ["SafeRegressor"],
            "safe.safew": ["SAFEWClassifier"],
        }.items()
        for name in names
    }
    __all__ = sorted(_MODULES)
    __getattr__ = lazy(__name__, _MODULES)

    def __dir__() -> list[str]:
        """Return the public names."""
        return sorted([*__all__, "__version__"])
