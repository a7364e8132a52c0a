"""Sparse text: what the unlabelled documents gain, against the twin and logistic regression.

Documents of two topics are drawn from a vocabulary with Zipf's distribution of frequencies; most
words say little about the topic. Features are TF-IDF. The table gives test errors in percent, as
means over splits, and the median time of a fit.

The same documents as text, in a table with some labels, go through ``compare``: in how many draws
of 40 labels its verdict credits the unlabelled rows, and in how many if the labels are drawn at
random, where it must not. Finally a larger corpus is turned into features.

    python lab/benchmarks/text.py [errors | entropy | verdicts | size] ...
"""

import resource
import sys
import time

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline

from primum import EntropyLogisticClassifier, ICLSClassifier, LeastSquaresClassifier, compare
from primum_lab.as_published import PublishedICLS

N_DOCUMENTS, N_WORDS, LENGTH = 5000, 10_000, 80
SPLITS, N_TEST = 10, 1000


def documents(rng):
    """Return TF-IDF rows and topics of random documents."""
    counts, topics, _ = counted(rng, N_DOCUMENTS)
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), topics


def counted(rng, n_documents, share=0.3, strength=1.2):
    """Return the counts of words in random documents, their topics, and their words in order.

    That share of the words is more frequent in one of the topics, the more so the strength.
    """
    frequency = 1.0 / np.arange(1, N_WORDS + 1)
    tilt = np.exp(strength * rng.normal(size=N_WORDS) * (rng.uniform(size=N_WORDS) < share))
    topics = rng.integers(0, 2, n_documents)
    chances = np.stack([frequency, frequency * tilt])
    chances /= chances.sum(axis=1, keepdims=True)
    lengths = rng.poisson(LENGTH, n_documents) + 1
    words = [rng.choice(N_WORDS, n, p=chances[t]) for n, t in zip(lengths, topics, strict=True)]
    counts = sparse.csr_array(
        (np.ones(lengths.sum()), np.concatenate(words), np.r_[0, lengths.cumsum()]),
        shape=(n_documents, N_WORDS),
    )
    counts.sum_duplicates()
    return counts, topics, words


def texts(words):
    """Return documents as text: every word is made of three syllables."""
    syllables = np.array([a + b for a in "bdfgklmnprst" for b in "aeiou"])
    digits = np.arange(N_WORDS)[:, None] // np.array([1, 60, 3600]) % 60
    spelt = np.array(["".join(row) for row in syllables[digits]])
    return [" ".join(spelt[document]) for document in words]


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


def verdicts(n_draws=10, n_labeled=40):
    """Print what ``compare`` says of the safe stack and its supervised twin, draw by draw.

    Every word says a little about the topic, so that a tuned baseline with 40 labels is as bad as
    the twin in the table above.
    """
    rng = np.random.default_rng(0)
    _, topics, words = counted(rng, N_DOCUMENTS, share=1.0, strength=0.6)
    names, cells = np.array(["a", "b"])[topics], np.array(texts(words), dtype=object)
    for kind in ("topics", "labels at random"):
        answers = []
        for draw in range(n_draws):
            order = rng.permutation(N_DOCUMENTS)
            truth = names if kind == "topics" else rng.permutation(names)
            answers.append(verdict(cells[order], truth[order], n_labeled, draw))
            print(f"  {kind}, draw {draw}: {answers[-1]}", flush=True)
        helped = [sum(answer.split()[k] == "help" for answer in answers) for k in (0, 1)]
        print(f"{kind}: help is claimed in {helped[0]} of {n_draws} draws, and credited to", end="")
        print(f" unlabelled rows in {helped[1]}", flush=True)


def verdict(cells, truth, n_labeled, seed):
    """Return the answers, against the baseline and the supervised twin, and test errors."""
    known = np.where(np.arange(len(cells)) < n_labeled, truth, None)
    table, start = pd.DataFrame({"text": cells, "topic": known}), time.process_time()
    settings = {"n_repeats": 1, "curves": False, "verbose": False, "random_state": seed}
    result = compare(table[:-N_TEST], target="topic", methods=["safe stack"], **settings)
    seconds, stack = time.process_time() - start, result.methods[-1]
    fitted = result.fit("safe stack")
    X, clf = fitted[:-1].transform(table[-N_TEST:]), fitted[-1]
    wrong = [
        np.mean(model.predict(X) != truth[-N_TEST:])
        for model in (clf.baseline_, clf.supervised_, clf)
    ]
    errors = ", ".join(f"{100 * share:.1f}%" for share in wrong)
    return (
        f"{stack.verdict.answer} {stack.twin.answer} ({stack.twin.probabilities.help:.3f}); "
        f"baseline, supervised stack, stack: {errors}; {seconds:.0f} s"
    )


def size(n_documents=200_000, n_labeled=200):
    """Print the time and the memory that many documents take from a table to components."""
    from primum.tables.preparation import steps_after
    from primum.tables.problem import table_problem

    rng = np.random.default_rng(0)
    _, topics, words = counted(rng, n_documents)
    table = pd.DataFrame({"text": texts(words)})
    del words
    names = np.array(["a", "b"])[topics]
    table["topic"] = np.where(np.arange(n_documents) < n_labeled, names, None)
    before, start = _peak(), time.perf_counter()
    problem = table_problem(table, "topic", independent_rows=True)
    read = time.perf_counter() - start
    X = problem.transformer.fit(problem.X).transform(problem.X)
    made = time.perf_counter() - start
    (step,) = steps_after(problem.transformer, uses_unlabeled=True)
    rows = step.fit(X).transform(X)
    reduced = time.perf_counter() - start
    print(f"{n_documents} documents, {X.shape[1]} terms, {X.nnz / n_documents:.0f} in a document:")
    print(f"  words counted {read:.0f} s, features {made - read:.0f} s, ", end="")
    print(f"{rows.shape[1]} components {reduced - made:.0f} s; ", end="")
    print(f"memory {before:.1f} GB before, {_peak():.1f} GB at most")


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    asked = sys.argv[1:] or ["errors", "entropy", "verdicts", "size"]
    for part in asked:
        {"errors": main, "entropy": entropy, "verdicts": verdicts, "size": size}[part]()
