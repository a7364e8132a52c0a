"""The types that a model file may contain: with them, loading a file runs no code of its author."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

import primum
from primum.equations import Frame, GivenLabels
from primum.judging.difference import Difference, Probabilities
from primum.judging.disagreement import Disagreement
from primum.judging.verdict import SafeVerdict
from primum.judging.words import Verdict
from primum.labellings import HyperplaneLabels, LabelsByValue, LabelsInFrame, PriorProof
from primum.labellings.sets import LabelInterval, PerRow, Simplex
from primum.methods.svm.search import Step
from primum.reading.classifiers import NamedClassifier
from primum.safe.candidates.base import Affine, LinearModel
from primum.safe.candidates.kernel import KernelModel
from primum.safe.candidates.spreading import NeighborModel
from primum.safe.candidates.trees import (
    BoostedModel,
    BoostingClassifier,
    ForestClassifier,
    ForestModel,
)
from primum.safe.out_of_fold import Failure
from primum.safe.stack import StackedClassifier
from primum.tables.preparation import PreparedColumns, ReadCells, level_name

CLASSIFIERS: tuple[type, ...] = (
    *(getattr(primum, name) for name in primum.__all__ if "Classifier" in name),
    *(ForestClassifier, BoostingClassifier),
)
# What they contain, in addition to arrays, numbers and estimators of scikit-learn.
LABELS = (
    GivenLabels,
    HyperplaneLabels,
    LabelsByValue,
    LabelsInFrame,
    LabelInterval,
    Simplex,
    PerRow,
)
PROOFS = (primum.Certificate, PriorProof, Frame, Step)
STACKS = (
    *(NamedClassifier, StackedClassifier, Failure, SafeVerdict, Verdict, Probabilities, Difference),
    Disagreement,
    *(Affine, LinearModel, NeighborModel, KernelModel, ForestModel, BoostedModel),
)
PREPARATION: tuple[Any, ...] = (PreparedColumns, ReadCells, level_name)
# Imputers of scikit-learn remember a dtype, and averaged classifiers have a dict of this type.
OF_SCIKIT_LEARN = (np.dtype, Bunch)
# A list of column names in a ColumnTransformer, up to scikit-learn 1.6.
OF_EARLIER_VERSIONS = ("sklearn.compose._column_transformer._RemainderColsList",)
PARTS = (*CLASSIFIERS, *LABELS, *PROOFS, *STACKS, *PREPARATION, *OF_SCIKIT_LEARN)
TRUSTED = sorted(
    [*(f"{part.__module__}.{part.__qualname__}" for part in PARTS), *OF_EARLIER_VERSIONS]
)
