"""Several classes: the joint problem against one two-class fit per class, as ratios in one run.

Gaussian classes around random means. The joint fit, one-versus-rest ICLS and the supervised twin
are compared in time, proven gap and error on the unlabelled rows; two classes solved as several,
with the two-class fit. A million rows are then fitted in memory and from a Parquet folder, which is
removed at the end, and twice as many from a folder, each in a separate process that reports its
peak memory. Fits that are compared run on one thread and take turns; the smallest processor time of
several is taken, because wall-clock times on shared machines mean little.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import cpu_times

# (unlabelled rows, features, classes, labelled rows, separation of the means, largest ratio).
PROBLEMS = ((200_000, 30, 5, 80, 0.5, 3.0), (200_000, 50, 10, 150, 0.62, 2.0))
TWO_AS_SEVERAL = 1.3
GAP = 1e-8
FEATURES, CLASSES, LABELED, SEPARATION = 50, 10, 150, 0.62
ROWS_PER_FILE = 10**5
MORE_MEMORY = 1.1  # that of twice as many rows, at most


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="fits per timing (3)")
    parser.add_argument("--rows", type=float, default=1e6, help="rows of the large fits (1e6)")
    parser.add_argument("--folder", type=Path, default=None, help="where to write the rows")
    parser.add_argument("--worker", choices=[*FITS, "write"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    n_files = round(options.rows / ROWS_PER_FILE)
    if options.worker == "write":
        write_rows(options.folder, n_files)
    elif options.worker:
        print(json.dumps(fit(options.worker, options.folder, n_files)))
    else:
        # The large fits come first: a child's peak memory begins with that of its parent.
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            kept = [many_rows(folder, options.rows)]
        kept += [against_one_versus_rest(*size, options.repeats) for size in PROBLEMS]
        kept += [two_classes_as_several(options.repeats, d, L) for d, L in ((30, 40), (50, 60))]
        sys.exit(int(not all(kept)))


def gaussian_classes(seed, n, d, K, separation):
    """Return rows of K classes and their labels; the means do not depend on the seed."""
    means = separation * np.random.default_rng(0).normal(size=(K, d))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    return rng.normal(size=(n, d)) + means[y], y


def joint_and_rest(U, d, K, L, separation):
    """Return the classifiers, the unlabelled rows with their labels, and functions that fit."""
    from primum import ICLSClassifier

    X, y = gaussian_classes(1, L, d, K, separation)
    X_u, truth = gaussian_classes(2, U, d, K, separation)
    joint, rest = ICLSClassifier(), [ICLSClassifier() for _ in range(K)]

    def fit_rest():
        for k, clf in enumerate(rest):
            clf.fit(X, (y == k).astype(int), X_unlabeled=X_u)

    return joint, rest, X_u, truth, [lambda: joint.fit(X, y, X_unlabeled=X_u), fit_rest]


def against_one_versus_rest(U, d, K, L, separation, largest, repeats):
    """Print one row, and return whether the joint fit is as fast and as good as it has to be."""
    joint, rest, X_u, truth, fits = joint_and_rest(U, d, K, L, separation)
    ours, theirs = cpu_times(fits, repeats).min(axis=0)
    scores = np.column_stack([clf.decision_function(X_u) for clf in rest])
    predicted = {
        "supervised": joint.supervised_.predict(X_u),
        "one v. rest": scores.argmax(axis=1),
        "joint": joint.predict(X_u),
    }
    errors = {name: float(np.mean(found != truth)) for name, found in predicted.items()}
    proof = joint.certificate_
    print(
        f"\nU = {U}, d = {d}, K = {K}, L = {L}: joint {ours:.2f} s, {K} two-class fits "
        f"{theirs:.2f} s, ratio {ours / theirs:.2f} (at most {largest}), gap {proof.gap:.0e}, "
        f"{proof.passes} passes"
    )
    print("error: " + ", ".join(f"{name} {error:.4f}" for name, error in errors.items()))
    return bool(
        ours <= largest * theirs
        and proof.gap <= GAP
        and errors["joint"] <= min(errors["one v. rest"], errors["supervised"])
    )


def two_classes_as_several(repeats, d, L, U=200_000):
    """Print the cost of two classes as points of a simplex, and return whether it is small."""
    from primum.equations import equations_of
    from primum.labellings import LeastSquaresFamily, Simplex, implicit_problems
    from primum.rows import ArrayRows, LabeledRows
    from primum.solvers import solve_problem

    X, y = gaussian_classes(1, L, d, 2, 0.2)
    X_u, _ = gaussian_classes(2, U, d, 2, 0.2)
    coefficients = {}

    def solve(name, labels, Y):
        labeled, rows = LabeledRows(X, Y), ArrayRows(X_u)
        equations = equations_of([labeled.rows, rows], alpha=0.0, fit_intercept=True)
        family = LeastSquaresFamily(equations, labeled, equations.design(rows))
        not_used = np.zeros((d, *Y.shape[1:])), np.zeros(Y.shape[1:])
        problem = next(implicit_problems(family, 0.0, not_used, ["labeled"], labels))
        solution = solve_problem(problem, solver="auto", tol=1e-8, max_iter=10_000)
        moment = family.unlabeled.weighted_sum(solution.labels)
        proof = problem.judge(solution.labels, solution.dual, 1e-8, moment)
        assert proof.gap <= GAP
        coef, _ = family.equations.decode(family.gamma_of(moment))
        coefficients[name] = coef if coef.ndim == 1 else coef[:, 1]

    one, two = cpu_times(
        [
            lambda: solve("two", None, y.astype(float)),
            lambda: solve("several", Simplex(2), np.eye(2)[y]),
        ],
        10 * repeats,
    ).min(axis=0)
    difference = float(np.abs(coefficients["two"] - coefficients["several"]).max())
    print(
        f"\nTwo classes, U = {U}, d = {d}: {one:.3f} s, as several {two:.3f} s, ratio "
        f"{two / one:.2f} (at most {TWO_AS_SEVERAL}), largest difference in a coefficient "
        f"{difference:.0e} (at most {GAP:.0e})"
    )
    return bool(two <= TWO_AS_SEVERAL * one and difference <= GAP)


def part(k):
    return gaussian_classes(100 + k, ROWS_PER_FILE, FEATURES, CLASSES, SEPARATION)[0]


def write_rows(folder, n_files):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for k in range(n_files):
        X = part(k)
        table = pa.table({f"x{j:02d}": X[:, j] for j in range(FEATURES)})
        pq.write_table(table, folder / f"part-{k:04d}.parquet")


def rows_in_memory(folder, n_files):
    X = np.empty((n_files * ROWS_PER_FILE, FEATURES))
    for k in range(n_files):
        X[k * ROWS_PER_FILE : (k + 1) * ROWS_PER_FILE] = part(k)
    return X


FITS = {"memory": rows_in_memory, "parquet": lambda folder, n_files: folder}


def fit(kind, folder, n_files):
    """Fit in this process and say what it took."""
    from primum import ICLSClassifier

    X, y = gaussian_classes(1, LABELED, FEATURES, CLASSES, SEPARATION)
    rows = FITS[kind](folder, n_files)
    start = time.perf_counter()
    clf = ICLSClassifier().fit(X, y, X_unlabeled=rows)
    proof = clf.certificate_
    return {
        "seconds": time.perf_counter() - start,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "passes": proof.passes,
        "gap": proof.gap,
        "converged": proof.converged,
        "coef": clf.coef_.tolist(),
    }


def work(kind, folder, rows):
    """Run a worker and return what it printed."""
    command = [sys.executable, __file__, "--worker", kind, "--folder", folder, "--rows", str(rows)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def many_rows(folder, rows):
    """Fit in memory and from files, print what it took, and return whether all is as it should."""
    found = []
    for kind, times in (("memory", 1), ("parquet", 1), ("parquet", 2)):
        if kind == "parquet":
            work("write", folder, times * rows)
        row = json.loads(work(kind, folder, times * rows))
        print(
            f"{times * rows:.0e} rows, {kind:8}{row['seconds']:7.1f} s {row['peak']:7.0f} MB at "
            f"most, {row['passes']} passes, gap {row['gap']:.0e}, converged {row['converged']}",
            flush=True,
        )
        found.append(row)
    memory, once, twice = found
    difference = float(np.abs(np.array(memory["coef"]) - np.array(once["coef"])).max())
    growth = twice["peak"] / once["peak"]
    print(
        f"largest difference in a coefficient {difference:.0e}; peak memory of twice as many rows "
        f"{growth:.2f} times as large (at most {MORE_MEMORY})"
    )
    certified = all(row["converged"] for row in found)
    return certified and difference <= 1e-6 and growth <= MORE_MEMORY


if __name__ == "__main__":
    main()
