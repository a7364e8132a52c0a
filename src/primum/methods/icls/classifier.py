"""Implicitly constrained least squares (Krijthe & Loog 2017).

Among all models that least squares gives for the labelled rows and *some* labelling of the
unlabelled ones, take the one with the least loss on the labelled rows:

    minimise over q in [0, 1]^U   (1/L) || X beta(q) - y ||^2 (+ alpha_labeled ||w||^2)
    where beta(q) minimises       (1/n) || Xe beta - [y; q] ||^2 + alpha ||w||^2,    n = L + U.

The true labelling is one of the q, so the model fitted to all true labels is always a candidate.

``ImplicitlyConstrained`` is what the classifier shares with the regressor and with kernels: the
fit, its proof and its warnings. An estimator reads its data and says which labels are possible and
which model is the supervised twin; everything else follows from the problem.
"""

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from numbers import Real
from typing import Any, ClassVar, Generic, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from primum import labellings
from primum._sklearn import Interval, StrOptions
from primum._typing import Floats
from primum._warnings import warn
from primum.equations import Linear, Span, in_span_is_faster, span_of
from primum.labellings import (
    ImplicitProblem,
    Labelling,
    LabelSet,
    LeastSquaresFamily,
    PassMeasures,
    ShareBounds,
)
from primum.labellings.last_pass import LastPass, score_rounding
from primum.methods.base import with_parameters
from primum.methods.least_squares.classifier import LeastSquaresBase
from primum.reading.data import ClassData, TrainingData, read_unlabeled_rows
from primum.reading.labels import KnownLabels
from primum.reading.shares import prior_on
from primum.reading.targets import SomeKnown
from primum.rows import Block, LabeledRows, to_numpy
from primum.solvers import ONE_NUMBER, SOLVERS, check_solver, chosen_solver, solve_implicit


class UndeterminedModelWarning(UserWarning):
    """The labelled rows do not determine the model, and the unlabelled rows moved it.

    With fewer labelled rows than features and no ridge, such a fit can do harm.

    Examples
    --------
    >>> import warnings
    >>> from primum import UndeterminedModelWarning
    >>> warnings.simplefilter("ignore", UndeterminedModelWarning)
    """


class WithPrior:
    """A mixin for classifiers with a prior."""

    prior: Any
    prior_level: float

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "prior": [StrOptions({"confidence"}), dict, "array-like", None]
    }

    def _shares(self, data: ClassData) -> ShareBounds | None:
        """Return the bounds of the prior on the mean label; None if there are none."""
        if self.prior is None:
            return None
        self.prior_, shares = prior_on(self.prior, self.prior_level, data)
        return shares


