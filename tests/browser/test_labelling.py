"""The page on which a person labels rows, in a real browser: keys, storage, sheet, settlement."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from primum.judging.error_bounds import (
    BASELINE,
    BLANK,
    CHALLENGER,
    EVIDENCE_ROUNDING,
    MAX_ENUMERATED_ROWS,
    NEITHER,
    UNDECIDED,
    Pair,
    bounds_after,
)
from primum.pages.label import LabellingPair, LabellingTask, labelling_page

EVIL = "</script><!--<script>alert(1)</script>"
CLASSES = ("no", 'ye"s, <b>really</b>')
CELLS = (EVIL, 'say "hi"', "a,b", "two\r\nlines", "", "  spaces ", "täglich – ñ 漢字 🙂", "x" * 400)


def make_task(n_rows=40, classes=CLASSES, names=("id", "text", EVIL), **changes):
    """Return a task with two pairs; the challenger predicts the second class on even rows."""
    header = ["primum_row", "churn, or not", "primum_chosen", *names]
    rows = [
        [f"r{k + 1}", "", "yes", *(CELLS[(k + j) % len(CELLS)] for j in range(len(names)))]
        for k in range(n_rows)
    ]
    codes = [(0, 1) if k % 2 == 0 else (1, 0) for k in range(n_rows)]
    halved = [code if k % 2 else None for k, code in enumerate(codes)]
    two = len(classes) == 2
    pairs = [
        LabellingPair("the safe stack", "the baseline", n_rows, two, 0.025, codes),
        LabellingPair("the safe stack", EVIL, n_rows // 2, two, 0.025, halved, "what EVIL adds"),
    ]
    task = LabellingTask(
        title=f"Rows to label {EVIL}",
        target=header[1],
        key="test",
        file_name="rows_to_label.csv",
        classes=classes,
        header=header,
        rows=rows,
        shown=range(3, len(header)),
        n_rows=5293,
        margin=5,
        pairs=pairs,
        next_step="Then run primum settle.",
    )
    return replace(task, **changes)


def sheet_of(task, answers):
    """Return the bytes that Python writes, with the answers filled in."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(task.header)
    place = list(task.header).index(task.target)
    for k, row in enumerate(task.rows):
        writer.writerow([*row[:place], answers.get(k, ""), *row[place + 1 :]])
    return text.getvalue().encode("utf-8-sig")


def downloaded(page):
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the sheet").click()
    assert waiting.value.suggested_filename == "rows_to_label.csv"
    return waiting.value.path().read_bytes()


@pytest.fixture
def open_task(visit, tmp_path):
    """Return a function that opens the page of a task."""

    def open_page(task, device="desktop", scheme="light", **options):
        path = tmp_path / "label.html"
        path.write_text(labelling_page(task), encoding="utf-8")
        return visit(path, device, scheme, **options)

    return open_page


def test_rows_are_labelled_by_keyboard_across_a_reload_and_downloaded(open_task):
    task = make_task()
    page = open_task(task)
    for key in "12121212?1":
        page.keyboard.press(key)
    page.reload()
    assert page.locator("#row").inner_text() == "Row 11 of 40"
    for key in ("2", "u", "2", "2", "Backspace", *"211212121"):
        page.keyboard.press(key)
    names = {"1": CLASSES[0], "2": CLASSES[1], "?": "?"}
    answers = {k: names[key] for k, key in enumerate("12121212?1" + "2211212121")}
    assert page.locator("#counts").inner_text().startswith("19 of 40 rows labelled · 1 undecided")
    assert downloaded(page) == sheet_of(task, answers)
    assert page.problems == []


def test_undo_goes_back_beyond_a_reload_and_to_the_first_answer(open_task):
    page = open_task(make_task())
    page.keyboard.press("u")
    assert page.locator("#said").inner_text() == "There is nothing to undo."
    for key in "121":
        page.keyboard.press(key)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("2")  # the third row again
    page.reload()
    seen = []
    for _ in range(3):
        page.keyboard.press("u")
        given = page.locator("#answers [aria-pressed=true]").all_inner_texts()
        seen.append((page.locator("#row").inner_text(), [text[0] for text in given]))
    assert seen == [("Row 3 of 40", ["1"]), ("Row 3 of 40", []), ("Row 2 of 40", [])]


