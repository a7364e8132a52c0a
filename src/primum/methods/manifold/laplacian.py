"""Laplacian least squares and Laplacian support vector machine (Belkin, Niyogi & Sindhwani 2006).

Least squares:

    minimise over f, b    (1/L) sum_i (f(x_i) + b - y_i)^2 + alpha ||f||_K^2 + beta f' Lap^p f

The loss is over the labelled rows, and f' Lap^p f over the values of f on all rows, with beta the
``graph_alpha``. In the deformed kernel (``deformed_kernel.py``) this is kernel ridge regression on
the labelled rows:

    f = sum_j c_j k~(., x_j),      (K~_ll + alpha L I) c + b 1 = y,      1'c = 0.

Labels are 0 and 1, or one-hot for K > 2 classes, which have one f and b each. The intercept b is
not penalised, neither by the norm nor along the graph. With weights w_i, which add up to 1,
alpha L I becomes alpha diag(1 / w_i).

The support vector machine:

    minimise over f, b    (1/L) sum_i max(0, 1 - y_i (f(x_i) + b))
                          + alpha ||f||_K^2 + beta f' Lap^p f,      y in {-1, 1}

In the deformed kernel this is the supervised SVM of scikit-learn on the labelled rows, with
C = 1 / (2 alpha L), or C_i = w_i / (2 alpha) with weights w_i that add up to 1. K > 2 classes have
one such SVM for each pair of classes, as in scikit-learn's ``SVC`` (with ``break_ties=True``).
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from primum._typing import Floats
from primum.equations import kernel_ridge
from primum.methods.base import POSITIVE, nearest_probabilities, with_parameters
from primum.methods.manifold.base import LaplacianMachine, ManifoldData
from primum.methods.manifold.deformed_kernel import DeformedKernel


@with_parameters
class LaplacianLeastSquaresClassifier(LaplacianMachine):
    """Kernel least squares whose scores vary little between neighbouring rows.

    The neighbour graph of all rows, labelled or not, shows where the data are. A penalty makes the
    scores smooth along it, so that classes that are separate clusters, or lie on separate curves or
    surfaces, need few labels. If they are not, the penalty can make the classifier worse than the
    supervised one, which is ``graph_alpha=0``.

    Parameters
    ----------
    alpha : float, default=1e-4
        Ridge: ``alpha * ||f||^2``, the squared norm in the kernel's function space, is added to the
        mean squared loss of the labelled rows.
    graph_alpha : float, default=1e-3
        Weight of ``f' Lap^p f``, with f the scores of all rows and Lap the Laplacian of their
        graph. 0 is kernel ridge regression on the labelled rows.
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise.pairwise_kernels`` by name, or a function of two
        arrays of rows that returns their kernel values, of shape (n_rows, n_other_rows). It must be
        positive semi-definite.
    gamma : float, "scale" or None, default="scale"
        Parameter gamma of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2"; for "rbf"
        it is 1 / (2 s^2) for the bandwidth s. "scale" is 1 / (n_features * X.var()), as in
        scikit-learn's SVC, where X are the distinct rows, labelled or not (for ``graph_alpha=0``,
        the labelled ones); None is scikit-learn's default, 1 / n_features for all but "chi2". Both
        are equal for standardised features.
    kernel_params : dict, default=None
        Further parameters of the kernel, such as ``{"degree": 2}`` for "poly".
    graph_neighbors : int, default=10
        Number of neighbours of each row in the graph; all other distinct rows if there are fewer.
        Two rows are connected if one of them is a neighbour of the other.
    graph_weights : {"binary", "heat"}, default="binary"
        Weights of connected rows: 1, or exp(-d^2 / (2 s^2)) for the distance d, with s the median
        distance between connected rows.
    graph_normalized : bool, default=True
        Whether to normalise the Laplacian by the degrees of the rows.
    graph_power : int, default=1
        Power p of the Laplacian. A larger one penalises rapid variation more, and needs more time
        and memory.
    fit_intercept : bool, default=True
        Whether to add a constant to the scores, without a penalty. Without it, scores are 0 where
        the kernel is.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. The second of two is encoded as 1; more than two are encoded one-hot.
    dual_coef_ : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
        Coefficients of the kernel values between a row and ``X_fit_``; for a linear kernel with no
        more features than rows, coefficients of the features.
    intercept_ : array of shape (1,), or (n_classes,) for more than two classes
        Intercept of the decision function: for two classes the intercept of the score minus 1/2,
        for more the intercepts of the scores.
    X_fit_ : array or sparse matrix of shape (n_rows, n_features)
        The distinct rows, labelled and unlabelled. Absent if the kernel is linear and there are no
        more features than rows.
    gamma_ : float or None
        The value of ``gamma`` that was used; None means the kernel's own default, or no gamma.
    supervised_ : LaplacianLeastSquaresClassifier
        The supervised twin: the same with ``graph_alpha=0``, on the labelled rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    LaplacianSVMClassifier : The same with the hinge loss.
    ManifoldClassifier : The same for any kernel machine.
    LeastSquaresClassifier : The supervised linear classifier.

    Notes
    -----
    A fit to n distinct rows takes O(n^3) operations and O(n^2) memory, and n is limited to 10 000.
    For more rows, approximate the kernel by features, which removes the limit:
    ``make_pipeline(Nystroem(gamma=...), LaplacianLeastSquaresClassifier(kernel="linear"))``.

    Standardise the features: neighbours and kernels depend on their scale.

    References
    ----------
    M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric framework for
    learning from labeled and unlabeled examples", Journal of Machine Learning Research 7 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from primum import LaplacianLeastSquaresClassifier
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> for label in (0, 1):  # one labelled row of each class
    ...     y[np.flatnonzero(truth == label)[0]] = label
    >>> clf = LaplacianLeastSquaresClassifier(gamma=5.0).fit(X, y)
    >>> float(clf.score(X, truth))
    1.0
    """

    fit_intercept: bool = True

    def _fit_deformed(self, data: ManifoldData, kernel: DeformedKernel) -> None:
        K = kernel.gram(data.labeled)
        coef, intercept = kernel_ridge(
            K, data.targets, data.weight, alpha=self.alpha, fit_intercept=self.fit_intercept
        )
        self.dual_coef_ = kernel.expansion(data.labeled, coef)
        self.intercept_ = np.asarray(intercept) if coef.ndim == 2 else np.array([intercept - 0.5])

    def decision_function(self, X: Any) -> Floats:
        """Return the decision values of every row.

        For two classes it is the score minus 1/2: the second class is predicted if it is at
        least 0. For more it is the score of every class: the class with the largest is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, new or not.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            The decision values.
        """
        check_is_fitted(self)
        return self._expand(X, self.dual_coef_) + self.intercept_

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities nearest to the scores, which are not calibrated.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, new or not.

        Returns
        -------
        array of shape (n_samples, n_classes)
            For two classes, 1 minus the score and the score, clipped to [0, 1]; for more, the point
            of the probability simplex at the least Euclidean distance from the scores.
        """
        return np.asarray(nearest_probabilities(self.decision_function(X)))


