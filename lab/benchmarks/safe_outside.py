"""The safe choice with unlabelled rows in a Parquet folder: time and peak memory.

Writes the folder, and then measures in a process each: one pass over the rows (their moments), the
fit to a sample of them in memory, the fit from the folder, its predictions for some rows, and the
same fit from a Dask cluster of two workers, one of which is killed during the pass. The cluster's
own pass is measured in the same process, before, and its times are those of all processes: client,
workers, the one that is killed and the one that replaces it. Peak memory is that of the client.

A fit should take at most three passes, by the folder or by the cluster, plus the fit to the sample,
and 2 GB. CPU seconds of one thread, because the machine may be shared. The folder is removed at the
end.
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
PREDICTED = 10**5  # rows
MEMORY_LIMIT = 2000  # MB
PASSES = 3
TURNS = 3  # of a pass, the least of which counts


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
    """Return what a piece of work took in this process, imports and preparation left out.

    What the work returns replaces or completes this.
    """
    run = work(folder)
    start = time.process_time()
    own = run() or {}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": time.process_time() - start, "peak": peak, **own}


def one_pass(folder):
    """Return a function that computes the moments of all rows."""
    from primum.rows import open_rows

    return lambda: {"cpu": least_of(lambda: pass_over(open_rows(folder, None, FEATURES)))}


def pass_over(rows):
    """Compute the moments of all rows."""
    from primum._threads import using_threads
    from primum.equations.moments import gather_moments

    with using_threads(1):
        gather_moments([rows])


def least_of(run, clock=time.process_time):
    """Return the least time of several turns."""
    times = []
    for _ in range(TURNS):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def fit(unlabeled):
    """Return a function that fits to rows, and the model."""
    from primum import SafeClassifier

    X, y = rows_of(0, LABELED, FEATURES)
    clf = SafeClassifier(random_state=0, n_jobs=1)

    def run():
        clf.fit(X, y, X_unlabeled=unlabeled)

    return run, clf


def fit_sample(folder):
    """Return a function that fits to a sample in memory, read before."""
    from primum.equations.sampled import MAX_SAMPLED_ROWS
    from primum.rows import open_rows

    rows = open_rows(folder, None, FEATURES)
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(rows.n_rows, min(MAX_SAMPLED_ROWS, rows.n_rows), replace=False))
    return fit(rows.take(sample).X)[0]


def fit_folder(folder):
    """Return a function that fits to all rows of the folder, and prints the notes."""
    run, clf = fit(folder)

    def run_and_tell():
        run()
        print(*clf.notes_, sep="\n", file=sys.stderr)

    return run_and_tell


def predict_file(folder):
    """Return a function that predicts some rows of a file."""
    import pyarrow.parquet as pq

    run, clf = fit(rows_of(1, 5000, FEATURES)[0])
    run()
    path = folder / "_predicted.parquet"  # not one of the rows
    first = min(part for part in folder.iterdir() if part.name[0] != "_")
    with pq.ParquetFile(first) as file:
        batch = next(file.iter_batches(PREDICTED))
        with pq.ParquetWriter(path, batch.schema) as writer:
            writer.write_batch(batch)
    return lambda: {"rows": len(clf.predict_proba(path))}


class Processes:
    """The processor seconds of this process and of the workers of a cluster, lost ones too."""

    def __init__(self, client):
        import psutil

        self.client, self.process, self.lost = client, psutil.Process, 0.0

    def pids(self):
        """Return those of the workers."""
        return list(self.client.run(os.getpid).values())

    def of_worker(self, pid):
        """Return the processor seconds of a worker."""
        return sum(self.process(pid).cpu_times()[:2])

    def clock(self):
        """Return the processor seconds of all."""
        return time.process_time() + self.lost + sum(map(self.of_worker, self.pids()))

    def kill(self, pid):
        """Kill a worker."""
        self.lost += self.of_worker(pid)
        os.kill(pid, signal.SIGKILL)


def fit_cluster(folder):
    """Return a function that fits to rows on two workers, and kills one of them in the pass."""
    from dask import dataframe
    from distributed import Client, LocalCluster

    from primum.rows import open_rows

    client = Client(LocalCluster(2, threads_per_worker=1, dashboard_address="127.0.0.1:0"))
    rows, processes = dataframe.read_parquet(folder), Processes(client)
    run, _ = fit(rows)

    def pass_on_cluster():
        pass_over(open_rows(rows, None, FEATURES))

    pass_on_cluster()  # the workers import what they need
    seconds = least_of(pass_on_cluster, time.perf_counter)
    cpu = least_of(pass_on_cluster, processes.clock)

    def run_and_kill():
        victim, *_ = before = processes.pids()
        start = processes.clock()
        threading.Timer(seconds / 2, processes.kill, [victim]).start()
        run()
        client.wait_for_workers(2)
        print(f"workers {before}, then {processes.pids()}", file=sys.stderr)
        return {"pass": cpu, "cpu": processes.clock() - start}

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
    found, n_rows = measure_all(folder, n_files), n_files * ROWS_PER_FILE
    for name, row in found.items():
        print(f"{name:8}{row['cpu']:8.1f} CPU s {row['peak']:7.0f} MB")
    passes = found["pass"]["cpu"], found["cluster"]["pass"]
    print(f"{n_rows:,} rows: a pass takes {passes[0]:.2f} CPU s, on the cluster {passes[1]:.2f}")
    shares = [allowed_share(found, name) for name in ("folder", "cluster")]
    both = " and, on the cluster, ".join(f"{share:.2f}" for share in shares)
    print(f"fit / ({PASSES} passes and the fit to the sample): {both} (at most 1)")
    light = found["folder"]["peak"] <= MEMORY_LIMIT
    print(f"peak memory within {MEMORY_LIMIT} MB: {light}")
    return int(max(shares) > 1 or not light)


def allowed_share(found, name):
    """Return what a fit takes, as a multiple of three passes and the fit to the sample."""
    one_pass = found["cluster"]["pass"] if name == "cluster" else found["pass"]["cpu"]
    return found[name]["cpu"] / (PASSES * one_pass + found["sample"]["cpu"])


def measure_all(folder, n_files):
    """Write the rows and return what every piece of work took, each in a process of its own."""
    command = [sys.executable, __file__, "--folder", folder]
    command += ["--rows", str(n_files * ROWS_PER_FILE), "--worker"]
    subprocess.run([*command, "write"], check=True)
    found = {}
    for name in WORK:
        # This process stays small: a child's peak memory begins with that of its parent.
        out = subprocess.run([*command, name], check=True, stdout=subprocess.PIPE, text=True).stdout
        found[name] = json.loads(out)
    return found


if __name__ == "__main__":
    main()
