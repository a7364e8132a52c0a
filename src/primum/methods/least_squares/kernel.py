"""Supervised kernel least-squares classification, the twin of ``KernelICLSClassifier``.

    minimise over f, b    (1/n) sum_i (f(x_i) + b - y_i)^2 + alpha ||f||^2,      y in {0, 1}

over all functions f of the kernel's reproducing space; K > 2 classes have one f and b each, fitted
to the K columns of one-hot labels. Without an intercept it is kernel ridge regression.
"""

from typing import Any, Self

from primum._typing import AnyArray, Floats
from primum.equations import kernel_ridge
from primum.labellings import LabeledRows
from primum.methods.kernels import KernelClassifier, KernelRows
from primum.methods.parameters import with_parameters
from primum.reading.data import FitArguments, split_rows
from primum.reading.labels import KnownLabels


@with_parameters
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
        "rbf", "poly", "sigmoid", "laplacian" or "cosine"; "precomputed", if X is a kernel matrix;
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
        The value of gamma that was used; None: the kernel's own default, or it has no gamma.
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

    Memory and time grow with the square and the cube of the number of labelled rows, of which there
    can be at most 10 000. For more, use ``LeastSquaresClassifier`` after
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

    def _fit_given(self, given: FitArguments[KnownLabels]) -> None:
        rows = self._kernel_rows(given, unlabeled=False)
        labeled = split_rows(given).labeled
        self._fit_kernel(given.labels.classes, rows, self._kernel_matrix(rows), labeled)

    def _fit_kernel(
        self, classes: AnyArray, rows: KernelRows, K: Floats, labeled: LabeledRows
    ) -> tuple[Floats, Any]:
        """Fit to validated rows with the kernel matrix K, which is overwritten.

        Returns the coefficients of the kernel values and the intercept of the scores.
        """
        dual, intercept = kernel_ridge(
            K, labeled.y, labeled.weight, alpha=self.alpha, fit_intercept=self.fit_intercept
        )
        self._remember(classes, rows, dual, intercept)
        return dual, intercept
