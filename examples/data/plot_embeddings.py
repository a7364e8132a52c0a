"""
Embeddings at scale: 100 000 unlabelled rows in Parquet
=======================================================

Embeddings of texts or images are cheap to compute for every row, while labels are not. The cost
of an ICLS fit grows with the number of rows only through a few passes over them, and the rows can
stay in a Parquet file that is read in small blocks.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import RidgeClassifierCV

from primum import ICLSClassifier, ICLSClassifierCV

# %%
# Simulated embeddings
# --------------------
# Two overlapping Gaussian classes in 128 dimensions, with variances that decay as in embeddings;
# 150 rows have a label.

FEATURES, N_LABELED, N_UNLABELED = 128, 150, 100_000
rng = np.random.default_rng(0)
truth = (rng.random(N_LABELED + N_UNLABELED) < 0.4).astype(int)
scales = 1 / np.sqrt(1 + np.arange(FEATURES) / 8)
direction = rng.normal(size=FEATURES)
direction *= 2.5 * scales / np.linalg.norm(direction)
X = rng.normal(size=(len(truth), FEATURES)) * scales + (truth[:, None] - 0.5) * direction
X = X.astype(np.float32)
X_labeled, y = X[:N_LABELED], truth[:N_LABELED]
X_more, truth_more = X[N_LABELED:], truth[N_LABELED:]

# %%
# Rows in a file
# --------------
# ``X_unlabeled`` is the path of a Parquet file here, and so are the rows to predict. The file is
# never loaded as a whole, and the fit is the same as to an array, with the same proof of
# optimality.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "embeddings.parquet"
    names = [f"e{column}" for column in range(FEATURES)]
    pq.write_table(pa.table(list(X_more.T), names=names), path, row_group_size=10_000)
    print(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB")
    clf = ICLSClassifier(n_jobs=1).fit(X_labeled, y, X_unlabeled=path)
    predicted = clf.predict(path)
print(clf.certificate_)
print(f"passes over the file: {clf.certificate_.passes}")
print(f"error {np.mean(predicted != truth_more):.3f}")
in_memory = ICLSClassifier(n_jobs=1).fit(X_labeled, y, X_unlabeled=X_more)
print(f"largest difference from the fit in memory: {abs(clf.coef_ - in_memory.coef_).max():.1e}")

# %%
# How many unlabelled rows are useful?
# ------------------------------------
#
# The error over the number of unlabelled rows. A tuned ridge, fitted to the labelled rows alone, is
# the baseline that matters, so there is also ICLS with a tuned ridge and metric.

sizes = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
ridge = RidgeClassifierCV(np.logspace(-2, 4, 25)).fit(X_labeled, y)
curves = {"ICLS": [], "ICLS, metric=0.2": []}
for size in sizes:
    for values, metric in zip(curves.values(), (0, 0.2), strict=True):
        fit = ICLSClassifier(metric=metric, n_jobs=1).fit(X_labeled, y, X_unlabeled=X_more[:size])
        values.append(100 * (1 - fit.score(X_more, truth_more)))
tuned = ICLSClassifierCV(alphas=np.logspace(-2, 1, 7), metrics=[0, 0.2], n_jobs=1)
tuned.fit(X_labeled, y, X_unlabeled=X_more[:10_000])
levels = {
    "supervised twin": (100 * (1 - clf.supervised_.score(X_more, truth_more)), "k", "--"),
    "tuned ridge": (100 * (1 - ridge.score(X_more, truth_more)), "#E69F00", ":"),
    "ICLS, ridge and metric tuned": (100 * (1 - tuned.score(X_more, truth_more)), "#009E73", "-."),
}
for name, (level, _, _) in levels.items():
    print(f"{name:30}{level:.1f}%")

# %%
# A few hundred unlabelled rows give most of the gain over the supervised twin, and the hundred
# thousand do no harm. But what the twin lacks is regularisation: a tuned ridge, without any
# unlabelled row, does better than ICLS without a ridge. ICLS with a tuned ridge is about as good.

figure, axes = plt.subplots(figsize=(8, 4.3), layout="constrained")
for (name, values), colour in zip(curves.items(), ("#0072B2", "#56B4E9"), strict=True):
    axes.plot(sizes, values, "o-", color=colour, label=name)
for name, (level, colour, line) in levels.items():
    axes.axhline(level, color=colour, linestyle=line, linewidth=2, label=name)
axes.set_title("Error over the number of unlabelled rows")
axes.set_xscale("log")
axes.set(xlabel="number of unlabelled rows", ylabel="error (%)", ylim=(0, None))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower left", ncols=2)
plt.show()
