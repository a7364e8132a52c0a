"""What a model file may contain: types that run no code of its author, and valid attributes.

The types are listed one by one, because a scan for all classes of the package would also trust
those that open files at paths of the author's choice.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin, is_regressor
from sklearn.utils import Bunch

import primum
from primum.equations import Frame, GivenLabels
from primum.judging.difference import Difference, Disagreement, Probabilities
from primum.judging.losses import Measure
from primum.judging.objectives import Calibration, DecisionRule, Objective
from primum.judging.words import Alert, Verdict
from primum.labellings import HyperplaneLabels, LabelsByValue, LabelsInFrame, PriorProof
from primum.labellings.sets import LabelInterval, PerRow, Simplex
from primum.methods.svm.search import Step
from primum.models import classifier_of
from primum.reading.classifiers import LogScorer, NamedClassifier
from primum.reading.data import as_table
from primum.reading.targets import TargetScale
from primum.safe.candidates import base, baselines, graphs, own, packages, trees
from primum.safe.out_of_fold import Failure
from primum.safe.rows import Affine
from primum.safe.stack import StackedClassifier, StackedRegressor
from primum.safe.verdict import SafeVerdict
from primum.tables.preparation import (
    PreparedByLabeled,
    PreparedColumns,
    ReadCells,
    ScaledTogether,
    level_name,
)
from primum.tables.text import TermWeights, TextFeatures, Vocabulary

CLASSIFIERS: tuple[type, ...] = (
    *(getattr(primum, name) for name in dir(primum) if "Classifier" in name),
    *(trees.ForestClassifier, trees.BoostingClassifier, packages.PackagedClassifier),
    *(baselines.TunedRidgeClassifier, baselines.TunedLogisticClassifier),
)
REGRESSORS: tuple[type, ...] = (
    *(getattr(primum, name) for name in dir(primum) if "Regressor" in name),
    *(trees.ForestRegressor, trees.BoostingRegressor, packages.PackagedRegressor),
    baselines.TunedRidgeRegressor,
)
# Parts of estimators, in addition to arrays, numbers and estimators of scikit-learn.
LABELS = (
    GivenLabels,
    HyperplaneLabels,
    LabelsByValue,
    LabelsInFrame,
    LabelInterval,
    Simplex,
    PerRow,
    TargetScale,
)
PROOFS = (primum.Certificate, PriorProof, Frame, Step)
STACKS = (
    *(NamedClassifier, StackedClassifier, StackedRegressor, Failure, SafeVerdict, Verdict, Alert),
    *(LogScorer, Probabilities, Difference, Measure),
    *(Disagreement, DecisionRule, Calibration, Objective),
    *(Affine, base.LinearModel, graphs.NeighborModel, graphs.KernelModel),
    *(trees.ForestModel, trees.BoostedModel, base.ReducedModel, packages.PackagedModel),
    *(own.WrappedModel, own.WrappedRegressor),
)
PREPARATION: tuple[Any, ...] = (
    *(PreparedColumns, PreparedByLabeled, ReadCells, level_name),
    *(TextFeatures, TermWeights, Vocabulary, ScaledTogether),
)
# Imputers of scikit-learn remember a dtype, and averaged classifiers have a dict of this type.
OF_SCIKIT_LEARN = (np.dtype, Bunch)
# Rows of text, which are read without pickle.
SPARSE = (sparse.csr_array, sparse.csr_matrix)
# A list of column names in a ColumnTransformer, up to scikit-learn 1.6.
OF_EARLIER_VERSIONS = ("sklearn.compose._column_transformer._RemainderColsList",)
PARTS = (
    *(*CLASSIFIERS, *REGRESSORS, *LABELS, *PROOFS, *STACKS),
    *(*PREPARATION, *OF_SCIKIT_LEARN, *SPARSE),
)
TRUSTED = sorted(
    [*(f"{part.__module__}.{part.__qualname__}" for part in PARTS), *OF_EARLIER_VERSIONS]
)


def is_fitted_model(model: Any) -> bool:
    """Return whether a model, or the end of a pipeline, is a fitted classifier or regressor."""
    last = classifier_of(model)
    if isinstance(last, ClassifierMixin):
        return hasattr(last, "classes_")
    return isinstance(last, RegressorMixin) and hasattr(last, "n_features_in_")


def fault_of(model: Any) -> str | None:
    """Describe what is wrong with the fitted attributes used for predictions; None if nothing."""
    last = classifier_of(model)
    is_stack = isinstance(last, primum.SafeClassifier | primum.SafeRegressor)
    return (
        _fault_of_shape(last)
        or (_fault_of_stack(last) if is_stack else None)
        or _fault_of_coefficients(last)
        or _fault_of_names(model)
        or _fault_of_a_prediction(model)
    )


def _fault_of_shape(model: Any) -> str | None:
    if not hasattr(model, "n_features_in_"):
        return "it has no n_features_in_, which its fit must set, for example by validate_data"
    n_features = model.n_features_in_
    if type(n_features) is not int or n_features < 1:
        return f"its n_features_in_ is {n_features!r}, not a number of features"
    if is_regressor(model):
        return None
    classes: Any = getattr(model, "classes_", None)
    n_classes = np.size(classes)
    if not _is_array(classes, "biufU", (n_classes,)) or len(set(classes.tolist())) < n_classes:
        return "its classes_ are not different labels"
    return f"its classes_ are {n_classes}, not two or more" if n_classes < 2 else None


def _fault_of_coefficients(model: Any) -> str | None:
    """Describe what is wrong with the coefficients of a linear model; None if nothing."""
    if not hasattr(model, "coef_") or is_regressor(model):  # a regressor's may have any shape
        return None
    n_features, n_classes = model.n_features_in_, len(model.classes_)
    n_scores = 1 if n_classes == 2 else n_classes
    for name, shape in (("coef_", (n_scores, n_features)), ("intercept_", (n_scores,))):
        value: Any = getattr(model, name, None)
        if not (_is_array(value, "f", shape) and np.isfinite(value).all()):
            return (
                f"its {name} is not an array of finite real numbers of shape {shape}, as its "
                f"{n_classes} classes_ and {n_features} features require"
            )
    return None


def _fault_of_names(model: Any) -> str | None:
    names, n_features = getattr(model, "feature_names_in_", None), model.n_features_in_
    if names is not None and not (_is_array(names, "OU", (n_features,)) and _all_differ(names)):
        return f"its feature_names_in_ are not {n_features} different names"
    return None


def _fault_of_stack(model: primum.SafeClassifier | primum.SafeRegressor) -> str | None:
    """Describe what is wrong with the weights or the models of a stack; None if nothing."""
    weights: Any = getattr(model, "weights_", None)
    if not isinstance(weights, dict) or not all(type(w) is float for w in weights.values()):
        return "its weights_ are not numbers by name"
    if min(weights.values(), default=-1.0) < 0 or abs(sum(weights.values()) - 1.0) > 1e-6:
        return "its weights_ are not shares that add up to 1"
    weighted = {name for name, weight in weights.items() if weight > 0}
    if not isinstance(model.models_, dict) or not weighted <= set(model.models_):
        return "its models_ lack a candidate that has a weight"
    return None


def _fault_of_a_prediction(model: Any) -> str | None:
    """Describe how the prediction of a row of zeros fails; None if it does not."""
    names = getattr(model, "feature_names_in_", None)
    row = as_table(np.zeros((1, model.n_features_in_)), names)
    try:
        predicted = model.predict(row)
    except ImportError:  # the package of the model is not installed
        raise
    except Exception as problem:  # attributes of a damaged model can be anything
        return f"it cannot predict ({type(problem).__name__})"
    if is_regressor(classifier_of(model)):
        is_number = np.shape(predicted) == (1,) and np.isfinite(predicted).all()
        return None if is_number else "its predictions are not finite numbers"
    is_class = predicted.shape == (1,) and predicted[0] in model.classes_.tolist()
    return None if is_class else "its predictions are not among its classes_"


def _is_array(value: Any, kinds: str, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.shape == shape


def _all_differ(names: Any) -> bool:
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
