"""The common parts of the kernel classifiers: kernels and their gamma, rows, and predictions.

A fitted model is ``k(x)'dual_coef_ + intercept_``, where k(x) are the kernel values of a row with
the rows of the fit.

It also has supervised kernel least-squares classification, the twin of ``KernelICLSClassifier``:

    minimise over f, b    (1/n) sum_i (f(x_i) + b - y_i)^2 + alpha ||f||^2,      y in {0, 1}

over all functions f of the kernel's reproducing space; K > 2 classes have one f and b each, fitted
to the K columns of one-hot labels. Without an intercept it is kernel ridge regression.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._sklearn import StrOptions
from primum._typing import AnyArray, Floats, Index
from primum.equations import kernel_ridge
from primum.methods import base
from primum.reading.data import (
    ClassRows,
    in_memory,
    locating_bad_values,
    read_rows,
    refuse_other_library,
    stack_rows,
)

# Up to this many rows are fitted: their kernel matrix then takes 0.8 GB, and a fit about five
# times as much and tens of minutes.
MAX_KERNEL_ROWS = 10_000
# Kernel values of new rows are computed in blocks of this many numbers (32 MB): large enough for
# products of matrices, small compared with the kernel of the fit.
KERNEL_BLOCK_NUMBERS = 2**22
# A matrix counts as symmetric if entries differ by no more than this fraction of the largest, so
# that kernels computed in single precision pass.
SYMMETRY_TOLERANCE = 1e-6


@dataclass(frozen=True)
class KernelRows:
    """Rows of a kernel fit: an array of features, or their positions in a precomputed matrix.

    Every row has a weight; None: 1.
    """

    X: Any
    index: Index | None = None
    weight: Floats | None = None


@base.with_parameters
class KernelClassifier(
    base.KnownLabelsScoreMixin, base.ClassPredictionMixin, ClassifierMixin, BaseEstimator
):
    """Predictions from scores that are linear in kernel values, fitted to labels 0 and 1.

    As in the linear classifiers, two classes have one score, and ``decision_function`` is the score
    minus 1/2. K > 2 classes have one score each.
    """

    alpha: float = field(default=0.01, kw_only=False)
    kernel: Any = "rbf"
    gamma: float | str | None = "scale"
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    _ranges: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({*kernel_metrics(), "precomputed"}), callable],
        "gamma": [StrOptions({"scale"}), *base.NOT_NEGATIVE, None],
    }

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _fit_to(self, *arguments: Any, **partial: Any) -> Self:
        """Fit to the arguments of ``fit``."""
        with base.fitting(self):
            self._fit_given(self._read(*arguments, **partial))
        return self

    @abstractmethod
    def _fit_given(self, given: ClassRows) -> None:
        """Fit to validated arguments."""

    def _read(self, X: Any, y: Any, X_unlabeled: Any, *more: Any, **partial: Any) -> ClassRows:
        """Validate the arguments of ``fit``."""
        if self._precomputed and X_unlabeled is not None:
            raise ValueError(
                "With kernel='precomputed', X is the kernel matrix of all rows, so X_unlabeled "
                "must be None: include the unlabelled rows in X, with unknown labels in y."
            )
        given = read_rows(self, X, y, X_unlabeled, *more, **partial)
        refuse_other_library(self, given.home)
        if self._precomputed and sparse.issparse(given.X):
            raise ValueError("With kernel='precomputed', X is sparse: pass a dense kernel matrix.")
        if self._precomputed and given.X.shape[0] != given.X.shape[1]:
            raise ValueError(
                "With kernel='precomputed', X must be the square matrix of the kernel values of "
                f"all rows with each other, but its shape is {given.X.shape}."
            )
        return given

    def _kernel_rows(self, given: ClassRows, unlabeled: bool) -> KernelRows:
        """Return the labelled rows that have weight, then the unlabelled ones if they are used."""
        labels = given.labels
        index = labels.labeled[given.known]
        if unlabeled:
            index = np.concatenate([index, labels.unlabeled[given.unknown]])
        n_more = given.more.n_rows if unlabeled else 0
        n_rows = len(index) + n_more
        if n_rows > MAX_KERNEL_ROWS:
            plain = type(self).__name__.removeprefix("Kernel")
            raise ValueError(
                f"{type(self).__name__} computes the kernel matrix of all {n_rows} rows, more than "
                f"{MAX_KERNEL_ROWS}: approximate the kernel, for example by make_pipeline("
                f"Nystroem(n_components=1000), {plain}(alpha={self.alpha:g}))."
            )
        weight = given.weight_of(index)
        if weight is not None:
            weight = np.append(weight, np.ones(n_more))
        if self._precomputed:
            return KernelRows(given.X, index, weight)
        parts = [given.X[index]]
        if n_more:
            parts.append(in_memory(self, given.more))
        rows = stack_rows(parts, np.float64)
        self.gamma_ = gamma_of(self.kernel, self.gamma, rows, weight)
        return KernelRows(rows, weight=weight)

    def _kernel_matrix(self, rows: KernelRows) -> Floats:
        """Return the kernel matrix of rows, in memory of its own."""
        if rows.index is not None:
            K = np.asarray(rows.X[np.ix_(rows.index, rows.index)], dtype=np.float64)
        else:
            K = self._kernel_values(rows.X, rows.X)
        if rows.index is None and not callable(self.kernel):
            return K
        largest = max(float(np.abs(K.diagonal()).max(initial=0.0)), np.finfo(float).tiny)
        for block in gen_batches(len(K), max(1, KERNEL_BLOCK_NUMBERS // len(K))):
            off = np.abs(K[block] - K[:, block].T)
            if off.max() > SYMMETRY_TOLERANCE * largest:
                i, j = np.unravel_index(off.argmax(), off.shape)
                raise ValueError(
                    "The kernel matrix is not symmetric: the kernel of rows "
                    f"{block.start + i} and {j} is {K[block][i, j]:.6g}, and "
                    f"{K[j, block.start + i]:.6g} in the other order."
                )
        return K

    def _kernel_values(self, X: Any, Z: Any) -> Floats:
        """Return the kernel values of rows X with rows Z, in memory of their own."""
        if callable(self.kernel):
            K = computed_kernel(self.kernel, X, Z, self.kernel_params)
        else:
            named = {"degree": self.degree, "coef0": self.coef0}
            if self.gamma_ is not None:  # passing None would replace a kernel's own default
                named["gamma"] = self.gamma_
            both = [X] if Z is X else [X, Z]
            as_csr: Any = sparse.csr_array
            for i, rows in enumerate(both):  # some kernels do not read long indices of sparse rows
                if sparse.issparse(rows):
                    both[i] = short = as_csr(rows, copy=False)
                    if max(short.nnz, short.shape[1]) < 2**31:
                        short.indices = short.indices.astype(np.int32)
                        short.indptr = short.indptr.astype(np.int32)
            with np.errstate(over="ignore", invalid="ignore"):  # an error is raised below
                K = pairwise_kernels(*both, metric=self.kernel, filter_params=True, **named)
        if not np.isfinite(K.sum()):
            raise ValueError(
                "The kernel has values that are infinite or not numbers: standardise the features, "
                "or use another kernel or other parameters."
            )
        return np.ascontiguousarray(K)

    def _remember(
        self, classes: AnyArray, rows: KernelRows, dual: Floats, intercept: Floats | float
    ) -> Self:
        """Keep the coefficients (n,) or (n, K) of the kernel values, and the scores' intercept."""
        self.classes_ = classes
        if rows.index is None:
            self.X_fit_, self.dual_coef_ = rows.X, dual
        else:
            self.dual_coef_ = np.zeros((rows.X.shape[0], *dual.shape[1:]))
            self.dual_coef_[rows.index] = dual
        self.intercept_ = np.asarray(intercept) if dual.ndim == 2 else np.array([intercept - 0.5])
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the decision values of every row.

        For two classes it is the score minus 1/2: the second class is predicted if it is at
        least 0. For more it is the score of every class: the class with the largest is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to score. With ``kernel="precomputed"``, their kernel values with all rows that
            were passed to ``fit``, of shape (n_samples, n_samples_fit).

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            The decision values.
        """
        check_is_fitted(self)
        with locating_bad_values(X, "X"):
            X = validate_data(self, X, dtype=np.float64, accept_sparse="csr", reset=False)
        intercept = self.intercept_ if self.dual_coef_.ndim == 2 else self.intercept_[0]
        if self._precomputed:
            return np.asarray(X @ self.dual_coef_ + intercept)
        size = max(1, KERNEL_BLOCK_NUMBERS // self.X_fit_.shape[0])
        blocks = (X[rows] for rows in gen_batches(X.shape[0], size))
        products = [self._kernel_values(block, self.X_fit_) @ self.dual_coef_ for block in blocks]
        return np.concatenate(products) + intercept

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities nearest to the scores, which are not calibrated.

        For two classes they are the score clipped to [0, 1], and 1 minus it; for more, the point of
        the probability simplex at the least Euclidean distance from the scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, as in ``decision_function``.

        Returns
        -------
        array of shape (n_samples, n_classes)
            One column per class, in the order of ``classes_``.
        """
        return np.asarray(base.nearest_probabilities(self.decision_function(X)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._precomputed
        tags.input_tags.pairwise = self._precomputed
        return tags


def computed_kernel(
    kernel: Callable[..., Any], X: Any, Z: Any, parameters: dict[str, Any] | None
) -> Floats:
    """Return the values of a kernel that is a function, in memory of their own."""
    values = kernel(X, Z, **(parameters or {}))
    if hasattr(values, "toarray"):  # sparse, of sparse rows
        values = values.toarray()
    K = np.array(values)
    if K.shape != (X.shape[0], Z.shape[0]) or K.dtype.kind not in "biuf":
        raise ValueError(
            f"kernel returned an array of shape {K.shape} and type {K.dtype} for {X.shape[0]} and "
            f"{Z.shape[0]} rows: pass a function of two arrays of rows that returns all kernel "
            "values; for a function f of two rows, pass lambda X, Z: "
            "sklearn.metrics.pairwise_kernels(X, Z, metric=f)."
        )
    return K.astype(np.float64, copy=False)


# Kernels of scikit-learn that have a parameter gamma.
TAKES_GAMMA = ("rbf", "laplacian", "poly", "polynomial", "chi2", "sigmoid")


def gamma_of(
    kernel: str | Callable[..., Any],
    gamma: float | str | None,
    rows: Any,
    weight: Floats | None = None,
) -> float | None:
    """Return the value of gamma for a fit to rows; None: the kernel's own default, or no gamma.

    "scale" is 1 / (n_features * variance of all entries), as in scikit-learn's SVC, and 1 for rows
    that do not vary. A row of integer weight counts that many times.
    """
    if callable(kernel) or kernel not in TAKES_GAMMA or gamma is None:
        return None
    if gamma != "scale":
        return float(gamma)
    with np.errstate(over="ignore", invalid="ignore"):  # an error is raised below
        share = np.full(rows.shape[0], 1.0) if weight is None else weight
        share = share / (share.sum() * rows.shape[1])
        mean = float((share @ rows).sum())
        if isinstance(rows, np.ndarray):
            variance = float((share @ (rows - mean) ** 2).sum())
        else:
            variance = float((share @ rows.multiply(rows)).sum()) - mean**2
    if not np.isfinite(variance):
        raise ValueError("The variance of the features overflows: standardise the features.")
    return 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0


@base.with_parameters
class KernelLeastSquaresClassifier(KernelClassifier):
    """Supervised least-squares classifier with a kernel; unlabelled rows are ignored.

    Parameters
    ----------
    alpha : float, default=0.01
        Penalty, above 0: ``alpha * ||f||^2`` is added to the mean squared loss, where the norm is
        that of the kernel's reproducing space. The intercept is not penalised. For n labelled rows
        it is ``n * alpha`` in the terms of ``sklearn.kernel_ridge.KernelRidge``.
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise.pairwise_kernels`` by name, such as "linear",
        "rbf", "poly", "sigmoid", "laplacian" or "cosine"; "precomputed" if X is a kernel matrix;
        or a function of two arrays of rows that returns their kernel values, of shape
        (n_rows, n_other_rows), as kernels of Gaussian processes do. It must be positive
        semi-definite; with an intercept, conditionally (once centred).
    gamma : float, "scale" or None, default="scale"
        Parameter of the named kernels that have it. "scale" is 1 / (n_features * X.var()), as in
        scikit-learn's SVC, where X are the labelled rows; None is
        scikit-learn's default of the kernel, usually 1 / n_features. Both are equal for
        standardised features.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    fit_intercept : bool, default=True
        Whether to fit an intercept, as a free constant: the features of the kernel are centred on
        the mean of the labelled rows.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. The second of two is encoded as 1; more than two are encoded one-hot.
    dual_coef_ : array of shape (n_fit,), or (n_fit, n_classes) for more than two classes
        Coefficients of the kernel values with the rows ``X_fit_``. With a precomputed kernel there
        is one for every row of the kernel matrix, 0 for unlabelled ones.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercept of the decision function: for two classes the intercept of the score minus 1/2,
        for more the intercepts of the scores.
    X_fit_ : array or sparse matrix of shape (n_fit, n_features)
        The labelled rows. Absent with a precomputed kernel.
    gamma_ : float or None
        The value of gamma that was used; None means the kernel's own default, or no gamma.
        Absent with a precomputed kernel.
    n_features_in_ : int
        Number of features; with a precomputed kernel, number of rows.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    KernelICLSClassifier : Its semi-supervised counterpart.
    LeastSquaresClassifier : The linear model, for any number of rows.
    sklearn.kernel_ridge.KernelRidge : The same without an intercept, for numeric targets.

    Notes
    -----
    Standardise the features: most kernels depend on their scale.

    Memory and time grow with the square and the cube of the number of labelled rows, which can be
    at most 10 000. For more, use ``LeastSquaresClassifier`` after
    ``sklearn.kernel_approximation.Nystroem`` or ``RBFSampler`` in a pipeline.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import KernelLeastSquaresClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]]), np.array([0, 1, 1, 0, -1])
    >>> KernelLeastSquaresClassifier(gamma=1.0).fit(X, y).predict([[0.1], [1.6], [3.1]])
    array([0, 1, 0])
    """

    fit_intercept: bool = True

    def fit(self, X: Any, y: Any, X_unlabeled: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit to the labelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. With ``kernel="precomputed"``, the kernel matrix of all rows, labelled or not, of
            shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), default=None
            Ignored; accepted so that the classifier can be replaced by a semi-supervised one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X in the loss: an integer weight counts a row that many times.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit_to(X, y, X_unlabeled, sample_weight)

    def _fit_given(self, given: ClassRows) -> None:
        rows, y = self._kernel_rows(given, unlabeled=False), given.labels.targets[given.known]
        K, free = self._kernel_matrix(rows), self.fit_intercept
        model = kernel_ridge(K, y, rows.weight, alpha=self.alpha, fit_intercept=free)
        self._remember(given.labels.classes, rows, *model)