def test_any_row_can_be_visited_and_the_next_one_without_an_answer_follows(open_task):
    page = open_task(make_task())
    page.get_by_label("Go to row").select_option(index=6)
    page.locator("#classes button").first.click()
    assert page.locator("#row").inner_text() == "Row 8 of 40"
    assert "6 skipped" in page.locator("#counts").inner_text()
    assert page.locator("#rows option").nth(6).inner_text() == "7 · no"
    assert page.evaluate("document.activeElement.id") == "values"  # to be read and scrolled
    page.get_by_role("button", name="Previous row").click()
    assert page.locator("#classes [aria-pressed=true]").inner_text().endswith("no")
    page.get_by_label("Go to row").select_option(index=39)
    page.get_by_label("Go to row").press("?")  # keys in the list are not answers
    page.locator("#classes button").first.click()
    assert page.locator("#row").inner_text() == "Row 1 of 40"


def test_predictions_are_not_shown_and_the_answer_only_when_it_is_settled(open_task):
    page = open_task(make_task())
    assert page.locator("#counts").inner_text() == "0 of 40 rows labelled · still open"
    assert not page.locator("#standing ul").is_visible()
    for k in range(40):
        if page.locator("#news").inner_text():
            break
        page.keyboard.press("2" if k % 2 == 0 else "1")  # the challenger is always right
        page.evaluate("judge()")
    assert page.locator("#news .answer").inner_text() == (
        "Settled: not worse. You may stop if that is enough."
    )
    assert "fewer" not in page.locator(".work").inner_text()
    for j in range(k, 40):
        page.keyboard.press("2" if j % 2 == 0 else "1")
        page.evaluate("judge()")
        if page.locator("#news .settled").count():
            break
    # The first pair decides; the second has half of its rows, and is open.
    assert page.locator("#news .answer").inner_text() == (
        "Settled: which model to use. You may stop and download the sheet."
    )
    told = page.locator("#news").inner_text()
    assert "The safe stack against the baseline: it is better." in told
    assert "(Still open, optional: what EVIL adds.)" in told
    assert "Then run primum settle." in told
    assert "fewer" not in told
    assert page.locator("#counts").inner_text().endswith(" · settled")
    page.keyboard.press("u")
    page.evaluate("judge()")
    assert page.locator("#news .settled").count() == 0
    for i in range(j, 40):
        page.keyboard.press("2" if i % 2 == 0 else "1")
        page.evaluate("judge()")
        if "optional" not in page.locator("#news").inner_text():
            break
    assert i > j
    told = page.locator("#news").inner_text()
    assert "On your 5,293 rows, at least 95 % sure:" in told
    assert "fewer errors than the baseline: it is better." in told
    assert f"fewer errors than {EVIL}: it is better." in told
    assert page.locator("#news").get_attribute("role") == "status"


def test_a_sheet_without_empty_rows_says_what_to_do_next(open_task):
    task = make_task(4)
    page = open_task(task)
    for key in "1111":
        page.keyboard.press(key)
    page.evaluate("judge()")
    told = page.locator("#news").inner_text()
    assert "All rows are labelled: download the sheet. Then run primum settle." in told
    page.keyboard.press("?")
    page.evaluate("judge()")
    told = page.locator("#news").inner_text()
    assert "All rows have an answer: download the sheet. Then run primum settle." in told
    part = open_task(replace(task, key="part", pairs=[replace(task.pairs[0], n_different=600)]))
    for key in "1111":  # four of 600 rows
        part.keyboard.press(key)
    part.evaluate("judge()")
    told = part.locator("#news").inner_text()
    assert "Still open: which model to use. No row is left that could settle it." in told
    assert "All rows are labelled: download the sheet." in told


def test_rows_are_left_although_the_last_one_is_labelled(open_task):
    page = open_task(make_task(4))
    page.evaluate("go(3)")
    page.keyboard.press("1")
    page.evaluate("judge()")
    assert "No row is left" not in page.locator("#news").inner_text()
    assert "3 skipped" in page.locator("#counts").inner_text()


