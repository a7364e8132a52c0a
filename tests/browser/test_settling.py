"""From a table to a settled answer in a browser: compare, label on the page, download, settle."""

import re

import numpy as np
import pandas as pd
from click.testing import CliRunner

from primum.cli.main import primum
from primum.comparison.labelling_files import StoredLabelling
from primum.tables.files import open_table

QUICK = ("--methods", "em-lda", "--repeats", "1", "--no-curves", "--jobs", "1", "--quiet")
N_ROWS, N_LABELED = 420, 24


def call(*arguments):
    answer = CliRunner().invoke(primum, list(map(str, arguments)))
    assert answer.exit_code == 0, answer.output
    return re.sub(r"\s+", " ", answer.output)


def test_labels_given_on_the_page_settle_the_comparison(
    visit, rng, tmp_path, monkeypatch, quick_drift
):
    monkeypatch.chdir(tmp_path)
    y = np.arange(N_ROWS) % 2
    X = rng.normal(size=(N_ROWS, 3)) * np.where(y, 2.0, 1.0)[:, None] + 0.5 * y[:, None]
    table = pd.DataFrame(X.round(3), columns=["a", "b", "c"])
    table.insert(0, "case", [f"{number:04d}" for number in range(N_ROWS)])
    table["note"] = rng.choice(["=1+1", 'a "b", c', "two\nlines"], N_ROWS)
    truth = np.where(y == 1, "yes", "no")
    table["churn"] = np.where(np.arange(N_ROWS) < N_LABELED, truth, None)
    table.to_csv("data.csv", index=False)
    call("compare", "data.csv", "--target", "churn", "--id", "case", *QUICK, "--out", "report")
    asked = StoredLabelling.read(tmp_path / "report").settlement
    right = np.searchsorted(asked.classes, truth[asked.rows])
    assert len(right) > 20

    page = visit(tmp_path / "report" / "label.html")
    for code in right[:10]:
        page.keyboard.press(str(code + 1))
    page.reload()
    page.evaluate("new Promise(requestAnimationFrame)")  # painted, it takes keys
    counts = page.locator("#counts")
    assert counts.inner_text().startswith("10 of")
    for code in right[10:20]:
        page.keyboard.press(str(code + 1))
    assert counts.inner_text().startswith("20 of")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the sheet").click()
    waiting.value.save_as(tmp_path / "downloads.csv")
    assert page.problems == []
    rows = [cells for _, cells in open_table(tmp_path / "downloads.csv").numbered()]
    assert not [cell for cells in rows for cell in cells if cell.startswith("=")]

    output = call("settle", "report", "downloads.csv")
    assert "downloads.csv: 20 new labels." in output
    stored = StoredLabelling.read(tmp_path / "report")
    assert stored.settlement.labels == dict(enumerate(right[:20].tolist()))
    found = stored.settlement.leading
    assert f"{found.low:+,}" in (tmp_path / "report" / "report.html").read_text()
