"""A sheet of rows to label, filled in and changed as spreadsheets do: labels on their own rows."""

import csv
import io
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from primum._plain import from_plain
from primum.tables.files import TableFormat, open_table
from primum.tables.labels import CHOSEN
from primum.tables.sheets import (
    FORMULA,
    Sheet,
    alike,
    guarded,
    read_filled,
    sheet_of,
    unguarded,
    write_sheet,
)

CLASSES = ("no", "yes")
ROWS = pd.DataFrame(
    {
        "churn": [None] * 4,
        "age": ["31", "47", "31", "0.125"],
        "when": ["2024-03-01", "2024-12-24", "2023-01-02", ""],
        "note": ["=1+1", "a, b; c", "äöü", '-x "y"'],
        "id": ["007", "100123", "A-1", "2024-05-06"],
    }
)
KEYS = ["r1", "r2", "r3", "r4"]


@pytest.fixture
def sheet():
    return sheet_of(ROWS, KEYS, "churn", "id")


def written(sheet, path, labels, *, header=None, change=list, sep=",", encoding="utf-8-sig"):
    """Write a sheet with labels by key, after a change to its rows."""
    place = sheet.header.index(sheet.target)
    rows = []
    for row in sheet.texts:
        row[place] = labels.get(row[0], "")
        rows.append(row)
    text = io.StringIO()
    lines = [list(sheet.header) if header is None else header, *change(rows)]
    csv.writer(text, delimiter=sep).writerows(lines)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def labels_in(path, sheet, classes=CLASSES):
    return read_filled(path, sheet, classes)


def test_the_sheet_has_key_target_and_mark_first(sheet):
    header = ("primum_row", "churn", CHOSEN, "id", "age", "when", "note")
    assert sheet.header == header
    assert [row[:4] for row in sheet.rows][:2] == [
        ("r1", "", "yes", "007"),
        ("r2", "", "yes", "100123"),
    ]
    assert [sheet.header[place] for place in sheet.shown] == ["id", "age", "when", "note"]
    assert from_plain(Sheet, sheet.to_dict()).texts == sheet.texts


@pytest.mark.parametrize("name", ["rows.csv", "rows.xlsx"])
def test_a_written_sheet_is_read_as_it_was_and_has_no_formula(sheet, tmp_path, name):
    path = tmp_path / name
    write_sheet(path, sheet, separator=";")
    table = open_table(path, TableFormat())
    assert tuple(table.columns) == sheet.header
    rows = [[unguarded(str(cell)) for cell in row] for _, row in table.numbered()]
    assert rows == sheet.texts
    if name.endswith("csv"):
        text = path.read_text(encoding="utf-8-sig")
        cells = [cell for line in csv.reader(io.StringIO(text), delimiter=";") for cell in line]
        assert not [cell for cell in cells if cell[:1] in tuple("=+-@") and len(cell) > 1]
    else:
        from openpyxl import load_workbook

        cells = [cell for row in load_workbook(path).active for cell in row]
        assert "f" not in {cell.data_type for cell in cells}
    assert labels_in(path, sheet) == {}


@pytest.mark.parametrize(
    "text",
    [
        *("=A1", "+x", "-x", "@f", "\tx", "'=A1", "''-x", "'quoted'", "-3"),
        *("\uff1d1+1", "\uff0bx", "\uff0dx", "\uff20f", "'\uff1dA1"),  # full-width =, +, - and @
    ],
)
def test_guarding_a_cell_can_be_undone(text):
    assert unguarded(guarded(text)) == text
    assert guarded(text)[0] not in "=+@\t\uff1d\uff0b\uff0d\uff20"


def test_the_page_for_labelling_guards_the_same_text():
    script = files("primum.pages").joinpath("label.js").read_text(encoding="utf-8")
    pattern = re.search(r"^const FORMULA = /\^(.*)/s;$", script, re.MULTILINE)[1]
    assert pattern == FORMULA.pattern


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_separators_and_encodings(sheet, tmp_path, sep, encoding):
    labels = {"r1": "yes", "r3": "no"}
    path = written(sheet, tmp_path / "x.csv", labels, sep=sep, encoding=encoding)
    assert labels_in(path, sheet) == labels


def test_rows_are_found_by_key_whatever_their_order_and_columns(sheet, tmp_path):
    def change(rows):
        return [[*row[:4], "mine"] for row in rows[::-1]] + [[""] * 5] * 3

    header = ["PRIMUM_ROW ", " Churn", CHOSEN, "id", "who"]
    path = written(sheet, tmp_path / "x.csv", {"r4": "yes"}, header=header, change=change)
    assert labels_in(path, sheet) == {"r4": "yes"}


