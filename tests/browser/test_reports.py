"""Reports in a real browser: they render everywhere, sort, and can be read without seeing them."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import primum
from generate import two_classes
from primum.pages.charts import IntervalLine, interval_chart
from primum.pages.page import asset, html_page
from primum_lab import CrossValidation, Experiment, LearningCurve, Method, run_experiment
from primum_lab.pages.experiment import write_report
from primum_lab.pages.reproduction import write_illustrations

EXPERIMENTS = Path(__file__).parents[2] / "lab" / "results"
COMMITTED = sorted(path.parent.name for path in EXPERIMENTS.glob("*/report.html"))
EVIL = "<script>alert(1)</script>"
# Every page is looked at in the first two, if slow tests are run.
LOOKS = [
    ("desktop", "light"),
    ("phone", "dark"),
    ("desktop", "dark"),
    ("phone", "light"),
    ("tablet", "light"),
]


class Reports(dict):
    """The path of the report of every kind, written when it is first asked for."""

    def __init__(self, folder):
        super().__init__({name: EXPERIMENTS / name / "report.html" for name in COMMITTED})
        self.folder = folder

    def __missing__(self, name):
        folder = self.folder / name
        folder.mkdir()
        WRITTEN[name](folder)
        self[name] = folder / "report.html"
        return self[name]


@pytest.fixture(scope="module")
def reports(browser, tmp_path_factory):
    return Reports(tmp_path_factory.mktemp("reports"))


def write_comparison(folder):
    X, y, X_unlabeled, _ = two_classes(100, 100, 3)
    labels = np.where(y == 1, "<img src=x onerror=alert(1)>", "plain")
    table = pd.DataFrame(
        {
            "id": [f"<a href=x>{k}" for k in range(200)],
            f"{EVIL} size": np.concatenate([X[:, 0], X_unlabeled[:, 0]]),
            "AColumnWhoseNameIsVeryLong" * 4: np.concatenate([X[:, 2], X_unlabeled[:, 2]]),
            "kind": np.where(np.concatenate([X[:, 1], X_unlabeled[:, 1]]) > 0, EVIL, "=1+1"),
            "constant": 1,
            f"{EVIL}?": np.concatenate([labels, np.full(100, None)]),
        }
    )
    result = primum.compare(
        table,
        target=f"{EVIL}?",
        id="id",
        methods=[(EVIL, primum.SelfLearningClassifier()), ("icls", primum.ICLSClassifier())],
        baseline=[("logistic", LogisticRegression())],
        n_repeats=1,
        curves=True,
        verbose=False,
    )
    asked = result.settlement
    half = asked.keys[: len(asked.keys) // 2 + 1]
    labels = {key: asked.classes[k % 3 == 0] for k, key in enumerate(half)}
    result.settle(labels, verbose=False)
    assert "class='bound'" in result.to_html(folder / "report.html")


def write_experiment(folder, design):
    data = {name: two_classes(90, 0, 3, seed=k)[:2] for k, name in enumerate(("a", "<b>"))}
    methods = (
        Method("Plain", primum.LeastSquaresClassifier(), sees="labeled"),
        Method(EVIL, primum.ICLSClassifier()),
    )
    mine = Experiment("Mine & yours", data, design, methods, repeats=2, seed=0)
    write_report(mine, run_experiment(mine, folder, verbose=False), folder)


WRITTEN = {
    "comparison": write_comparison,
    "experiment": lambda folder: write_experiment(folder, CrossValidation(n_folds=3, n_labeled=10)),
    "learning-curves": lambda folder: write_experiment(
        folder, LearningCurve(n_labeled=10, sizes=(4, 16, 40))
    ),
    "own-illustrations": lambda folder: write_illustrations(folder, 0),
}


def check_figures(page):
    """Check that every figure has a caption, is described, and has its numbers as a table."""
    for figure in page.locator("figure").all():
        drawn = figure.locator("img[alt], [role=img][aria-label]")
        assert drawn.count() == 1
        described = drawn.get_attribute("alt") or drawn.get_attribute("aria-label")
        assert len(described) > 20
        assert figure.locator("figcaption").inner_text().strip()
        assert figure.locator("details table tbody td").count() > 0


ONE_OF_A_KIND = {
    "curves": LOOKS[0],
    "illustrations": LOOKS[1],
    "peaking": LOOKS[1],
    "safe-choice": LOOKS[0],
    "settling": LOOKS[1],
    "table2": LOOKS[1],
}
EVERYWHERE = [
    *((name, *look) for name in WRITTEN for look in LOOKS[:2]),
    # One look at one report of every kind; the others are slow tests.
    *(
        pytest.param(name, *look, marks=[pytest.mark.slow] * (ONE_OF_A_KIND.get(name) != look))
        for name in COMMITTED
        for look in LOOKS[:2]
    ),
    *(("comparison", *look) for look in LOOKS[2:]),
    *(pytest.param("learning-curves", *look, marks=pytest.mark.slow) for look in LOOKS[2:]),
]


@pytest.mark.parametrize(("name", "device", "scheme"), EVERYWHERE)
def test_reports_render_and_are_accessible(reports, visit, check_page, name, device, scheme):
    page = visit(reports[name], device, scheme)
    check_figures(page)
    check_page(page)
    assert page.locator("header h1").count() == 1
    assert page.locator("main section h2").count() >= 1
    assert reports[name].stat().st_size < 2e6


def column(page, table, k):
    """Return the texts of a column of the body, from top to bottom."""
    return page.locator(f"table >> nth={table}").evaluate(
        "(table, k) => [...table.tBodies[0].rows].map((r) => r.cells[k].textContent)", k
    )


def first_number(text):
    return float(re.match(r"[-+]?[\d.]+", text)[0])


def test_tables_sort_by_a_press_and_by_the_keyboard(reports, visit):
    page = visit(reports["safe-choice"])
    names, errors = column(page, 0, 0), column(page, 0, 2)
    assert [first_number(text) for text in errors] != sorted(map(first_number, errors))
    header = page.locator("table >> nth=0").locator("thead th").nth(2)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    numbers = [first_number(text) for text in column(page, 0, 2)]
    assert numbers == sorted(map(first_number, errors))
    assert sorted(column(page, 0, 0)) == sorted(names)
    header.locator("button").press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    assert [first_number(text) for text in column(page, 0, 2)] == numbers[::-1]
    first = page.locator("table >> nth=0").locator("thead th").nth(0)
    first.locator("button").press("Space")
    assert header.get_attribute("aria-sort") is None
    assert [name.casefold() for name in column(page, 0, 0)] == sorted(map(str.casefold, names))
    foot = page.locator("table >> nth=0").locator("tfoot th").all_inner_texts()
    assert foot[0] == "Mean difference"


def test_missing_cells_stay_last(reports, visit):
    page = visit(reports["comparison"])
    methods = page.locator("#the-methods")
    header = methods.locator("thead th").nth(3)
    for _ in range(2):
        header.locator("button").click()
        assert methods.locator("tbody tr").last.locator("td").nth(2).inner_text() == "–"
    assert methods.locator("tbody tr").first.locator("td").nth(2).inner_text() != "–"


def test_names_and_values_are_never_run(reports, visit):
    for name in ("comparison", "experiment"):
        page = visit(reports[name])
        assert page.problems == []
        assert page.locator("section script, img[src='x'], a[href='x']").count() == 0
        assert page.get_by_text(EVIL).count() > 0


def test_links_of_the_contents_lead_to_sections(reports, visit):
    page = visit(reports["comparison"])
    links = page.locator("nav a")
    assert links.count() >= 6
    for k in range(links.count()):
        assert page.locator(f"section{links.nth(k).get_attribute('href')} h2").count() == 1


def test_wide_tables_scroll_within_a_region_that_the_keyboard_reaches(reports, visit):
    page = visit(reports["safe-choice"], "tablet")
    region = page.locator(".scroll").first
    assert region.get_attribute("tabindex") == "0"
    assert region.evaluate("(r) => r.scrollWidth > r.clientWidth")
    region.focus()
    region.press("ArrowRight")
    page.wait_for_function("document.querySelector('.scroll').scrollLeft > 0")
    caption = page.locator("caption span").first
    assert caption.evaluate("(c) => c.getBoundingClientRect().right <= innerWidth")


def test_on_a_phone_nothing_needs_to_be_scrolled_sideways(reports, visit):
    """Wide tables become cards, with the heading of its column at every value."""
    page = visit(reports["comparison"], "phone")
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.wait_for_function(
        "[...document.querySelectorAll('.scroll')].every((r) => r.scrollWidth <= r.clientWidth)"
    )
    methods = page.locator("#the-methods")
    assert methods.locator("thead").is_hidden()
    label = "(cell) => getComputedStyle(cell, '::before').content"
    shown = methods.locator("tbody tr").last.locator("td:visible")
    labels = [json.loads(cell.evaluate(label)) for cell in shown.all()]
    assert labels[:3] == ["Unlabelled rows", "Error (%)", "Observed change"]
    baseline = methods.locator("tbody tr").first.locator("td")
    assert baseline.nth(1).is_visible()
    assert baseline.nth(2).is_hidden()  # there is nothing to show


def test_cards_are_sorted_by_a_choice(reports, visit):
    page = visit(reports["comparison"], "phone")
    methods = page.locator("#the-methods")
    for arrow, sign in (("↑", 1), ("↓", -1)):
        methods.get_by_label("Order").select_option(f"Error (%) {arrow}")
        errors = [
            float(text) for text in methods.locator("tbody tr td:nth-child(3)").all_inner_texts()
        ]
        assert errors == sorted(errors, reverse=sign < 0)
    assert visit(reports["comparison"]).get_by_label("Order").first.is_hidden()


def test_a_desktop_is_used_from_side_to_side(reports, visit):
    page = visit(reports["comparison"])
    boxes = {name: page.locator(name).first.bounding_box() for name in ("nav", ".verdict")}
    assert boxes["nav"]["x"] < 60
    assert boxes["nav"]["x"] + boxes["nav"]["width"] < boxes[".verdict"]["x"]
    assert boxes[".verdict"]["x"] + boxes[".verdict"]["width"] > 1440 - 60
    left, right = (f.bounding_box() for f in page.locator("#more-unlabelled-rows figure").all())
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] < right["x"]
    page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    assert page.locator("nav a").first.evaluate("(a) => a.getBoundingClientRect().top >= 0")


def test_lines_of_the_verdict_are_short(reports, visit):
    for device in ("desktop", "phone"):
        page = visit(reports["comparison"], device)
        lines = page.locator(".verdict dd").first
        size = lines.evaluate("(d) => d.clientWidth / parseFloat(getComputedStyle(d).fontSize)")
        assert size < 60  # in units of the font size, of which a letter takes about half
        assert page.locator(".verdict").evaluate("(v) => v.getBoundingClientRect().top") < 300


def paper(page):
    """Return how light the page is, from 0 to 255."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return max(map(int, re.findall(r"\d+", colour)))


