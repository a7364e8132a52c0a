"""What a prior on the class shares does to the error, on Gaussian classes of unequal shares.

Each row is a mean over draws of means, rows and labels: the error on the unlabelled rows of the
supervised twin and of ICLS without a prior, with the true shares, with the shares of the labelled
rows as if they were exact, and with prediction intervals for them.
"""

import argparse

import numpy as np
from joblib import parallel_config
from threadpoolctl import threadpool_limits

from primum import ICLSClassifier

LABELED, UNLABELED, FEATURES, CLASSES, SEPARATION = 80, 2000, 20, 5, 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="draws (20)")
    options = parser.parse_args()
    with threadpool_limits(1), parallel_config(n_jobs=1):
        errors = np.array([draw(seed) for seed in range(options.draws)])
    names = ("supervised", "no prior", "true shares", "labelled shares", "confidence")
    against_none = errors - errors[:, 1:2]
    for name, error, change in zip(names, errors.T, against_none.T, strict=True):
        se = change.std(ddof=1) / len(change) ** 0.5
        print(
            f"{name:16} error {error.mean():.4f}  against no prior {change.mean():+.4f} +- {se:.4f}"
        )


def draw(seed):
    """Return the errors of one draw."""
    rng = np.random.default_rng(seed)
    means = SEPARATION * rng.normal(size=(CLASSES, FEATURES))
    share = rng.dirichlet(np.full(CLASSES, 5.0))
    y = rng.choice(CLASSES, LABELED + UNLABELED, p=share)
    y[:CLASSES] = np.arange(CLASSES)
    X = means[y] + rng.normal(size=(len(y), FEATURES))
    known, truth = y[:LABELED], y[LABELED:]
    true, labelled = (np.bincount(part, minlength=CLASSES) / len(part) for part in (truth, known))
    fits = [
        ICLSClassifier(prior=prior).fit(X[:LABELED], known, X[LABELED:])
        for prior in (None, true, labelled, "confidence")
    ]
    models = [fits[0].supervised_, *fits]
    return [np.mean(model.predict(X[LABELED:]) != truth) for model in models]


if __name__ == "__main__":
    main()
