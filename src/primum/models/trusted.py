"""The types that a model file may contain: with them, loading a file runs no code of its author."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

import primum
from primum.equations import Frame, GivenLabels
from primum.labellings import HyperplaneLabels, LabelsByValue, LabelsInFrame, PriorProof
from primum.labellings.sets import Interval, Simplex
from primum.labellings.sets.per_row import PerRow
from primum.machines.search import Step
from primum.selection.candidates.forest import ForestModel
from primum.selection.candidates.kernel import KernelModel
from primum.selection.candidates.models import Affine, LinearModel
from primum.selection.candidates.spreading import NeighborModel
from primum.selection.disagreement import Disagreement
from primum.selection.named import NamedClassifier
from primum.selection.out_of_fold import Failure
from primum.selection.stacked import StackedClassifier
from primum.selection.statistics import Difference, Probabilities
from primum.selection.trees import BoostedModel, BoostingClassifier, ForestClassifier
from primum.selection.verdict import SafeVerdict
from primum.selection.wording import Verdict
from primum.tables.preparation import PreparedColumns, ReadCells, level_name

CLASSIFIERS: tuple[type, ...] = (
    *(getattr(primum, name) for name in primum.__all__ if "Classifier" in name),
    *(ForestClassifier, BoostingClassifier),
)
# What they contain, in addition to arrays, numbers and estimators of scikit-learn.
LABELS = (GivenLabels, HyperplaneLabels, LabelsByValue, LabelsInFrame, Interval, Simplex, PerRow)
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
