"""The measurements of the table that ``make benchmark`` prints, and their bars.

On the CPU, speeds are ratios of processor times in one run, because the machine may be shared.
Every measurement runs in a new process: it begins with nothing in memory, and its peak is its own.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

from timing import cpu_times, ratios

SIMULATED = "simulated"


class NotMeasuredError(Exception):
    """Something is missing on this machine; the message says what."""


class Measured(NamedTuple):
    """What was measured: on which problem, a value for every figure, and what else was seen.

    Values are only compared with committed ones of the same problem.
    """

    problem: str
    values: tuple[float, ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A number to keep small: what it is, its unit, and the bar it should stay below."""

    name: str
    unit: str
    bar: float | None = None


@dataclass(frozen=True)
class Row:
    """A measurement: a function of whether to be quick, and the figures that it returns."""

    name: str
    measure: Callable[[bool], Measured]
    figures: tuple[Figure, ...]


# How many times as long as LogisticRegressionCV the safe choice should take at most.
SAFE_BARS = {
    "breast cancer, 40 of 569 x 30": 25,
    "simulated, 200 of 4 200 x 30": 45,
    "digits, 50 of 1 797 x 64, ten classes": 15,
    "simulated, 150 of 3 000 x 150, three classes": 25,
}


def safe_choice(quick):
    """Compare the safe choice with LogisticRegressionCV on the labelled rows."""
    from safe import PROBLEMS, import_everything, reference_and_fit

    import_everything()
    turns = 1 if quick else 3
    times = [reference_and_fit(*PROBLEMS[name](), turns) for name in SAFE_BARS]
    return Measured(f"{turns} turns", tuple(float(fit / reference) for reference, fit in times))


def safe_text(quick):
    """Compare the safe choice of sparse rows with that of their first components."""
    from safe import import_everything, sparse_and_dense

    import_everything()
    given, reduced = sparse_and_dense()
    return Measured("150 of 4 000 x 3 000, three classes", (float(given / reduced),))


def safe_comparison(quick):
    """Compare a comparison of the safe stack alone with a fit."""
    from safe import PROBLEMS, comparison_and_fit, import_everything

    import_everything()
    name = next(iter(SAFE_BARS))
    whole, fit = comparison_and_fit(*PROBLEMS[name]())
    return Measured(name, (float(whole / fit),))