def test_undecided_rows_leave_an_answer_for_the_others(open_task):
    task = make_task()
    page = open_task(replace(task, pairs=task.pairs[:1]))
    for k in range(40):
        page.keyboard.press("?" if k % 4 == 3 else "1" if k % 2 else "2")
    page.evaluate("judge()")
    # Ten undecided rows: 30 right and 0 to 10 wrong of 40, so that it is settled all the same.
    assert page.evaluate("[questions[0].all.low, questions[0].all.high]") == [-40, -20]
    assert page.evaluate("[questions[0].decidable.low, questions[0].decidable.high]") == [-30, -30]
    page.locator("summary").first.click()
    told = page.locator("#standing").inner_text()
    assert "between 20 and 40 fewer errors than the baseline" in told


def test_pages_without_storage_say_so_and_still_work(browser, tmp_path):
    task = make_task()
    path = tmp_path / "label.html"
    path.write_text(labelling_page(task), encoding="utf-8")
    page = browser.new_page()
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked'); } })"
    )
    page.goto(path.as_uri())
    assert "Download the sheet before you close" in page.get_by_role("alert").inner_text()
    page.keyboard.press("2")
    assert downloaded(page) == sheet_of(task, {0: CLASSES[1]})
    page.close()


def test_answers_of_another_page_are_neither_used_nor_lost(open_task):
    page = open_task(make_task())
    other = '{"answers": ["maybe"], "past": []}'
    page.evaluate("(text) => localStorage.setItem(STORE, text)", other)
    page.reload()
    assert "cannot be read" in page.get_by_role("alert").inner_text()
    page.keyboard.press("1")
    assert page.evaluate("localStorage.getItem(STORE)") == other


def test_labels_that_were_read_from_a_sheet_are_shown_beside_those_of_the_browser(
    open_task, tmp_path
):
    page = open_task(make_task(n_rows=6))
    page.keyboard.press("2")
    page.keyboard.press("1")
    read = {1: CLASSES[1], 2: CLASSES[0], 3: "?"}
    again = labelling_page(make_task(n_rows=6, answers=read))
    (tmp_path / "label.html").write_text(again, encoding="utf-8")
    page.reload()
    given = page.locator("#rows option").all_inner_texts()
    # The browser has its own answer for the second row, which may be a correction.
    own = [CLASSES[1], CLASSES[0], CLASSES[0], "cannot say"]
    assert given == [*(f"{k + 1} · {one}" for k, one in enumerate(own)), "5", "6"]
    assert page.locator("#row").inner_text() == "Row 5 of 6"
    assert page.locator("#counts").inner_text().startswith("3 of 6 rows labelled · 1 undecided")
    answers = dict(enumerate([*own[:3], "?"]))
    assert downloaded(page) == sheet_of(make_task(n_rows=6), answers)
    assert page.problems == []


def test_two_tabs_share_their_answers(open_task):
    page = open_task(make_task())
    other = page.context.new_page()
    other.goto(page.url)
    other.keyboard.press("1")
    page.bring_to_front()  # hidden tabs need not answer
    page.get_by_text("1 of 40 rows labelled").wait_for()
    page.keyboard.press("u")
    other.bring_to_front()
    other.get_by_text("0 of 40 rows labelled").wait_for()


def test_keys_of_one_letter_can_be_switched_off(open_task):
    page = open_task(make_task())
    page.locator("summary").last.click()
    page.get_by_label("Answer with keys of a single letter").uncheck()
    for key in ("1", "?", "u"):
        page.keyboard.press(key)
    assert page.locator("#row").inner_text() == "Row 1 of 40"
    page.reload()
    page.keyboard.press("1")
    assert page.locator("#row").inner_text() == "Row 1 of 40"


@pytest.mark.parametrize(
    ("classes", "typed", "recorded"),
    [
        (("0", "1"), "101", "101"),
        (tuple("0123456789"), "48307", "48307"),
        (tuple("abcdefghijklmnopqrstuvwxyz"), "UzA", "uza"),
        (("a", "A", "z"), "aAZ", "aAz"),
    ],
)
def test_classes_of_one_character_are_their_own_keys(open_task, classes, typed, recorded):
    page = open_task(make_task(classes=classes))
    for key in typed:
        page.keyboard.press(key)
    given = page.locator("#rows option").all_inner_texts()
    assert given[: len(typed)] == [f"{k + 1} · {one}" for k, one in enumerate(recorded)]
    page.keyboard.press("Backspace")
    assert page.locator("#row").inner_text() == f"Row {len(typed)} of 40"
    assert page.locator("#undo kbd").inner_text() == ("⌫" if "u" in classes else "u")


