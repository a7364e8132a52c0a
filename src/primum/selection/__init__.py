"""Choosing between models with partly labelled data."""

from primum.selection.splitting import SemiSupervisedSplit

__all__ = ["SemiSupervisedSplit"]