def default_comparison(quick):
    """Compare the default comparison with a fit of the safe stack to the same rows."""
    from sklearn.datasets import make_classification

    import primum
    from safe import import_everything

    import_everything()
    n_rows = 1000 if quick else 5000
    X, y = make_classification(n_rows, 20, n_informative=8, random_state=0)
    y[50:] = -1
    clf = primum.SafeClassifier(random_state=0)
    both = [lambda: primum.compare(X, y, verbose=False), lambda: clf.fit(X, y)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit with 50 labels may stop early
        whole, fit = cpu_times(both, 1)[0]
    return Measured(f"simulated, 50 of {n_rows} x 20", (float(whole / fit),))


def in_memory(quick):
    """Compare ICLS with supervised least squares on the same rows, which sees all labels."""
    from scale import problem
    from sklearn.linear_model import LinearRegression, Ridge

    from primum import ICLSClassifier

    U = 10**5 if quick else 10**6
    X, truth, partly = problem(55, U, 50)
    proof = None

    def fit():
        nonlocal proof
        proof = ICLSClassifier().fit(X, partly).certificate_

    # One peer at a time, because any fit is slower right after one of LinearRegression.
    peers = (Ridge(solver="cholesky"), 8), (LinearRegression(), 3)
    found = [ratios([fit, partial(peer.fit, X, truth)], repeats)[0] for peer, repeats in peers]
    return Measured(f"{U:,} x 50, 55 labels", (*found, proof.passes), f"gap {proof.gap:.0e}")


def growth(quick):
    """Compare the time per row of many rows with that of fewer."""
    from scale import problem

    from primum import ICLSClassifier

    few, many = 10**5, 10**6 if quick else 4 * 10**6
    X, _, y = problem(55, many, 50)
    (ratio,) = ratios(
        [
            lambda: ICLSClassifier().fit(X, y),
            lambda: ICLSClassifier().fit(X[: 55 + few], y[: 55 + few]),
        ],
        repeats=5,
    )
    return Measured(f"{few:,} to {many:,} rows x 50", (ratio * few / many,))


def small_problem(seed=0):
    """Return (name, X, y with unknown labels, number of labels): COIL2 as in the paper's splits."""
    import numpy as np
    from core import problem

    from primum_lab.datasets import DatasetNotFoundError, load, z_score

    L, U, d = 246, 1104, 241
    try:
        coil2 = load("coil2", download=False)
    except DatasetNotFoundError:
        return SIMULATED, *problem(L, U, d), L
    order = np.random.default_rng(seed).permutation(len(coil2.y))[: L + U]
    y = np.where(np.arange(L + U) < L, coil2.codes[order], -1)
    return "COIL2", z_score(coil2.X)[order], y, L


def small_icls(quick):
    """Compare ICLS with other solvers on a problem of the paper's size."""
    from sklearn.linear_model import Ridge

    from primum import ICLSClassifier

    name, X, y, L = small_problem()
    icls = ICLSClassifier()
    found = ratios(
        [
            lambda: icls.fit(X, y),
            lambda: ICLSClassifier(solver="lbfgsb", max_iter=100_000).fit(X, y),
            lambda: Ridge().fit(X[:L], y[:L]),
        ],
        repeats=5 if quick else 25,
    )
    return Measured(name, tuple(found), f"{icls.certificate_.iterations} steps")


def small_tsvm(quick):
    """Compare the transductive SVM with a supervised one on the labelled rows."""
    from sklearn.svm import LinearSVC

    from primum import TSVMClassifier

    name, X, y, L = small_problem()
    found = ratios(
        [
            lambda: TSVMClassifier("annealing").fit(X, y),
            lambda: LinearSVC(dual=False).fit(X[:L], y[:L]),
        ],
        repeats=3 if quick else 7,
    )
    return Measured(name, tuple(found))


def several_classes(quick):
    """Compare one fit of K classes with K fits of two."""
    from classes import PROBLEMS, joint_and_rest

    U, d, K, L, separation, _ = PROBLEMS[0]
    U = U // 10 if quick else U
    *_, fits = joint_and_rest(U, d, K, L, separation)
    return Measured(f"{U:,} x {d}, {K} classes", tuple(ratios(fits, repeats=5)))


PARTS = 20


def dask_rows(quick):
    """Compare rows persisted on two local workers with the same rows in memory, two threads."""
    try:
        import dask.array as da
        from dask import delayed
        from distributed import Client, LocalCluster, wait
    except ImportError as missing:
        raise NotMeasuredError(f"needs {missing.name}: pip install 'primum[dask]'") from missing
    import numpy as np
    from parquet import rows_of

    size, d = (10**6 if quick else 10**7) // PARTS, 20
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="ERROR"
        ) as cluster,
        Client(cluster) as client,
    ):
        parts = [delayed(rows_of)(1 + k, size, d)[0] for k in range(PARTS)]
        there = da.concatenate([da.from_delayed(p, (size, d), np.float32) for p in parts])
        there = client.persist(there)
        wait(there)
        here = np.concatenate([rows_of(1 + k, size, d)[0] for k in range(PARTS)])
        found = dask_ratios(client, there, here)
    return Measured(f"{PARTS * size:,} x {d}", found[:1], f"wall-clock time {found[1]:.1f} x")


