"""What the safe choice costs, as a multiple of LogisticRegressionCV on the labelled rows.

Processor seconds of one thread, because the machine may be shared. LogisticRegressionCV has its
default settings, and takes the least of several turns. The features of breast cancer are
standardised, and those of the others as they are; SafeClassifier gives the same either way, but
LogisticRegressionCV needs more steps without. Whatever is imported at a first fit is imported
before.
"""

import argparse
import resource
import time
import warnings

import numpy as np
import pandas as pd
from measurements import SAFE_BARS
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.preprocessing import StandardScaler
from timing import cpu_times

import primum
from primum import SafeClassifier


def partly_known(truth, n_labeled, seed=0):
    """Return the labels of some rows, at least three of every class; those of others are -1."""
    order = np.random.default_rng(seed).permutation(len(truth))
    first = np.concatenate([order[truth[order] == code][:3] for code in np.unique(truth)])
    rest = order[~np.isin(order, first)][: n_labeled - len(first)]
    y = np.full(len(truth), -1)
    known = np.concatenate([first, rest])
    y[known] = truth[known]
    return y


def breast_cancer():
    X, truth = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), partly_known(truth, 40)


def digits():
    X, truth = load_digits(return_X_y=True)
    return X, partly_known(truth, 50)


def simulated(n_rows, n_columns, n_labeled, n_classes=2):
    """Return rows of which a tenth of the columns, at least eight, tell the classes apart."""
    informative = max(8, n_columns // 10)
    X, truth = make_classification(
        n_rows, n_columns, n_informative=informative, n_classes=n_classes, random_state=0
    )
    return X, partly_known(truth, n_labeled)


def documents(n_rows=4000, n_words=3000, n_classes=3, n_labeled=150, seed=0):
    """Return TF-IDF of short texts: 15 words, of which classes prefer different rare ones."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_rows)
    usual = 1.0 / (10 + np.arange(n_words))
    of_class = usual * rng.gamma(1.0, size=(n_classes, n_words))
    counts = np.empty((n_rows, n_words))
    for code in range(n_classes):
        own = truth == code
        counts[own] = rng.multinomial(15, of_class[code] / of_class[code].sum(), own.sum())
    X = TfidfTransformer().fit_transform(sparse.csr_matrix(counts))
    return X, partly_known(truth, n_labeled)


PROBLEMS = {
    "breast cancer, 40 of 569 x 30": breast_cancer,
    "simulated, 200 of 4 200 x 30": lambda: simulated(4200, 30, 200),
    "digits, 50 of 1 797 x 64, ten classes": digits,
    "simulated, 150 of 3 000 x 150, three classes": lambda: simulated(3000, 150, 150, 3),
}
MOST_VALUES = 2e8
ROWS = (10**3, 10**4, 10**5, 10**6)
COLUMNS = (10, 30, 100, 300, 1000, 2000)
CLASSES = (2, 3, 5, 10, 20)
LABELS = (100, 300, 1000, 3000, 10_000)


def reference_and_fit(X, y, repeats=1):
    """Return the least times of LogisticRegressionCV on the labelled rows and SafeClassifier."""
    known, clf = y >= 0, SafeClassifier(random_state=0)
    rows, labels = X[known], y[known]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LogisticRegressionCV stops after 100 steps
        reference = cpu_times([lambda: LogisticRegressionCV().fit(rows, labels)], 5).min()
        return reference, cpu_times([lambda: clf.fit(X, y)], repeats).min()


def import_everything():
    """Fit once, so that no import is timed."""
    SafeClassifier(random_state=0).fit(*breast_cancer())


def sparse_and_dense():
    """Return the times of a fit to sparse rows, and to their first 200 singular vectors."""
    X, y = documents()
    dense = TruncatedSVD(200, random_state=0).fit_transform(X)
    return reference_and_fit(X, y)[1], reference_and_fit(dense, y)[1]


def comparison_and_fit(X, y):
    """Return the times of a comparison of the safe stack alone, and of a fit."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame["class"] = [f"class {code}" if code >= 0 else "" for code in y]

    def compare():
        primum.compare(
            frame, target="class", methods=["safe stack"], curves=False, verbose=False,
            random_state=0,
        )  # fmt: skip

    clf = SafeClassifier(random_state=0)
    return cpu_times([compare, lambda: clf.fit(X, y)], 1)[0]


def table(*header):
    print(f"\n| {' | '.join(header)} |\n{'| --- ' * len(header)}|", flush=True)


def line(*cells):
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def problems():
    """Print the cost of the problems that have a target."""
    table("problem", "`LogisticRegressionCV`", "`SafeClassifier`", "times", "target")
    for name, make in PROBLEMS.items():
        reference, seconds = reference_and_fit(*make(), repeats=2)
        times = seconds / reference
        line(name, f"{reference:.3f} s", f"{seconds:.2f} s", f"{times:.0f}", SAFE_BARS[name])


def others():
    """Print the cost of sparse rows and of comparisons."""
    table("problem", "seconds", "against", "seconds", "times", "target")
    given, reduced = sparse_and_dense()
    found = [
        ("sparse TF-IDF, 150 of 4 000 x 3 000, three classes", given, "200 components", reduced)
    ]
    for name, make in PROBLEMS.items():
        whole, fit = comparison_and_fit(*make())
        found.append((f"comparison, {name}", whole, "one fit", fit))
    for name, seconds, against, least in found:
        line(name, f"{seconds:.1f}", against, f"{least:.1f}", f"{seconds / least:.1f}", 2)


def growth(most_seconds):
    """Print the cost of more rows, columns, classes and labels, while the sum is below a limit."""
    table("unlabelled rows", "columns", "classes", "labels", "seconds", "peak memory, GB")
    sizes = [(n_rows, 30, 2, 200) for n_rows in ROWS]
    sizes += [(4000, n_columns, 2, 200) for n_columns in COLUMNS]
    sizes += [(4000, 30, n_classes, 200) for n_classes in CLASSES]
    sizes += [(10_000, 30, n_classes, n_labeled) for n_classes in (2, 10) for n_labeled in LABELS]
    start = time.process_time()
    for n_rows, n_columns, n_classes, n_labeled in sizes:
        if n_rows * n_columns > MOST_VALUES or time.process_time() - start > most_seconds:
            continue
        X, y = simulated(n_rows + n_labeled, n_columns, n_labeled, n_classes)
        clf = SafeClassifier(random_state=0)
        seconds = cpu_times([lambda X=X, y=y, clf=clf: clf.fit(X, y)], 1).min()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        line(f"{n_rows:,}", n_columns, n_classes, n_labeled, f"{seconds:.1f}", f"{peak:.2f}")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=["problems", "others", "growth"])
    parser.add_argument("--most-seconds", type=float, default=600, help="of the growth table")
    options = parser.parse_args()
    import_everything()
    for name, work in (("problems", problems), ("others", others)):
        if options.only is None or name in options.only:
            work()
    if options.only is None or "growth" in options.only:
        growth(options.most_seconds)


if __name__ == "__main__":
    main()
