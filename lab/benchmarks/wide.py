"""What ICLSClassifierCV takes for sparse texts, and whether its search needs all rows.

Processor seconds of one thread. Every fit has 150 labels, and its final model is proven. With
--samples, the search is repeated with other numbers of unlabelled rows: what it chooses, and the
error of the chosen model on the unlabelled rows.

    python lab/benchmarks/wide.py [--only NAME ...] [--samples 250 1000]
"""

import argparse
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from text import counted
from threadpoolctl import threadpool_limits

from primum import ICLSClassifierCV
from safe import documents, partly_known


def zipf(n_documents=4000, seed=0):
    """Return TF-IDF and topics of texts of 80 of 10 000 words with the frequencies of Zipf."""
    counts, truth, _ = counted(np.random.default_rng(seed), n_documents)
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), truth


def short(n_words, n_classes, seed=0):
    """Return TF-IDF and classes of short texts."""
    X, _ = documents(n_words=n_words, n_classes=n_classes, seed=seed)
    return X, np.random.default_rng(seed).integers(0, n_classes, 4000)


PROBLEMS = {
    "3 000 words, 3 classes": lambda seed: short(3000, 3, seed),
    "3 000 words, 2 classes": lambda seed: short(3000, 2, seed),
    "20 000 words, 3 classes": lambda seed: short(20_000, 3, seed),
    "20 000 words, 2 classes": lambda seed: short(20_000, 2, seed),
    "10 000 words of Zipf, 2 classes": lambda seed: zipf(seed=seed),
}


class Timed(ICLSClassifierCV):
    """ICLSClassifierCV that remembers how long its search took."""

    def fit(self, *arguments):  # noqa: D102
        self._started = time.process_time()
        return super().fit(*arguments)

    def _fit_best(self, *arguments, **rest):
        self.search_seconds_ = time.process_time() - self._started
        return super()._fit_best(*arguments, **rest)


def line(name, X, truth, seed, most_rows):
    """Fit, and print one line of the table."""
    y = partly_known(truth, 150, seed)
    start = time.process_time()
    clf = Timed(max_search_rows=most_rows).fit(X, y)
    seconds, known = time.process_time() - start, y >= 0
    errors = [np.mean(one.predict(X[~known]) != truth[~known]) for one in (clf, clf.supervised_)]
    cells = (
        name,
        seed,
        most_rows,
        f"{clf.search_seconds_:.1f}",
        f"{seconds - clf.search_seconds_:.1f}",
        f"{clf.alpha_:g}, {clf.metric_:g}",
        f"{clf.certificate_.gap:.0e}",
        *(f"{100 * error:.1f}" for error in errors),
    )
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument(
        "--samples", nargs="*", type=int, default=[], help="further numbers of rows"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    options = parser.parse_args()
    header = "texts", "seed", "rows", "search, s", "fit, s", "chosen", "gap", "error, %", "twin"
    print(f"| {' | '.join(header)} |\n{'| --- ' * len(header)}|", flush=True)
    with threadpool_limits(1):
        for name in options.only:
            for seed in options.seeds:
                X, truth = PROBLEMS[name](seed)
                for most_rows in (500, *options.samples):
                    line(name, X, truth, seed, most_rows)


if __name__ == "__main__":
    main()