def dask_ratios(client, there, here, repeats=2):
    """Return the ratios of processor time, of all processes, and of wall-clock time."""
    import numpy as np
    from parquet import rows_of

    from primum import ICLSClassifier

    X, y = rows_of(0, 25, here.shape[1])
    seconds = np.empty((repeats, 2, 2))
    for turn in seconds:
        for k, rows in enumerate((there, here)):
            start, cpu = time.perf_counter(), cluster_cpu(client)
            ICLSClassifier(n_jobs=2).fit(X, y, X_unlabeled=rows)
            turn[k] = cluster_cpu(client) - cpu, time.perf_counter() - start
    on_dask, in_memory = seconds.min(axis=0)
    return tuple(map(float, on_dask / in_memory))


def cluster_cpu(client):
    """Return the processor time of this process and of the workers, in seconds."""
    return time.process_time() + sum(client.run(time.process_time).values())


def parquet_rows(quick):
    """Measure the peak memory of a fit to files; compare its time with reading them as often."""
    import parquet

    rows = 2e6 if quick else 2e7
    options = SimpleNamespace(rows=rows, labeled=25, features=20)
    with tempfile.TemporaryDirectory() as folder:
        parquet.work("write", folder, options)
        fit = json.loads(parquet.work("parquet", folder, options))
        read = json.loads(parquet.work("read", folder, options))
    found = {kind: fit[kind] / (fit["passes"] * read[kind]) for kind in ("cpu", "seconds")}
    note = f"{fit['passes']} passes, wall-clock time {found['seconds']:.1f} x"
    return Measured(f"{rows:,.0f} x 20", (fit["peak"], found["cpu"]), note)


def safe_outside_memory(quick):
    """Compare the safe choice of rows in files, and on a cluster, with passes over them."""
    try:
        import distributed  # noqa: F401
        from safe_outside import ROWS_PER_FILE, allowed_share, measure_all
    except ImportError as missing:
        raise NotMeasuredError(f"needs {missing.name}: pip install 'primum[dask]'") from missing
    n_files = 1 if quick else 10
    with tempfile.TemporaryDirectory() as folder:
        found = measure_all(folder, n_files)
    shares = (allowed_share(found, name) for name in ("folder", "cluster"))
    return Measured(f"{n_files * ROWS_PER_FILE:,} x 20", (*shares, found["folder"]["peak"]))


def import_time(quick):
    """Compare the imports of the package and of its main estimator with scikit-learn's."""
    statements = (
        "import primum",
        "from primum import ICLSClassifier",
        "import sklearn.linear_model",
    )
    turns = [[seconds_of(statement) for statement in statements] for _ in range(4 if quick else 10)]
    package, estimator, peer = map(statistics.median, zip(*turns, strict=True))
    return Measured("medians", (package / peer, estimator / peer))


