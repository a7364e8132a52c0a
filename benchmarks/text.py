"""Sparse text: what the unlabelled documents gain, against the twin and logistic regression.

Documents of two topics are drawn from a vocabulary with Zipf's distribution of frequencies; most
words say little about the topic. Features are TF-IDF. The table gives test errors in percent, as
means over splits, and the median time of a fit.
"""

import time

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline

from primum import EntropyLogisticClassifier, ICLSClassifier, LeastSquaresClassifier
from primum.experiments.as_published import PublishedICLS

N_DOCUMENTS, N_WORDS, LENGTH = 5000, 10_000, 80
SPLITS, N_TEST = 10, 1000


def documents(rng):
    """Return TF-IDF rows and topics of random documents."""
    frequency = 1.0 / np.arange(1, N_WORDS + 1)
    tilt = np.exp(1.2 * rng.normal(size=N_WORDS) * (rng.uniform(size=N_WORDS) < 0.3))
    topics = rng.integers(0, 2, N_DOCUMENTS)
    chances = np.stack([frequency, frequency * tilt])
    chances /= chances.sum(axis=1, keepdims=True)
    lengths = rng.poisson(LENGTH, N_DOCUMENTS) + 1
    words = [rng.choice(N_WORDS, n, p=chances[t]) for n, t in zip(lengths, topics, strict=True)]
    counts = sparse.csr_array(
        (np.ones(lengths.sum()), np.concatenate(words), np.r_[0, lengths.cumsum()]),
        shape=(N_DOCUMENTS, N_WORDS),
    )
    counts.sum_duplicates()
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), topics


def contenders():
    """Return {name: (estimator, whether it sees unlabelled rows)}."""

    def reduced(model):
        return make_pipeline(TruncatedSVD(200, random_state=0), model)

    half = PublishedICLS(1e-3, alpha_labeled=0, rcond=None)
    return {
        "least squares (twin), ridge 1e-3": (LeastSquaresClassifier(1e-3), False),
        "ICLS, alpha_labeled=0, tie_break='half'": (half, True),
        "SVD(200), least squares, ridge 1e-3": (reduced(LeastSquaresClassifier(1e-3)), True),
        "SVD(200), ICLS, ridge 1e-3": (reduced(ICLSClassifier(1e-3)), True),
        "SVD(200), ICLS, ridge 1e-3, metric=0.1": (reduced(ICLSClassifier(1e-3, metric=0.1)), True),
        "logistic regression, tuned": (
            LogisticRegressionCV(Cs=10, cv=5, max_iter=2000, scoring="neg_log_loss"),
            False,
        ),
    }


def main():
    """Print the table for several numbers of labels."""
    rng = np.random.default_rng(0)
    X, topics = documents(rng)
    for n_labeled in (40, 100):
        errors, seconds = {}, {}
        for _ in range(SPLITS):
            order = rng.permutation(N_DOCUMENTS)
            train, test = order[:-N_TEST], order[-N_TEST:]
            y = np.where(np.arange(len(train)) < n_labeled, topics[train], -1)
            for name, (model, sees_all) in contenders().items():
                used = slice(None) if sees_all else slice(n_labeled)
                start = time.perf_counter()
                model.fit(X[train[used]], y[used])
                seconds.setdefault(name, []).append(time.perf_counter() - start)
                error = np.mean(model.predict(X[test]) != topics[test])
                errors.setdefault(name, []).append(100 * error)
        print(f"\n{n_labeled} labelled, {len(train) - n_labeled} unlabelled, {N_WORDS} words")
        for name, values in errors.items():
            spread = np.std(values) / SPLITS**0.5
            print(
                f"  {name:42s} {np.mean(values):5.1f} +- {spread:.1f}%"
                f"  {np.median(seconds[name]):7.2f} s"
            )


def entropy(n_labeled=30):
    """Print the errors of entropy-regularised logistic regression and its twin, for few labels."""
    rng = np.random.default_rng(0)
    X, topics = documents(rng)
    found = []
    for _ in range(SPLITS):
        order = rng.permutation(N_DOCUMENTS)
        train, test = order[:-N_TEST], order[-N_TEST:]
        y = np.where(np.arange(len(train)) < n_labeled, topics[train], -1)
        clf = EntropyLogisticClassifier(alpha=1e-3).fit(X[train], y)
        predicted = [model.predict(X[test]) for model in (clf.supervised_, clf)]
        one_class = [len(np.unique(classes)) == 1 for classes in predicted]
        found.append([*(np.mean(classes != topics[test]) for classes in predicted), *one_class])
    twin, error, *single = np.mean(found, axis=0)
    print(f"\n{n_labeled} labelled: logistic regression {twin:.3f}, with entropy {error:.3f};")
    print(f"  a single topic is predicted in {single[0]:.0%} and {single[1]:.0%} of the splits")


if __name__ == "__main__":
    main()
    entropy()