@pytest.mark.parametrize(
    ("classes", "keys"),
    [
        (("no", "yes"), "12"),
        (("0", "1", "10"), "234"),
        (("10-20", "20-30", "3 or less"), "456"),
        (("a", "2", "other"), "134"),
        (("1", "2", "not one"), "345"),
    ],
)
def test_no_key_of_a_position_is_written_like_another_class(open_task, classes, keys):
    page = open_task(make_task(classes=classes))
    assert page.locator("#classes kbd").all_inner_texts() == list(keys)
    for key in keys:
        page.keyboard.press(key)
    given = page.locator("#rows option").all_inner_texts()
    assert given[: len(keys)] == [f"{k + 1} · {one}" for k, one in enumerate(classes)]


def test_a_key_that_is_no_class_does_nothing_and_says_so(open_task):
    page = open_task(make_task(classes=("0", "1")))
    page.keyboard.press("2")
    refused = page.locator("#refused")
    assert refused.is_visible()
    assert refused.inner_text() == (
        "No class has the key 2: nothing was recorded. The keys are 0, 1."
    )
    assert page.locator("#counts").inner_text().startswith("0 of 40 rows labelled")
    page.keyboard.press("1")
    assert not refused.is_visible()
    assert page.locator("#rows option").first.inner_text() == "1 · 1"


def test_many_classes_are_searched(open_task):
    classes = [f"class {k}" for k in range(1, 31)] + ["other than class 2"]
    task = make_task(classes=classes)
    page = open_task(task)
    box = page.get_by_label("Find a class")
    box.fill("CLASS 2")
    assert page.locator("#found").inner_text() == "12 of 31 classes, Enter: class 2"
    box.press("Enter")
    assert box.input_value() == ""
    box.press("?")
    box.press("1")
    box.press("Enter")  # the first that has a 1 in it
    box.press("Backspace")
    page.locator("#classes button").last.click()
    assert downloaded(page) == sheet_of(task, {0: "class 2", 1: "?", 2: "other than class 2"})


@pytest.mark.parametrize(
    ("device", "scheme"),
    [("desktop", "light"), ("phone", "dark"), ("phone", "light"), ("desktop", "dark")],
)
def test_the_page_is_accessible(open_task, check_page, device, scheme):
    page = open_task(make_task(), device, scheme)
    for k in range(30):
        page.keyboard.press("2" if k % 2 == 0 else "1")
    page.keyboard.press("ArrowLeft")  # an answer is marked
    page.evaluate("judge()")
    assert page.locator("#news .settled").count() == 1
    check_page(page)
    sizes = page.locator("button:visible, select:visible, summary").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 44


def test_a_search_is_accessible(open_task, check_page):
    page = open_task(make_task(classes=[f"class {k}" for k in range(40)]), "phone")
    check_page(page)


def test_without_scripts_the_page_says_what_to_do(open_task):
    page = open_task(make_task(), scripts=False)
    assert "fill in the column churn, or not of rows_to_label.csv" in " ".join(
        page.locator("noscript").inner_text().split()
    )


