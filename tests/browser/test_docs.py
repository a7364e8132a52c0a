"""The main pages of the documentation in a real browser, if it has been built."""

import runpy
from pathlib import Path

import pytest

from primum.pages.page import html_page, paragraph

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "docs"
PAGES = ("index", "quickstart", "choosing", "safe", "comparing", "icls", "methods", "paper", "api")


@pytest.mark.slow
@pytest.mark.skipif(not BUILT.exists(), reason="the documentation is not built: make docs")
@pytest.mark.parametrize("device", ["desktop", "phone"])
@pytest.mark.parametrize("name", PAGES)
def test_page_of_the_documentation(name, device, visit, check_page):
    page = visit(BUILT / f"{name}.html", device)
    check_page(page)


def test_the_picture_of_a_report_ends_with_its_lead(browser, tmp_path):
    image = pytest.importorskip("PIL.Image")
    script = runpy.run_path(str(ROOT / "docs" / "make_pictures.py"))
    lead, rest = paragraph("An answer."), "<div style='height:5000px'></div>"
    sizes = []
    for name, below in (("short", ""), ("long", rest)):
        path = tmp_path / f"{name}.html"
        path.write_text(html_page("Title", [("Lead", [lead]), ("More", [below])]), encoding="utf-8")
        script["photograph"](browser, path, tmp_path / f"{name}.png")
        with image.open(tmp_path / f"{name}.png") as picture:
            sizes.append(picture.size)
    assert sizes[0] == sizes[1]
    assert sizes[0][0] == script["WIDTH"] * script["SCALE"]
