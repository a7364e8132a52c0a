"""The rows that settle a SafeClassifier, found in a Parquet file without loading it.

Writes the file, fits to a few labels and a sample of its rows, and asks the stored model for rows
to label in a process of its own: the growth of its peak memory, and the time, by number of rows.
With ``--memory`` the same rows are given as one array, for comparison.
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

MEMORY_LIMIT = 200  # MB
ROWS_PER_GROUP = 10**5
N_LABELED, N_SAMPLE, N_FEATURES = 60, 2000, 20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e6, help="unlabelled rows (1e6)")
    parser.add_argument("--memory", action="store_true", help="load the rows first")
    parser.add_argument("--worker", choices=["write", "ask"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker == "write":
        write(options.folder, int(options.rows))
    elif options.worker == "ask":
        print(json.dumps(ask(options.folder, options.memory)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            sys.exit(report(folder, options))


def report(folder, options):
    """Print the figures; return 1 if the memory grew by more than the limit."""
    run("write", folder, options)
    found = json.loads(run("ask", folder, options).splitlines()[-1])
    print(
        f"{found['n_rows']:,} rows of {N_FEATURES} columns ({found['file_mb']:.0f} MB in the file, "
        f"{8 * N_FEATURES * found['n_rows'] / 2**20:.0f} MB as an array): the stacks differ on "
        f"{found['n_different']} rows; found in {found['seconds']:.1f} s "
        f"({found['cpu']:.1f} s of processor time), peak memory {found['before']:.0f} MB before "
        f"and {found['after']:.0f} MB after."
    )
    grown = found["after"] - found["before"]
    print(f"Grown by {grown:.0f} MB (limit {MEMORY_LIMIT} MB).")
    return int(grown > MEMORY_LIMIT and not options.memory)


def run(worker, folder, options):
    command = [sys.executable, __file__, "--worker", worker, "--folder", folder]
    command += ["--rows", str(options.rows), *(["--memory"] if options.memory else [])]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def rows_of(seed, n):
    """Return rows of two classes, a cluster and a ring around it, among columns of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = 0.3 * rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    X[:, 0] += 1.5 * y * np.cos(angle)
    X[:, 1] += 1.5 * y * np.sin(angle)
    return X, y


def write(folder, n_rows):
    """Write the rows and the model."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import primum

    names = [f"x{j}" for j in range(N_FEATURES)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    with pq.ParquetWriter(folder / "rows.parquet", schema) as writer:
        for start in range(0, n_rows, ROWS_PER_GROUP):
            X, _ = rows_of(1 + start, min(ROWS_PER_GROUP, n_rows - start))
            writer.write_table(pa.table(list(X.T), schema=schema))
    X, y = rows_of(0, N_LABELED + N_SAMPLE)
    y[N_LABELED:] = -1
    primum.save(primum.SafeClassifier(random_state=0).fit(X, y), folder / "model.skops")


def ask(folder, in_memory):
    """Return what it takes to ask for rows."""
    import pandas as pd
    import pyarrow.parquet as pq

    import primum

    model, path = primum.load(folder / "model.skops"), folder / "rows.parquet"
    model.rows_to_label(rows_of(0, 100)[0])  # imports what is imported when first needed
    before, start, cpu = peak(), time.perf_counter(), time.process_time()
    rows = pd.read_parquet(path).to_numpy() if in_memory else path
    model.rows_to_label(rows)
    pairs = [question.pair for question in model.settle({}, verbose=False).questions]
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "before": before,
        "after": peak(),
        "n_rows": pq.read_metadata(path).num_rows,
        "n_different": " and ".join(f"{pair.n_different:,}" for pair in pairs),
        "file_mb": path.stat().st_size / 2**20,
    }


def peak():
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


if __name__ == "__main__":
    main()
