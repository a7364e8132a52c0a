"""Take the picture of a report that the documentation and README.md show.

The report is that of ``examples/demo.py``, in the light scheme. Needs ``primum[browser]`` and a
Chromium that is installed on this computer; run it again when the look of a report changes:

    python docs/make_pictures.py
"""

import argparse
import io
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

import primum

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "examples"))
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTH = 1100
# Pixels per unit of width, for sharp text.
SCALE = 1.25
N_COLORS = 64


def compared_digits():
    """Return the comparison of the demonstration."""
    from demo import digits_with_hidden_labels

    table, _ = digits_with_hidden_labels()
    return primum.compare(
        table,
        target="digit",
        id="image",
        methods=["safe stack", "self-learning"],
        n_repeats=1,
        verbose=False,
    )


def photograph(browser, path, picture):
    """Write the picture of a page down to the end of its lead: the answer, numbers, the chart."""
    size = {"width": WIDTH, "height": 900}
    page = browser.new_page(viewport=size, color_scheme="light", device_scale_factor=SCALE)
    page.goto(path.as_uri())
    lead = page.locator("section.lead").bounding_box()
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": lead["y"] + lead["height"]}
    drawn = page.screenshot(full_page=True, clip=clip)
    page.close()
    # A page has few colours, so a palette of them makes the file several times smaller.
    Image.open(io.BytesIO(drawn)).convert("RGB").quantize(N_COLORS).save(picture, optimize=True)


def main():
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", help="where to write")
    out = parser.parse_args().out
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        sys.exit("No Chromium was found: install it, for example with apt-get install chromium.")
    with TemporaryDirectory() as folder, sync_playwright() as started:
        path = Path(folder) / "report.html"
        compared_digits().to_html(path)
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        photograph(browser, path, out / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