def test_pages_follow_the_scheme_of_the_system_but_not_on_paper(reports, visit):
    page = visit(reports["learning-curves"], scheme="dark")
    assert paper(page) < 50
    picture = page.locator("figure img").first
    assert "invert" in picture.evaluate("(i) => getComputedStyle(i).filter")
    page.emulate_media(media="print", color_scheme="dark")
    assert paper(page) == 255
    assert picture.evaluate("(i) => getComputedStyle(i).filter") == "none"
    assert paper(visit(reports["learning-curves"])) == 255


@pytest.mark.parametrize(
    ("theme", "scheme", "dark"),
    [
        ("", "dark", False),
        ("data-theme='dark'", "light", True),
        ("data-jp-theme-light='false'", "light", True),
        ("class='vscode-dark'", "light", True),
    ],
)
def test_notebooks_follow_their_theme_and_not_the_system(visit, tmp_path, theme, scheme, dark):
    chart = interval_chart(
        [IntervalLine("a", "help", "better", -3, -2, -1)], 1, "Change", "In words"
    )
    path = tmp_path / "notebook.html"
    path.write_text(
        f"<html><style>{asset('chart.css')}</style><body {theme}><div class='primum'>{chart}</div>",
        encoding="utf-8",
    )
    shown = visit(path, scheme=scheme).locator(".primum")
    colour = shown.evaluate("(d) => getComputedStyle(d).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", colour))) < 50) == dark


