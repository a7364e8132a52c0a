"""ICLS on PyTorch tensors: on an accelerator if there is one, otherwise on the CPU.

The rows are generated on the device. Time is that of ``fit`` with the rows already there; the
fastest of several fits is reported. The peak of the memory is measured during the last fit, as a
multiple of the memory of the rows.
"""

import argparse
import os
import time

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn requires it before SciPy is imported

import sklearn
import torch

from primum import ICLSClassifier


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--labeled", type=int, default=69)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--correlated", action="store_true")
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--fits", type=int, default=3)
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
        f"U = {U:.0e} x {options.features}, {options.classes} classes"
        f"{', correlated' if options.correlated else ''} ({X_u.nbytes / 1e9:.1f} GB): "
        f"{min(seconds):.3f} s (all: {', '.join(f'{s:.3f}' for s in seconds)}), "
        f"{proof.passes} passes, {proof.iterations} steps, gap {proof.gap:.1e}, relative "
        f"{proof.gap / proof.objective:.1e}, loss {proof.objective:.4f} "
        f"(supervised {proof.supervised_loss:.4f}), peak {peak:.2f} x the rows",
        flush=True,
    )


def problem(options, U, device):
    """Rows of overlapping classes, float32."""
    L, d, K = options.labeled, options.features, options.classes
    generator = torch.Generator(device).manual_seed(0)
    mix = torch.eye(d, device=device)
    if options.correlated:  # features j and k correlate by 0.95^|j - k|
        place = torch.arange(d, device=device)
        mix = torch.linalg.cholesky(0.95 ** abs(place[:, None] - place)).T
    X_u = torch.empty(U, d, device=device, dtype=torch.float32)
    step = 2**22
    for start in range(0, U, step):  # in parts, because the peak of the memory is of interest
        part = X_u[start : start + step]
        part.normal_(generator=generator)
        k = torch.randint(0, K, (len(part),), device=device, generator=generator)
        part[torch.arange(len(part), device=device), k] += 1.0
        part.copy_(part @ mix)
    y = torch.randint(0, K, (L,), device=device, generator=generator)
    y[:K] = torch.arange(K, device=device)
    X = torch.randn(L, d, device=device, generator=generator)
    X[torch.arange(L, device=device), y] += 1.0
    return X @ mix, y, X_u


def fit(options, X, y, X_u):
    clf = ICLSClassifier(tol=options.tol)
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


def synchronize(X):
    if X.is_cuda:
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
