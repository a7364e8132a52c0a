"""
Regression with targets that are known within bounds
====================================================

:class:`~primum.ICLSRegressor` applies the idea of ICLS to numbers. Targets are known exactly for
some rows; for the others only bounds are known, such as the range of a scale or the bin of a binned
answer. Among all least-squares models of targets within these bounds, the fit is the one closest to
the supervised model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV

from primum import ICLSRegressor, LeastSquaresRegressor

X, target = load_diabetes(return_X_y=True)
X = X / X.std(axis=0)
LOW, HIGH = 25, 346  # the range of the scale
print(f"{len(X)} patients, {X.shape[1]} features, targets from {target.min()} to {target.max()}")

# %%
# Twenty exact targets
# --------------------
# A third of the rows is held out. Of the others, 20 have exact targets. What is known about the
# rest becomes more precise from left to right: only the range, then 2, 5 or 10 equal bins.


def bins(values, n_bins):
    """Return the edges of the bin of every value, one row for each."""
    edges = np.linspace(LOW, HIGH, n_bins + 1)
    index = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, n_bins - 1)
    return np.column_stack([edges[index], edges[index + 1]])


BINS = (1, 2, 5, 10)


def errors(seed):
    """Return root mean squared errors on held-out rows: supervised, ridge, ICLS, midpoints."""
    order = np.random.default_rng(seed).permutation(len(target))
    train, test = order[147:], order[:147]
    known = np.arange(len(train)) < 20
    y = np.where(known, target[train], np.nan)
    models = [
        LeastSquaresRegressor().fit(X[train[:20]], y[:20]),
        RidgeCV(np.logspace(-2, 3, 20)).fit(X[train[:20]], y[:20]),
    ]
    for n_bins in BINS:
        bounds = bins(target[train], n_bins)
        bounds[known] = np.nan
        reg = ICLSRegressor(bounds=(LOW, HIGH), metric="all")
        models.append(reg.fit(X[train], y, target_bounds=bounds))
    for n_bins in BINS[1:]:
        middle = np.where(known, y, bins(target[train], n_bins).mean(axis=1))
        models.append(LeastSquaresRegressor().fit(X[train], middle))
    return [np.sqrt(np.mean((reg.predict(X[test]) - target[test]) ** 2)) for reg in models]


drawn = np.array([errors(seed) for seed in range(20)])
mean, standard_error = drawn.mean(axis=0), drawn.std(axis=0) / np.sqrt(len(drawn))

# %%
# The result
# ----------
# The range alone says little, and a tuned ridge, which uses no unlabelled rows, is better than ICLS
# with up to two bins. With five bins, ICLS is better than the ridge. Plain regression on the
# midpoints of the bins is better throughout, although nothing is proven about it: the guarantee of
# ICLS is relative to the supervised least-squares model, which knows 20 targets only. So if most
# rows have narrow bins, compare with their midpoints.

figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
axes.axhline(mean[0], color="k", linestyle="--", label="supervised least squares")
axes.axhline(mean[1], color="#E69F00", linestyle=":", linewidth=2, label="tuned ridge, supervised")
axes.errorbar(
    range(4), mean[2:6], standard_error[2:6], color="#0072B2", marker="o", label="ICLS", capsize=3
)
axes.errorbar(
    range(1, 4),
    mean[6:],
    standard_error[6:],
    color="#999999",
    marker="s",
    label="least squares on midpoints",
    capsize=3,
)
axes.set_xticks(range(4), ["range only", "2 bins", "5 bins", "10 bins"])
axes.set(xlabel="what is known about the other targets", ylabel="root mean squared error")
axes.set_title("Diabetes data, 20 exact targets")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The certificate of a regression is in squared units of the target. In this draw, if only the range
# is known, some targets within it give the supervised model, which is therefore returned:

train = np.random.default_rng(0).permutation(len(target))[147:]
y = np.where(np.arange(len(train)) < 20, target[train], np.nan)
reg = ICLSRegressor(bounds=(LOW, HIGH), metric="all").fit(X[train], y)
print(reg.certificate_)
