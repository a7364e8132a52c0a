"""ICLS against the number of rows: time, passes, memory and gap, beside other fits, in one run.

Prints a table, and saves it with a log-log picture. What cannot run at a size (a matrix of U x U,
or a run that would take minutes) is left out there.
"""

import argparse
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from primum import ICLSClassifier

# (name, estimator, which labels it sees, largest number of rows it is tried with)
METHODS = (
    ("ICLS", ICLSClassifier(), "partly", np.inf),
    ("ICLS, L-BFGS-B", ICLSClassifier(solver="lbfgsb", max_iter=2000), "partly", 1e5),
    ("LinearRegression", LinearRegression(), "all", np.inf),
    ("Ridge(cholesky)", Ridge(solver="cholesky"), "all", np.inf),
    ("SelfTrainingClassifier", SelfTrainingClassifier(LogisticRegression()), "partly", 1e5),
    ("LabelSpreading", LabelSpreading(), "partly", 1e4),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=float, default=1e6, help="largest number of rows (1e6)")
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--labeled", type=int, default=55)
    parser.add_argument("--memory", action="store_true", help="trace memory too (slower)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/output"))
    options = parser.parse_args()
    sizes = [10**k for k in range(3, 9) if 10**k <= options.largest]
    table = pd.DataFrame(
        row for U in sizes for row in compare(U, options.features, options.labeled, options.memory)
    )
    options.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.out / "scale.csv", index=False)
    draw(table, options.out / "scale.png")
    print(f"\nSaved to {options.out}")


def problem(L, U, d, seed=0):
    """Rows of two overlapping classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, L + U)
    y[:2] = [0, 1]
    X = rng.normal(size=(L + U, d))
    X[:, 0] += y
    return X, y, np.where(np.arange(L + U) < L, y, -1)


def compare(U, d, L, memory):
    X, truth, partly = problem(L, U, d)
    print(f"\nU = {U}, d = {d}, L = {L} ({X.nbytes / 2**20:.0f} MB)")
    for name, clf, sees, largest in METHODS:
        if largest < U:
            continue
        row = {"U": U, "d": d, "L": L, "method": name}
        row |= measure(clf, X, truth if sees == "all" else partly, memory)
        print(
            f"  {name:24}{row['seconds']:9.3f} s"
            + (f"{row['memory']:7.2f} X" if memory else "")
            + (f"{row['passes']:5d} passes, gap {row['gap']:.0e}" if "passes" in row else "")
        )
        yield row


def measure(clf, X, y, memory):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        clf.fit(X, y)
        row = {"seconds": time.perf_counter() - start}
        if memory:
            tracemalloc.start()
            clf.fit(X, y)
            row["memory"] = tracemalloc.get_traced_memory()[1] / X.nbytes
            tracemalloc.stop()
    if hasattr(clf, "certificate_"):
        proof = clf.certificate_
        row |= {"passes": proof.passes, "gap": proof.gap, "converged": proof.converged}
    return row


def draw(table, path):
    figure = Figure(figsize=(6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for name, rows in table.groupby("method", sort=False):
        axes.plot(rows["U"], rows["seconds"], "o-", label=name)
    axes.set(xscale="log", yscale="log", xlabel="unlabelled rows", ylabel="seconds")
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
