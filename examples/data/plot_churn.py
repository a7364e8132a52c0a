"""
A table with categories and missing values: customer churn
==========================================================

A churn table as companies have it: numbers, categories, missing cells, and a label for the few
customers who were interviewed. :func:`primum.compare` says how it prepares each column, or uses a
preparation of your own, which is fitted anew in every training set, and tells whether the other
customers help.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import primum
from primum import ICLSClassifier, SafeClassifier, SelfLearningClassifier

# %%
# The table
# ---------
# 2000 simulated customers; for 120 we know whether they left.

N, N_LABELED = 2000, 120
rng = np.random.default_rng(7)
tenure = rng.gamma(2.0, 14.0, N).round()
contract = rng.choice(["monthly", "one year", "two years"], N, p=[0.55, 0.25, 0.2])
fibre = rng.random(N) < 0.45
charge = 25 + 30 * fibre + 6 * rng.normal(size=N) + 0.05 * tenure
calls = rng.poisson(0.8 + 1.2 * fibre)
region = rng.choice([f"region {k}" for k in range(1, 13)], N)
payment = rng.choice(["card", "transfer", "invoice"], N, p=[0.4, 0.35, 0.25])
score = (
    -0.7
    - 0.035 * tenure
    + 0.03 * (charge - 40)
    + 0.5 * calls
    - 1.3 * (contract != "monthly")
    + 0.6 * (payment == "invoice")
    + 0.3 * rng.normal(size=N)
)
left = np.where(rng.random(N) < 1 / (1 + np.exp(-score)), "left", "stayed")
customers = pd.DataFrame(
    {
        "tenure": tenure,
        "charge": charge.round(2),
        "calls": calls.astype(float),
        "contract": contract,
        "payment": payment,
        "region": region,
    }
)
customers.loc[rng.random(N) < 0.12, "charge"] = np.nan
customers.loc[rng.random(N) < 0.08, "payment"] = None
y = np.array(left, dtype=object)
y[N_LABELED:] = None  # unknown
print(pd.Series(left).value_counts(normalize=True).round(2).to_dict())
customers.head()

# %%
# The short way
# -------------
# With ``target``, the columns are prepared automatically. The result says how.

table = customers.assign(churn=y)
fast = [("ICLS", ICLSClassifier(alpha=0.1, n_jobs=1))]
short = primum.compare(
    table, target="churn", methods=fast, n_repeats=1, curves=False, verbose=False
)
done = [(column.name, column.kind, column.action) for column in short.columns]
pd.DataFrame(done, columns=["column", "kind", "what is done to it"])

# %%
# A preparation of your own
# -------------------------
#
# Any transformer of scikit-learn can be passed as ``prepare``. Here, numbers are imputed and
# scaled, categories encoded (missing is a category, too). ``prepare`` is fitted inside every
# training set: to all rows for methods that use unlabelled rows, otherwise to the labelled ones.

prepare = make_column_transformer(
    (
        make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
        make_column_selector(dtype_include="number"),
    ),
    (
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        make_column_selector(dtype_exclude="number"),
    ),
)
methods = [
    ("safe stack", SafeClassifier(["components", "spreading"], random_state=0, n_jobs=1)),
    ("ICLS", ICLSClassifier(alpha=0.1, n_jobs=1)),
    ("self-learning", SelfLearningClassifier(LogisticRegression(max_iter=1000))),
]
result = primum.compare(
    customers, y, methods=methods, prepare=prepare, n_repeats=1, curves=False, verbose=False
)
print(result)
result.table.round(3)

# %%
# Was the answer right?
# ---------------------
#
# We simulated the table, so we know who left. Every method is fitted to all rows, and its error
# on the customers without a label is compared with that of the baseline.

unknown = np.arange(N) >= N_LABELED
fits = {name: make_pipeline(prepare, clf).fit(customers, y) for name, clf in methods}
prepared = fits["safe stack"][0].transform(customers)
baseline = fits["safe stack"][-1].baseline_
error = 1 - baseline.score(prepared[unknown], left[unknown])
true = {
    name: 100 * (1 - clf.score(customers[unknown], left[unknown]) - error)
    for name, clf in fits.items()
}
print(f"error of the baseline: {error:.3f}")
print({name: round(change, 1) for name, change in true.items()})

# %%
# The left panel shows the intervals of the comparison and, as diamonds, the true changes. The right
# panel shows what a supervised logistic regression relies on: its largest coefficients, for scaled
# numbers and for categories. Negative ones make "left" more likely.

logistic = make_pipeline(prepare, LogisticRegression(C=0.3))
logistic.fit(customers[~unknown], left[~unknown])
names = [name.split("__")[1].replace("_", ": ") for name in logistic[0].get_feature_names_out()]
coefficients = pd.Series(logistic[-1].coef_[0], index=names)
coefficients = coefficients[coefficients.abs().sort_values().index[-9:]]

figure, (first, second) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
first.axvspan(-1, 1, color="0.88")
first.axvline(0, color="k", linewidth=1)
judged = [method for method in result.methods if method.name in true]
for row, method in enumerate(judged):
    verdict = method.verdict
    first.plot(100 * np.array(verdict.interval), [row, row], color="#0072B2", linewidth=3)
    first.plot(100 * verdict.change, row, "o", color="#0072B2", markersize=8)
    first.plot(true[method.name], row, "D", color="k", markersize=6)
labels = [f"{method.name}\n({method.verdict.answer.replace('_', ' ')})" for method in judged]
first.set_yticks(range(len(judged)), labels)
first.set_ylim(len(judged) - 0.5, -0.5)
first.set(xlabel="change in error (points); left is better", title="Against the tuned baseline")
second.barh(range(len(coefficients)), coefficients, color="#999999")
second.axvline(0, color="k", linewidth=1)
second.set_yticks(range(len(coefficients)), coefficients.index)
second.set(xlabel="coefficient", title="What drives the supervised model")
for axes in (first, second):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The unlabelled customers make little difference here: no method changes the true error by much
# more than a point, and the comparison does not claim more than the labels can show. The classes
# are not clusters in this table, so rows without labels reveal little. "Cannot tell" is not a
# failure: with 120 labels, a difference of one point cannot be measured. (Neither can small
# effects: the regions in the right panel had no influence on who left.)
