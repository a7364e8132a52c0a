"""The scores of a tuned fit over its grid; the same fit as on the page on tuning."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from primum import ICLSClassifierCV
from primum.pages.pictures import plot_path

X, truth = load_breast_cancer(return_X_y=True)
X, y = scale(X), truth.copy()
y[np.random.default_rng(0).permutation(len(y))[60:]] = -1  # 60 labels are known
clf = ICLSClassifierCV(alphas=[0.001, 0.01, 0.1, 1], metrics=[0, 0.2, 0.5, 1], cv=10).fit(X, y)
figure = plot_path(clf)
# The directive saves the figures of pyplot, to which this one does not belong.
plt.figure().canvas.figure = figure
