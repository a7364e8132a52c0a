"""A Chromium for pages that were written by the library, and what must hold for each of them."""

import shutil

import pytest

WIDTHS = {"desktop": (1440, 900), "tablet": (820, 1180), "phone": (390, 844)}
KEPT_ROWS = 6
# Milliseconds, for a machine that is busy; Playwright's own limit is 30 seconds.
LIMIT = 600_000
# Text that ends outside of the screen, or of a box that hides it; what scrolls can be reached.
CUT_OFF = """() => {
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (texts.nextNode()) {
        const node = texts.currentNode, parent = node.parentElement;
        if (!node.data.trim() || parent.closest("script, style, .lead > h2")) continue;
        range.selectNodeContents(node);
        const { left, right, width } = range.getBoundingClientRect();
        if (!width || !parent.checkVisibility()) continue;
        let low = 0, high = innerWidth;
        for (let box = parent; box; box = box.parentElement) {
            const { overflowX } = getComputedStyle(box);
            if (overflowX === "auto" || overflowX === "scroll") { low = -1e9; high = 1e9; break; }
            const { left: a, right: b } = box.getBoundingClientRect();
            if (overflowX !== "visible") { low = Math.max(low, a); high = Math.min(high, b); }
        }
        if (left < low - 1 || right > high + 1) found.push(node.data.trim().slice(0, 60));
    }
    return found;
}"""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser():
    """Return a Chromium that is installed on this computer; nothing is downloaded."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'primum[browser]'"
    )
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("no Chromium was found: apt-get install chromium")
    with playwright.sync_playwright() as started:
        # Without a sandbox, because tests may run as root, and pages are our own.
        chromium = started.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu"], timeout=LIMIT
        )
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser):
    """Return a function that opens a file; errors and requests to the network end up in a list."""
    contexts = []

    def open_page(path, device="desktop", scheme="light", *, scripts=True):
        width, height = WIDTHS[device]
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            java_script_enabled=scripts,
        )
        contexts.append(context)
        context.set_default_timeout(LIMIT)
        page = context.new_page()
        page.problems = []
        page.on("console", lambda m: m.type == "error" and page.problems.append(m.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on(
            "request",
            lambda r: r.url.startswith(("file:", "data:")) or page.problems.append(r.url),
        )
        page.goto(path.as_uri())
        if scripts:
            page.evaluate("new Promise(requestAnimationFrame)")  # painted, it takes keys
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def check_page():
    """Return a function that checks what holds for every page, with all folds open."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-playwright-python is not installed: pip install 'primum[browser]'",
    )

    def check(page):
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert page.problems == []
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"the page is {wide} pixels wider than the screen"
        assert page.evaluate(CUT_OFF) == []
        assert page.locator("img:not([alt]), img[alt='']").count() == 0
        # The rows of a table are alike, and axe takes long for thousands of them.
        page.evaluate(f"""document.querySelectorAll('tbody').forEach((body) => {{
            while (body.rows.length > {KEPT_ROWS}) body.deleteRow(-1);
        }})""")
        found = axe.Axe().run(page).response["violations"]
        serious = [
            (v["id"], v["help"], [node["html"][:200] for node in v["nodes"][:3]])
            for v in found
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == []

    return check
