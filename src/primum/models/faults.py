"""What is wrong with a model that was loaded from a file, if anything."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline

from primum import SafeClassifier
from primum._lazy import needed


def classifier_of(model: Any) -> Any:
    """Return the classifier at the end of a pipeline, or the model itself."""
    steps = getattr(model, "steps", None) if isinstance(model, Pipeline) else None
    return steps[-1][1] if isinstance(steps, list) and steps else model


def is_fitted_classifier(model: Any) -> bool:
    """Return whether a model is a fitted classifier or a pipeline that ends in one."""
    classifier = classifier_of(model)
    return isinstance(classifier, ClassifierMixin) and hasattr(classifier, "classes_")


def fault_of(model: Any) -> str | None:
    """Describe what is wrong with the fitted attributes used for predictions; None if nothing."""
    classifier = classifier_of(model)
    return (
        _fault_of_shape(classifier)
        or (_fault_of_stack(classifier) if isinstance(classifier, SafeClassifier) else None)
        or _fault_of_coefficients(classifier)
        or _fault_of_names(model)
        or _fault_of_a_prediction(model)
    )


def _fault_of_shape(model: Any) -> str | None:
    n_features = getattr(model, "n_features_in_", None)
    if type(n_features) is not int or n_features < 1:
        return f"its n_features_in_ is {n_features!r}, not a number of features"
    classes: Any = getattr(model, "classes_", None)
    n_classes = np.size(classes)
    if not _is_array(classes, "biufU", (n_classes,)) or len(set(classes.tolist())) < n_classes:
        return "its classes_ are not different labels"
    return f"its classes_ are {n_classes}, not two or more" if n_classes < 2 else None


def _fault_of_coefficients(model: Any) -> str | None:
    """Describe what is wrong with the coefficients of a linear model; None if nothing."""
    if not hasattr(model, "coef_"):
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


def _fault_of_stack(model: SafeClassifier) -> str | None:
    """Describe what is wrong with the weights or the models of a stack; None if nothing."""
    weights: Any = getattr(model, "weights_", None)
    if not isinstance(weights, dict) or not all(type(w) is float for w in weights.values()):
        return "its weights_ are not numbers by name"
    if min(weights.values(), default=-1.0) < 0 or abs(sum(weights.values()) - 1.0) > 1e-6:
        return "its weights_ are not shares that add up to 1"
    needed = {name for name, weight in weights.items() if weight > 0}
    if not isinstance(model.models_, dict) or not needed <= set(model.models_):
        return "its models_ lack a candidate that has a weight"
    return None


def _fault_of_a_prediction(model: Any) -> str | None:
    """Describe how the prediction of a row of zeros fails; None if it does not."""
    row = _row_of_zeros(model)
    try:
        predicted = model.predict(row)
    except Exception as problem:  # attributes of a damaged model can be anything
        return f"it cannot predict ({type(problem).__name__})"
    known = predicted.shape == (1,) and predicted[0] in model.classes_.tolist()
    return None if known else "its predictions are not among its classes_"


def _row_of_zeros(model: Any) -> Any:
    row = np.zeros((1, model.n_features_in_))
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return row
    with needed("Models with names of columns"):
        import pandas as pd

    return pd.DataFrame(row, columns=names)


def _is_array(value: Any, kinds: str, shape: tuple[int, ...]) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.shape == shape


def _all_differ(names: Any) -> bool:
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