def test_without_scripts_everything_is_there(reports, visit):
    page = visit(reports["comparison"], scripts=False)
    assert page.locator("th button").count() == 0
    assert page.locator("#the-methods tbody tr").count() == 3


@pytest.mark.parametrize("name", ["table2", "comparison"])
def test_it_prints_whole_tables(reports, visit, tmp_path, name):
    page = visit(reports[name], scheme="dark")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})
    assert page.locator("nav").is_hidden()
    assert page.locator(".scroll").first.evaluate("(r) => getComputedStyle(r).overflowX") == (
        "visible"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("<p style='color:#ccc'>hardly legible</p>", "color-contrast"),
        ("<div style='width:200vw'>wide</div>", "wider than the screen"),
        ("<div style='width:3em;overflow:hidden'>Incomprehensible</div>", "Incomprehensible"),
        ("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>", "count"),
        ("<script>undefined_name()</script>", "undefined_name"),
        ("<link rel='stylesheet' href='http://localhost:9/x.css'>", "localhost"),
    ],
)
def test_the_checks_find_faults(visit, check_page, tmp_path, fault, named):
    path = tmp_path / "faulty.html"
    page = html_page("Faulty", [("Fault", [f"<div>{fault}</div>"])])
    path.write_text(page, encoding="utf-8")
    with pytest.raises(AssertionError, match=named):
        check_page(visit(path))
