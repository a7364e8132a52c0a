"""The row with the names of the columns, below titles; sheets of a spreadsheet."""

from pathlib import Path

import pandas as pd
import pytest

from primum.tables.files import TableFormat, find_header, open_table


def read_frame(path, table_format=None):
    return open_table(path, table_format).frame()


ROWS = [["age", "plan", "kind"], [31, "basic", "a"], [45, "plus", "b"]]
ALL_TEXT = [["name", "plan", "kind"], ["Ann", "basic", "a"], ["Bob", "plus", "b"]]
FOUND = {
    "no title": (ROWS, 0),
    "a title": ([["Customers 2024", None, None], *ROWS], 1),
    "titles": ([["Customers", None, None], [None, None, "May"], *ROWS], 2),
    "a title above text": ([["Customers", "", ""], *ALL_TEXT], 1),
    "an unnamed column": ([["Customers", None, None], [None, "plan", "kind"], *ROWS[1:]], 1),
    "a date beside the title": ([["Report", None, "May", None], ["a", "b", "c", "d"], [1] * 4], 1),
    "two columns": ([["Report", None], ["age", "kind"], [1, "a"]], 1),
    # The first row stays, if another one may be data.
    "an index without a name": ([[None, "kind"], [0, "a"], [1, "b"]], 0),
    "the names may be data": ([["x", "", "y", ""], ["a", "b", "c", "d"], ["e", "f", "g", "h"]], 0),
    "numbers below the title": ([["Report", None, None], [1, 2, 3], [4, 5, 6]], 0),
    "the same name twice": ([["Report", None, None], ["a", "a", "b"], [4, 5, 6]], 0),
    "titles only": ([["a", None], ["b", None]], 0),
    "one column": ([["kind"], ["a"], ["b"]], 0),
    "nothing": ([], 0),
}


@pytest.mark.parametrize("case", FOUND)
def test_the_header_is_found_where_it_is_unambiguous(case):
    rows, expected = FOUND[case]
    assert find_header(rows) == expected


@pytest.fixture
def book(tmp_path):
    """A spreadsheet whose second sheet has a table below titles and an empty row."""
    path = tmp_path / "book.xlsx"
    titles = [["Customers", None, None], ["as of May", None, None], [None, None, None]]
    with pd.ExcelWriter(path) as writer:
        for name, rows in (("Notes", [["Ask Ann."]]), ("Data", [*titles, *ROWS])):
            pd.DataFrame(rows).to_excel(writer, sheet_name=name, header=False, index=False)
    return path


def test_a_sheet_with_titles(book):
    found = read_frame(book, TableFormat(sheet="Data"))
    assert found.to_dict("list") == {"age": [31, 45], "plan": ["basic", "plus"], "kind": ["a", "b"]}
    code = open_table(book, TableFormat(sheet="Data")).pandas_code()
    assert code.endswith("sheet_name='Data', skiprows=3)")
    pd.testing.assert_frame_equal(eval(code, {"pd": pd}), found, check_dtype=False)


def test_the_header_row_can_be_named(book):
    found = read_frame(book, TableFormat(sheet="Data", header_row=5))
    assert found.columns.tolist() == ["31", "basic", "a"]
    assert found.iloc[0].tolist() == [45, "plus", "b"]
    with pytest.raises(ValueError, match=r"is empty: .*, and its other sheets are 'Notes' \(--she"):
        read_frame(book, TableFormat(sheet="Data", header_row=7))


def test_what_was_taken_as_the_header_in_words(book, tmp_path):
    assert open_table(book).header_in_words("kind") == (
        "Row 1 of sheet 'Notes' is its header (--header-row names another), and its other sheets "
        "are 'Data' (--sheet); sheet 'Data' has that column."
    )
    assert open_table(book, TableFormat(sheet="Data")).header_in_words("x") == (
        "Row 4 of sheet 'Data' is its header (--header-row names another), and its other sheets "
        "are 'Notes' (--sheet)."
    )
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "t.parquet")
    assert open_table(tmp_path / "t.parquet").header_in_words("x") == ""


LINES = "age;price;kind\n31;2,5;a\n45;3,5;b\n"


@pytest.mark.parametrize("above", ["Customers\n", "Customers;;\n", "Customers, May\n\nof Ann\n"])
def test_titles_above_a_csv_file(tmp_path, above):
    path = Path(tmp_path, "t.csv")
    path.write_text(above + LINES)
    found = read_frame(path)
    assert found.to_dict("list") == {"age": [31, 45], "price": [2.5, 3.5], "kind": ["a", "b"]}
    again = eval(open_table(path).pandas_code(), {"pd": pd})
    assert again.to_dict("list")["price"] == ["2,5", "3,5"]
    assert open_table(path).header_in_words("x") == (
        f"Line {above.count(chr(10)) + 1}, separated by semicolons, is its header (--header-row "
        "and --sep name others)."
    )


def test_the_line_of_a_csv_header_can_be_named(tmp_path):
    path = Path(tmp_path, "t.csv")
    path.write_text("Customers,x,y,z\n\n" + LINES)
    found = read_frame(path, TableFormat(header_row=3))
    assert found["price"].tolist() == [2.5, 3.5]
    path.write_text("a,b\n1,2\nx,y\n1,2\n3\n")
    with pytest.raises(ValueError, match="line 5, has 1 fields but the header has 2"):
        read_frame(path, TableFormat(header_row=3))
    with pytest.raises(ValueError, match="is empty: line 9 must contain the column names"):
        read_frame(path, TableFormat(header_row=9))
    path.write_text("Customers\na,b,c\n1,2\n")
    with pytest.raises(ValueError, match="if line 1 is a title, pass --header-row"):
        read_frame(path)


def test_files_without_sheets_or_header_rows(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(path)
    with pytest.raises(ValueError, match="no header row: leave out --header-row"):
        open_table(path, TableFormat(header_row=2))
    with pytest.raises(ValueError, match="is not a spreadsheet, so it has no sheet 'x'"):
        open_table(path, TableFormat(sheet="x"))
