"""The main pages of the documentation in a real browser, if it has been built."""

from pathlib import Path

import pytest

BUILT = Path(__file__).parents[2] / "build" / "docs"
PAGES = ("index", "quickstart", "choosing", "safe", "comparing", "icls", "methods", "paper", "api")


@pytest.mark.slow
@pytest.mark.skipif(not BUILT.exists(), reason="the documentation is not built: make docs")
@pytest.mark.parametrize("device", ["desktop", "phone"])
@pytest.mark.parametrize("name", PAGES)
def test_page_of_the_documentation(name, device, visit, check_page):
    page = visit(BUILT / f"{name}.html", device)
    check_page(page)
