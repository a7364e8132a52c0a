"""Reading whole tables: CSV, Parquet, spreadsheets."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from primum.tables.files import TableFormat, open_table

TABLE = pd.DataFrame({"größe": [1.5, 2.5, None], "name": ["a", "b;c", None], "n": [1, 2, 3]})


def read_frame(path, table_format=None):
    return open_table(path, table_format).frame()


def write(tmp_path, text, name="t.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("encoding", "given"),
    [
        *(("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("latin-1", "latin-1")),
        *(("utf-16", "utf-8"), ("utf-16-le", "utf-8"), ("utf-16-be", "utf-8"), ("utf-32", "utf-8")),
    ],
)
def test_encodings_semicolons_and_decimal_commas(tmp_path, encoding, given):
    text = "größe;name;n\n1,5;a;1\n2,5;b;2\n;;3\n"
    found = read_frame(write(tmp_path, text, encoding=encoding), TableFormat(encoding=given))
    np.testing.assert_array_equal(found["größe"], [1.5, 2.5, np.nan])
    assert found["name"].tolist()[:2] == ["a", "b"]
    assert found["name"].isna().tolist() == [False, False, True]
    assert found["n"].tolist() == [1, 2, 3]
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(text.encode(encoding)))
    pd.testing.assert_frame_equal(read_frame(path, TableFormat(encoding=given)), found)


def test_columns_with_different_decimal_marks(tmp_path):
    found = read_frame(write(tmp_path, "a;b;c\n1,5;1.5;1.5\n2;2.5;2,5\n"))
    assert found["a"].tolist() == [1.5, 2]
    assert found["b"].tolist() == [1.5, 2.5]
    assert found["c"].tolist() == ["1.5", "2,5"]


def test_another_encoding_is_named(tmp_path):
    path = write(tmp_path, "größe,n\n1,2\n", encoding="latin-1")
    with pytest.raises(
        ValueError, match=r"is not UTF-8 text \(line 1 .*for example --encoding cp1252"
    ):
        read_frame(path)


@pytest.mark.parametrize(
    ("separator", "name"), [("\t", "t.tsv"), ("|", "t.txt"), (",", "t.csv"), (";", "t.txt")]
)
def test_separators(tmp_path, separator, name):
    text = "\n".join(separator.join(row) for row in [("a b", "c"), ("x", "1"), ("y", "2")])
    found = read_frame(write(tmp_path, text, name))
    assert found.columns.tolist() == ["a b", "c"]
    assert found["c"].tolist() == [1, 2]


def test_cells_stay_as_written_unless_all_are_numbers(tmp_path):
    text = "zip,mixed,truth,marked\n007,1,true,1\n123,x,false,NA\n"
    found = read_frame(write(tmp_path, text), TableFormat(missing=("NA",)))
    assert found["zip"].tolist() == ["007", "123"]
    assert found["mixed"].tolist() == ["1", "x"]
    assert found["truth"].tolist() == ["true", "false"]
    np.testing.assert_array_equal(found["marked"], [1, np.nan])


@pytest.mark.parametrize("name", ["t.parquet", "t.xlsx", "t.ods"])
def test_parquet_and_spreadsheets(tmp_path, name):
    path = tmp_path / name
    if name == "t.parquet":
        TABLE.to_parquet(path)
    else:
        TABLE.to_excel(path, index=False)
    found = read_frame(path)
    assert found.columns.tolist() == TABLE.columns.tolist()
    np.testing.assert_array_equal(found["größe"].astype(float), TABLE["größe"])
    assert found["name"].isna().tolist() == [False, False, True]
    assert found["n"].tolist() == [1, 2, 3]


def test_sheets(tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        TABLE.to_excel(book, sheet_name="first", index=False, startrow=2, startcol=1)
        pd.DataFrame({"x": ["NA", "b"]}).to_excel(book, sheet_name="second", index=False)
    assert read_frame(path)["n"].tolist() == [1, 2, 3]
    assert read_frame(path, TableFormat(sheet="second"))["x"].tolist() == ["NA", "b"]
    marked = read_frame(path, TableFormat(missing=("NA",), sheet="second"))
    assert marked["x"].isna().tolist() == [True, False]
    with pytest.raises(ValueError, match=r"no sheet 'third': its sheets are 'first', 'second'\."):
        read_frame(path, TableFormat(sheet="third"))
    with pytest.raises(ValueError, match="is not a spreadsheet, so it has no sheet 'x'"):
        read_frame(write(tmp_path, "a\n1\n"), TableFormat(sheet="x"))


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    TABLE.to_excel(path, index=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"needs openpyxl: pip install 'primum\[excel\]'"):
        read_frame(path)


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.ods", "t.parquet"])
def test_an_empty_file(tmp_path, name):
    with pytest.raises(ValueError, match=rf"{name} (is empty|cannot be read as a spreadsheet)"):
        read_frame(write(tmp_path, "", name))


def test_an_empty_sheet(tmp_path):
    pd.DataFrame().to_excel(tmp_path / "t.xlsx")
    with pytest.raises(ValueError, match="is empty: the first row must contain the column names"):
        read_frame(tmp_path / "t.xlsx")


@pytest.mark.parametrize("name", ["t.xlsx", "t.parquet"])
def test_a_damaged_file(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name} cannot be read as"):
        read_frame(write(tmp_path, "nonsense " * 20, name))


def test_other_files(tmp_path):
    with pytest.raises(ValueError, match="There is no file"):
        read_frame(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match=r"or, for a spreadsheet, \.xlsx"):
        read_frame(write(tmp_path, "x", "t.json"))


def test_columns_without_or_with_the_same_name(tmp_path):
    assert read_frame(write(tmp_path, "a,,b\n1,2,3\n")).columns.tolist() == ["a", "column 2", "b"]
    with pytest.raises(ValueError, match="several columns named 'a'"):
        read_frame(write(tmp_path, "a,a\n1,2\n"))
    twice = pd.DataFrame([["a", "a"], [1, 2]])
    twice.to_excel(tmp_path / "t.xlsx", index=False, header=False)
    with pytest.raises(ValueError, match="several columns named 'a'"):
        read_frame(tmp_path / "t.xlsx")


def test_formulas_and_markup_are_text(tmp_path):
    text = '"=1+1",<b>\n"<script>alert(1)</script>","=cmd|x"\n'
    found = read_frame(write(tmp_path, text), TableFormat(separator=","))
    assert found.columns.tolist() == ["=1+1", "<b>"]
    assert found.iloc[0].tolist() == ["<script>alert(1)</script>", "=cmd|x"]
