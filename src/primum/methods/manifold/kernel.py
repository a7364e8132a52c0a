"""The deformed kernel as a transformer, and any kernel machine in it.

See ``methods/manifold/deformed_kernel.py``:

    k~(x, z) = c (k(x, z) - k_x' (I + r Lap^p K)^-1 r Lap^p k_z)

with c such that its mean diagonal is that of k. A kernel machine that minimises
loss + alpha ||f||^2 in this kernel minimises, in the kernel k,
loss + alpha/c (||f||^2 + r f' Lap^p f).

``ManifoldKernel`` is this kernel of all rows. ``ManifoldClassifier`` fits a machine with it to the
labelled rows.
"""

from dataclasses import field
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone, is_classifier
from sklearn.svm import SVC
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import check_parameters
from primum._typing import AnyArray, Floats
from primum.methods.base import WrapperMixin, fitting, with_parameters
from primum.methods.manifold.base import KernelOnGraph, ManifoldData, ManifoldMachine, distinct_rows
from primum.methods.manifold.deformed_kernel import DeformedKernel
from primum.reading.data import read_numpy_rows, stack_rows


@with_parameters
class ManifoldKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelOnGraph):
    """Kernel deformed by the neighbour graph of the rows, for machines with a precomputed kernel.

    Functions in the space of this kernel have a small norm only if they vary little between
    neighbouring rows. After it in a pipeline, a kernel machine that takes all rows, labelled or
    not, becomes a manifold method: ``make_pipeline(ManifoldKernel(), machine)`` for a machine with
    ``kernel="precomputed"``. For machines that take only labelled rows, such as SVC, use
    ManifoldClassifier.

    Parameters
    ----------
    graph_ratio : float, default=10.0
        Weight of ``f' Lap^p f`` relative to the squared norm of f in the space of the kernel, with
        f the values on all rows: graph_alpha / alpha of LaplacianLeastSquaresClassifier. 0 is the
        undeformed kernel.
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise.pairwise_kernels`` by name, or a function of two
        arrays of rows that returns their kernel values, of shape (n_rows, n_other_rows). It must be
        positive semi-definite.
    gamma : float, "scale" or None, default="scale"
        Parameter gamma of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2"; for "rbf"
        it is 1 / (2 s^2) for the bandwidth s. "scale" is 1 / (n_features * X.var()), as in
        scikit-learn's SVC, where X are the distinct rows, labelled or not; None is scikit-learn's
        default, 1 / n_features for all but "chi2". Both are equal for standardised features.
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

    Attributes
    ----------
    expansion_ : array of shape (n_rows, n_samples)
        Kernel values between a row and ``X_fit_``, multiplied by this matrix, are the deformed ones
        with the rows of the fit. If the kernel is linear and there are no more features than rows,
        the features of a row are multiplied instead.
    scale_ : float
        Constant factor of the deformed kernel, see the notes; 1 for ``graph_ratio=0``.
    X_fit_ : array or sparse matrix of shape (n_rows, n_features)
        The distinct rows, labelled and unlabelled. Absent if the kernel is linear and there are no
        more features than rows.
    gamma_ : float or None
        The value of ``gamma`` that was used; None means the kernel's own default, or no gamma.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    ManifoldClassifier : Fits a kernel machine to the labelled rows in this kernel.

    Notes
    -----
    The deformation shrinks the kernel, the more so the larger ``graph_ratio`` is. It is therefore
    multiplied by a constant, ``scale_``, so that its mean diagonal over the distinct rows is
    that of the undeformed kernel, and the penalty of the machine, such as C of SVC, keeps its
    meaning. With ``graph_ratio=0`` the kernel is unchanged.

    A fit to n distinct rows takes O(n^3) operations and O(n^2) memory, and n is limited to 10 000.
    Standardise the features: neighbours and kernels depend on their scale.

    References
    ----------
    V. Sindhwani, P. Niyogi and M. Belkin, "Beyond the point cloud: from transductive to
    semi-supervised learning", ICML 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import ManifoldKernel
    >>> X = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> K = ManifoldKernel(graph_neighbors=1).fit_transform(X)
    >>> K.shape, bool(np.allclose(K, K.T))
    ((4, 4), True)
    """

    graph_ratio: float = field(default=10.0, kw_only=False)

    @property
    def _n_features_out(self) -> int:
        return self.expansion_.shape[1]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Deform the kernel by the graph of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, labelled and unlabelled.
        y : ignored
            Labels are not used.

        Returns
        -------
        self
            The fitted transformer.
        """
        with fitting(self):
            self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, and return the deformed kernel matrix of the rows, symmetric to the last digit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, labelled and unlabelled.
        y : ignored
            Labels are not used.

        Returns
        -------
        array of shape (n_samples, n_samples)
            The deformed kernel between the rows.
        """
        with fitting(self):
            kernel, position = self._fit(X)
            features = kernel.features()[position]
            return np.asarray(features @ features.T)

    def _fit(self, X: Any) -> tuple[DeformedKernel, AnyArray]:
        """Return the deformed kernel of the distinct rows, and the position of every row."""
        check_parameters(self)
        rows = stack_rows([read_numpy_rows(self, X, reset=True)], np.float64)
        rows, position = distinct_rows(rows)
        kernel = self._deform(rows, self.graph_ratio).rescaled()
        self.scale_ = kernel.scale
        self.expansion_ = kernel.expansion(np.arange(rows.shape[0]))[:, position]
        return kernel, position

    def transform(self, X: Any) -> Floats:
        """Return the deformed kernel between rows, new or not, and the rows of the fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_samples_fit)
            The deformed kernel.
        """
        check_is_fitted(self)
        return self._expand(X, self.expansion_)


