"""The page that all reports share: complete in itself, escaped, with a table of contents."""

import base64
import re

import pytest
from matplotlib.figure import Figure

from primum.pages.charts import N_COLOURS
from primum.pages.page import (
    AnswerBlock,
    Cell,
    PageTable,
    asset,
    first_sentence,
    html_page,
    paragraph,
    picture,
)

EVIL = "</style><script>alert('1') & \"2\"</script>"


def test_everything_is_escaped():
    table = PageTable(EVIL, (EVIL, EVIL), ((Cell(EVIL, note=EVIL), Cell(EVIL, bold=True)),) * 2)
    page = html_page(EVIL, [(EVIL, [paragraph(EVIL), table.to_html()])], subtitle=EVIL)
    assert page.count("<script>") == 1  # its own
    assert page.count("</style>") == 1
    assert page.count("&lt;script&gt;alert(&#39;1&#39;) &amp; &#34;2&#34;") == 15


def test_the_answer_precedes_the_contents():
    headings = ["Summary", "Error", "Error", "¿?"]
    page = html_page("Title", [(heading, [paragraph("text")]) for heading in headings])
    ids = re.findall(r"<section id='([^']*)'", page)
    assert ids == ["summary", "error", "error-2", "section"]
    assert re.findall(r"href='#([^']*)'", page) == ids[1:]
    assert page.index("id='summary'") < page.index("<nav") < page.index("id='error'")
    assert "<nav" not in html_page("Title", [("Summary", []), ("Error", [])])


def test_nothing_is_loaded_from_elsewhere():
    page = html_page("Title", [("Summary", [])])
    assert not re.search(r"https?:|url\(|@import|<link", page)


@pytest.mark.parametrize(("n_points", "kind"), [(10, "svg+xml"), (20_000, "png")])
def test_dense_figures_are_pixels(n_points, kind):
    figure = Figure(figsize=(3, 2))
    figure.add_subplot().plot(range(n_points), range(n_points), "o")
    drawn = picture(figure, "Points. More words.", "<table></table>")
    assert "alt='Points. The numbers follow as a table.'" in drawn
    assert "<figcaption>Points. More words.</figcaption>" in drawn
    data = re.search(rf"data:image/{re.escape(kind)};base64,([^']*)", drawn)[1]
    assert base64.b64decode(data).startswith(b"<?xml" if kind != "png" else b"\x89PNG")


def test_a_figure_is_the_same_every_time():
    def draw():
        figure = Figure(figsize=(9, 2))
        figure.add_subplot().plot([1, 2], [1, 2])
        return picture(figure, "A line.")

    assert draw() == draw()
    assert "class='scroll'" in draw()  # it is wide


def test_first_sentences():
    assert first_sentence("Mean error, p < 0.01; then z.") == "Mean error, p < 0.01"
    assert first_sentence("One. Two.") == "One."
    assert first_sentence("") == ""


def test_tables_have_headings_for_columns_and_rows():
    rows = ((Cell("a"), Cell("1.5 (3)"), Cell("word")), (Cell("b"), Cell("–"), Cell("x" * 50)))
    table = PageTable("Caption. More.", ("Name", "Number", "Text"), rows, ((Cell("sum"),) * 3,))
    page = table.to_html()
    assert "role='region' aria-label='Table: Caption.'" in page
    assert page.count("scope='col'") == 3
    assert page.count("scope='row'") == 3
    assert "<td>1.5 (3)</td>" in page
    assert "<td class='text'>word</td>" in page
    assert "<td class='text long'>" in page
    assert "<tfoot><tr><th scope='row'>sum</th>" in page
    assert "class='sortable'" in page
    assert "class='sortable'" not in PageTable("", ("Name",), ((Cell("a"),),)).to_html()
    assert table.to_text().splitlines()[-1].split() == ["sum"] * 3
    assert "\\midrule\nsum & sum & sum \\\\\n\\bottomrule" in table.to_latex()


def test_markdown_cells_end_where_they_should():
    table = PageTable("", ("a|b",), ((Cell("x | <b>y</b>\n*z* [1](2)"),),))
    header, _, row = table.to_markdown().splitlines()
    assert header == r"| a\|b |"
    assert row == r"| x \| &lt;b&gt;y&lt;/b&gt; \*z\* \[1\](2) |"


def test_the_answer_is_a_block_of_short_lines_after_its_alerts():
    reasons = [("Why", "It errs less."), ("Next", ""), ("Then", EVIL)]
    answer = AnswerBlock("Use it.", "help", reasons, alerts=[EVIL, "Rows repeat."])
    page = answer.to_html()
    assert re.findall(r"<dt>(.*?)</dt>", page) == ["Why", "Then"]  # nothing is said without words
    assert page.rindex("class='alert'") < page.index("class='verdict help'") < page.index("Use it.")
    assert page.count("<b>Warning:</b>") == 2
    assert "<script>" not in page
    first, second, line, lines = answer.to_markdown().split("\n\n")
    assert (second, line) == ("**Warning:** Rows repeat.", "**Use it.**")
    assert lines.splitlines()[0] == "* Why: It errs less."
    assert "<script>" not in first
    assert "<dl>" not in AnswerBlock("Use it.", "other", []).to_html()


def relative_luminance(colour):
    """Return the luminance that the contrast ratio of WCAG 2 is defined by."""
    digits = colour.lstrip("#")
    digits = digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)
    shares = (int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4))
    linear = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares)
    return sum(weight * x for weight, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first, second):
    dark, light = sorted(map(relative_luminance, (first, second)))
    return (light + 0.05) / (dark + 0.05)


SCHEMES = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", asset("chart.css")
    )
}


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_told_from_what_is_behind_them(scheme):
    """Text needs a contrast of 4.5 (WCAG AA), and lines and marks need 3."""
    colours = {name: pair[scheme] for name, pair in SCHEMES.items()}
    behind = {name: ["paper", "soft", "band"] for name in ("ink", "muted", "link", "neutral")}
    behind |= {name: ["paper", "band", f"{name}-soft"] for name in ("help", "harm")}
    behind["alert"] = ["alert-soft"]
    for name, below in behind.items():
        assert all(contrast(colours[name], colours[other]) > 4.5 for other in below), name
    for below in ("help-soft", "harm-soft", "alert-soft"):
        assert contrast(colours["ink"], colours[below]) > 4.5, below
        assert contrast(colours["muted"], colours[below]) > 4.5, below
    for name in ["focus", *(f"series-{k}" for k in range(N_COLOURS))]:
        assert contrast(colours[name], colours["paper"]) > 3, name


def test_without_two_schemes_a_browser_gets_the_light_one():
    """Every colour is also written without light-dark(), which browsers before 2024 do not know."""
    plain = dict(re.findall(r"--([\w-]+): (#\w+)", asset("chart.css")))
    assert plain == {name: light for name, (light, _) in SCHEMES.items()}
    used = set(re.findall(r"var\(--([\w-]+)\)", asset("chart.css") + asset("page.css")))
    assert used - {"mark", "tint"} <= set(plain)
