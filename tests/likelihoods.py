"""Likelihoods of fitted Gaussian classes, from SciPy's densities."""

import numpy as np
from scipy.stats import multivariate_normal


def log_joint(clf, X):
    """Return log p(x, k) of every row and class."""
    densities = [
        np.log(share) + multivariate_normal(mean, clf.covariance_).logpdf(X).reshape(len(X))
        for share, mean in zip(clf.prior_, clf.means_, strict=True)
    ]
    return np.stack(densities, axis=1)


def mean_log_likelihood(clf, X, y, X_u=None, *, unlabeled_weight=1.0, alpha=0.0):
    """Return the mean log-likelihood minus the penalty of the ridge."""
    total = log_joint(clf, X)[np.arange(len(y)), y].sum()
    n = len(X)
    if X_u is not None:
        total += unlabeled_weight * np.logaddexp.reduce(log_joint(clf, X_u), axis=1).sum()
        n += unlabeled_weight * len(X_u)
    return total / n - 0.5 * alpha * np.trace(np.linalg.inv(clf.covariance_))
