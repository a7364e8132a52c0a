"""
Kernels and manifolds: two moons with one label each
====================================================

ICLS with a kernel assumes nothing about the shape of the classes, and gains little where there are
hardly any labels. Methods that assume that neighbours have the same class can do much better, if
that is true. Two moons are their textbook example; the second half of this example shows the price.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.preprocessing import scale

from primum import (
    KernelICLSClassifier,
    KernelLeastSquaresClassifier,
    LaplacianLeastSquaresClassifier,
)

# %%
# Moons: the classes are curves
# -----------------------------
#
# Of 200 rows, one per class has a label.

X, truth = make_moons(200, noise=0.08, random_state=0)
X = scale(X)
y = np.full(200, -1)
for value in (0, 1):
    y[np.flatnonzero(truth == value)[0]] = value
moons = X, truth, y

# %%
# Stripes: neighbours of different classes
# ----------------------------------------
#
# The same rows, but now the class depends on the side of a line that cuts through both moons, and
# there are twelve labels.

truth_stripes = (X[:, 0] > 0).astype(int)
y_stripes = np.full(200, -1)
known = np.random.default_rng(2).permutation(200)[:12]
y_stripes[known] = truth_stripes[known]
stripes = X, truth_stripes, y_stripes

# %%
# The supervised kernel model, ICLS with the same kernel, and a model with a penalty on differences
# between neighbours (``gamma``), on both problems:

models = {
    "kernel least squares": KernelLeastSquaresClassifier(alpha=1e-3, kernel_gamma=2),
    "kernel ICLS": KernelICLSClassifier(alpha=1e-3, kernel_gamma=2),
    "Laplacian, gamma = 10": LaplacianLeastSquaresClassifier(gamma=10, alpha=1e-3, kernel_gamma=2),
}