def without_key(rows):
    return [row[1:] for row in rows]


def test_a_renamed_key_column_is_known_by_its_content(sheet, tmp_path):
    header = ["number", "churn", *"abcde"]
    path = written(sheet, tmp_path / "x.csv", {"r2": "no"}, header=header)
    assert labels_in(path, sheet) == {"r2": "no"}


@pytest.mark.parametrize(
    ("key", "now"),
    [
        *(("r1", "7"), ("r1", "7.0"), ("r2", "1.00E+05"), ("r2", "1,00E+05"), ("r3", "a-1 ")),
        *(("r4", "06.05.2024"), ("r4", "5/6/2024")),
    ],
)
def test_without_keys_rows_are_found_by_their_changed_ids(sheet, tmp_path, key, now):
    def change(rows):
        row = rows[KEYS.index(key)]
        return [[row[1], now]]

    path = written(sheet, tmp_path / "x.csv", {key: "yes"}, header=["churn", "id"], change=change)
    assert labels_in(path, sheet) == {key: "yes"}


def test_without_keys_and_ids_rows_are_found_by_their_cells(sheet, tmp_path):
    def change(rows):
        rows = [[row[1], *row[4:6]] for row in rows[::-1]]
        return [
            [label, age.replace(".", ","), when.replace("2024-12-24", "24.12.2024")]
            for label, age, when in rows
        ]

    labels = {"r1": "yes", "r2": "no", "r4": "no"}
    path = written(
        sheet, tmp_path / "x.csv", labels, header=["churn", "age", "when"], change=change, sep=";"
    )
    assert labels_in(path, sheet) == labels


def test_rows_that_cannot_be_told_apart_are_refused_with_the_line(sheet, tmp_path):
    def change(rows):
        return [[row[1], row[4]] for row in rows]

    path = written(sheet, tmp_path / "x.csv", {"r3": "yes"}, header=["churn", "age"], change=change)
    with pytest.raises(
        ValueError,
        match=r"x.csv, line 4, has no primum_row, and its cells are those of 2 rows that were "
        "asked for: copy its primum_row",
    ):
        labels_in(path, sheet)


def test_rows_that_were_not_asked_for_are_refused_with_the_line(sheet, tmp_path):
    def change(rows):
        return [*rows, ["r9", "yes", "yes", "x", "1", "", ""]]

    path = written(sheet, tmp_path / "x.csv", {}, change=change)
    with pytest.raises(
        ValueError,
        match=r"line 6, has the primum_row 'r9', which was not asked for: .* or delete the line\.",
    ):
        labels_in(path, sheet)
    path = written(
        sheet, tmp_path / "x.csv", {}, change=lambda rows: [["", "yes", "yes", "x", "1", "", ""]]
    )
    with pytest.raises(
        ValueError,
        match="line 2, has no primum_row and an id that does not help, and its cells are not those "
        "of a row that was asked for",
    ):
        labels_in(path, sheet)


def test_columns_that_were_sorted_on_their_own_are_refused(sheet, tmp_path):
    def change(rows):
        cells = [row[3:] for row in rows]
        return [[*row[:3], *other] for row, other in zip(rows, cells[1:] + cells[:1], strict=True)]

    path = written(sheet, tmp_path / "x.csv", {"r2": "yes"}, change=change)
    with pytest.raises(
        ValueError,
        match="line 3, has the primum_row r2, but its other cells are those of r3: if columns were "
        "sorted",
    ):
        labels_in(path, sheet)


@pytest.mark.parametrize(
    ("cell", "label"),
    [(" Yes ", "yes"), ("NO", "no"), ("?", "?"), ("Cannot say", "?"), ("", None)],
)
def test_labels_are_read_as_they_are_meant(sheet, tmp_path, cell, label):
    path = written(sheet, tmp_path / "x.csv", {"r1": cell})
    assert labels_in(path, sheet).get("r1") == label


@pytest.mark.parametrize(("cell", "label"), [("1.0", "1"), ("1,0", "1"), ("0", "0"), ("-1", "-1")])
def test_classes_that_are_numbers(sheet, tmp_path, cell, label):
    path = written(sheet, tmp_path / "x.csv", {"r1": cell})
    assert labels_in(path, sheet, ("0", "1", "-1")) == {"r1": label}


def test_an_unknown_or_ambiguous_class_is_refused_with_the_line(sheet, tmp_path):
    path = written(sheet, tmp_path / "x.csv", {"r2": "maybe"})
    with pytest.raises(
        ValueError,
        match=r"line 3: The label 'maybe' is not one of the classes no, yes: correct it, or write",
    ):
        labels_in(path, sheet)
    path = written(sheet, tmp_path / "x.csv", {"r2": "YES"})
    with pytest.raises(ValueError, match="The label 'YES' is not one of the classes yes, Yes"):
        labels_in(path, sheet, ("yes", "Yes"))