@with_parameters
class LaplacianSVMClassifier(LaplacianMachine):
    """Support vector machine whose scores vary little between neighbouring rows.

    The neighbour graph of all rows, labelled or not, shows where the data are. A penalty makes the
    scores smooth along it, so that classes that are separate clusters, or lie on separate curves or
    surfaces, need few labels. If they are not, the penalty can make the classifier worse than the
    supervised one, which is ``graph_alpha=0``.

    Parameters
    ----------
    alpha : float, default=1e-4
        Penalty: ``alpha * ||f||^2``, the squared norm in the kernel's function space, is added to
        the mean hinge loss of the L labelled rows. It is C = 1 / (2 alpha L) of scikit-learn's SVC.
    graph_alpha : float, default=1e-3
        Weight of ``f' Lap^p f``, with f the scores of all rows and Lap the Laplacian of their
        graph. 0 is the SVM of the labelled rows.
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise.pairwise_kernels`` by name, or a function of two
        arrays of rows that returns their kernel values, of shape (n_rows, n_other_rows). It must be
        positive semi-definite.
    gamma : float, "scale" or None, default="scale"
        Parameter gamma of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2"; for "rbf"
        it is 1 / (2 s^2) for the bandwidth s. "scale" is 1 / (n_features * X.var()), as in
        scikit-learn's SVC, where X are the distinct rows, labelled or not (for ``graph_alpha=0``,
        the labelled ones); None is scikit-learn's default, 1 / n_features for all but "chi2". Both
        are equal for standardised features.
    kernel_params : dict, default=None
        Further parameters of the kernel, such as ``{"degree": 2}`` for "poly".
    graph_neighbors : int, default=10
        Number of neighbours of each row in the graph; all other distinct rows if there are fewer.
        Two rows are connected if one of them is a neighbour of the other.
    graph_weights : {"binary", "heat"}, default="binary"
        Weights of connected rows: 1, or exp(-d^2 / (2 s^2)) for the distance d, with s the median
        distance between connected rows.
    graph_normalized : bool, default=True
        Whether to normalise the Laplacian by the degrees of the rows.
    graph_power : int, default=1
        Power p of the Laplacian. A larger one penalises rapid variation more, and needs more time
        and memory.
    tol : float, default=1e-8
        Tolerance of the SVM's solver.
    max_iter : int, default=1000000
        Maximum number of iterations of the SVM's solver; they grow as 1 / alpha.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, sorted. For two classes, positive scores mean the second.
    svm_ : SVC
        The SVM fitted to the deformed kernel of the labelled rows, with labels 0, 1, ...
    expansion_ : array of shape (n_rows, n_labeled)
        Kernel values between a row and ``X_fit_``, multiplied by this matrix, are the deformed ones
        with the labelled rows. If the kernel is linear and there are no more features than rows,
        the features of a row are multiplied instead.
    X_fit_ : array or sparse matrix of shape (n_rows, n_features)
        The distinct rows, labelled and unlabelled. Absent if the kernel is linear and there are no
        more features than rows.
    gamma_ : float or None
        The value of ``gamma`` that was used; None means the kernel's own default, or no gamma.
    n_iter_ : int
        Number of iterations of the SVM's solver, at least 1; of several SVMs, the largest.
    supervised_ : LaplacianSVMClassifier
        The supervised twin: the same with ``graph_alpha=0``, on the labelled rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    Warns
    -----
    ConvergenceWarning
        If the SVM's solver stopped after ``max_iter`` iterations.

    See Also
    --------
    LaplacianLeastSquaresClassifier : The same with the squared loss.
    ManifoldClassifier : The same for any kernel machine.
    TSVMClassifier : A linear SVM that avoids regions with many rows.

    Notes
    -----
    A fit to n distinct rows takes O(n^3) operations and O(n^2) memory, and n is limited to 10 000.
    For more rows, approximate the kernel by features, which removes the limit:
    ``make_pipeline(Nystroem(gamma=...), LaplacianSVMClassifier(kernel="linear"))``.

    Standardise the features: neighbours and kernels depend on their scale.

    References
    ----------
    M. Belkin, P. Niyogi and V. Sindhwani, "Manifold regularization: a geometric framework for
    learning from labeled and unlabeled examples", Journal of Machine Learning Research 7 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from primum import LaplacianSVMClassifier
    >>> X, truth = make_moons(200, noise=0.05, random_state=0)
    >>> y = np.full(200, -1)
    >>> for label in (0, 1):  # one labelled row of each class
    ...     y[np.flatnonzero(truth == label)[0]] = label
    >>> clf = LaplacianSVMClassifier(gamma=5.0).fit(X, y)
    >>> float(clf.score(X, truth))
    1.0
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {"tol": POSITIVE}

    tol: float = 1e-8
    max_iter: int = 1_000_000

    def _fit_deformed(self, data: ManifoldData, kernel: DeformedKernel) -> None:
        weight = np.ones(len(data.codes)) if data.weight is None else data.weight
        svm = SVC(C=0.5 / self.alpha, kernel="precomputed", tol=self.tol, max_iter=self.max_iter)
        share = weight / weight.sum()
        self.svm_ = svm.fit(kernel.gram(data.labeled), data.codes, sample_weight=share)
        self.n_iter_ = max(1, int(np.max(svm.n_iter_)))
        self.expansion_ = kernel.expansion(data.labeled)

    def decision_function(self, X: Any) -> Floats:
        """Return the decision values of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, new or not.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_classes) for more than two classes
            For two classes, the score: the second class is predicted if it is at least 0. For
            more, the number of comparisons that each class wins, plus a bounded sum of their
            margins, as in SVC: the class with the largest is predicted.
        """
        check_is_fitted(self)
        return np.asarray(self.svm_.decision_function(self._expand(X, self.expansion_)))
