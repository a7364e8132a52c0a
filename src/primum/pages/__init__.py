"""The look that all pages and pictures share, and pictures of fitted estimators."""

from primum._lazy import lazy

__all__ = ["constraint_set", "plot_constraint_set", "plot_path"]

__getattr__ = lazy(__name__, dict.fromkeys(__all__, f"{__name__}.pictures"))
