"""Unlabelled rows on a Dask cluster: here, two worker processes on this machine.

The workers generate the rows, block by block, and keep them; only small summaries are transferred.
With a ``Client`` of a larger cluster the rest stays the same.
"""

import argparse

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

from primum import ICLSClassifier

FEATURES = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="unlabelled rows (2000000)")
    options = parser.parse_args()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster),
    ):
        fit(options.rows)


def fit(n_rows):
    # Two overlapping classes; the labels of the unlabelled rows are never used.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 15)
    X = rng.normal(size=(30, FEATURES)) + y[:, None]
    lazy = da.random.default_rng(1)
    shape, chunks = (n_rows, FEATURES), (max(1, n_rows // 8), FEATURES)
    second = lazy.integers(0, 2, size=(n_rows, 1), chunks=(chunks[0], 1))
    rows = lazy.normal(size=shape, chunks=chunks) + second
    rows = rows.persist()  # keep them in memory; otherwise every pass generates them again

    clf = ICLSClassifier().fit(X, y, X_unlabeled=rows)
    print(clf.certificate_)
    share = (clf.predict(rows) == 1).mean()  # lazy
    print(f"predicted as the second class: {share.compute():.3f} of {n_rows} rows")


if __name__ == "__main__":
    main()
