"""Implicitly constrained least squares with a kernel.

The method of ``classifier.py`` for the functions of a kernel's reproducing space:

    minimise over q in [0, 1]^U   (1/L) || f(X_l) + b - y ||^2 + alpha_labeled ||f||^2
    where (f, b) = (f, b)(q) minimises   (1/n) || f(X) + b - [y; q] ||^2 + alpha ||f||^2,

n = L + U. It is linear ICLS on rows Phi with ``Phi Phi' = K``, the kernel matrix of all rows: one
eigendecomposition of K gives coordinates in which the fit to all rows is diagonal.
"""

from typing import Any, ClassVar, Self

from primum.equations import CentredKernel, kernel_features, kernel_ridge
from primum.labellings import kernel_family, kernel_problem, metric_of_rows
from primum.methods.base import POSITIVE, fitting, unfitted_like, with_parameters
from primum.methods.icls.classifier import IMPLICIT_RANGES, WithPrior, warn_of
from primum.methods.kernels import KernelClassifier, KernelLeastSquaresClassifier, KernelRows
from primum.solvers import solve_and_prove


@with_parameters
class KernelICLSClassifier(WithPrior, KernelClassifier):
    """Implicitly constrained least squares with a kernel: a semi-supervised classifier.

    The fit is the model closest to the supervised model, its *twin*, among all that kernel least
    squares gives for some labelling of the unlabelled rows. It is ``ICLSClassifier`` in the feature
    space of the kernel; the penalties make the model unique. More than two classes (at most 62) are
    fitted jointly.

    Parameters
    ----------
    alpha : float, default=0.01
        Penalty of the fit to all rows, above 0: ``alpha * ||f||^2`` is added to the mean squared
        loss, where the norm is that of the kernel's reproducing space. The intercept is not
        penalised.
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise.pairwise_kernels`` by name, such as "linear",
        "rbf", "poly", "sigmoid", "laplacian" or "cosine"; "precomputed" if X is a kernel matrix;
        or a function of two arrays of rows that returns their kernel values, of shape
        (n_rows, n_other_rows), as kernels of Gaussian processes do. It must be positive
        semi-definite; with an intercept, conditionally (once centred).
    gamma : float, "scale" or None, default="scale"
        Parameter of the named kernels that have it. "scale" is 1 / (n_features * X.var()), as in
        scikit-learn's SVC, where X are all rows of the fit, labelled or not; None is
        scikit-learn's default of the kernel, usually 1 / n_features. Both are equal for
        standardised features.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    alpha_labeled : float, default=None
        Penalty of the labelled loss and the supervised twin, above 0; None means ``alpha``. Much
        smaller values are not recommended: a great many functions then fit the labelled rows
        exactly.
    metric : {"auto", "labeled", "all", "euclidean"} or float in [0, 1], default="auto"
        How closeness to the supervised twin is measured, as in ICLSClassifier: by the penalised
        labelled loss, by the penalised loss on all rows, by the norm of the difference (and, if
        there is an intercept, the mean score of all rows), or by the mixture
        ``(1 - s) labeled + s all``. ``"auto"`` is ``"labeled"`` if the labelled rows span the
        feature space of all rows, and 0.2 if not: always with most kernels, and with
        ``kernel="linear"`` if there are fewer labels than features. ``metric_`` is the metric that
        was chosen. For every s, and whatever the true labels are, the fit is at least as close to
        the model of the true labels, in this metric, as the supervised twin is.
    prior : None, dict, array-like or "confidence", default=None
        Prior knowledge of the share of each class among the unlabelled rows, as in
        ICLSClassifier: a dict of shares or pairs of bounds, an array of either, or "confidence",
        intervals computed from the labelled rows.
    prior_level : float, default=0.95
        Probability that the intervals of ``prior="confidence"`` contain all shares.
    fit_intercept : bool, default=True
        Whether to fit an intercept, as a free constant: the features of the kernel are centred on
        the mean of all rows.
    tol : float, default=1e-8
        Tolerance on the proven gap, absolute plus relative, in units of the mean squared loss.
    max_iter : int, default=10000
        Maximum number of solver iterations.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. The second of two is encoded as 1; more than two are encoded one-hot.
    dual_coef_ : array of shape (n_fit,), or (n_fit, n_classes) for more than two classes
        Coefficients of the kernel values with the rows ``X_fit_``. With a precomputed kernel there
        is one for every row of the kernel matrix, 0 for rows of weight 0.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercept of the decision function: for two classes the intercept of the score minus 1/2,
        for more the intercepts of the scores.
    X_fit_ : array or sparse matrix of shape (n_fit, n_features)
        The labelled rows, the unlabelled rows of X and those of X_unlabeled, in this order. Absent
        with a precomputed kernel.
    soft_labels_ : array of shape (n_unlabeled,), or (n_unlabeled, n_classes) for more than two
        The labelling that gives this model: the unlabelled rows of X, then those of X_unlabeled.
        For two classes it is the share of the second class, for more the share of each class.
    prior_ : array of shape (n_classes, 2)
        The bounds on the share of each class. Absent without a prior.
    metric_ : str or float
        The metric that was used: ``metric``, or the one that ``"auto"`` chose.
    supervised_ : KernelLeastSquaresClassifier
        The supervised twin, fitted to the labelled rows only, with ``gamma_`` as its gamma.
    certificate_ : Certificate
        What is proven about this fit: its loss, the gap to the optimum, and whether the unlabelled
        rows moved the model. Print it for a summary in words.
    solver_ : str
        The solver that was used.
    n_iter_ : int
        Number of solver iterations, at least 1.
    gamma_ : float or None
        The value of gamma that was used; None means the kernel's own default, or no gamma.
        Absent with a precomputed kernel.
    n_features_in_ : int
        Number of features; with a precomputed kernel, number of rows.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    KernelLeastSquaresClassifier : Its supervised twin.
    ICLSClassifier : The linear model, for any number of rows.
    ManifoldKernel : A kernel to combine with it, which is smooth along the graph of all rows.

    Notes
    -----
    Standardise the features: most kernels depend on their scale.

    Memory grows with the square of the number of rows, labelled or not, and time with its cube: for
    2000 rows it is a few times that of the eigendecomposition of the kernel matrix. There can be at
    most 10 000 rows. For more, use ``ICLSClassifier`` after
    ``sklearn.kernel_approximation.Nystroem`` or ``RBFSampler`` in a pipeline: with as many
    components as rows, Nystroem gives the same model.

    References
    ----------
    J. H. Krijthe and M. Loog, "Robust semi-supervised least squares classification by implicit
    constraints", Pattern Recognition 63 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from primum import KernelICLSClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> truth = (np.linalg.norm(X, axis=1) > 1.2).astype(int)
    >>> y = np.where(np.arange(200) < 20, truth, -1)
    >>> clf = KernelICLSClassifier().fit(X, y)
    >>> clf.certificate_.converged
    True
    """

    alpha_labeled: float | None = None
    metric: str | float = "auto"
    prior: Any = None
    prior_level: float = 0.95
    fit_intercept: bool = True
    tol: float = 1e-8
    max_iter: int = 10000

    _ranges: ClassVar[dict[str, list[Any]]] = {
        "alpha_labeled": [*POSITIVE, None],
        "metric": IMPLICIT_RANGES["metric"],
    }

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
            Rows. With ``kernel="precomputed"``, the kernel matrix of all rows, of shape
            (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), default=None
            Further unlabelled rows, each of weight 1, of any class. With a precomputed kernel, all
            unlabelled rows are in X.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X in the loss: an integer weight counts a row that many times.
        possible : array-like of bool of shape (n_samples, n_classes), default=None
            Which classes each row of X may have, as in ICLSClassifier.
        label_bounds : array-like of shape (n_samples, 2), default=None
            For two classes, bounds on the soft label of each unlabelled row of X, as in
            ICLSClassifier.

        Returns
        -------
        self
            The fitted estimator.
        """
        with fitting(self):
            data = self._read(
                X, y, X_unlabeled, sample_weight, possible=possible, label_bounds=label_bounds
            )
            rows, classes = self._kernel_rows(data, unlabeled=True), data.labels.classes
            y = data.labels.targets[data.known]
            shares = self._shares(data) if self.prior is not None else None
            K, n_labeled = self._kernel_matrix(rows), len(y)

            # The twin, with the same kernel: its gamma may have been computed from all rows.
            alpha_labeled = self.alpha if self.alpha_labeled is None else self.alpha_labeled
            gamma = getattr(self, "gamma_", None)
            twin = unfitted_like(
                self, KernelLeastSquaresClassifier, alpha=alpha_labeled, gamma=gamma
            )
            fitted = kernel_ridge(
                K[:n_labeled, :n_labeled].copy(),
                y,
                None if rows.weight is None else rows.weight[:n_labeled],
                alpha=alpha_labeled,
                fit_intercept=self.fit_intercept,
            )
            of_twin = KernelRows(rows.X[:n_labeled])
            if rows.index is not None:
                of_twin = KernelRows(rows.X, rows.index[:n_labeled])
            self.supervised_ = twin._remember(classes, of_twin, *fitted)
            twin.gamma_ = gamma

            # Coordinates in which least squares on all rows is diagonal, and the problem.
            features = kernel_features(CentredKernel(K, rows.weight, self.fit_intercept))
            family = kernel_family(features, y, self.alpha)
            supervised = features.from_kernel(*fitted)
            self.metric_ = metric_of_rows(self.metric, family.labeled, self.fit_intercept)
            problem = kernel_problem(
                family,
                metric=self.metric_,
                alpha_labeled=alpha_labeled,
                supervised=supervised,
                labels=data.label_set,
                shares=shares,
            )
            self.solver_ = "newton"
            model, q, self.certificate_ = solve_and_prove(
                family,
                problem,
                supervised,
                metric=self.metric_,
                alpha=self.alpha,
                alpha_labeled=alpha_labeled,
                solver=self.solver_,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            self._remember(classes, rows, *features.to_kernel(*model))
            self.n_iter_ = max(1, self.certificate_.iterations)
            self.soft_labels_ = data.for_all_rows(q)
            warn_of(self, n_labeled=n_labeled)
        return self
