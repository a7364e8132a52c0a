"""Where the reference files are, and catalogue entries that point to this machine only."""

import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from primum_lab.datasets import CATALOGUE, Dataset, DatasetInfo, Origin

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def reference() -> Path:
    """Return the folder with the sixteen reference files."""
    folder = Path(os.environ.get("PRIMUM_DATA") or ROOT.parent / "shared" / "data")
    missing = [
        info.filename for info in CATALOGUE.values() if not (folder / info.filename).exists()
    ]
    if missing:
        pytest.skip(f"{len(missing)} reference files, {missing[0]} first, are not in {folder}")
    return folder


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the user's own data, and let no test reach the network by accident."""
    monkeypatch.delenv("PRIMUM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    nowhere = (Origin(((tmp_path / "nowhere").as_uri(),)),)
    for name, info in list(CATALOGUE.items()):
        monkeypatch.setitem(CATALOGUE, name, replace(info, downloads=nowhere))


@pytest.fixture
def amend(monkeypatch: pytest.MonkeyPatch) -> Callable[..., DatasetInfo]:
    """Change the entry of a set for the length of a test."""

    def change(name: str, **facts: object) -> DatasetInfo:
        info = replace(CATALOGUE[name], **facts)  # type: ignore[arg-type]
        monkeypatch.setitem(CATALOGUE, name, info)
        return info

    return change


@pytest.fixture
def haberman(reference: Path, tmp_path: Path) -> Path:
    """Return the published form of a set, without header line and compression."""
    text = gzip.decompress((reference / "haberman.csv.gz").read_bytes())
    path = tmp_path / "haberman.data"
    path.write_bytes(text.split(b"\n", 1)[1])
    return path


@pytest.fixture
def same() -> Callable[[Dataset, Dataset], None]:
    """Return a check that two sets are equal in everything but where they were found."""

    def check(one: Dataset, other: Dataset) -> None:
        np.testing.assert_array_equal(one.X, other.X)
        np.testing.assert_array_equal(one.y, other.y)
        assert one.feature_names == other.feature_names
        assert one.y.dtype == other.y.dtype

    return check
