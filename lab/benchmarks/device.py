"""ICLS on PyTorch tensors: on an accelerator if there is one, otherwise on the CPU.

The rows are generated on the device. Time is that of ``fit`` with the rows already there; the
fastest of several fits is reported. The peak of the memory is measured during the last fit, as a
multiple of the memory of the rows. ``--problem`` chooses the rows, ``--profile`` prints where the
time of one more fit goes, and ``--save`` stores the coefficients, to compare two versions.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn requires it before SciPy is imported

import numpy as np
import sklearn
import torch

from primum import ICLSClassifier

# Rows are made in parts, because the peak of the memory is of interest.
ROWS_AT_ONCE = 2**22


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--labeled", type=int, default=69)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--problem", choices=PROBLEMS, default="plain")
    parser.add_argument("--metric", default="auto")
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--fits", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(torch.cuda.get_device_name() if device == "cuda" else "CPU")
    with sklearn.config_context(array_api_dispatch=True):
        for U in map(int, options.rows):
            report(options, U, device)


def report(options, U, device):
    X, y, X_u = problem(options, U, device)
    seconds = [fit(options, X, y, X_u)[0] for _ in range(options.fits)]
    _, clf, peak = measured_fit(options, X, y, X_u)
    proof = clf.certificate_
    print(
        f"U = {U:.0e} x {options.features}, {options.classes} classes, {options.labeled} labels, "
        f"{options.problem}, metric {options.metric} ({X_u.nbytes / 1e9:.1f} GB): "
        f"{min(seconds):.3f} s (all: {', '.join(f'{s:.3f}' for s in seconds)}), "
        f"{proof.passes} passes, {proof.iterations} steps, gap {proof.gap:.1e}, relative "
        f"{proof.gap / proof.objective:.1e}, loss {proof.objective:.10f} "
        f"(supervised {proof.supervised_loss:.6f}), peak {peak:.2f} x the rows",
        flush=True,
    )
    if options.save is not None:
        name = f"{options.problem}-{options.classes}-{options.labeled}-{U:.0e}.npy"
        np.save(options.save / name, torch.as_tensor(clf.coef_).cpu().numpy())
    if options.profile:
        print_profile(options, X, y, X_u)


def problem(options, U, device):
    """Rows of overlapping classes, float32, changed as the problem says."""
    L, d, K = options.labeled, options.features, options.classes
    generator = torch.Generator(device).manual_seed(0)
    X_u = torch.empty(U, d, device=device, dtype=torch.float32)
    for part in X_u.split(ROWS_AT_ONCE):
        part.normal_(generator=generator)
        k = torch.randint(0, K, (len(part),), device=device, generator=generator)
        part[torch.arange(len(part), device=device), k] += 1.0
    y = torch.randint(0, K, (L,), device=device, generator=generator)
    y[:K] = torch.arange(K, device=device)
    X = torch.randn(L, d, device=device, generator=generator)
    X[torch.arange(L, device=device), y] += 1.0
    change = PROBLEMS[options.problem]
    for part in (X, *X_u.split(ROWS_AT_ONCE)):
        change(part, generator)
    return X, y, X_u


def correlated(X, generator):
    """Features j and k correlate by 0.95^|j - k|."""
    place = torch.arange(X.shape[1], device=X.device)
    X.copy_(X @ torch.linalg.cholesky(0.95 ** abs(place[:, None] - place)).T)


def far(X, generator):
    """Means are a thousand standard deviations."""
    X += 1000.0


def nearly_collinear(X, generator):
    """Units from 1e-3 to 1e3, and two columns that add up to a constant but for 1e-6."""
    X[:, 1] *= 1e-6
    X[:, 1] += 3.0 - X[:, 0]
    X *= torch.logspace(-3, 3, X.shape[1], device=X.device)


def copies(X, generator):
    """One column repeats another, and one is twice another."""
    X[:, 1] = X[:, 0]
    X[:, 2] = 2 * X[:, 3]


def clusters(X, generator):
    """Forty clusters whose width is about a thousandth of their distance."""
    of_centers = torch.Generator(X.device).manual_seed(5)
    centers = 5 * torch.randn(40, X.shape[1], device=X.device, generator=of_centers)
    X *= 0.01
    X += centers[torch.randint(0, 40, (len(X),), device=X.device, generator=generator)]


PROBLEMS = {
    "plain": lambda X, generator: None,
    "correlated": correlated,
    "far": far,
    "nearly-collinear": nearly_collinear,
    "copies": copies,
    "clusters": clusters,
}


def fit(options, X, y, X_u):
    clf = ICLSClassifier(metric=options.metric, tol=options.tol)
    synchronize(X)
    start = time.perf_counter()
    clf.fit(X, y, X_unlabeled=X_u)
    synchronize(X)
    return time.perf_counter() - start, clf


def measured_fit(options, X, y, X_u):
    """Fit once more, and measure the peak of the memory on the device."""
    if not X.is_cuda:
        return *fit(options, X, y, X_u), float("nan")
    torch.cuda.reset_peak_memory_stats()
    seconds, clf = fit(options, X, y, X_u)
    return seconds, clf, torch.cuda.max_memory_allocated() / X_u.nbytes


def print_profile(options, X, y, X_u):
    """Print the kernels of a fit that take the most time, and the operations that call them."""
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds, record_shapes=True) as profile:
        fit(options, X, y, X_u)
    operations = profile.key_averages(group_by_input_shape=True)
    of_device = [row for row in operations if row.self_device_time_total > 0]
    total = sum(row.self_device_time_total for row in of_device if not row.input_shapes)
    print(f"   {total / 1e3:.1f} ms of kernels")
    for row in sorted(of_device, key=lambda row: -row.self_device_time_total)[:32]:
        shapes = [shape for shape in row.input_shapes if shape]
        milliseconds = row.self_device_time_total / 1e3
        print(f"   {milliseconds:8.2f} ms {row.count:5d} {row.key[:90]} {str(shapes)[:70]}")


def synchronize(X):
    if X.is_cuda:
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
