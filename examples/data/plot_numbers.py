"""
Predict numbers: which model, and do the unlabelled rows help?
==============================================================

The target is a number, and it is known for few rows. :func:`primum.compare` compares models on a
table; :class:`~primum.SafeRegressor` is one model that starts from a tuned ridge regression and
moves away from it as far as the known numbers support.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

import primum
from primum import SafeRegressor

# %%
# A table
# -------
#
# How far has the disease of 442 patients progressed after a year? Suppose that it was measured for
# 60 of them. Unknown numbers are empty cells (NaN).

table = load_diabetes(as_frame=True, scaled=False).frame
truth = table["target"].to_numpy()
known = np.random.default_rng(0).permutation(len(table))[:60]
table["target"] = table["target"].where(table.index.isin(known))
hidden = table["target"].isna().to_numpy()
result = primum.compare(table, target="target", n_repeats=1, curves=False, verbose=False)
print(result)

# %%
# Was the answer right?
# ---------------------
#
# We hid the other numbers ourselves. Every model is fitted to all rows, and its RMSE on the hidden
# ones is compared with that of the baseline, in units of the target.


def rmse(model, rows, numbers):
    """Return the root mean squared error of the predictions for some rows."""
    return float(np.sqrt(np.mean((model.predict(rows) - numbers) ** 2)))


judged = [method for method in result.methods if method.name != "baseline"]
names = ["baseline", *(method.name for method in judged)]
errors = {name: rmse(result.fit(name), table[hidden], truth[hidden]) for name in names}
print({name: round(error, 1) for name, error in errors.items()})

figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
axes.axvline(0, color="k", linewidth=1)
for row, method in enumerate(judged):
    axes.plot(method.verdict.interval, [row, row], color="#0072B2", linewidth=3)
    axes.plot(method.verdict.change, row, "o", color="#0072B2", markersize=8)
    axes.plot(errors[method.name] - errors["baseline"], row, "D", color="k", markersize=6)
axes.set_yticks(range(len(judged)), [method.name for method in judged])
axes.set_ylim(len(judged) - 0.5, -0.5)
axes.set(
    xlabel="change in RMSE (units of the target); left is better",
    title="Estimates with intervals; diamonds: true changes on the hidden rows",
)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The baseline is as good as anything else here. The safe stack stays close to it. The forest and
# the booster are worse, but 60 numbers do not show that for certain.
#
# Rows along a curve
# ------------------
# These rows lie along a spiral in ten dimensions, where a linear model is of little use, and 40 of
# 500 targets are known. The *kernel* of the safe stack is deformed by a graph of all rows; the
# supervised stack's kernel uses the labelled rows only.

rng = np.random.default_rng(0)
position = np.sqrt(rng.uniform(0.02, 1, 500))
angle = 4 * np.pi * position
plane = position[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
basis = np.linalg.qr(rng.normal(size=(10, 2)))[0]
X = plane @ basis.T + 0.01 * rng.normal(size=(500, 10))
target = np.sin(3 * np.pi * position) + 0.1 * rng.normal(size=500)
y = np.where(np.arange(500) < 40, target, np.nan)

reg = SafeRegressor(random_state=0, n_jobs=1).fit(X, y)
models = {"ridge": reg.baseline_, "supervised stack": reg.supervised_, "safe stack": reg}
errors = {name: rmse(model, X[40:], target[40:]) for name, model in models.items()}
print(reg.verdict_)
pd.Series(reg.weights_).round(2)

# %%
# The stack halves the RMSE of ridge regression, and the verdict says that it is better. Are the
# unlabelled rows the reason? Hardly: the supervised stack is nearly as good, and the verdict makes
# no claim for them.

figure, panels = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
for axes, (name, model) in zip(panels, models.items(), strict=True):
    axes.plot([-1.3, 1.3], [-1.3, 1.3], color="0.6", linewidth=1)
    axes.plot(target[40:], model.predict(X[40:]), ".", color="#0072B2", markersize=5)
    axes.set(xlabel="true number", title=f"{name}: RMSE {errors[name]:.2f}")
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("predicted number")
plt.show()
