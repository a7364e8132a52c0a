"""ICLS on a Parquet folder that is larger than the memory it may use, against the fit in memory.

Writes the folder, fits to it and to the same rows in memory, each in a separate process, and
compares peak memory, time, passes, gap and coefficients. The folder is removed at the end.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MEMORY_LIMIT = 600  # MB
SAME_COEFFICIENTS = 1e-6
ROWS_PER_FILE = 10**6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=2e7, help="unlabelled rows (2e7)")
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--labeled", type=int, default=25)
    parser.add_argument("--worker", choices=[*FITS, "read", "write"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=None, help="where to write the rows")
    options = parser.parse_args()
    n_files = max(1, round(options.rows / ROWS_PER_FILE))
    if options.worker == "write":
        write_rows(options.folder, n_files, options.features)
    elif options.worker == "read":
        print(json.dumps(read_rows(options.folder)))
    elif options.worker:
        print(json.dumps(fit(options.worker, options.folder, options.labeled, options.features)))
    else:
        check_room(options.folder, 6 * n_files * ROWS_PER_FILE * options.features)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            sys.exit(compare(folder, options))


def check_room(folder, wanted):
    place = folder or tempfile.gettempdir()
    if (free := shutil.disk_usage(place).free) < wanted:
        sys.exit(f"{place} has {free >> 20} MB free, and {wanted >> 20} MB are needed.")


def rows_of(seed, n, d):
    """Rows of two overlapping classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, 0] += y
    return X, y


def write_rows(folder, n_files, d):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for k in range(n_files):
        X, _ = rows_of(k + 1, ROWS_PER_FILE, d)
        table = pa.table({f"x{j}": X[:, j] for j in range(d)})
        pq.write_table(table, folder / f"part-{k:04d}.parquet")


def read_rows(folder, repeats=5):
    """Return the mean times of reading all files once, batch by batch, on one thread."""
    import pyarrow.parquet as pq

    start, cpu = time.perf_counter(), time.process_time()
    for path in repeats * sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for _batch in file.iter_batches(use_threads=False):
                pass
    return {
        "seconds": (time.perf_counter() - start) / repeats,
        "cpu": (time.process_time() - cpu) / repeats,
    }


def rows_in_memory(folder):
    """Return all rows as one array."""
    import pyarrow.parquet as pq

    paths = sorted(folder.glob("*.parquet"))
    schema = pq.read_schema(paths[0])
    X = np.empty((len(paths) * ROWS_PER_FILE, len(schema)), dtype=np.float32)
    for k, path in enumerate(paths):
        table = pq.read_table(path)
        for j, column in enumerate(table.columns):
            X[k * ROWS_PER_FILE : (k + 1) * ROWS_PER_FILE, j] = column.to_numpy()
    return X


FITS = {"parquet": lambda folder: folder, "memory": rows_in_memory}


def fit(kind, folder, n_labeled, d):
    """Fit in this process and say what it took."""
    from primum import ICLSClassifier

    X, y = rows_of(0, n_labeled, d)
    rows = FITS[kind](folder)
    start, cpu = time.perf_counter(), time.process_time()
    clf = ICLSClassifier().fit(X, y, X_unlabeled=rows)
    proof = clf.certificate_
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "passes": proof.passes,
        "gap": proof.gap,
        "converged": proof.converged,
        "moved": proof.moved,
        "coef": [*clf.coef_[0], float(clf.intercept_[0])],
    }


def work(kind, folder, options):
    """Run a worker and return what it printed.

    This process must stay small: a child's peak memory begins with that of its parent.
    """
    command = [sys.executable, __file__, "--worker", kind, "--folder", folder]
    for name in ("rows", "labeled", "features"):
        command += [f"--{name}", str(getattr(options, name))]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def compare(folder, options):
    """Fit both ways, print the table and return the exit code."""
    start = time.perf_counter()
    work("write", folder, options)
    size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e9
    print(f"wrote {size:.2f} GB in {time.perf_counter() - start:.0f} s")
    found = {}
    for kind in FITS:
        found[kind] = row = json.loads(work(kind, folder, options))
        print(
            f"{kind:8}{row['seconds']:8.1f} s {row['peak']:7.0f} MB at most "
            f"{row['passes']:4d} passes, gap {row['gap']:.1e}, "
            f"converged {row['converged']}, moved {row['moved']}"
        )
    ours, theirs = (np.array(found[kind]["coef"]) for kind in ("parquet", "memory"))
    difference = float(np.abs(ours - theirs).max())
    light = found["parquet"]["peak"] <= MEMORY_LIMIT
    print(
        f"largest difference in a coefficient: {difference:.1e} (at most {SAME_COEFFICIENTS:.0e})"
    )
    print(f"peak memory within {MEMORY_LIMIT} MB: {light}")
    return int(not light or difference > SAME_COEFFICIENTS)


if __name__ == "__main__":
    main()
