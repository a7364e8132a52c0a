"""Implicitly constrained least squares for targets within bounds.

The problem is that of ``classifier.py``, with a target instead of a label in {0, 1}: among all
models that least squares gives for the known targets and *some* targets of the unlabelled rows,
take the one with the least loss on the labelled rows:

    minimise over low_i <= q_i <= high_i    (1/L) || X beta(q) - y ||^2 (+ alpha_labeled ||w||^2)
    where beta(q) minimises                 (1/n) || Xe beta - [y; q] ||^2 + alpha ||w||^2.

It is solved for targets scaled to a range of 1: ``y = shift + width z``. Losses in z
are losses in y divided by width^2, with a ridge too, because w is divided by width. Without an
intercept there is no shift.

Bounds can be so wide that they carry no information, and sums of targets as large as they allow
would leave no digit of the known ones. So the targets of the unlabelled rows are first searched for
near the known ones. The proof is always about the bounds themselves.
"""

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from primum._threads import one_blas_thread, using_threads
from primum._typing import Floats
from primum.labellings import LabelInterval, Labelling, LabelSet, is_uniform
from primum.methods.base import fitting, unfitted_like, with_parameters
from primum.methods.icls.classifier import IMPLICIT_RANGES, labels_of, warn_of
from primum.methods.least_squares.regressor import LeastSquaresRegressionBase, LeastSquaresRegressor
from primum.reading.data import read_regression_rows
from primum.rows import to_numpy
from primum.solvers import fit_implicit

# Wide bounds are searched up to this many ranges of the targets first, and then up to this factor
# more, until the solution is proven to be that of the bounds.
FIRST_REACH, REACH_FACTOR = 1e2, 1e3


def near_known_targets(labels: LabelSet) -> Iterator[LabelSet]:
    """Yield the parts of wide bounds that are near the known targets, wider and wider."""
    assert isinstance(labels, LabelInterval)
    low = float(np.min(labels.low))
    high = float(np.max(labels.high))
    reach = FIRST_REACH
    while low < -reach or high > reach:
        yield labels.near(-reach, reach)
        reach *= REACH_FACTOR