@with_parameters
class ManifoldClassifier(WrapperMixin, ManifoldMachine):
    """Semi-supervised version of a kernel machine, smooth along the neighbour graph of all rows.

    The machine, any classifier with ``kernel="precomputed"``, is fitted to the labelled rows, with
    the kernel that ManifoldKernel computes from all rows. If classes are not smooth along the
    graph, this can be worse than the machine with the undeformed kernel, ``graph_ratio=0``.

    Parameters
    ----------
    estimator : classifier, default=None
        A classifier that is fitted to kernel matrices. None is ``SVC(kernel="precomputed")``.
    graph_ratio : float, default=10.0
        Weight of ``f' Lap^p f`` relative to the squared norm of f in the space of the kernel, with
        f the scores of all rows: graph_alpha / alpha of LaplacianLeastSquaresClassifier. 0 is the
        machine with the undeformed kernel.
    kernel : str or callable, default="rbf"
        A kernel of ``sklearn.metrics.pairwise.pairwise_kernels`` by name, or a function of two
        arrays of rows that returns their kernel values, of shape (n_rows, n_other_rows). It must be
        positive semi-definite.
    gamma : float, "scale" or None, default="scale"
        Parameter gamma of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2"; for "rbf"
        it is 1 / (2 s^2) for the bandwidth s. "scale" is 1 / (n_features * X.var()), as in
        scikit-learn's SVC, where X are the distinct rows, labelled or not (for ``graph_ratio=0``,
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

    Attributes
    ----------
    estimator_ : classifier
        The machine, fitted to the deformed kernel of the labelled rows.
    classes_ : array of shape (n_classes,)
        The classes, sorted.
    expansion_ : array of shape (n_rows, n_labeled)
        Kernel values between a row and ``X_fit_``, multiplied by this matrix, are the deformed ones
        with the labelled rows. If the kernel is linear and there are no more features than rows,
        the features of a row are multiplied instead.
    scale_ : float
        Constant factor of the deformed kernel, see the notes; 1 for ``graph_ratio=0``.
    X_fit_ : array or sparse matrix of shape (n_rows, n_features)
        The distinct rows, labelled and unlabelled. Absent if the kernel is linear and there are no
        more features than rows.
    gamma_ : float or None
        The value of ``gamma`` that was used; None means the kernel's own default, or no gamma.
    supervised_ : ManifoldClassifier
        The supervised twin: the same with ``graph_ratio=0``, on the labelled rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    LaplacianSVMClassifier : SVC in this kernel, with penalties on the mean loss.
    ManifoldKernel : The kernel as a transformer, for machines that use unlabelled rows themselves.

    Notes
    -----
    The deformation shrinks the kernel, the more so the larger ``graph_ratio`` is. It is therefore
    multiplied by a constant, ``scale_``, so that its mean diagonal over the distinct rows is
    that of the undeformed kernel, and the penalty of the machine, such as C of SVC, keeps its
    meaning. With ``graph_ratio=0`` the kernel is unchanged.

    A fit to n distinct rows takes O(n^3) operations and O(n^2) memory, and n is limited to 10 000.
    Standardise the features: neighbours and kernels depend on their scale.

    References
    ----------
    V. Sindhwani, P. Niyogi and M. Belkin, "Beyond the point cloud: from transductive to
    semi-supervised learning", ICML 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import NuSVC
    >>> from primum import ManifoldClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 1, -1])
    >>> clf = ManifoldClassifier(NuSVC(nu=0.5, kernel="precomputed"), graph_neighbors=1).fit(X, y)
    >>> clf.predict([[0.0], [3.0]])
    array([0, 1])
    """

    _weight_of_graph = "graph_ratio"

    estimator: Any = field(default=None, kw_only=False)
    graph_ratio: float = field(default=10.0, kw_only=False)

    @property
    def _ratio(self) -> float:
        return float(self.graph_ratio)

    @property
    def _several_classes(self) -> bool:  # type: ignore[override]
        tags = get_tags(self._kind).classifier_tags
        return tags is not None and tags.multi_class

    @property
    def _kind(self) -> Any:
        return SVC(kernel="precomputed") if self.estimator is None else self.estimator

    def _fit_deformed(self, data: ManifoldData, kernel: DeformedKernel) -> None:
        if not is_classifier(self._kind) or not get_tags(self._kind).input_tags.pairwise:
            raise ValueError(
                "The estimator of ManifoldClassifier must be a classifier that is fitted to kernel "
                f"matrices, got {self._kind!r}: pass, for example, SVC(kernel='precomputed')."
            )
        weight = self._weight_options(data.weight)
        kernel = kernel.rescaled()
        self.scale_ = kernel.scale
        gram = kernel.gram(data.labeled)
        labels = data.classes[data.codes]
        self.estimator_ = clone(self._kind).fit(gram, labels, **weight)
        self.expansion_ = kernel.expansion(data.labeled)

    def _rows_for_estimator(self, X: Any) -> Floats:
        return self._expand(X, self.expansion_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._several_classes
        return tags
