"""A classification problem in a table: labels, groups, identities, and errors of the user."""

import numpy as np
import pandas as pd
import pytest

from primum.tables.problem import table_problem

RNG = np.random.default_rng(0)
N = 40


def table(labels=("yes", "no", "", None), target="churned last year?", **more):
    columns = {"x": RNG.normal(size=N), target: (list(labels) * N)[:N], **more}
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("yes", "no", "", None), ["yes", "no", None, None]),
        ((" ja ", "nein", "  ", None), ["ja", "nein", None, None]),
        ((1, 0, -1, -1), [1, 0, None, None]),
        ((1.0, 0.0, np.nan, np.nan), [1, 0, None, None]),
        (("1", "2", "", None), [1, 2, None, None]),
        (("007", "7", "", None), ["007", "7", None, None]),
        ((0.5, 1.5, None, None), ["0.5", "1.5", None, None]),
        ((True, False, None, None), [True, False, None, None]),
        ((1, "two", None, None), ["1", "two", None, None]),
        (("Kündigung", "élève", "ß", None), ["Kündigung", "élève", "ß", None]),
        (("<b>", "=1+1", None, None), ["<b>", "=1+1", None, None]),
    ],
)
def test_labels(labels, expected):
    found = table_problem(table(labels), "churned last year?").labels[:4].tolist()
    assert found == expected
    assert [type(label) for label in found] == [type(label) for label in expected]


def test_features_ids_and_groups():
    frame = table(key=np.arange(N) + 5, patient=list("abcd") * 10, site=["s", "t"] * 20)
    found = table_problem(frame, "churned last year?", id="key", group="patient", exclude=["site"])
    assert found.X.columns.tolist() == ["x"]
    assert found.ids.tolist() == [str(i + 5) for i in range(N)]
    assert found.groups.tolist() == list("abcd") * 10
    assert found.target == "churned last year?"
    assert [column.used for column in found.columns] == [True, False, False, False, False]


def test_markers_of_missing_cells():
    frame = table(("yes", "no", "?", "n.d."), code=["1", "2", "n.d.", "4"] * 10)
    found = table_problem(frame, "churned last year?", missing=["?", "n.d."])
    assert found.labels[:4].tolist() == ["yes", "no", None, None]
    np.testing.assert_array_equal(found.X["code"][:4], [1, 2, np.nan, 4])


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (table(), {"target": "churned last yaer?"}, r"did you mean 'churned last year\?'"),
        (table(), {"target": "X"}, r"no column 'X' \(did you mean 'x'\?\); its columns are 'x', "),
        (table(), {"id": "nowhere"}, "The table has no column 'nowhere'; its columns are"),
        (table(), {"exclude": ["y"]}, "no column 'y'"),
        (table(), {"exclude": "x"}, r"exclude must be a list, got the text 'x': pass \['x'\]"),
        (table(), {"group": "churned last year?"}, "group and target are both"),
        (table(), {"exclude": ["churned last year?"]}, "is among the excluded columns"),
        (table([None]), {}, "No row is labelled: all 40 cells in column 'churned last"),
        (table([""]), {}, "No row is labelled"),
        (table(["yes", None]), {}, "All 20 labels in column 'churned last year.' are 'yes'"),
        (table()[:0], {}, "The table has column names but no rows"),
        (table(["a", "b", "NA", "c"]), {}, "'NA' in column .* one of 4 different labels: add 'NA'"),
        (table([0.5, 1.2, 0.5, 1.3]), {}, "3 different numbers in 40 labels, which may be class"),
        (table([1e30, 0.0, None]), {}, "label 10+[0-9]+ in column .* is too large: store the"),
        (table([-1, 1, None]), {}, "'-1' in column .* 2 different labels: add '-1' to missing"),
        (table([-1, 1]), {}, "All 20 labels in column .* are 1, because -1 marks unknown ones"),
        (table()[["churned last year?"]], {}, "No column is left to learn from"),
        (table().set_axis([0, "churned last year?"], axis=1), {}, "names must be text, .* is 0"),
        (table().set_axis(["a", "a"], axis=1), {"target": "a"}, "several columns named 'a'"),
        (np.zeros((3, 2)), {}, "X must be a table if target is given, got ndarray"),
        (table(p=[None] + ["a"] * 39), {"group": "p"}, "1 labelled rows have no group .* row 1"),
    ],
)
def test_errors_of_the_user(frame, options, message):
    with pytest.raises(ValueError, match=message):
        table_problem(frame, **{"target": "churned last year?", **options})
