"""Reading tables: strictly, and with the line in every error."""

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from primum.tables import csv as csv_files
from primum.tables.csv import to_numbers
from primum.tables.files import TableFormat, open_table


@pytest.fixture(name="table")
def write_and_open(tmp_path):
    def write(content, name="t.csv", **options):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return open_table(path, TableFormat(**options))

    return write


def numbers_of(table, *names):
    return np.concatenate([part.X for part in table.parts(names or table.columns)]).tolist()


def text_of(table, name):
    return [cell for part in table.parts([], [name]) for cell in part.as_written[name].to_pylist()]


class TestSeparatorsAndDecimalMarks:
    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    def test_the_separator_is_found(self, table, separator):
        content = "a,b,c\n1,2,3\n4,5,6\n".replace(",", separator)
        found = table(content)
        assert found.columns == ["a", "b", "c"]
        assert numbers_of(found) == [[1, 2, 3], [4, 5, 6]]

    def test_decimal_commas_between_semicolons(self, table):
        found = table("a;b;c\n1,5;2;x,y\n-0,25;1e3;z\n")
        assert numbers_of(found, "a", "b") == [[1.5, 2], [-0.25, 1000]]
        assert text_of(found, "c") == ["x,y", "z"]

    def test_decimal_points_between_semicolons(self, table):
        assert numbers_of(table("a;b\n1.5;2\n2.5;3\n")) == [[1.5, 2], [2.5, 3]]

    def test_commas_in_names_do_not_mislead(self, table):
        assert table("a, left;b, right;c\n1,5;2,5;3,5\n").columns == ["a, left", "b, right", "c"]

    def test_marks_that_are_asked_for(self, table):
        assert numbers_of(table("a b\n1,5 2\n", separator=" ", decimal=",")) == [[1.5, 2]]
        assert numbers_of(table('a,b\n"1,5","2"\n', decimal=",")) == [[1.5, 2]]

    @pytest.mark.parametrize("content", ["a\tb\n1,5\t2\n", 'a,b\n"1,5",2\n'])
    def test_a_comma_in_a_number_names_both_marks(self, table, content):
        with pytest.raises(ValueError, match=r"'a' \(line 2: '1,5'\).* --decimal ','"):
            numbers_of(table(content))

    def test_a_point_beside_decimal_commas_may_divide_thousands(self, table):
        message = (
            r"'a' \(line 3: '1.500'\).* --decimal '.' .*; if '.' separates thousands, remove it"
        )
        with pytest.raises(ValueError, match=message):
            numbers_of(table("a;b\n1,5;2\n1.500;3\n", decimal=","))

    @pytest.mark.parametrize("decimal", [".", ","])
    @pytest.mark.parametrize("cell", ["1.234,5", "1,234.5", "1.234.567", "-1'234", "12 345,6"])
    def test_thousands_separators_are_named(self, table, decimal, cell):
        message = f"line 2: {cell!r}.* \\(thousands separators are not supported: remove them"
        with pytest.raises(ValueError, match=message):
            numbers_of(table(f"a;b\n{cell};2\n", decimal=decimal))

    @pytest.mark.parametrize("cell", ["12.34.2020", "1.2.3", "red"])
    def test_other_text_is_not_taken_for_them(self, table, cell):
        with pytest.raises(ValueError, match="that are not numbers, or too large") as refusal:
            numbers_of(table(f"a;b\n{cell};2\n"))
        assert "thousands" not in str(refusal.value)

    def test_a_separator_in_doubt(self, table):
        with pytest.raises(ValueError, match="separated by commas or semicolons: choose"):
            table("a,b;c\n1,2;3\n")

    def test_a_missing_column_names_the_separator(self, table):
        with pytest.raises(
            ValueError, match=r"no column 'd'; .* are 'a', 'b,d'. Line 1, separated by semicolons"
        ):
            list(table("a;b,d\n1;2\n").parts(["d"]))
        with pytest.raises(
            ValueError, match=r"are 'a b'. Line 1, separated by commas, .* and --sep name others"
        ):
            list(table("a b\n1 2\n").parts(["b"]))


