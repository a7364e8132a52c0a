"""Implicitly constrained least squares (Krijthe & Loog 2017).

Among all models that least squares gives for the labelled rows and *some* labelling of the
unlabelled ones, take the one with the least loss on the labelled rows:

    minimise over q in [0, 1]^U   (1/L) || X beta(q) - y ||^2 (+ alpha_labeled ||w||^2)
    where beta(q) minimises       (1/n) || Xe beta - [y; q] ||^2 + alpha ||w||^2,    n = L + U.

The true labelling is one of the q, so the model fitted to all true labels is always a candidate.
"""

from collections.abc import Callable
from dataclasses import field, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import Interval, StrOptions
from primum._threads import one_blas_thread, using_threads
from primum._typing import Floats
from primum._warnings import warn
from primum.equations import GivenLabels, View
from primum.labellings import METRICS, Labelling, ShareBounds
from primum.methods.base import fitting, unfitted_like, with_parameters
from primum.methods.least_squares.classifier import LeastSquaresBase, LeastSquaresClassifier
from primum.reading.data import ClassRows, read_rows, read_unlabeled_rows
from primum.reading.shares import prior_on
from primum.rows import Block, to_numpy
from primum.solvers import ONE_NUMBER, SOLVERS, fit_implicit


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

    def _shares(self, data: ClassRows) -> ShareBounds | None:
        """Keep the bounds (K, 2) of the prior, and return those on the mean label, if any."""
        self.prior_, shares = prior_on(
            self.prior,
            self.prior_level,
            data.labels.classes,
            data.labeled,
            data.unlabeled,
            data.label_set,
        )
        return shares


# The metrics and solvers of estimators with a certificate.
IMPLICIT_RANGES: dict[str, list[Any]] = {
    "metric": [StrOptions(set(METRICS)), Interval(Real, 0, 1, closed="both")],
    "solver": [StrOptions({"auto", *SOLVERS})],
}


def warn_of(estimator: Any, *, n_labeled: int, stored: bool = True) -> None:
    """Warn if the certificate of a fit has no proof, or if the model is not determined.

    ``stored`` is whether the unlabelled rows are in memory, or their labels are stored one by one.
    """
    proof = estimator.certificate_
    if not proof.converged:
        advice = "rounding limits it, so raise tol, standardise the features or raise alpha"
        if proof.iterations >= estimator.max_iter:
            advice = f"raise max_iter (now {estimator.max_iter}), raise tol, or use solver='newton'"
        elif not stored:
            advice = (
                "another solver could continue on rows in memory, so load them, raise tol, "
                "standardise the features or raise alpha"
            )
        elif proof.distance_gap is not None:
            advice = "raise tol, or pass metric=0.2 or alpha above 0, which makes the model unique"
        warn(
            f"{type(estimator).__name__} stopped after {proof.iterations} iterations with "
            f"{proof.shortfall}; {advice}.",
            ConvergenceWarning,
        )
    if proof.tie_break == "twin" and proof.moved:
        warn(
            f"The {n_labeled} labelled rows do not determine a model of "
            f"{estimator.n_features_in_} features, and the unlabelled rows moved the fit away from "
            f"its supervised twin: {proof.change_in_words}. Without a ridge this can do harm: "
            "compare with supervised_, or pass metric=0.2 or larger.",
            UndeterminedModelWarning,
        )


def labels_of(
    estimator: Any, X_unlabeled: Any, restore: Callable[[Floats], Floats] = np.asarray
) -> Any:
    """Return the labels of the rows that were passed to ``fit`` as X_unlabeled.

    ``restore`` converts them to the user's units.
    """
    check_is_fitted(estimator)
    coef, labels, frame = estimator.coef_, estimator._labels, estimator._frame
    coef = coef if coef.ndim == 2 else coef[None, :]
    rows = read_unlabeled_rows(estimator, X_unlabeled, coef[:0, :])
    before = estimator._n_labels - estimator._n_more  # the unlabelled rows of X come first
    if rows.n_rows != estimator._n_more:
        raise ValueError(
            f"X_unlabeled has {rows.n_rows} rows, but fit was given {estimator._n_more}: pass the "
            "same rows, in the same order."
        )
    if isinstance(labels, GivenLabels):  # as model files of version 0.1 store them
        labels = labels.q

    def label(block: Block) -> Floats:
        moved = replace(block, start=block.start + before)
        if isinstance(labels, Labelling):
            return restore(to_numpy(labels(View(moved, frame))))
        return restore(to_numpy(labels[moved.where]))

    n_scores = coef.shape[0]
    return estimator._apply(rows, label, np.float64, n_scores if n_scores > 1 else None)


@with_parameters
class ICLSClassifier(WithPrior, LeastSquaresBase):
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

    _ranges: ClassVar[dict[str, list[Any]]] = IMPLICIT_RANGES
    # Which model is taken if the labelled rows do not determine it.
    _tie_break: ClassVar[str] = "twin"

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
        with fitting(self):
            sets = {"possible": possible, "label_bounds": label_bounds}
            data = read_rows(self, X, y, X_unlabeled, sample_weight, **sets)
            shares = self._shares(data) if self.prior is not None else None
            alpha_labeled = self.alpha if self.alpha_labeled is None else self.alpha_labeled
            with one_blas_thread(), using_threads(self.n_jobs):
                found = fit_implicit(
                    data.labeled,
                    data.unlabeled,
                    data.label_set,
                    shares,
                    alpha=self.alpha,
                    alpha_labeled=alpha_labeled,
                    fit_intercept=self.fit_intercept,
                    metric=self.metric,
                    solver=self.solver,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    threshold=0.5,
                    in_span=data.home is None,
                    tie_break=self._tie_break,
                    rcond=self._rcond,
                )
            classes = data.labels.classes
            # What fit_implicit has computed: the model, its twin, its proof and the labels, which
            # are also kept for rows that are read again.
            self._remember(classes, *found.model)
            twin = unfitted_like(self, LeastSquaresClassifier, alpha=alpha_labeled)
            self.supervised_ = twin._remember(classes, *found.twin)
            twin.solver_, twin.n_features_in_ = found.twin_solver, self.n_features_in_
            self.metric_, self.solver_ = found.metric, found.solver
            self.certificate_ = found.certificate
            if self.prior is not None:
                self.certificate_ = found.certificate.with_classes(classes.tolist())
            self.n_iter_ = max(1, self.certificate_.iterations)
            self._labels, self._frame = found.labels, found.frame
            self._n_labels, self._n_more = data.unlabeled.n_rows, data.more.n_rows
            if data.unlabeled.in_memory:
                self.soft_labels_ = data.for_all_rows(found.labels)
            if data.home is not None:
                data.home.convert_attributes(self, self._device_attributes)
                data.home.convert_attributes(twin, self._device_attributes)
            stored = data.unlabeled.in_memory or not isinstance(found.labels, Labelling)
            warn_of(self, n_labeled=len(data.labeled.y), stored=stored)
        return self

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
        return labels_of(self, X_unlabeled)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.solver not in ONE_NUMBER
        return tags
