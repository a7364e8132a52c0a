"""The page for labelling: its task is checked, and nothing in it is taken for markup."""

import base64
import hashlib
import json
import re
from dataclasses import replace

import pytest

from primum.pages.label import LabellingPair, LabellingTask, labelling_page
from primum.pages.page import asset

EVIL = "</script><!--<script>alert('1') & \"2\"</script>\r\u2028"
PAIR = LabellingPair("the safe stack", EVIL, 5, True, 0.05, [(0, 1), None])
TASK = LabellingTask(
    title=EVIL,
    target=EVIL,
    key="k",
    file_name="rows_to_label.csv",
    classes=["no", EVIL],
    header=["primum_row", EVIL, "primum_chosen", "size"],
    rows=[["r1", "", "yes", EVIL], ["r2", "", "yes", "3"]],
    shown=range(3, 4),
    n_rows=1234,
    margin=12,
    pairs=[PAIR],
)


def task_in(page):
    return json.loads(
        re.search(r"<script type='application/json' id='task'>(.*?)</script>", page)[1]
    )


def test_the_task_survives_whatever_its_texts_are():
    page = labelling_page(TASK)
    assert len(re.findall(r"<script|</script|<!--", page)) == 4  # the task and the own script
    found = task_in(page)
    assert found["rows"] == TASK.rows
    assert found["shown"] == [3]
    assert found["pairs"][0]["codes"] == [[0, 1], None]
    assert found["pairs"][0]["baseline"] == EVIL


def test_only_the_own_style_and_script_are_allowed():
    page = labelling_page(TASK)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    for tag, name in (("style", "style-src"), ("script", "script-src")):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?:|url\(|@import|<link|\son\w+=|\sstyle=|\beval\b", page)


def test_its_colours_are_those_of_all_pages():
    defined = set(re.findall(r"--([\w-]+): ", asset("chart.css")))
    assert set(re.findall(r"var\(--([\w-]+)\)", asset("label.css"))) <= defined
    assert not re.search(r"#[0-9a-f]{3,6}\b", asset("label.css"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": []}, "needs rows and pairs of models, got 0 rows and 1 pairs"),
        ({"pairs": []}, "got 2 rows and 0 pairs"),
        ({"target": "y"}, "must have the target 'y' once"),
        ({"rows": [["r1", "", "yes"], ["r2"]]}, "Row 1 of the sheet has 3 cells, .* has 4"),
        ({"rows": [["r1", "no", "yes", ""]]}, "Row 1 of the sheet has the label 'no' already"),
        ({"classes": ["no", "?"]}, r"neither empty nor '\?', which means undecided"),
        ({"classes": ["no", "no"]}, "must be different texts"),
        ({"rows": TASK.rows[:1]}, "There are 1 rows to label, but 2 codes of the safe stack"),
        ({"pairs": [replace(PAIR, codes=[(0, 2), None])]}, r"codes \(0, 2\), but there are 2"),
        ({"pairs": [replace(PAIR, n_different=0)]}, "differ on 0 rows, but 1 of them"),
        ({"shown": [3, 4]}, r"shown columns .* got \[3, 4\]"),
        ({"shown": [1, 3]}, r"shown columns .* got \[1, 3\]"),
    ],
)
def test_tasks_that_cannot_be_meant_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(TASK, **changes)