class TestMalformedFiles:
    def refused(self, table, content, match, **options):
        with pytest.raises(ValueError, match=match):
            numbers_of(table(content, **options))

    def test_empty(self, table):
        for content in ("", "\n\n", "\ufeff"):
            self.refused(table, content, "t.csv is empty: the first line must contain the column")

    def test_more_fields_than_the_header(self, table):
        self.refused(table, "a,b\n1,2,7\n2,3,7\n", "line 2, has 3 fields but the header has 2")
        self.refused(table, '"a","b"\n"1",1,2\n"2",3,4\n', "as written by R's write.table")
        self.refused(table, "a,b\n1,2\n\n1,2,3,4\n", "line 4, has 4 fields")

    def test_fewer_fields_than_the_header(self, table):
        self.refused(table, "a,b,c\n1,2,3\n1,2\n", r"line 3, has 2 fields .* \(separator ','\)")

    def test_lines_are_those_of_the_file(self, table):
        content = 'a,note,b\n1,"two\nlines",2\n\n  \n3,x,\n'
        with pytest.raises(ValueError, match="line 6, has a missing value in column 'b'"):
            numbers_of(table(content), "a", "b")

    def test_the_line_of_a_later_part(self, table, monkeypatch):
        monkeypatch.setattr(csv_files, "CELLS_PER_PART", 0)
        self.refused(table, "a,b\n" + "1,2\n" * 100 + "1,x\n", r"'b' \(line 102: 'x'\)")

    def test_quotes(self, table):
        self.refused(
            table,
            'a,b\n1,2\n1,"2\n3,4\n',
            r"line 3, has malformed quotes .*\(unexpected end of data\)",
        )
        self.refused(table, 'a,b\n1,"2"x\n', "line 2, has malformed quotes")

    def test_repeated_names(self, table):
        self.refused(table, "a,b,a\n1,2,3\n", "several columns named 'a': rename them")
        self.refused(table, "column 2,\n1,2\n", "several columns named 'column 2'")

    def test_latin1(self, table):
        content = "a,b\n1,2\n3,\u00e9\n".encode("latin-1")
        self.refused(table, content, "not UTF-8 text .line 3 has the byte 0xe9.: .*cp1252")
        assert text_of(table(content, encoding="latin-1"), "b") == ["2", "\u00e9"]

    def test_utf16(self, table):
        content = "a,b\n1,2\n".encode("utf-16")
        assert numbers_of(table(content)) == [[1, 2]]
        assert numbers_of(table(content, encoding="utf-16")) == [[1, 2]]
        self.refused(table, b"\xff", "not UTF-16 text ", encoding="utf-16")

    def test_a_byte_order_mark_is_no_part_of_a_name(self, table):
        assert table("\ufeffa,b\n1,2\n").columns == ["a", "b"]

    def test_truncated_and_false_gzip(self, table, tmp_path):
        content = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
        for bad in (content[:30], b"a,b\n1,2\n", content[:-6] + b"\0" * 6):
            (tmp_path / "t.csv.gz").write_bytes(bad)
            with pytest.raises(ValueError, match="is not a gzip file, or it is truncated"):
                numbers_of(open_table(tmp_path / "t.csv.gz", TableFormat()))

    def test_latin1_in_gzip(self, table):
        content = "a,b\n1,\u00e9\n".encode("latin-1")
        self.refused(table, content, "line 2 has the byte 0xe9", name="t.csv.gz")

    def test_a_line_without_end(self, table, monkeypatch):
        monkeypatch.setattr(csv_files, "MAX_LINE_CHARACTERS", 1000)
        self.refused(table, "a,b\n" + "0" * 5000, "line 2, has more than 1000 characters")

    def test_a_field_without_end(self, table):
        self.refused(table, "a,b\n1," + "0" * 200_000, "line 2, .*field larger than field limit")

    @pytest.mark.parametrize("value", ["1e200", "inf", "-inf", "nan", "1_000", "0x10", "x"])
    def test_what_is_no_finite_number_of_moderate_size(self, table, value):
        self.refused(table, f"a,b\n1,2\n1,{value}\n", rf"'b' \(line 3: '{value}'\)")

    def test_all_columns_that_are_no_numbers_are_named(self, table):
        match = r"'a' \(line 2: 'x'\), 'c' \(line 3: 'y'\)\. Convert or scale them"
        self.refused(table, "a,b,c\nx,,1\ny,2,y\n", match)


