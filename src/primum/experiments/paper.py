"""The paper's experiments: designs, methods, data sets and repeats.

A further table is a further entry here; the runner does not change. The illustrations are no
experiments: they draw one fit, to few labels that the unlabelled rows move far.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from primum._typing import Floats, Index
from primum.experiments import methods as listed
from primum.experiments.datasets.catalogue import CATALOGUE
from primum.experiments.datasets.loading import Dataset
from primum.experiments.runner import Experiment
from primum.experiments.splits import CrossValidation, LearningCurve, SplitDesign
from primum.methods import ICLSClassifier, LeastSquaresClassifier


@dataclass(frozen=True)
class Plan:
    """An experiment of the paper.

    Attributes
    ----------
    title : str
        Title of the report.
    design : SplitDesign
        How rows are split.
    methods : tuple of Method
        The methods to compare; the first is the supervised twin.
    datasets : tuple of str
        Names in the catalogue.
    repeats : int
        Default number of repeats.
    published : str or None
        Which published values it is compared with.
    remark : str
        What a reader of the report should know about the run.
    reconstructed : (str, str) or None
        A method that was inferred from the published values, and its plain counterpart.
    undrawn : tuple of str
        Methods that the figures leave out, as those of the paper do.
    further : mapping of str to callable
        Data sets that are not in the catalogue, by name: functions that return (X, y).
    """

    title: str
    design: SplitDesign
    methods: tuple[listed.Method, ...]
    datasets: tuple[str, ...] = tuple(CATALOGUE)
    repeats: int = 100
    published: str | None = None
    remark: str = ""
    reconstructed: tuple[str, str] | None = None
    undrawn: tuple[str, ...] = ()
    further: Mapping[str, Callable[[], tuple[Floats, Index]]] = field(default_factory=dict)

    @property
    def curve(self) -> bool:
        """Whether results are grouped by the number of unlabelled rows."""
        return isinstance(self.design, LearningCurve)

    def experiment(
        self, name: str, datasets: Sequence[Dataset], repeats: int | None, seed: int
    ) -> Experiment:
        """Return the experiment on the given data sets."""
        data = {dataset.name: (dataset.X, dataset.codes) for dataset in datasets}
        data |= {further: load() for further, load in self.further.items()}
        repeats = self.repeats if repeats is None else repeats
        return Experiment(name, data, self.design, self.methods, repeats, seed)


PLANS = {
    "table2": Plan(
        title="Cross-validation, least squares (Table 2)",
        design=CrossValidation(),
        methods=(*listed.LEAST_SQUARES, *listed.BASELINES),
        published="table2",
    ),
    "table3": Plan(
        title="Cross-validation, support vector machines (Table 3)",
        design=CrossValidation(),
        methods=listed.SUPPORT_VECTORS,
        published="table3",
        remark="As in the published runs, every row costs 1 in the supervised, self-learning and "
        "oracle SVMs, but 1/L or 1/U in the TSVM, with the same penalty: the TSVM is regularised "
        "about L times as much, which explains part of its difference from the supervised SVM. "
        "Losses are mean squared hinge losses. Self-Learning is a reconstruction: it was chosen "
        "among 15 variants by its agreement with these same published cells, so that agreement is "
        "no independent evidence. Its first SVM sees the constant feature twice. Self-Learning "
        "(plain) is the loop as described.",
        reconstructed=("Self-Learning", "Self-Learning (plain)"),
    ),
    "curves": Plan(
        title="Learning curves",
        design=LearningCurve(),
        methods=(*listed.LEAST_SQUARES, *listed.FURTHER_LEAST_SQUARES),
        published="curves",
        undrawn=tuple(method.name for method in listed.FURTHER_LEAST_SQUARES),
    ),
    "prior-curves": Plan(
        title="Learning curves with the true shares of the classes",
        design=LearningCurve(),
        methods=(listed.LEAST_SQUARES[0], *listed.WITH_TRUE_SHARES),
        published="curves",
        remark="ICLS_prior and Projection_prior know the true shares of the classes among the "
        "unlabelled rows, as in the published runs: with one unlabelled row both are the oracle.",
    ),
    "peaking": Plan(
        title="Peaking",
        design=LearningCurve(n_labeled=10, sizes=tuple(range(1, 151))),
        methods=(*listed.LEAST_SQUARES, listed.NEAREST_TWIN),
        datasets=("parkinsons", "wdbc"),
        remark="With 10 labelled rows, fewer than there are features, many models have the least "
        "labelled loss. ICLS is the one whose soft labels are closest to 1/2, which approximates "
        "what the authors' code returns; ICLS (twin) is the one nearest to the supervised model, "
        "this library's default.",
    ),
}


# Of an illustration: the draws from which the clearest is chosen, and its labels of each class.
DRAWS, LABELED_PER_CLASS = 20, 2


@dataclass(frozen=True)
class Illustration:
    """Labels, most of them hidden (-1), the fit to them, and the fit to all labels."""

    y: Index
    clf: ICLSClassifier
    oracle: LeastSquaresClassifier


def most_moved(
    X: Floats, y: Index, rng: np.random.Generator, *, fit_intercept: bool
) -> Illustration:
    """Return, of several draws of labelled rows, the one that the unlabelled rows move most."""
    oracle = LeastSquaresClassifier(fit_intercept=fit_intercept).fit(X, y)
    draws = []
    for _ in range(DRAWS):
        members = (np.flatnonzero(y == label) for label in (0, 1))
        labeled = np.concatenate([rng.choice(rows, LABELED_PER_CLASS) for rows in members])
        labels = np.full(len(y), -1)
        labels[labeled] = y[labeled]
        clf = ICLSClassifier(metric="labeled", fit_intercept=fit_intercept).fit(X, labels)
        draws.append(Illustration(labels, clf, oracle))
    return max(draws, key=lambda draw: draw.clf.certificate_.shift)
