"""Implicitly constrained least squares (Krijthe & Loog 2017).

Among all models that least squares gives for the labelled rows and *some* labelling of the
unlabelled ones, take the one with the least loss on the labelled rows:

    minimise over q in [0, 1]^U   (1/L) || X beta(q) - y ||^2 (+ alpha_labeled ||w||^2)
    where beta(q) minimises       (1/n) || Xe beta - [y; q] ||^2 + alpha ||w||^2,    n = L + U.

The true labelling is one of the q, so the model fitted to all true labels is always a candidate.
"""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import Interval, StrOptions
from primum._typing import Floats
from primum.equations import GivenLabels
from primum.estimators._data import TrainingData, read_unlabeled_rows
from primum.estimators._linear import N_JOBS, LeastSquaresBase
from primum.estimators.least_squares import LeastSquaresClassifier
from primum.labellings import (
    METRICS,
    TIE_BREAKS,
    FitSummary,
    LabeledRows,
    LeastSquaresFamily,
    Witness,
    certify,
    implicit_problem,
    least_squares_family,
    share_of_all,
)
from primum.rows import Block, to_numpy
from primum.solvers import SOLVERS, chosen_solver, solve_implicit


class UndeterminedModelWarning(UserWarning):
    """The labelled rows do not determine the model, and the unlabelled rows moved it."""


