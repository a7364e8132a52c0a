"""ICLS on PyTorch tensors: on an accelerator if there is one, otherwise on the CPU.

The rows are generated on the device. Time is that of ``fit`` with the rows already there; the
fastest of several fits is reported, split into passes over the rows and the rest.
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
    parser.add_argument("--tol", type=float, default=1e-7)
    parser.add_argument("--fits", type=int, default=3)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(torch.cuda.get_device_name() if device == "cuda" else "CPU")
    with sklearn.config_context(array_api_dispatch=True):
        for U in map(int, options.rows):
            report(options, U, device)


def report(options, U, device):
    X, y, X_u = problem(options.labeled, U, options.features, device)
    seconds = [fit(options, X, y, X_u)[0] for _ in range(options.fits)]
    _, clf = fit(options, X, y, X_u)
    proof = clf.certificate_
    print(
        f"U = {U:.0e} x {options.features} ({X_u.nbytes / 1e9:.1f} GB): {min(seconds):.3f} s "
        f"(all: {', '.join(f'{s:.3f}' for s in seconds)}), {proof.passes} passes, "
        f"{proof.iterations} steps, gap {proof.gap:.1e}, relative "
        f"{proof.gap / proof.objective:.1e}, loss {proof.objective:.4f} "
        f"(supervised {proof.supervised_loss:.4f})",
        flush=True,
    )


def problem(L, U, d, device):
    """Rows of two overlapping classes, float32."""
    torch.manual_seed(0)
    y = torch.randint(0, 2, (L,))
    y[:2] = torch.tensor([0, 1])
    X = torch.randn(L, d)
    X[:, 0] += y
    X_u = torch.randn(U, d, device=device, dtype=torch.float32)
    X_u[:, 0] += torch.randint(0, 2, (U,), device=device)
    return X.to(device), y.to(device), X_u


def fit(options, X, y, X_u):
    clf = ICLSClassifier(tol=options.tol)
    synchronize(X)
    start = time.perf_counter()
    clf.fit(X, y, X_unlabeled=X_u)
    synchronize(X)
    return time.perf_counter() - start, clf


def synchronize(X):
    if X.is_cuda:
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
