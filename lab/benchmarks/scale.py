"""ICLS and other methods against the number of rows, features and labels, all in one run.

Prints time, passes over the rows, memory beyond the rows and the proven gap; saves the table with a
log-log plot. Methods that cannot run at a size (a U x U matrix, minutes of work) are skipped there.
Times are processor times of one thread, the least of a few fits; memory is the peak of NumPy's
allocations during one more.
"""

import argparse
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from timing import cpu_times

from primum import ICLSClassifier

# (name, estimator, which labels it sees, largest number of values in X it is tried with)
METHODS = (
    ("ICLS", ICLSClassifier(), "partly", np.inf),
    ("ICLS, L-BFGS-B", ICLSClassifier(solver="lbfgsb", max_iter=2000), "partly", 5e6),
    ("LinearRegression", LinearRegression(), "all", np.inf),
    ("Ridge(cholesky)", Ridge(solver="cholesky"), "all", np.inf),
    ("SelfTrainingClassifier", SelfTrainingClassifier(LogisticRegression()), "partly", 5e6),
    ("LabelSpreading", LabelSpreading(), "partly", 1e5),
)
FITS = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=float, default=1e6, help="most rows (default 1e6)")
    parser.add_argument("--features", type=int, default=50, help="where rows vary (default 50)")
    parser.add_argument("--labeled", type=int, default=None, help="default: features + 5")
    parser.add_argument("--only-rows", action="store_true", help="do not vary features and labels")
    parser.add_argument("--out", type=Path, default=Path("lab/benchmarks/output"))
    options = parser.parse_args()
    table = pd.DataFrame(row for size in sizes(options) for row in compare(*size))
    options.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.out / "scale.csv", index=False)
    draw(table, options.out / "scale.png")
    print(f"\nSaved to {options.out}")


def sizes(options):
    """Yield (what varies, U, d, L)."""
    d = options.features
    L = d + 5 if options.labeled is None else options.labeled
    for U in (10**k for k in range(3, 9) if 10**k <= options.largest):
        yield "U", U, d, L
    if options.only_rows:
        return
    for features in (2, 10, 50, 250):
        yield "d", 100_000, features, features + 5
    for labeled in (20, 55, 200, 1000):
        yield "L", 100_000, 50, labeled


def problem(L, U, d, seed=0):
    """Rows of two overlapping classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, L + U)
    y[:2] = [0, 1]
    X = rng.normal(size=(L + U, d))
    X[:, 0] += y
    return X, y, np.where(np.arange(L + U) < L, y, -1)


def compare(varies, U, d, L):
    X, truth, partly = problem(L, U, d)
    print(f"\nU = {U}, d = {d}, L = {L} ({X.nbytes / 2**20:.0f} MB)", flush=True)
    for name, clf, sees, largest in METHODS:
        if largest < X.size:
            continue
        row = {"varies": varies, "U": U, "d": d, "L": L, "method": name}
        row |= measure(clf, X, truth if sees == "all" else partly)
        print(describe(row), flush=True)
        yield row


def describe(row):
    text = f"  {row['method']:24}{row['seconds']:9.3f} s"
    if "passes" not in row:
        return text
    return (
        f"{text}{1e9 * row['seconds'] / row['U']:8.0f} ns a row{row['passes']:6d} passes, "
        f"memory {row['memory']:.2f} X, gap {row['gap']:.0e}"
    )


def measure(clf, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        seconds = []
        while not seconds or (len(seconds) < FITS and sum(seconds) < 30):
            seconds.append(float(cpu_times([lambda: clf.fit(X, y)], 1)[0, 0]))
        row = {"seconds": min(seconds)}
        if not hasattr(clf, "certificate_"):
            return row
        tracemalloc.start()
        clf.fit(X, y)
        row["memory"] = tracemalloc.get_traced_memory()[1] / X.nbytes
        tracemalloc.stop()
    proof = clf.certificate_
    return row | {"passes": proof.passes, "gap": proof.gap, "converged": proof.converged}


def draw(table, path):
    labels = {"U": "unlabelled rows", "d": "features", "L": "labelled rows"}
    colors = {name: f"C{k}" for k, (name, *_) in enumerate(METHODS)}
    series = [name for name in labels if name in set(table["varies"])]
    figure = Figure(figsize=(4.2 * len(series), 4.2), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(series), sharey=True))
    for axes, varies in zip(panels, series, strict=True):
        for name, rows in table[table["varies"] == varies].groupby("method", sort=False):
            axes.plot(rows[varies], rows["seconds"], "o-", label=name, color=colors[name])
        axes.set(xscale="log", yscale="log", xlabel=labels[varies])
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("processor seconds")
    panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