class ImplicitlyConstrained(Generic[SomeKnown]):
    """A fit that minimises the distance to its supervised twin over all possible labellings.

    A mixin: the estimator has the parameters below. Linear estimators call ``_fit_implicit`` and
    have ``_family`` and ``_fit_twin``; kernel estimators call ``_solve``.
    """

    alpha: float
    alpha_labeled: float | None
    metric: str | float
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    n_jobs: int | None
    supervised_: BaseEstimator
    certificate_: labellings.Certificate
    metric_: str | float
    coef_: Floats
    n_features_in_: int
    _apply: Callable[..., Any]
    _family: Callable[[TrainingData[SomeKnown]], labellings.LeastSquaresFamily]
    _fit_twin: Callable[..., Linear]
    # Which model is taken if the labelled rows do not determine it.
    _tie_break: ClassVar[str] = "twin"

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions(set(labellings.METRICS)), Interval(Real, 0, 1, closed="both")],
        "solver": [StrOptions({"auto", *SOLVERS})],
    }

    def _fit_implicit(
        self,
        data: TrainingData[SomeKnown],
        labels: LabelSet | None,
        shares: ShareBounds | None = None,
    ) -> Linear:
        """Fit to data, keep the labelling and its proof, return (coefficients, intercept)."""
        n_classes = data.labeled.y.shape[1] if data.labeled.y.ndim == 2 else 2
        check_solver(self.solver, n_classes, has_prior=shares is not None)
        alpha, span = self._alpha_labeled, self._span(data)
        used = data if span is None else data.in_span(span)
        family = self._family(used)
        # The labelled loss determines the twin and defines the problem.
        loss = family.labeled_loss(alpha)
        if span is None:
            twin = self._fit_twin(data, alpha, family.determined_twin(loss))
            self.metric_ = labellings.chosen_metric(self.metric, family, alpha, loss)
        else:
            twin = span.coordinates(self._fit_twin(data, alpha))
            self.metric_ = labellings.metric_of_rows(self.metric, data.labeled, self.fit_intercept)
        problems = labellings.ImplicitProblems(family, alpha, twin, labels, loss, self._tie_break)
        problem = problems.of(self.metric_)
        if shares is not None and data.unlabeled.n_rows:
            problem = labellings.with_prior(problem, family, shares)
        fit = self._solve(used, family, problem, twin)
        return fit if span is None else span.model(fit)

    def _span(self, data: TrainingData[SomeKnown]) -> Span | None:
        """Return the span of the rows if they are so wide that a fit in it takes less time."""
        parts, ridge = [data.labeled.rows, data.unlabeled], min(self.alpha, self._alpha_labeled)
        wide = self._tie_break == "twin" and data.home is None and in_span_is_faster(parts)
        return span_of(parts, ridge) if wide else None

    def _solve(
        self,
        data: TrainingData[SomeKnown],
        family: LeastSquaresFamily,
        problem: ImplicitProblem,
        twin: Linear,
    ) -> Linear:
        """Solve a problem, keep the labelling and its proof, return (coefficients, intercept)."""
        self.solver_ = chosen_solver(problem.problem, self.solver)
        iterations = 0
        for narrowed in self._narrowed(problem):
            fit = self._solve_within(data, family, problem, narrowed, twin, iterations)
            iterations = self.certificate_.iterations
            if self.certificate_.converged or iterations >= self.max_iter:
                break
        return fit

    def _narrowed(self, problem: ImplicitProblem) -> Iterator[ImplicitProblem]:
        """Yield the problem for smaller label sets that may suffice, and finally the problem."""
        yield problem

    def _solve_within(
        self,
        data: TrainingData[SomeKnown],
        family: LeastSquaresFamily,
        problem: ImplicitProblem,
        narrowed: ImplicitProblem,
        twin: Linear,
        before: int,
    ) -> Linear:
        """Solve for narrowed label sets, and prove how good that solution is for the problem.

        ``before`` is the number of iterations for narrower sets.
        """
        last_pass = LastPass(family, narrowed, twin, data.unlabeled.in_memory)
        solution = solve_implicit(
            narrowed,
            solver=self.solver_,
            tol=self.tol,
            max_iter=self.max_iter - before,
            measure=last_pass.measure,
        )
        solution = replace(solution, iterations=before + solution.iterations)
        fit, measures, slack = last_pass.of(solution)
        if narrowed is not problem:
            slack = None  # it is that of other label sets
        # The labelling, and its value for each row if the rows are in memory.
        q = solution.labels if measures.labels is None else measures.labels
        self._labels, self._frame = q, family.equations.frame
        self._n_labels, self._n_more = data.unlabeled.n_rows, data.n_more
        if measures.labels is not None:
            self._keep_labels(data, q)
        self.n_iter_ = max(1, solution.iterations)
        self.certificate_ = labellings.certify(
            problem,
            replace(solution, moment=measures.moment, slack=slack),
            self._summary(family, fit, twin, measures),
            metric=self.metric_,
            tol=self.tol,
        )
        return fit

    def _keep_labels(self, data: TrainingData[SomeKnown], labels: Any) -> None:
        """Keep the labels of the rows that have weight, as the user reads them."""
        self.soft_labels_ = data.for_all_rows(labels)

    def _labels_of(self, X_unlabeled: Any, restore: Callable[[Floats], Floats] = np.asarray) -> Any:
        """Return the labels of the rows that were passed to ``fit`` as X_unlabeled.

        ``restore`` converts them to the user's units.
        """
        check_is_fitted(self)
        coef = self.coef_ if self.coef_.ndim == 2 else self.coef_[None, :]
        rows = read_unlabeled_rows(self, X_unlabeled, coef[:0, :])
        before = self._n_labels - self._n_more  # the unlabelled rows of X come first
        if rows.n_rows != self._n_more:
            raise ValueError(
                f"X_unlabeled has {rows.n_rows} rows, but fit was given {self._n_more}: pass the "
                "same rows, in the same order."
            )
        labels, frame = self._labels, self._frame

        def label(block: Block) -> Floats:
            moved = replace(block, start=block.start + before)
            if isinstance(labels, Labelling):
                return restore(to_numpy(labels(frame.view(moved))))
            return restore(to_numpy(labels[moved.where]))

        n_scores = coef.shape[0]
        return self._apply(rows, label, np.float64, n_scores if n_scores > 1 else None)

    def _summary(
        self, family: LeastSquaresFamily, fit: Linear, twin: Linear, measures: PassMeasures
    ) -> labellings.FitSummary:
        coef, intercept = twin
        squares = measures.squares / family.equations.weight
        twin_loss, loss = (
            (_mean_loss(family.labeled, w, b), self._alpha_labeled * float(np.vdot(w, w)))
            for w, b in ((coef, intercept), fit)
        )
        of_labels = labellings.share_of_all(self.metric_) == 0
        step = fit[0] - coef
        return labellings.FitSummary(
            labeled_loss=loss[0],
            supervised_loss=twin_loss[0],
            supervised_objective=sum(twin_loss) if of_labels else 0.0,
            shift=squares**0.5,
            changed=measures.changed,
            distance=squares + self.alpha * float(np.vdot(step, step)),
            score_rounding=score_rounding(family, twin),
            objective=sum(loss) if of_labels else None,
        )

    @property
    def _alpha_labeled(self) -> float:
        return self.alpha if self.alpha_labeled is None else self.alpha_labeled

    def _warn_if_undetermined(self, data: TrainingData[SomeKnown]) -> None:
        proof = self.certificate_
        if proof.tie_break != "twin" or not proof.moved:
            return
        warn(
            f"The {len(data.labeled.y)} labelled rows do not determine a model of "
            f"{self.n_features_in_} features, and the unlabelled rows moved the fit away from its "
            f"supervised twin: {proof.change_in_words}. Without a ridge this can do harm: compare "
            "with supervised_, or pass metric=0.2 or larger.",
            UndeterminedModelWarning,
        )

    def _warn_if_short(self, data: TrainingData[SomeKnown]) -> None:
        proof = self.certificate_
        if proof.converged:
            return
        if proof.iterations >= self.max_iter:
            advice = f"raise max_iter (now {self.max_iter}), raise tol, or use solver='newton'"
        elif not (data.unlabeled.in_memory or not isinstance(self._labels, Labelling)):
            advice = (
                "another solver could continue on rows in memory, so load them, raise tol, "
                "standardise the features or raise alpha"
            )
        elif proof.distance_gap is not None:
            advice = "raise tol, or pass metric=0.2 or alpha above 0, which makes the model unique"
        else:
            advice = "rounding limits it, so raise tol, standardise the features or raise alpha"
        warn(
            f"{type(self).__name__} stopped after {proof.iterations} iterations with "
            f"{proof.shortfall}; {advice}.",
            ConvergenceWarning,
        )


