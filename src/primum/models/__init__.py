"""Fitted models in files that are safe to load: skops, never pickle."""

from typing import TYPE_CHECKING

from primum._lazy import lazy

if TYPE_CHECKING:
    from primum.models.files import load, save

__all__ = ["load", "save"]

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy(__name__, dict.fromkeys(__all__, f"{__name__}.files"))
