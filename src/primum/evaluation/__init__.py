"""Experiments that compare classifiers on data with partly hidden labels."""

from primum.evaluation.agreement import (
    Agreement,
    Claim,
    agreement,
    ordering_claims,
    stand_in_sentence,
)
from primum.evaluation.comparison import harm
from primum.evaluation.experiment import Experiment
from primum.evaluation.further import beside, further_folder, run_with_further
from primum.evaluation.measures import MEASURES, Harm, error, squared_hinge, squared_loss
from primum.evaluation.methods import (
    BASELINES,
    FURTHER_LEAST_SQUARES,
    LEAST_SQUARES,
    METHODS,
    SUPPORT_VECTORS,
    WITH_TRUE_SHARES,
    Method,
    find_method,
)
from primum.evaluation.paper import PLANS, Plan
from primum.evaluation.published import compare_with_published, published
from primum.evaluation.race import RACES, differences, race_summary
from primum.evaluation.runner import run_experiment, run_unit
from primum.evaluation.scores import score_minus_half, score_probability, score_signed
from primum.evaluation.seeds import rng_for
from primum.evaluation.splits import (
    CrossValidation,
    HoldOut,
    LearningCurve,
    Split,
    SplitDesign,
)
from primum.evaluation.store import ResultsError, ResultStore, read_snapshot
from primum.evaluation.summary import (
    failed_sentence,
    failures,
    fit_warnings,
    per_repeat,
    roles_of,
    summarise,
    twin_of,
)
from primum.selection import SemiSupervisedSplit

# What users need; the other names above are for the rooms to the right.
__all__ = [
    "BASELINES",
    "LEAST_SQUARES",
    "METHODS",
    "SUPPORT_VECTORS",
    "CrossValidation",
    "Experiment",
    "Harm",
    "HoldOut",
    "LearningCurve",
    "Method",
    "ResultsError",
    "SemiSupervisedSplit",
    "error",
    "failures",
    "find_method",
    "fit_warnings",
    "harm",
    "run_experiment",
    "score_minus_half",
    "score_probability",
    "score_signed",
    "squared_hinge",
    "squared_loss",
    "summarise",
]
