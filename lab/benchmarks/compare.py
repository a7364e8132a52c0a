"""What a comparison costs, as a multiple of one fit of SafeClassifier on the same prepared rows.

The default comparison, on tables with numbers and a category; CPU seconds in one process, because
the machine may be shared. With ``--budgets``, wall-clock seconds of comparisons with a budget of
time instead, which need a quiet machine.
"""

import argparse
import time

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

import primum
from primum import SafeClassifier
from primum.tables.problem import table_problem

TARGET = "class"


def gaussian(n_labeled, n_unlabeled, n_columns, seed=0):
    """Return a table of two Gaussian classes, with a category."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_labeled + n_unlabeled)
    X = rng.normal(size=(len(truth), n_columns - 1)) + 0.4 * truth[:, None]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_columns - 1)])
    frame["colour"] = rng.choice(["red", "green", "blue"], len(truth))
    known = np.arange(len(truth)) < n_labeled
    return frame.assign(**{TARGET: np.where(known, np.array(["a", "b"])[truth], "")})


def digits(n_labeled, seed=0):
    """Return the digits, with as many labels of each class."""
    X, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(truth))
    known = np.concatenate([order[truth[order] == k][: n_labeled // 10] for k in range(10)])
    labels = np.full(len(truth), "", dtype=object)
    labels[known] = [f"digit {k}" for k in truth[known]]
    return pd.DataFrame(X, columns=[f"p{j}" for j in range(64)]).assign(**{TARGET: labels})


TABLES = {
    "40 + 2000 x 10": lambda: gaussian(40, 2000, 10),
    "100 + 1000 x 30": lambda: gaussian(100, 1000, 30),
    "digits, 50 labels": lambda: digits(50),
}


def cpu_seconds(work):
    """Return the CPU time of a function, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def measure_cost(name, frame):
    """Print the time of a comparison as a multiple of a fit of SafeClassifier."""
    problem = table_problem(frame, TARGET)
    X = problem.transformer.fit_transform(problem.X)
    fit, _ = cpu_seconds(lambda: SafeClassifier(random_state=0).fit(X, problem.labels))
    whole, result = cpu_seconds(lambda: primum.compare(frame, target=TARGET, verbose=False))
    print(
        f"{name:20s} SafeClassifier {fit:6.1f} s, comparison {whole:6.1f} s, ratio "
        f"{whole / fit:.1f}; {result.recommended}",
        flush=True,
    )


def measure_budget(name, frame, seconds):
    """Print how long a comparison with a budget takes."""
    start = time.monotonic()
    result = primum.compare(frame, target=TARGET, time_budget=seconds, verbose=False)
    used = time.monotonic() - start
    print(
        f"{name:20s} budget {seconds:4.0f} s, used {used:6.1f} s ({100 * used / seconds:.0f}%); "
        f"{len(result.left_out)} things left out",
        flush=True,
    )


def main():
    """Measure all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", type=float, nargs="+", help="seconds, for example 10 20 60")
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    options = parser.parse_args()
    with threadpool_limits(1):
        for name in options.tables:
            frame = TABLES[name]()
            for seconds in options.budgets or ():
                measure_budget(name, frame, seconds)
            if not options.budgets:
                measure_cost(name, frame)


if __name__ == "__main__":
    main()
