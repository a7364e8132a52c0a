from pathlib import Path

import numpy as np
import pytest

from primum_lab.datasets import CATALOGUE, UnknownDatasetError, describe, load, pca99
from primum_lab.datasets.loading import fingerprint

# Table 1 of the paper, copied from it: title, rows, features, PCA99, majority.
TABLE_1 = """
Haberman     306   3   3 0.74
Ionosphere   351  33  30 0.64
Parkinsons   195  22  12 0.75
Diabetes     768   8   8 0.65
Sonar        208  60  43 0.53
SPECT        267  22  21 0.79
SPECTF       267  44  37 0.79
Transfusion  748   4   3 0.76
WDBC         569  30  17 0.63
Mammography  961   9   9 0.54
Digit1      1500 241 221 0.51
USPS        1500 241 183 0.80
COIL2       1500 241 114 0.50
BCI          400 117  45 0.50
g241c       1500 241 235 0.50
g241d       1500 241 235 0.50
"""
LINES = [line.split() for line in TABLE_1.split("\n") if line]


def test_the_catalogue_is_table_1_in_its_order():
    shown = [
        [i.title, str(i.rows), str(i.features), str(i.pca99), f"{i.majority:.2f}"]
        for i in CATALOGUE.values()
    ]
    assert shown == LINES


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_the_data_give_table_1(line, reference):
    data = load(line[0], reference)
    share = np.bincount(data.codes).max() / len(data.y)
    found = [data.info.title, *map(str, data.X.shape), str(pca99(data.X)), f"{share:.2f}"]
    assert found == line


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_data_agree_with_the_rest_of_the_entry(name, reference):
    data, info = load(name, reference), CATALOGUE[name]
    assert fingerprint(data.X, data.codes) == info.fingerprint
    assert tuple(np.bincount(data.codes)) == info.class_counts
    assert tuple(np.unique(data.y)) == info.classes
    assert len(data.feature_names) == info.features
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert np.isfinite(data.X).all()
    assert np.ptp(data.X, axis=0).min() > 0


@pytest.mark.parametrize("info", CATALOGUE.values(), ids=CATALOGUE)
def test_entries_are_consistent(info):
    assert info.name == info.title.lower()
    assert info.classes == tuple(sorted(info.classes))
    assert sum(info.class_counts) == info.rows
    assert abs(max(info.class_counts) / info.rows - info.majority) <= 0.005
    assert len({info.sha256, info.fingerprint}) == 2
    assert all(len(digest) == 64 for digest in (info.sha256, info.fingerprint))
    assert all((info.source, info.license, info.citation, info.coding, *info.class_meanings))
    assert info.downloads
    assert (info.package is None) == (info.distribution == "")


def test_no_integer_class_is_mistaken_for_an_unknown_label():
    for info in CATALOGUE.values():
        assert not any(isinstance(label, int) and label == -1 for label in info.classes)


def test_capitals_do_not_matter():
    assert describe("USPS") is describe("usps") is CATALOGUE["usps"]


def test_unknown_name_suggests_close_ones():
    with pytest.raises(UnknownDatasetError, match=r"no data set 'wbdc'; did you mean 'wdbc'"):
        load("wbdc")
    with pytest.raises(UnknownDatasetError, match=r"did you mean 'spectf' or 'spect'"):
        load("SPECTT f")
    with pytest.raises(UnknownDatasetError, match=r"no data set 'zzz'; The names are haberman, "):
        describe("zzz")


def test_diabetes_zeros_become_medians(reference):
    data = load("diabetes", reference)
    column = dict(zip(data.feature_names, data.X.T, strict=True))
    assert all(column[name].min() > 0 for name in ("Glucose", "Skinfold", "BMI"))
    assert np.median(column["Skinfold"]) == 29
    assert (column["Insulin"] == 0).sum() == 374


def test_mammography_is_coded_by_indicators(reference):
    names = load("mammography", reference).feature_names
    shape = [f"Shape={level}" for level in (2, 3, 4)]
    margin = [f"Margin={level}" for level in (2, 3, 4, 5)]
    assert list(names) == ["Age", "Density", *shape, *margin]


def test_ionosphere_loses_its_constant_column(reference):
    assert "pulse1att2" not in load("ionosphere", Path(reference)).feature_names
