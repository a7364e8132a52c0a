"""What is recorded of the fits of ``core_cases.py``: every fitted attribute, and some predictions.

After a change of results on purpose, ``python tests/golden/core_fits.py`` writes the records anew,
and so it does with SCIPY_ARRAY_API=1 for the fits of arrays on a device. The commit says which
results changed, and why.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator

sys.path.insert(0, str(Path(__file__).parents[1]))
from golden.core_cases import CASES
from golden.machine import machine
from primum.rows import to_numpy

FILE = Path(__file__).with_name("core_fits.json")
# Arrays of at most this many numbers are stored, others as a digest.
MAX_STORED = 64


def attributes(estimator):
    """Return all fitted attributes, those of a supervised twin under its name, as JSON values."""
    found = {}
    for name, value in sorted(vars(estimator).items()):
        if name.startswith("_") or not name.endswith("_"):
            continue
        if isinstance(value, BaseEstimator):
            inner = attributes(value)
        elif hasattr(value, "__dataclass_fields__"):
            inner = fields(value)
        else:
            found[name] = encoded(value)
            continue
        found |= {f"{name}.{part}": one for part, one in inner.items()}
    return found


def fields(value):
    """Return the fields of a dataclass."""
    found = {}
    for name in value.__dataclass_fields__:
        one = getattr(value, name)
        if hasattr(one, "__dataclass_fields__"):
            found |= {f"{name}.{part}": inner for part, inner in fields(one).items()}
        else:
            found[name] = encoded(one)
    return found


def encoded(value):
    """Return a value as JSON: small arrays as lists, large ones as a digest."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | np.number | np.bool_):
        return {"type": type(value).__name__, "value": repr(float(value))}
    if isinstance(value, dict):
        return {str(key): encoded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(one) for one in value]
    if sparse.issparse(value):
        return encoded([value.shape, value.data, value.indices, value.indptr])
    library = type(value).__module__.partition(".")[0]
    values = to_numpy(value)
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]
    kind = {"array": f"{library} {values.dtype}", "shape": list(values.shape)}
    if values.dtype.kind == "O" or values.size <= MAX_STORED:
        return kind | {"values": values.tolist()}
    return kind | {"sha256": digest}


def record_of(case):
    """Return the record of a fit: its attributes, its model and the classes of some rows."""
    estimator = case()
    record = {"attributes": attributes(estimator)}
    for name in ("coef_", "dual_coef_", "intercept_"):
        if hasattr(estimator, name):
            record[name] = to_numpy(getattr(estimator, name)).tolist()
    if hasattr(estimator, "classes_"):
        with config_context(array_api_dispatch=case.device):
            values = to_numpy(estimator.decision_function(case.rows))
        codes = (values >= 0) if values.ndim == 1 else values.argmax(axis=1)
        record["codes"] = "".join(map(str, codes.astype(int)))
    return json.loads(json.dumps(record))


def written():
    """Return the records, and the machine that wrote them."""
    content = json.loads(FILE.read_text()) if FILE.exists() else {"machine": "", "fits": {}}
    return content["fits"], content["machine"]


def main():
    """Write the records of the fits that this process can make, and keep the others."""
    with_devices, (known, _) = os.environ.get("SCIPY_ARRAY_API") == "1", written()
    fits = {
        name: record_of(case) if case.device == with_devices else known.get(name)
        for name, case in CASES.items()
    }
    changed = [name for name, record in fits.items() if record != known.get(name)]
    print(f"{len(changed)} of {len(fits)} records differ:", *changed, sep="\n    ")
    lines = [f"{json.dumps(name)}: {json.dumps(record)}" for name, record in fits.items()]
    body = ",\n".join(lines)
    FILE.write_text(f'{{"machine": {json.dumps(machine())}, "fits": {{\n{body}\n}}}}\n')


if __name__ == "__main__":
    main()
