"""The safe choice with unlabelled rows in a Parquet folder: time and peak memory.

Writes the folder, and then measures in a process each: one pass over the rows (their moments), the
fit to a sample of them in memory, the fit from the folder, its predictions for one file, and the
fit on a Dask cluster of two workers, one of which is killed (the CPU time and memory are those of
the client). The fit from the folder should take at most three times one pass plus the fit to the
sample, and 2 GB. CPU seconds of one thread, because the machine may be shared. The folder is
removed at the end.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from parquet import ROWS_PER_FILE, check_room, rows_of, write_rows
from threadpoolctl import threadpool_limits

LABELED, FEATURES = 200, 20
MEMORY_LIMIT = 2000  # MB
PASSES = 3
KILLED_AFTER = 0.5  # seconds


def main():
    """Write the rows, measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7, help="unlabelled rows (1e7)")
    parser.add_argument("--folder", type=Path, default=None, help="where to write the rows")
    parser.add_argument("--worker", choices=[*WORK, "write"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    n_files = max(1, round(options.rows / ROWS_PER_FILE))
    if options.worker == "write":
        write_rows(options.folder, n_files, FEATURES)
    elif options.worker:
        with threadpool_limits(1):
            print(json.dumps(measured(WORK[options.worker], options.folder)))
    else:
        check_room(options.folder, 6 * n_files * ROWS_PER_FILE * FEATURES)
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            sys.exit(compare(folder, n_files))


def measured(work, folder):
    """Return what a piece of work took in this process, imports and preparation left out."""
    run = work(folder)
    start, cpu = time.perf_counter(), time.process_time()
    run()
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def one_pass(folder):
    """Return a function that computes the moments of all rows."""
    from primum._threads import using_threads
    from primum.equations.moments import gather_moments
    from primum.rows import open_rows

    def run():
        with using_threads(1):
            gather_moments([open_rows(folder, None, FEATURES)])

    return run


def fit(unlabeled):
    """Return a function that fits to rows, and the model."""
    from primum import SafeClassifier

    X, y = rows_of(0, LABELED, FEATURES)
    clf = SafeClassifier(random_state=0, n_jobs=1)
    return (lambda: clf.fit(X, y, X_unlabeled=unlabeled)), clf


def fit_sample(folder):
    """Return a function that fits to a sample in memory, read before."""
    from primum.rows import open_rows
    from primum.safe.outside import MOST_SAMPLED

    rows = open_rows(folder, None, FEATURES)
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(rows.n_rows, min(MOST_SAMPLED, rows.n_rows), replace=False))
    return fit(rows.take(sample).X)[0]


def fit_folder(folder):
    """Return a function that fits to all rows of the folder, and prints the notes."""
    run, clf = fit(folder)

    def run_and_tell():
        run()
        print(*clf.notes_, sep="\n", file=sys.stderr)

    return run_and_tell


def predict_file(folder):
    """Return a function that predicts the rows of one file."""
    run, clf = fit(rows_of(1, 5000, FEATURES)[0])
    run()
    return lambda: clf.predict_proba(min(folder.iterdir()))


def fit_cluster(folder):
    """Return a function that fits to rows on two workers, and kills one of them meanwhile."""
    from dask import dataframe
    from distributed import Client, LocalCluster

    client = Client(LocalCluster(2, threads_per_worker=1, dashboard_address="127.0.0.1:0"))
    victim, *_ = before = list(client.run(os.getpid).values())
    run, _ = fit(dataframe.read_parquet(folder))

    def run_and_kill():
        threading.Timer(KILLED_AFTER, os.kill, [victim, signal.SIGKILL]).start()
        run()
        client.wait_for_workers(2)
        after = list(client.run(os.getpid).values())
        print(f"workers {before}, then {after}", file=sys.stderr)

    return run_and_kill


WORK = {
    "pass": one_pass,
    "sample": fit_sample,
    "folder": fit_folder,
    "predict": predict_file,
    "cluster": fit_cluster,
}


def compare(folder, n_files):
    """Measure all, print the table and return the exit code."""
    command = [sys.executable, __file__, "--folder", folder]
    command += ["--rows", str(n_files * ROWS_PER_FILE), "--worker"]
    subprocess.run([*command, "write"], check=True)
    found = {}
    for name in WORK:
        # This process stays small: a child's peak memory begins with that of its parent.
        out = subprocess.run([*command, name], check=True, stdout=subprocess.PIPE, text=True).stdout
        found[name] = row = json.loads(out)
        print(
            f"{name:8}{row['seconds']:8.1f} s {row['cpu']:8.1f} CPU s {row['peak']:7.0f} MB",
            flush=True,
        )
    allowed = PASSES * found["pass"]["cpu"] + found["sample"]["cpu"]
    fast, light = found["folder"]["cpu"] <= allowed, found["folder"]["peak"] <= MEMORY_LIMIT
    print(f"{n_files * ROWS_PER_FILE} rows: at most {PASSES} passes and the sample's fit: {fast}")
    print(f"peak memory within {MEMORY_LIMIT} MB: {light}")
    return int(not (fast and light))


if __name__ == "__main__":
    main()