def test_one_row_twice(sheet, tmp_path):
    def change(rows):
        return [*rows, ["r1", "no", *rows[0][2:]]]

    path = written(sheet, tmp_path / "x.csv", {"r1": "yes"}, change=change)
    with pytest.raises(
        ValueError,
        match="line 6, has the label 'no' for the row r1, but line 2 has 'yes': keep one",
    ):
        labels_in(path, sheet)
    path = written(sheet, tmp_path / "x.csv", {"r1": "no"}, change=change)
    assert labels_in(path, sheet) == {"r1": "no"}


def test_a_sheet_without_the_target_is_refused(sheet, tmp_path):
    header = [name if name != "churn" else "label" for name in sheet.header]
    path = written(sheet, tmp_path / "x.csv", {}, header=header)
    with pytest.raises(
        ValueError, match="has no column 'churn' for the labels, only 'primum_row', 'label'"
    ):
        labels_in(path, sheet)
    with pytest.raises(ValueError, match="is not a sheet: pass a CSV file or a spreadsheet"):
        labels_in(tmp_path, sheet)


def test_a_spreadsheet_saved_by_another_program(sheet, tmp_path):
    """Ids are numbers there, moments dates, and rows are empty in between."""
    cells = pd.DataFrame(sheet.texts, columns=sheet.header).drop(columns="primum_row")
    cells["id"] = [7, 100123, "A-1", pd.Timestamp("2024-05-06")]
    cells["churn"] = ["yes", None, "no", "?"]
    empty = pd.DataFrame(columns=cells.columns, index=[0])
    cells = pd.concat([cells[:2], empty, cells[2:], empty]).astype(object)
    cells.to_excel(tmp_path / "x.xlsx", index=False)
    assert labels_in(tmp_path / "x.xlsx", sheet) == {"r1": "yes", "r3": "no", "r4": "?"}
    cells.iloc[3, 0] = "maybe"
    cells.to_excel(tmp_path / "x.xlsx", index=False)
    with pytest.raises(ValueError, match=r"x\.xlsx, row 5: The label 'maybe'"):
        labels_in(tmp_path / "x.xlsx", sheet)


@pytest.mark.parametrize("name", ["x.csv", "x.xlsx", "x.parquet"])
def test_cells_of_rows_are_as_written_and_in_the_order_asked_for(tmp_path, name):
    frame = pd.DataFrame({"a": ["0.10", "1,50", "x"], "b": ["007", "8", "9"]})
    path = tmp_path / name
    {"csv": frame.to_csv, "xlsx": frame.to_excel, "parquet": frame.to_parquet}[name[2:]](
        path, index=False
    )
    found = open_table(path).cells_at(np.array([2, 0]))
    assert found.to_numpy().tolist() == [["x", "9"], ["0.10", "007"]]


def test_keys_without_ids(sheet, tmp_path):
    assert replace(sheet, id_name=None).keys == KEYS
    path = written(sheet, tmp_path / "x.csv", {"r4": "yes"})
    assert labels_in(path, replace(sheet, id_name=None)) == {"r4": "yes"}


def refused_sheet(sheet, tmp_path, change, match, header=None):
    path = written(sheet, tmp_path / "x.csv", {"r2": "yes"}, header=header, change=change)
    with pytest.raises(ValueError, match=match):
        labels_in(path, sheet)


def test_a_sheet_of_another_comparison_is_refused_although_its_keys_are_the_same(sheet, tmp_path):
    """Whether its rows have other ids or none: no cell of them was asked for."""
    elsewhere = ["X-9", "88", "2019-01-01", "other"]
    refused_sheet(
        sheet,
        tmp_path,
        lambda rows: [[*row[:3], *elsewhere] for row in rows],
        "line 3, has the primum_row r2, but its id is 'X-9', so this row is not the one asked for: "
        "the sheet seems to belong to another comparison",
    )
    header = ["primum_row", "churn", "age", "when", "note"]
    refused_sheet(
        sheet,
        tmp_path,
        lambda rows: [[*row[:2], *elsewhere[1:]] for row in rows],
        "line 3, has the primum_row r2, but other cells, so this row is not the one asked for",
        header,
    )


def test_half_of_the_cells_may_have_been_changed_and_keys_alone_suffice(sheet, tmp_path):
    def change(rows):
        return [[*row[:4], row[4], "?", "?"] for row in rows]

    path = written(sheet, tmp_path / "x.csv", {"r2": "yes"}, change=change)
    assert labels_in(path, sheet) == {"r2": "yes"}
    header = ["primum_row", "churn"]
    path = written(
        sheet,
        tmp_path / "x.csv",
        {"r2": "yes"},
        header=header,
        change=lambda rows: [row[:2] for row in rows],
    )
    assert labels_in(path, sheet) == {"r2": "yes"}