def test_names_missing_marks_and_truth_values(table):
    found = table("a, b ,,\n 1,+2, True,1.\n.5,-3e-2,false,1\n")
    assert found.columns == ["a", "b", "column 3", "column 4"]
    assert found.row_identifiers == ["column 3", "column 4"]
    assert numbers_of(found) == [[1, 2, 1, 1], [0.5, -0.03, 0, 1]]
    with pytest.raises(ValueError, match="line 2, has a missing value in column 'a'"):
        numbers_of(table("a,b\nNA,1\n", missing=("NA",)))


def test_numbers_are_rounded_correctly(rng):
    values = rng.normal(size=1000) * 10.0 ** rng.integers(-300, 300, size=1000)
    text = pa.array([repr(float(value)) for value in values])
    np.testing.assert_array_equal(to_numbers(text, ".", [""]), values)
    with_commas = pa.array([cell.replace(".", ",") for cell in text.to_pylist()])
    np.testing.assert_array_equal(to_numbers(with_commas, ",", [""]), values)


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)


@given(
    cells=st.lists(st.tuples(words, words, words), min_size=1, max_size=6),
    separator=st.sampled_from(",;\t|"),
)
def test_any_text_is_read_as_it_was_written(tmp_path_factory, cells, separator):
    content = io.StringIO()
    writer = csv.writer(content, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerows([("a", "b", "c"), *cells])
    path = tmp_path_factory.mktemp("any") / "t.csv"
    path.write_bytes(content.getvalue().encode())
    found = open_table(path, TableFormat(separator=separator))
    for name, column in zip("abc", zip(*cells, strict=True), strict=True):
        assert text_of(found, name) == [cell.strip() for cell in column]


class TestParquet:
    def test_numbers_and_other_columns_stay_in_step(self, tmp_path, rng, monkeypatch):
        monkeypatch.setattr("primum.rows.parquet.BLOCK_NUMBERS", 14)
        frame = pd.DataFrame({"a": rng.normal(size=90), "b": range(90)})
        frame["id"] = [f"{i:03}" for i in range(90)]
        frame["kind"] = pd.Categorical(frame["b"] % 3)
        for number, (start, stop) in enumerate([(0, 40), (40, 41), (41, 90)]):
            frame[start:stop].to_parquet(tmp_path / f"{number}.parquet", row_group_size=9)
        parts = list(open_table(tmp_path, TableFormat()).parts(["b", "a"], ["id", "kind"]))
        assert len(parts) > 12
        X = np.concatenate([part.X for part in parts])
        np.testing.assert_array_equal(X, frame[["b", "a"]].to_numpy())
        for name in ("id", "kind"):
            cells = [cell for part in parts for cell in part.as_written[name].to_pylist()]
            assert cells == frame[name].tolist()

    def test_the_index_of_a_data_frame_names_rows(self, tmp_path):
        frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"])
        frame.to_parquet(tmp_path / "t.parquet")
        found = open_table(tmp_path / "t.parquet", TableFormat())
        assert found.row_identifiers == ["__index_level_0__"]
        assert text_of(found, "__index_level_0__") == ["p", "q"]

    def test_files_that_disagree(self, tmp_path):
        for number, ids in enumerate((["1"], [1])):
            pd.DataFrame({"a": [1.0], "id": ids}).to_parquet(tmp_path / f"{number}.parquet")
        with pytest.raises(ValueError, match=r"1.parquet has type int64 in column 'id', but .*str"):
            list(open_table(tmp_path, TableFormat()).parts(["a"], ["id"]))