class ICLSClassifier(LeastSquaresBase):
    """Implicitly constrained least squares: a semi-supervised linear classifier for two classes.

    Of all models that least squares gives for some labelling of the unlabelled rows, it is the one
    closest to the supervised least-squares model, its *twin*.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty of the fit to all rows: ``alpha * ||w||^2`` is added to the mean squared
        loss. The intercept is not penalised.
    alpha_labeled : float, default=None
        The same for the labelled loss and the supervised twin; None means ``alpha``. Both are
        added to a mean, so the same value shrinks equally strongly on 20 rows and on 20 million.
    metric : {"labeled", "all", "euclidean"} or float in [0, 1], default="labeled"
        How closeness to the supervised twin is measured. ``"labeled"`` or 0: by the labelled loss
        (ICLS, the paper). ``"all"`` or 1: by the second moment of all rows (the projected
        estimator). A number s in between is the mixture ``(1 - s) labeled + s all``: 0.2 keeps most
        of the gain of ICLS and avoids most of its harm where there are fewer labels than features.
        ``"euclidean"``: by the coefficients. For every s, and whatever the true labels are, the
        fit is at least as close to the model of the true labels, in this metric, as the supervised
        twin is. For ``"all"`` and ``alpha=0`` this means that its squared loss on all training
        rows is never higher. With a ridge the same holds for the penalised loss, not for the
        squared loss alone.
    tie_break : {"twin", "half"}, default="twin"
        Which model ``metric="labeled"`` chooses if the labelled rows do not determine it, as with
        fewer labelled rows than features and no ridge. ``"twin"``: of all models with the least
        labelled loss, the one nearest to the supervised twin in the metric of all rows, which is
        the limit s -> 0 of the metrics above. ``"half"``: the one whose soft labels are closest to
        1/2. This approximates what the authors' code returns and is meant for reproducing the
        paper; it is often much worse than the twin.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    rcond : float, default=None
        Drop directions of the features whose second moment is below rcond times the largest, a
        crude form of regularisation. None keeps every direction above rounding. The paper's
        experiments appear to have used 1.5e-8.
    solver : {"auto", "newton", "scale", "lbfgsb", "reference"}, default="auto"
        ``newton`` follows a path of Newton steps to the exact solution; ``scale`` does so on a
        sample and then on all rows in a few passes; ``auto`` chooses between the two by the number
        of rows. ``lbfgsb`` is SciPy's L-BFGS-B; ``reference`` is slow and meant for tests.
    tol : float, default=1e-8
        Tolerance on the proven gap, absolute plus relative, in units of the mean squared loss.
    max_iter : int, default=10000
        Maximum number of solver iterations.
    n_jobs : int, default=None
        Number of threads that process blocks of rows; -1 means all processors. None means the
        number set by ``joblib.parallel_config``, and 1 inside a parallel joblib loop such as a grid
        search. Otherwise None means as many threads as scikit-learn's own multi-threaded
        estimators use: all processors, unless ``OMP_NUM_THREADS`` says otherwise. It does not
        affect the result.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two classes; the second is encoded as 1.
    coef_ : array of shape (1, n_features)
        Coefficients of the score.
    intercept_ : array of shape (1,)
        Intercept of the decision function: the intercept of the score minus 1/2.
    soft_labels_ : array of shape (n_unlabeled,)
        The labelling in [0, 1] that gives this model: the unlabelled rows of X, then those of
        X_unlabeled. If several do, the one closest to 1/2. Absent if X_unlabeled is in files or on
        a cluster; use the method ``soft_labels`` instead.
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
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features, if X had string column names.

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

    soft_labels_: Floats

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "alpha_labeled": [Interval(Real, 0, None, closed="left"), None],
        "metric": [StrOptions(set(METRICS)), Interval(Real, 0, 1, closed="both")],
        "tie_break": [StrOptions(set(TIE_BREAKS))],
        "fit_intercept": ["boolean"],
        "rcond": [Interval(Real, 0, 1, closed="left"), None],
        "solver": [StrOptions({"auto", *SOLVERS})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        alpha_labeled: float | None = None,
        metric: str | float = "labeled",
        tie_break: str = "twin",
        fit_intercept: bool = True,
        rcond: float | None = None,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 10000,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.alpha_labeled = alpha_labeled
        self.metric = metric
        self.tie_break = tie_break
        self.fit_intercept = fit_intercept
        self.rcond = rcond
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _fit_data(self, data: TrainingData) -> None:
        self.supervised_ = LeastSquaresClassifier(
            self._alpha_labeled,
            fit_intercept=self.fit_intercept,
            rcond=self.rcond,
            n_jobs=self.n_jobs,
        )._fit_labeled(data.classes, data.labeled, like=self)
        family = least_squares_family(
            data.labeled,
            data.unlabeled,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
            rcond=self.rcond,
        )
        problem = implicit_problem(
            family,
            metric=self.metric,
            alpha_labeled=self._alpha_labeled,
            supervised=self.supervised_._score_parameters,
            tie_break=self.tie_break,
        )
        self.solver_ = chosen_solver(problem.problem, self.solver)
        solution = solve_implicit(
            problem, solver=self.solver_, tol=self.tol, max_iter=self.max_iter
        )
        moment = family.unlabeled.weighted_sum(solution.labels)
        gamma = family.gamma_of(moment)
        self._remember(data.classes, *family.equations.decode(gamma))
        self._remember_labels(data, family, solution.labels)
        self.n_iter_ = max(1, solution.iterations)
        self.certificate_ = certify(
            problem,
            solution.labels,
            self._summary(family, gamma),
            metric=self.metric,
            tol=self.tol,
            iterations=solution.iterations,
            witness=Witness(solution.dual, solution.pull, moment),
        )
        self._warn_if_short()
        self._warn_if_undetermined(data)

    def _remember_labels(self, data: TrainingData, family: LeastSquaresFamily, q: Any) -> None:
        """Keep the labelling, and its value for each row if the rows are in memory."""
        written = isinstance(q, np.ndarray)
        self._labels = GivenLabels(q) if written else q
        self._frame, self._n_labels = family.equations.frame, data.unlabeled.n_rows
        self._n_more = data.n_more
        if data.unlabeled.in_memory:
            labels = q if written else family.unlabeled.write_down(q)
            self.soft_labels_ = data.for_all_rows(labels)

    def soft_labels(self, X_unlabeled: Any) -> Any:
        """Return the soft labels of the rows that were passed to ``fit`` as X_unlabeled.

        For rows in files or on a cluster, whose soft labels are not stored in ``soft_labels_``.

        Parameters
        ----------
        X_unlabeled : path or Dask collection
            The same rows, in the same order.

        Returns
        -------
        array of shape (n_more,)
            A lazy Dask array if the rows are a Dask collection.
        """
        check_is_fitted(self)
        rows = read_unlabeled_rows(self, X_unlabeled, self.coef_[:0, :])
        before = self._n_labels - self._n_more  # the unlabelled rows of X come first
        if rows.n_rows != self._n_more:
            raise ValueError(
                f"X_unlabeled has {rows.n_rows} rows, but fit was given {self._n_more}: pass the "
                "same rows, in the same order."
            )
        labels, frame = self._labels, self._frame

        def label(block: Block) -> Floats:
            moved = replace(block, start=block.start + before)
            return np.asarray(to_numpy(labels(frame.view(moved))))

        return self._apply(rows, label, np.float64)

    def _summary(self, family: LeastSquaresFamily, gamma: Floats) -> FitSummary:
        coef, intercept = self.supervised_._score_parameters
        equations = family.equations
        summands = abs(intercept) + np.abs(equations.center) @ np.abs(coef)
        rounding = float(8 * np.finfo(float).eps * summands)
        squares, changed = family.compare_scores(
            self._score_parameters, (coef, intercept), rounding
        )
        twin, fit = (
            (_mean_loss(family.labeled, w, b), self._alpha_labeled * float(w @ w))
            for w, b in ((coef, intercept), self._score_parameters)
        )
        of_labels = share_of_all(self.metric) == 0
        step = self._score_parameters[0] - coef
        return FitSummary(
            labeled_loss=fit[0],
            supervised_loss=twin[0],
            supervised_objective=sum(twin) if of_labels else 0.0,
            shift=squares**0.5,
            changed=changed,
            distance=squares + self.alpha * float(step @ step),
            score_rounding=rounding,
            objective=sum(fit) if of_labels else None,
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
            f"supervised twin: {proof.changed} of {proof.n_unlabeled} predictions changed. With so "
            "few labels and no ridge this can do harm: compare with supervised_, or pass "
            "metric=0.2 or larger.",
            UndeterminedModelWarning,
            stacklevel=4,
        )

    def _warn_if_short(self) -> None:
        proof = self.certificate_
        if proof.converged:
            return
        if proof.iterations >= self.max_iter:
            advice = f"raise max_iter (now {self.max_iter}), raise tol, or use solver='newton'"
        elif not (hasattr(self, "soft_labels_") or isinstance(self._labels, GivenLabels)):
            advice = (
                "another solver could continue on rows in memory, so load them, raise tol, "
                "standardise the features or raise alpha"
            )
        else:
            advice = "rounding limits it, so raise tol, standardise the features or raise alpha"
        warnings.warn(
            f"ICLSClassifier stopped after {proof.iterations} iterations with "
            f"{proof.shortfall}; {advice}.",
            ConvergenceWarning,
            stacklevel=4,
        )


def _mean_loss(labeled: LabeledRows, coef: Floats, intercept: float) -> float:
    squares = (labeled.X @ coef + intercept - labeled.y) ** 2
    weight = labeled.weight
    return float(squares.mean() if weight is None else weight @ squares / weight.sum())