def _mean_loss(labeled: LabeledRows, coef: Floats, intercept: Floats | float) -> float:
    squares = labellings.per_row((labeled.X @ coef + intercept - labeled.y) ** 2)
    weight = labeled.weight
    return float(squares.mean() if weight is None else weight @ squares / weight.sum())


@with_parameters
class ICLSClassifier(WithPrior, ImplicitlyConstrained[KnownLabels], LeastSquaresBase):
    """Implicitly constrained least squares: a semi-supervised linear classifier.

    The fit is the model closest to the supervised least-squares model, its *twin*, among all that
    least squares gives for some labelling of the unlabelled rows. More than two classes (at most
    62) are fitted jointly: every unlabelled row has a share of each class, and the objective is the
    sum of the squared losses of all classes.

    Ties between scores go to the second of two classes, and to the first of more than two.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty of the fit to all rows: ``alpha * ||w||^2`` is added to the mean squared
        loss. The intercept is not penalised.
    alpha_labeled : float, default=None
        Ridge penalty of the labelled loss and the supervised twin; None means ``alpha``. Both
        penalties are added to a mean, so a given value shrinks equally strongly on 20 rows and on
        20 million.
    metric : {"auto", "labeled", "all", "euclidean"} or float in [0, 1], default="auto"
        How closeness to the supervised twin is measured. ``"labeled"`` or 0: by the labelled loss
        (ICLS, the paper). ``"all"`` or 1: by the second moment of all rows (the projected
        estimator). A number s in between is the mixture ``(1 - s) labeled + s all``. ``"auto"`` is
        ``"labeled"`` if the labelled rows of positive weight have full column rank (with a column
        of ones, if there is an intercept), and 0.2 if not, whatever the ridge: with fewer labels
        than features, ``"labeled"`` can do harm. A constant or repeated column lowers the rank as
        well; ``metric_`` is the metric that was chosen. If you pass ``"labeled"`` and the labelled
        rows do not determine the model, the fit is the model nearest to the supervised twin in the
        metric of all rows, among all with the smallest labelled loss: the limit s -> 0 of these
        metrics. ``"euclidean"``: by the coefficients of the features, and by the mean score of all
        rows in place of the intercept: ``||w - w_twin||^2 + (m - m_twin)^2``, where m is that mean
        (without intercept, by the coefficients alone). For every s, and whatever the true labels
        are, the fit is at least as close to the model of the true labels, in this metric, as the
        supervised twin is. For ``"all"`` and ``alpha=0`` this means that its squared loss on all
        training rows is never higher. With a ridge the same holds for the penalised loss, not for
        the squared loss alone.
    prior : None, dict, array-like or "confidence", default=None
        Prior knowledge of the share of each class among the unlabelled rows; only labellings that
        agree with it are considered. A dict maps classes to shares or to pairs (lower, upper), and
        does not restrict classes that it omits. An array has one share per class, or one
        pair of bounds per class, of shape (n_classes, 2), in the order of ``classes_``.
        ``"confidence"`` computes intervals from the labelled rows that contain all shares with
        probability ``prior_level``, if both kinds of rows are drawn from the same population. Do
        not pass the shares among a few labelled rows as if they were exact, which does harm: use
        ``"confidence"`` instead. The guarantee of a metric (see above) holds only if the true
        shares are within the prior. If the labelled rows do not determine the model, a prior needs
        a ridge or a metric other than ``"labeled"``.
    prior_level : float, default=0.95
        Probability that the intervals of ``prior="confidence"`` contain all shares.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    solver : {"auto", "newton", "scale", "lbfgsb"}, default="auto"
        ``newton`` follows a path of Newton steps to the exact solution; ``scale`` does so on a
        sample and then on all rows in a few passes; ``auto`` chooses between the two by the number
        of rows. ``lbfgsb`` is SciPy's L-BFGS-B, for two classes only.
    tol : float, default=1e-8
        Tolerance on the proven gap, absolute plus relative, in units of the mean squared loss.
    max_iter : int, default=10000
        Maximum number of solver iterations.
    n_jobs : int, default=None
        Number of threads that process blocks of rows; -1 means all processors. None means the
        number set by ``joblib.parallel_config``, or 1 inside a parallel joblib loop such as a grid
        search. Otherwise it means as many threads as scikit-learn's own multi-threaded
        estimators use: all processors, unless ``OMP_NUM_THREADS`` says otherwise. It does not
        affect the result.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. The second of two is encoded as 1; more than two are encoded one-hot.
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for more than two classes
        Coefficients of the score of the second of two classes, or of every class.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercept of the decision function: for two classes the intercept of the score minus 1/2,
        for more the intercepts of the scores.
    soft_labels_ : array of shape (n_unlabeled,), or (n_unlabeled, n_classes) for more than two
        The labelling that gives this model: the unlabelled rows of X, then those of X_unlabeled.
        For two classes it is the share of the second class, for more the share of each class. If
        several labellings give the model, it is the one closest to equal shares, or to the centre
        of what partial labels allow. Absent if X_unlabeled is in files or on a cluster; use the
        method ``soft_labels`` instead.
    prior_ : array of shape (n_classes, 2)
        The bounds on the share of each class. Absent without a prior.
    metric_ : str or float
        The metric that was used: ``metric``, or the one that ``"auto"`` chose.
    supervised_ : LeastSquaresClassifier
        The supervised twin, fitted to the labelled rows only.
    certificate_ : Certificate
        What is proven about this fit: its loss, the gap to the optimum, and whether the unlabelled
        rows moved the model. Print it for a summary in words.
    solver_ : str
        The solver that was used.
    n_iter_ : int
        Number of solver iterations, at least 1.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    ICLSClassifierCV : Chooses the ridge and the metric by cross-validation.
    ICLSRegressor : The same method for numeric targets within bounds.
    LeastSquaresClassifier : Its supervised twin.

    References
    ----------
    J. H. Krijthe and M. Loog, "Robust semi-supervised least squares classification by implicit
    constraints", Pattern Recognition 63 (2017). For ``metric="all"``: J. H. Krijthe and
    M. Loog, "Projected estimators for robust semi-supervised classification", Machine Learning
    106 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ICLSClassifier
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 2)) + 2.0 * truth[:, None]
    >>> y = np.full(200, -1)
    >>> y[[0, 1, 2, 100, 101, 102]] = truth[[0, 1, 2, 100, 101, 102]]
    >>> clf = ICLSClassifier().fit(X, y)
    >>> clf.certificate_.converged
    True
    """

    alpha: float = field(default=0.0, kw_only=False)
    alpha_labeled: float | None = None
    metric: str | float = "auto"
    prior: Any = None
    prior_level: float = 0.95
    fit_intercept: bool = True
    solver: str = "auto"
    tol: float = 1e-8
    max_iter: int = 10000
    n_jobs: int | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        sample_weight: Any = None,
        possible: Any = None,
        label_bounds: Any = None,
    ) -> Self:
        """Fit to labelled, partially labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Sparse rows are not densified as a whole.
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1, of any class. A Parquet file or folder, or a
            Dask array or DataFrame, is processed out of core, block by block, in a few passes. A
            pipeline transforms them only if its ``transform_input`` names them. For
            cross-validation, wrap them in UnlabeledRows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X in the loss: an integer weight counts a row that many times.
        possible : array-like of bool of shape (n_samples, n_classes), default=None
            Which classes each row of X may have. The columns of an array are the classes found in
            y, sorted. Those of a DataFrame are names of classes, in any order, and can include
            classes that do not occur in y. A row with one possible class is a labelled row, as if
            y contained that class: it enters the labelled loss and the supervised twin. A row with
            several is an unlabelled row whose soft label is restricted to them. The label of a row
            in y must be among its possible classes. None means that any class is possible.
        label_bounds : array-like of shape (n_samples, 2), default=None
            For two classes, bounds on the soft label of each unlabelled row of X, its share of the
            second class ``classes_[1]``: [0.7, 1] means at least 70% positive, and [NaN, NaN]
            means [0, 1]. The two bounds can be equal. Unlike a labelled row, a row with bounds
            [1, 1] does not enter the labelled loss. The bounds of a labelled row must include its
            label, 0 or 1.

        Returns
        -------
        self
            The fitted estimator.
        """
        sets = {"possible": possible, "label_bounds": label_bounds}
        return self._fit_to(X, y, X_unlabeled, sample_weight, **sets)

    def _fit_data(self, data: ClassData) -> None:
        self._remember(data.classes, *self._fit_implicit(data, data.label_set, self._shares(data)))
        self.certificate_ = self.certificate_.with_classes(data.classes.tolist())
        self._warn_if_short(data)
        self._warn_if_undetermined(data)

    def soft_labels(self, X_unlabeled: Any) -> Any:
        """Return the soft labels of the rows that were passed to ``fit`` as X_unlabeled.

        Use it for rows in files or on a cluster: ``soft_labels_`` does not store theirs.

        Parameters
        ----------
        X_unlabeled : path or Dask collection
            The same rows, in the same order.

        Returns
        -------
        array of shape (n_more,), or (n_more, n_classes) for more than two classes
            A lazy Dask array if the rows are a Dask collection.
        """
        return self._labels_of(X_unlabeled)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.solver not in ONE_NUMBER
        return tags