def test_ids_that_were_sorted_on_their_own_are_refused(sheet, tmp_path):
    def change(rows):
        ids = [row[3] for row in rows[::-1]]
        return [[*row[:3], own, *row[4:]] for row, own in zip(rows, ids, strict=True)]

    refused_sheet(
        sheet,
        tmp_path,
        change,
        "line 3, has the primum_row r2, but its id is 'A-1', so this row is not the one asked for: "
        ".* or a column was sorted on its own",
    )


@pytest.mark.parametrize(("key", "now"), [("r1", "7"), ("r2", "1.00E+05"), ("r4", "06.05.2024")])
def test_with_keys_the_formats_of_ids_may_have_changed(sheet, tmp_path, key, now):
    def change(rows):
        return [[*row[:3], now, *row[4:]] if row[0] == key else row for row in rows]

    path = written(sheet, tmp_path / "x.csv", {key: "yes"}, change=change)
    assert labels_in(path, sheet) == {key: "yes"}


def test_ids_that_differ_beyond_the_digits_of_a_spreadsheet(tmp_path):
    """They are alike, so one that is written out is that of its own row only."""
    rows = pd.DataFrame({"y": [None] * 2, "id": ["9234567890123456", "9234567890123457"]})
    sheet = sheet_of(rows, ["r1", "r2"], "y", "id")
    path = written(sheet, tmp_path / "x.csv", {"r1": "yes"})
    assert labels_in(path, sheet) == {"r1": "yes"}
    exchanged = [["r1", "yes", "yes", rows["id"][1]]]
    path = written(sheet, tmp_path / "x.csv", {}, change=lambda _: exchanged)
    with pytest.raises(ValueError, match="but its other cells are those of r2"):
        labels_in(path, sheet)


@pytest.mark.parametrize("name", ["x.csv", "x.xlsx"])
@pytest.mark.parametrize("begin", ["", "="])
def test_text_that_no_spreadsheet_can_hold_is_cut(tmp_path, name, begin):
    """And what is left of it is found again, with nothing but this text to go by."""
    rows = pd.DataFrame({"y": [None], "text": [begin + "ä" * 200_000]})
    sheet = sheet_of(rows, ["r1"], "y")
    write_sheet(tmp_path / name, sheet)
    assert labels_in(tmp_path / name, sheet) == {}
    cells = pd.DataFrame([[*sheet.texts[0]]], columns=sheet.header)
    cells["y"] = "yes"
    cells["text"] = [guarded(sheet.texts[0][-1])]
    assert len(cells["text"][0]) <= 32_767
    assert cells["text"][0].endswith("ä…")
    cells[["y", "text"]].to_csv(tmp_path / "mine.csv", index=False)
    assert labels_in(tmp_path / "mine.csv", sheet) == {"r1": "yes"}


def test_characters_that_an_encoding_lacks():
    """Excel saves ж as ? and an emoji, which is two units of UTF-16, as ??."""
    assert alike("caf\u00e9 ??? ??!", "caf\u00e9 \u0436\u0436\u0436 \U0001f600!")
    assert not alike("caf\u00e9 ?? ??!", "caf\u00e9 \u0436\u0436\u0436 \U0001f600!")
    assert not alike("\u0436", "\u0448")
    assert not alike("why?", "when?")


def test_rows_without_ids_are_told_from_those_of_another_comparison_by_its_mark(tmp_path):
    """All their cells are the same: only the mark differs. With an id, the row is the same."""
    rows = pd.DataFrame({"y": [None] * 2, "flag": ["0", "0"], "id": ["a", "b"]})
    asked, other = (sheet_of(rows, ["r1", "r2"], "y", None, f"yes 3f2a9{k}") for k in "cd")
    header = ["primum_row", "y", CHOSEN, "flag"]
    for sheet in (asked, other):
        path = written(
            *(sheet, tmp_path / "x.csv", {"r1": "yes"}),
            header=header,
            change=lambda rows: [row[:4] for row in rows],
        )
        if sheet is asked:
            assert labels_in(path, asked) == {"r1": "yes"}
    with pytest.raises(
        ValueError,
        match="line 2, has the primum_row r1, but the mark of another comparison, so this row is "
        "not the one asked for",
    ):
        labels_in(path, asked)
    path = written(other, tmp_path / "x.csv", {"r1": "yes"})
    assert labels_in(path, replace(asked, id_name="id")) == {"r1": "yes"}
