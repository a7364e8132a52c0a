"""What the implicitly constrained estimators share: the fit, its proof and its warnings.

An estimator reads its data and says which labels are possible and which model is the supervised
twin; everything else follows from the problem.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from primum import labellings
from primum._sklearn import Interval, StrOptions
from primum._typing import Floats
from primum.equations import GivenLabels, Linear
from primum.labellings import ImplicitProblem, LabelSet, LeastSquaresFamily, Reading, Shares
from primum.labellings.last_pass import LastPass, score_rounding
from primum.reading.data import TrainingData, read_unlabeled_rows
from primum.reading.shares import prior_on
from primum.rows import Block, to_numpy
from primum.solvers import SOLVERS, chosen_solver, solve_implicit


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
    """A mixin: a classifier with a prior."""

    prior: Any
    prior_level: float

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "prior": [StrOptions({"confidence"}), dict, "array-like", None]
    }

    def _shares(self, data: TrainingData) -> Shares | None:
        """Return the bounds of the prior on the mean label; None if there are none."""
        if self.prior is None:
            return None
        self.prior_, shares = prior_on(
            self.prior, self.prior_level, data.classes, data.labeled, data.unlabeled, data.label_set
        )
        return shares


class ImplicitlyConstrained:
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
    supervised_: Any
    certificate_: labellings.Certificate
    metric_: str | float
    coef_: Floats
    n_features_in_: int
    _apply: Any
    _family: Any
    _fit_twin: Any
    # Which model is taken if the labelled rows do not determine it.
    _tie_break: ClassVar[str] = "twin"

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "metric": [StrOptions(set(labellings.METRICS)), Interval(Real, 0, 1, closed="both")],
        "solver": [StrOptions({"auto", *SOLVERS})],
    }

    def _fit_implicit(
        self, data: TrainingData, labels: LabelSet | None, shares: Shares | None = None
    ) -> Linear:
        """Fit to data, keep the labelling and its proof, return (coefficients, intercept)."""
        family, alpha = self._family(data), self._alpha_labeled
        # The labelled loss determines the twin and defines the problem.
        loss = labellings.labeled_loss(family, alpha)
        twin = self._fit_twin(data, alpha, labellings.determined_twin(family, loss))
        self.metric_ = labellings.chosen_metric(self.metric, family, alpha, loss)
        problem = labellings.implicit_problem(
            family,
            metric=self.metric_,
            alpha_labeled=alpha,
            supervised=twin,
            tie_break=self._tie_break,
            labels=labels,
            loss=loss,
        )
        if shares is not None and data.unlabeled.n_rows:
            problem = labellings.with_prior(problem, family, shares)
        return self._solve(data, family, problem, twin)

    def _solve(
        self, data: TrainingData, family: LeastSquaresFamily, problem: ImplicitProblem, twin: Linear
    ) -> Linear:
        """Solve a problem, keep the labelling and its proof, return (coefficients, intercept)."""
        self.solver_ = chosen_solver(problem.problem, self.solver)
        for narrowed in self._narrowed(problem):
            fit = self._solve_within(data, family, problem, narrowed, twin)
            if self.certificate_.converged:
                break
        return fit

    def _narrowed(self, problem: ImplicitProblem) -> Iterator[ImplicitProblem]:
        """Yield the problem for smaller label sets that may suffice, and last the problem."""
        yield problem

    def _solve_within(
        self,
        data: TrainingData,
        family: LeastSquaresFamily,
        problem: ImplicitProblem,
        narrowed: ImplicitProblem,
        twin: Linear,
    ) -> Linear:
        """Solve for narrowed label sets, and prove what that solution is to the problem."""
        last_pass = LastPass(family, narrowed, twin, data.unlabeled.in_memory)
        solution = solve_implicit(
            narrowed,
            solver=self.solver_,
            tol=self.tol,
            max_iter=self.max_iter,
            measure=last_pass.measure,
        )
        fit, reading, slack = last_pass.of(solution)
        if narrowed is not problem:
            slack = None  # it is that of other label sets
        self._remember_labels(data, family, solution.labels, reading.labels)
        self.n_iter_ = max(1, solution.iterations)
        self.certificate_ = labellings.certify(
            problem,
            replace(solution, moment=reading.moment, slack=slack),
            self._summary(family, fit, twin, reading),
            metric=self.metric_,
            tol=self.tol,
        )
        return fit

    def _remember_labels(
        self,
        data: TrainingData,
        family: LeastSquaresFamily,
        q: Floats | labellings.Labelling,
        of_rows: Any,
    ) -> None:
        """Keep the labelling, and its value for each row if the rows are in memory."""
        self._labels = GivenLabels(q) if isinstance(q, np.ndarray) else q
        self._frame, self._n_labels = family.equations.frame, data.unlabeled.n_rows
        self._n_more = data.n_more
        if of_rows is not None:
            self._keep_labels(data, of_rows)

    def _keep_labels(self, data: TrainingData, labels: Any) -> None:
        """Keep the labels of the rows that have weight, as the user reads them."""
        self.soft_labels_ = data.for_all_rows(labels)

    def _labels_of(self, X_unlabeled: Any, restore: Callable[[Floats], Floats] = np.asarray) -> Any:
        """Return the labels of the rows that were passed to ``fit`` as X_unlabeled.

        ``restore`` turns them into what the user reads.
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
            return restore(to_numpy(labels(frame.view(moved))))

        n_scores = coef.shape[0]
        return self._apply(rows, label, np.float64, n_scores if n_scores > 1 else None)

    def _summary(
        self, family: LeastSquaresFamily, fit: Linear, twin: Linear, reading: Reading
    ) -> labellings.FitSummary:
        coef, intercept = twin
        squares = reading.squares / family.equations.weight
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
            changed=reading.changed,
            distance=squares + self.alpha * float(np.vdot(step, step)),
            score_rounding=score_rounding(family, twin),
            objective=sum(loss) if of_labels else None,
        )

    @property
    def _alpha_labeled(self) -> float:
        return self.alpha if self.alpha_labeled is None else self.alpha_labeled

    def _warn_if_undetermined(self, data: TrainingData) -> None:
        proof = self.certificate_
        if proof.tie_break != "twin" or not proof.moved:
            return
        warnings.warn(
            f"The {len(data.labeled.y)} labelled rows do not determine a model of "
            f"{self.n_features_in_} features, and the unlabelled rows moved the fit away from its "
            f"supervised twin: {proof.change_in_words}. Without a ridge this can do harm: compare "
            "with supervised_, or pass metric=0.2 or larger.",
            UndeterminedModelWarning,
            stacklevel=5,
        )

    def _warn_if_short(self, data: TrainingData) -> None:
        proof = self.certificate_
        if proof.converged:
            return
        if proof.iterations >= self.max_iter:
            advice = f"raise max_iter (now {self.max_iter}), raise tol, or use solver='newton'"
        elif not (data.unlabeled.in_memory or isinstance(self._labels, GivenLabels)):
            advice = (
                "another solver could continue on rows in memory, so load them, raise tol, "
                "standardise the features or raise alpha"
            )
        elif proof.distance_gap is not None:
            advice = (
                "raise tol, or pass metric=0.2 or alpha above 0, with which the model is unique"
            )
        else:
            advice = "rounding limits it, so raise tol, standardise the features or raise alpha"
        warnings.warn(
            f"{type(self).__name__} stopped after {proof.iterations} iterations with "
            f"{proof.shortfall}; {advice}.",
            ConvergenceWarning,
            stacklevel=5,
        )


def _mean_loss(labeled: labellings.LabeledRows, coef: Floats, intercept: Floats | float) -> float:
    squares = labellings.per_row((labeled.X @ coef + intercept - labeled.y) ** 2)
    weight = labeled.weight
    return float(squares.mean() if weight is None else weight @ squares / weight.sum())