@with_parameters
class ICLSRegressor(LeastSquaresRegressionBase):
    """Implicitly constrained least squares: semi-supervised linear regression within bounds.

    The targets of the unlabelled rows are unknown, but known to lie within bounds: percentages,
    ratings, a price range, the bin of a binned target, the limit of a censored one. The fit is the
    model closest to the supervised least-squares model, its *twin*, among all that least squares
    gives for some targets within these bounds. Narrow bounds carry more information than wide ones.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty of the fit to all rows: ``alpha * ||w||^2`` is added to the mean squared
        loss. The intercept is not penalised.
    alpha_labeled : float, default=None
        Ridge penalty of the labelled loss and the supervised twin; None means ``alpha``. Both
        penalties are added to a mean, so a given value shrinks equally strongly on 20 rows and on
        20 million.
    bounds : pair of float, default=None
        The range (low, high) of the targets of all unlabelled rows without bounds of their own. It
        is required unless every unlabelled row has its own (``target_bounds``). The range of the
        known targets is deliberately not a default: other targets usually exceed it, and the
        guarantee (see ``metric``) holds only if all true targets are within their bounds. A known
        target outside its bounds is an error.
    metric : {"auto", "labeled", "all", "euclidean"} or float in [0, 1], default="auto"
        How closeness to the supervised twin is measured. ``"labeled"`` or 0: by the labelled loss.
        ``"all"`` or 1: by the second moment of all rows. A number s in between is the mixture
        ``(1 - s) labeled + s all``. ``"auto"`` is ``"labeled"`` if the labelled rows of positive
        weight have full column rank (with a column of ones, if there is an intercept), and 0.2 if
        not, whatever the ridge; ``metric_`` is the metric that was chosen. ``"euclidean"``: by the
        coefficients of the features and, if there is an intercept, the mean prediction of all
        rows, as in ICLSClassifier. For every s, and whatever the true targets are within their
        bounds, the fit is at least as close to the model of the true targets, in this metric, as
        the supervised twin is. For ``"all"`` and ``alpha=0`` this means that its squared loss on
        all training rows is never higher. With a ridge the same holds for the penalised loss, not
        for the squared loss alone.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    solver : {"auto", "newton", "scale", "lbfgsb"}, default="auto"
        ``newton`` follows a path of Newton steps to the exact solution; ``scale`` does so on a
        sample and then on all rows in a few passes; ``auto`` chooses between the two by the number
        of rows. ``lbfgsb`` is SciPy's L-BFGS-B.
    tol : float, default=1e-8
        Tolerance on the proven gap, absolute plus relative. The absolute part is in units of the
        squared range of the known targets, and of all bounds within ten times that range, so the
        units of the target do not matter.
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
    coef_ : array of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept; 0.0 if ``fit_intercept=False``.
    targets_ : array of shape (n_unlabeled,)
        The targets within their bounds that give this model: the unlabelled rows of X, then those
        of X_unlabeled. They correspond to ``soft_labels_`` of a classifier and are not
        predictions. If several choices give the model, they are those closest to the middle of
        their bounds, or of the part of very wide bounds that is near the known targets. Absent if
        X_unlabeled is in files or on a cluster; use the method ``targets`` instead.
    metric_ : str or float
        The metric that was used: ``metric``, or the one that ``"auto"`` chose.
    supervised_ : LeastSquaresRegressor
        The supervised twin, fitted to the labelled rows only.
    certificate_ : Certificate
        What is proven about this fit, in units of the squared target: its loss, the gap to the
        optimum, and whether the unlabelled rows moved the model. Print it for a summary in words.
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
    ICLSRegressorCV : Chooses the ridge and the metric by cross-validation.
    ICLSClassifier : The same method for classes.
    LeastSquaresRegressor : Its supervised twin.

    Notes
    -----
    The guarantee compares with the supervised twin, which ignores the bounds of the unlabelled
    rows. If most rows have narrow bounds, as binned targets do, these say much about the targets
    themselves, and plain regression on the midpoints of the bins is often better, although it has
    no guarantee: compare with ``LeastSquaresRegressor`` fitted to them. ICLS is meant for bounds
    that are wide or the same for all rows.

    References
    ----------
    J. H. Krijthe and M. Loog, "Robust semi-supervised least squares classification by implicit
    constraints", Pattern Recognition 63 (2017), for labels 0 and 1. For ``metric="all"``:
    J. H. Krijthe and M. Loog, "Projected estimators for robust semi-supervised classification",
    Machine Learning 106 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ICLSRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> truth = np.clip(50 + X @ [10.0, -5.0, 0.0] + 30 * rng.normal(size=200), 0, 100)
    >>> y = np.where(np.arange(200) < 6, truth, np.nan)  # six percentages are known exactly
    >>> low = np.minimum(20 * np.floor(truth / 20), 80)  # and the others within bins of 20
    >>> bins = np.column_stack([low, low + 20])
    >>> reg = ICLSRegressor(metric="all").fit(X, y, target_bounds=bins)
    >>> reg.certificate_.moved
    True
    >>> loss, twin = (np.mean((m.predict(X) - truth) ** 2) for m in (reg, reg.supervised_))
    >>> bool(loss <= twin)  # guaranteed for all true targets within their bounds
    True
    """

    alpha: float = field(default=0.0, kw_only=False)
    alpha_labeled: float | None = None
    bounds: tuple[float, float] | None = None
    metric: str | float = "auto"
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
        target_bounds: Any = None,
    ) -> Self:
        """Fit to rows with known targets and to rows whose targets are within bounds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Sparse rows are not densified as a whole.
        y : array-like of shape (n_samples,)
            Targets; NaN, None or pd.NA where the target is unknown. Every number is a target.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1 and with the common ``bounds``. A Parquet file
            or folder, or a Dask array or DataFrame, is processed out of core, block by block, in a
            few passes. A pipeline transforms them only if its ``transform_input`` names them. For
            cross-validation, wrap them in UnlabeledRows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X in the loss: an integer weight counts a row that many times.
        target_bounds : array-like of shape (n_samples, 2), default=None
            The lowest and the highest possible target of each row of X, instead of the common
            ``bounds``. NaN means the common bound: (3, 5) is a binned target, (7, NaN) a target
            censored at 7 and at most the upper end of ``bounds``, and (NaN, NaN) any target within
            ``bounds``. Infinite bounds raise an error. The two bounds can be equal; unlike a
            labelled row, such a row does not enter the labelled loss. The target of a labelled row
            must be within its bounds.

        Returns
        -------
        self
            The fitted estimator.
        """
        with fitting(self):
            data = read_regression_rows(
                self, X, y, X_unlabeled, sample_weight, target_bounds=target_bounds
            )
            # Targets of about the size of 1, and their bounds.
            self._scale = scale = data.labels.scale(shifted=self.fit_intercept)
            self._common, possible = data.labels.common_set, data.label_set
            assert isinstance(possible, LabelInterval)
            alpha_labeled = self.alpha if self.alpha_labeled is None else self.alpha_labeled
            with one_blas_thread(), using_threads(self.n_jobs):
                found = fit_implicit(
                    replace(data.labeled, y=scale.standardised(data.labeled.y)),
                    data.unlabeled,
                    scale.possible(possible),
                    None,
                    alpha=self.alpha,
                    alpha_labeled=alpha_labeled,
                    fit_intercept=self.fit_intercept,
                    metric=self.metric,
                    solver=self.solver,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    narrower=near_known_targets,
                    in_span=data.home is None,
                    tie_break=self._tie_break,
                )
            # The model, its twin, its proof and the targets, in the user's units.
            self._remember(*scale.restored_fit(*found.model))
            twin = unfitted_like(self, LeastSquaresRegressor, alpha=alpha_labeled)
            self.supervised_ = twin._remember(*scale.restored_fit(*found.twin))
            twin.solver_, twin.n_features_in_ = found.twin_solver, self.n_features_in_
            self.metric_, self.solver_ = found.metric, found.solver
            self.certificate_ = found.certificate.in_units(scale.width)
            self.n_iter_ = max(1, self.certificate_.iterations)
            self._labels, self._frame = found.labels, found.frame
            self._n_labels, self._n_more = data.unlabeled.n_rows, data.more.n_rows
            if data.unlabeled.in_memory:  # bounds of rows are stored in NumPy arrays
                q = found.labels if is_uniform(possible) else to_numpy(found.labels)
                of_rows = possible.take(np.arange(q.shape[0]))
                # Restored targets can exceed their bounds by rounding.
                self.targets_ = data.for_all_rows(of_rows.project(scale.restored(q)))
            if data.home is not None:
                data.home.convert_attributes(self, self._device_attributes)
                data.home.convert_attributes(twin, self._device_attributes)
            stored = data.unlabeled.in_memory or not isinstance(found.labels, Labelling)
            warn_of(self, n_labeled=len(data.labeled.y), stored=stored)
        return self

    def targets(self, X_unlabeled: Any) -> Any:
        """Return the targets of the rows that were passed to ``fit`` as X_unlabeled.

        Use it for rows in files or on a cluster: ``targets_`` does not store theirs.

        Parameters
        ----------
        X_unlabeled : path or Dask collection
            The same rows, in the same order.

        Returns
        -------
        array of shape (n_more,)
            Targets within the common bounds. A lazy Dask array if the rows are a Dask collection.
        """
        check_is_fitted(self)
        scale, possible = self._scale, self._common

        def restore(labels: Floats) -> Floats:
            return np.asarray(possible.project(scale.restored(labels)))

        return labels_of(self, X_unlabeled, restore)