def test_nothing_but_the_own_script_is_run(open_task):
    page = open_task(make_task())
    assert page.get_by_text(EVIL).count() > 2
    assert page.problems == []
    page.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = 'window.wasRun = true';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<b style="color: red">styled</b>');
    }""")
    assert page.evaluate("window.wasRun") is None
    assert page.locator("b").last.evaluate("(b) => getComputedStyle(b).color") != "rgb(255, 0, 0)"
    assert len(page.problems) == 2
    assert all("Content Security Policy" in problem for problem in page.problems)


def test_a_long_and_wide_sheet_is_shown_and_stays_within_the_screen(open_task):
    names = [f"column {k}" for k in range(300)]
    page = open_task(make_task(1000, ("a", "b", "c"), names), "phone")
    values = page.locator("#values")
    assert page.locator("#values dd").count() == 300
    assert values.evaluate("(v) => v.scrollHeight > 5 * v.clientHeight")
    assert page.locator("#undo").evaluate("(b) => b.getBoundingClientRect().bottom <= innerHeight")
    values.focus()
    page.keyboard.press("End")
    page.locator("#values dd").last.wait_for(state="visible")
    for key in "ab?" * 5:
        page.keyboard.press(key)
    assert page.locator("#row").inner_text() == "Row 16 of 1,000"
    assert values.evaluate("(v) => v.scrollTop") == 0
    # Only rows after a change are judged again: 500,000 states are not.
    page.evaluate("judge()")
    sizes = page.evaluate("questions[0].all.states.past.map(({ size }) => size)")
    page.keyboard.press("u")
    page.evaluate("judge()")
    assert page.evaluate("questions[0].all.states.past.map(({ size }) => size)") == sizes[:-1]
    assert page.problems == []


# Outcomes as in Python; the page does not tell why a row is unknown.
PATHS = """(cases) => cases.map((one) => {
    const bounds = new Bounds(one), path = [[bounds.low, bounds.high]];
    const outcomes = one.outcomes.map((code) => Math.min(code, UNKNOWN));
    for (let n = 1; n <= outcomes.length; n++) {
        bounds.update(outcomes.slice(0, n));
        path.push([bounds.low, bounds.high]);
    }
    bounds.update(outcomes.slice(0, one.back));
    bounds.update(outcomes);
    const { low, high, contradicted } = bounds;
    return { path, last: [low, high], answer: bounds.answer(one.margin), contradicted };
})"""


def random_case(rng, k):
    """Return a pair and the outcomes of its rows: fair or not, with and without unknowns."""
    two = k % 2 == 0
    n_all = int(rng.integers(0, 150 if two else 45))
    n_all += MAX_ENUMERATED_ROWS * (k % 100 == 1)  # three outcomes that are not enumerated
    n_listed = int(rng.integers(0, min(n_all, 150) + 1))
    shares = rng.dirichlet([0.7] * (2 if two else 3))
    outcomes = rng.choice(len(shares), n_listed, p=shares)
    if k % 10 == 3:
        outcomes.sort()  # no random order: all states may be excluded
    unknown = rng.random(n_listed) < rng.choice([0, 0.1, 0.5])
    outcomes = np.where(unknown, rng.choice([UNDECIDED, BLANK], n_listed), outcomes)
    alpha = float(rng.choice([0, 0.001, 0.025, 0.05, 0.3]))
    return Pair(10 * n_all + 1, n_all, two, alpha), outcomes


def test_the_page_computes_the_bounds_of_python(open_task):
    rng = np.random.default_rng(0)
    cases = [random_case(rng, k) for k in range(1000)]
    given = [
        {
            "n_different": pair.n_different,
            "two_outcomes": pair.two_outcomes,
            "alpha": pair.alpha,
            "margin": pair.n_margin,
            "outcomes": outcomes.tolist(),
            "back": len(outcomes) // 2,
        }
        for pair, outcomes in cases
    ]
    page = open_task(make_task())
    assert page.evaluate("[MAX_ENUMERATED_ROWS, EVIDENCE_ROUNDING]") == [
        MAX_ENUMERATED_ROWS,
        EVIDENCE_ROUNDING,
    ]
    computed = page.evaluate(PATHS, given)
    found = [bounds_after(pair, outcomes) for pair, outcomes in cases]
    for bounds, paths in zip(found, computed, strict=True):
        np.testing.assert_array_equal(paths["path"][: bounds.n_read + 1], bounds.path)
        assert paths["last"] == [bounds.low, bounds.high]
        assert paths["answer"] == bounds.answer
        assert paths["contradicted"] == bounds.contradicted
    assert sum(bounds.contradicted for bounds in found) > 5
    assert len({bounds.answer for bounds in found}) == 6


@pytest.mark.slow
def test_the_most_states_that_are_enumerated_are_as_in_python(open_task):
    rng = np.random.default_rng(1)
    codes = [CHALLENGER, BASELINE, NEITHER, UNDECIDED]
    outcomes = rng.choice(codes, 100, p=[0.5, 0.2, 0.2, 0.1])
    pair = Pair(10_000, MAX_ENUMERATED_ROWS, False, 0.05)
    given = {
        "n_different": pair.n_different,
        "two_outcomes": False,
        "alpha": pair.alpha,
        "margin": pair.n_margin,
        "outcomes": outcomes.tolist(),
        "back": 50,
    }
    (computed,) = open_task(make_task()).evaluate(PATHS, [given])
    np.testing.assert_array_equal(computed["path"], bounds_after(pair, outcomes).path)