def seconds_of(statement):
    """Return the processor time of a statement in a new process."""
    clock = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
    command = [sys.executable, "-c", clock.format(statement)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def table2(quick):
    """Run a few repeats of the paper's Table 2 and extrapolate to 100."""
    from primum_lab import run_experiment
    from primum_lab.datasets import CATALOGUE, DatasetNotFoundError, load
    from primum_lab.paper import PLANS

    try:
        datasets = [load(name, download=False) for name in CATALOGUE]
    except DatasetNotFoundError as missing:
        raise NotMeasuredError(f"needs the paper's data sets: {missing}") from missing
    # The baselines that choose a ridge by cross-validation run in every fifth or tenth repeat, so
    # fewer than ten repeats misstate their share.
    repeats = 1 if quick else 10
    experiment = PLANS["table2"].experiment("table2", datasets, repeats, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        run = [lambda: run_experiment(experiment, folder, n_jobs=1, verbose=False)]
        seconds = float(cpu_times(run, repeats=1)[0, 0])
    return Measured(processor(), (seconds / repeats * 100 / 60,), f"{repeats} repeats")


def processor():
    """Return the name of this machine's processor."""
    import platform
    from pathlib import Path

    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def accelerator(quick, rows, classes=2, correlated=False):
    """Measure ICLS with the rows on an accelerator: seconds, relative gap, peak memory."""
    try:
        import device
        import sklearn
        import torch
    except ImportError as missing:
        raise NotMeasuredError(f"no accelerator: {missing.name} is not installed") from missing
    if not torch.cuda.is_available():
        raise NotMeasuredError("no accelerator")
    U = int(rows / 10 if quick else rows)
    kind = SimpleNamespace(labeled=69, features=64, classes=classes, correlated=correlated)
    kind.tol = 1e-8
    with sklearn.config_context(array_api_dispatch=True):
        given = device.problem(kind, U, "cuda")
        device.fit(kind, *given)  # loads the device's libraries
        seconds = min(device.fit(kind, *given)[0] for _ in range(3))
        _, clf, peak = device.measured_fit(kind, *given)
    proof = clf.certificate_
    gap = max(proof.gap / proof.objective, kind.tol)  # below tol, it is a matter of chance
    name = f"{U:,} x 64, {torch.cuda.get_device_name()}"
    return Measured(name, (seconds, gap, peak), f"{proof.passes} passes")


def on_accelerator(name, seconds, **kind):
    """Return a row of the accelerator; memory has a bar where it is nearly full."""
    figures = (
        Figure("time", "s", seconds),
        Figure("relative gap", "", 1e-6),
        Figure("peak memory / rows", "x", 1.5 if kind["rows"] >= 1e8 else None),
    )
    return Row(name, partial(accelerator, **kind), figures)


ROWS = (
    Row("safe", safe_choice, tuple(Figure(name, "x", bar) for name, bar in SAFE_BARS.items())),
    Row("safe, text", safe_text, (Figure("sparse TF-IDF / its 200 components", "x", 2),)),
    Row(
        "safe, outside",
        safe_outside_memory,
        (
            Figure("Parquet / (3 passes and the fit to a sample)", "x", 1),
            Figure("two workers, one killed / (3 passes there and the fit)", "x", 1),
            Figure("peak memory", "MB", 2000),
        ),
    ),
    Row("compare", safe_comparison, (Figure("comparison / one fit", "x", 2),)),
    Row("compare, default", default_comparison, (Figure("comparison / one safe fit", "x", 8),)),
    Row(
        "in memory",
        in_memory,
        (
            Figure("ICLS / Ridge(cholesky)", "x", 1.2),
            Figure("ICLS / LinearRegression", "x"),
            Figure("passes", "", 6),
        ),
    ),
    Row("growth", growth, (Figure("time per row, many rows / few", "x", 1.2),)),
    Row("dask", dask_rows, (Figure("two workers / in memory", "x", 2),)),
    Row(
        "parquet",
        parquet_rows,
        (Figure("peak memory", "MB", 350), Figure("fit / reading as many times", "x", 1.5)),
    ),
    Row(
        "coil2",
        small_icls,
        (
            Figure("ICLS / L-BFGS-B", "x"),
            Figure("ICLS / Ridge on the labelled rows", "x", 7.0),
        ),
    ),
    Row(
        "tsvm",
        small_tsvm,
        (Figure("annealing TSVM / LinearSVC on the labelled rows", "x", 1.3),),
    ),
    Row("classes", several_classes, (Figure("one fit / five two-class fits", "x", 1.5),)),
    Row(
        "import",
        import_time,
        (
            Figure("primum / sklearn.linear_model", "x", 1.05),
            Figure("primum.ICLSClassifier / sklearn.linear_model", "x", 1.05),
        ),
    ),
    Row("table2", table2, (Figure("100 repeats, 16 data sets", "core-min", 12),)),
    on_accelerator("gpu", 0.35, rows=1e8),
    on_accelerator("gpu, correlated", 0.35, rows=1e8, correlated=True),
    on_accelerator("gpu, fewer rows", 0.12, rows=1e7),
    on_accelerator("gpu, classes", 1.0, rows=1e7, classes=10),
)
