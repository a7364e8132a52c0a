"""The report of a comparison: the answer first, true to the result, and repeatable."""

import inspect
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold

import primum
from generate import two_classes
from primum.comparison.repeat import code_of, recorded_call
from primum.pages.page import asset

QUICK = {
    "methods": [("self-learning <i>", primum.SelfLearningClassifier(), True)],
    "baseline": [("logistic", LogisticRegression(C=0.5))],
    "n_repeats": 1,
    "curves": True,
    "verbose": False,
}
HEADINGS = [
    "The answer",
    "What labels settle on your rows",
    "The model you deploy",
    "The data",
    "Classes among the unlabelled rows",
    "The methods",
    "Could a method do harm?",
    "More unlabelled rows",
    "Predictions that changed",
    "Coefficients of the baseline",
    "What was done to the columns",
    "Failures and what was left out",
    "What was run",
    "Repeat it in Python",
]


def churn():
    """Return a table with an id, a number, a category and a target with an odd name."""
    X, y, X_unlabeled, truth = two_classes(60, 60, 2)
    rows, known = np.vstack([X, X_unlabeled]), np.arange(120) < 60
    labels = np.where(np.concatenate([y, truth]) == 1, "yes <b>", "no")
    return pd.DataFrame(
        {
            "customer": [f"C{k:04d}" for k in range(120)],
            "charge": rows[:, 0].round(3),
            "plan": np.where(rows[:, 1] > 0, "plus", "=1+1"),
            "left us?": np.where(known, labels, None),
        }
    )


@pytest.fixture(scope="module")
def result():
    return primum.compare(churn(), target="left us?", id="customer", **QUICK)


def cells(page, heading):
    """Return the rows of the first table of a section, as texts."""
    section = re.search(rf">{re.escape(heading)}</h2>(.*?)</section>", page, re.DOTALL)[1]
    body = section.split("<tbody>")[1].split("</tbody>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_the_answer_comes_first_and_everything_follows(result):
    page = result.to_html()
    assert re.findall(r"<h2 id='[^']*'>(.*?)</h2>", page) == HEADINGS
    answer = page[: page.index("<nav")]
    head = result.headline
    texts = [head.answer, head.reason, head.next_step, *(alert.text for alert in head.alerts)]
    assert all(escape(text) in answer for text in texts)
    assert answer.count("role='img'") == 1
    assert "Column to predict: left us? · 60 labelled and 60 unlabelled rows · 2 classes" in answer
    assert len(page) < 100_000
    assert "<i>" not in page
    assert "<b>no" not in page


def test_tables_say_what_the_result_says(result):
    page = result.to_html()
    baseline, method = result.methods
    first, second = cells(page, "The methods")
    assert first[:3] == ["<b>baseline</b>", "not used", f"{100 * baseline.loss:.1f}"]
    assert second[0] == "self-learning &lt;i&gt;"
    low, high = (100 * end for end in method.verdict.interval)
    assert second[3] == f"{100 * method.observed_change:+.1f}"
    assert second[5] == f"{low:+.1f} to {high:+.1f}"
    shares = [float(re.match(r"\d+", text)[0]) for text in second[6:9]]
    odds = method.verdict.probabilities
    np.testing.assert_allclose(
        shares, [100 * odds.help, 100 * odds.no_difference, 100 * odds.harm], atol=0.5
    )
    card = result.model_card
    of_class = cells(page, "The model you deploy")
    assert [row[0] for row in of_class] == ["no", "yes &lt;b&gt;"]
    assert [int(row[4]) for row in of_class] == [one.n_unlabeled for one in card.classes]
    assert [row[2] for row in of_class] == [f"{one.recall:.0%}" for one in card.classes]
    low, high = (f"{100 * end:.1f}%" for end in card.interval)
    assert f"error {100 * card.loss:.1f}% (90% interval {low} to {high}); guessing: " in page
    assert "<th scope='col'>predicted no</th>" in page
    harm = cells(page, "Could a method do harm?")
    assert [row[1] for row in harm] == ["the baseline (logistic)", "itself without unlabelled rows"]
    changed = cells(page, "Predictions that changed")
    assert sum(int(row[2]) for row in changed) == result.changed.n_changed
    assert [row[0] for row in cells(page, "What was done to the columns")] == [
        *("customer", "charge", "plan", "left us?"),
    ]
    features = [row[0] for row in cells(page, "Coefficients of the baseline")]
    assert sorted(features) == sorted(one.feature for one in result.coefficients)
    counts = [(row[0], int(row[1])) for row in cells(page, "The data")]
    known = churn()["left us?"].value_counts()
    assert counts == [("no", known["no"]), ("yes &lt;b&gt;", known["yes <b>"])]


def test_markdown_has_the_same_sections_and_numbers(result):
    text = result.to_markdown()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    head = result.headline
    texts = [head.answer, head.reason, head.next_step, *(alert.text for alert in head.alerts)]
    assert all(shown.replace("<", "&lt;").replace(">", "&gt;") in text for shown in texts)
    assert f"| {100 * result.methods[0].loss:.1f} |" in text
    assert "| True class | predicted no | predicted yes &lt;b&gt; |" in text
    assert "<i>" not in text.split("## Repeat it")[0]


def test_the_code_repeats_it(result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    churn().to_csv("your-table.csv", index=False)
    code = code_of(result.call)
    assert "id='customer'" in code
    names = {}
    exec(code, names)
    assert names["result"].verdict == result.verdict
    assert names["result"].methods[1].loss == result.methods[1].loss
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_the_code_for_arrays_names_what_is_not_the_default():
    X, y, X_unlabeled, _ = two_classes(60, 30, 2)
    groups = np.arange(60) // 2
    settings = {"scoring": "neg_brier_score", "cv": 3, "curves": False, "level": 0.9}
    found = primum.compare(X, y, X_unlabeled, groups=groups, **{**QUICK, **settings})
    code = code_of(found.call)
    for argument in ("groups=groups", "scoring='neg_brier_score'", "cv=3", "level=0.9"):
        assert argument in code
    assert "('logistic', LogisticRegression(C=0.5))" in code
    assert "from sklearn.linear_model import LogisticRegression" in code
    assert "from primum import SelfLearningClassifier" in code
    page = found.to_html()
    assert "Brier score of the baseline (logistic)" in page
    assert "belong to 30 groups" in page
    assert "What was done to the columns" not in page


def test_the_code_is_the_call_that_was_made():
    """Defaults, and what only affects how it runs, are left out; what has no text has a name."""

    def score(estimator, X, y):
        return estimator.score(X, y)

    given = dict.fromkeys(inspect.signature(primum.compare).parameters)
    defaults = {name: p.default for name, p in inspect.signature(primum.compare).parameters.items()}
    given |= {name: one for name, one in defaults.items() if one is not inspect.Parameter.empty}
    given |= {
        **{"y": np.zeros(3), "X_unlabeled": np.zeros((2, 1)), "exclude": [], "n_jobs": 4},
        **{"methods": ["ICLS", ("own", LogisticRegression(C=np.float64(2)), False)]},
        **{"baseline": RidgeClassifier(), "scoring": score, "cost": np.eye(2), "cv": KFold(3)},
        **{"equivalence": np.float64(0.5), "rare_classes": "drop", "curves": True},
    }
    call = replace(recorded_call(primum.compare, given), seed=7)
    assert call.arguments == (
        *("X", "y", "X_unlabeled=X_unlabeled"),
        "methods=[\n        'ICLS',\n        ('own', LogisticRegression(C=np.float64(2.0)), False),"
        "\n    ]",
        *("baseline=RidgeClassifier()", "scoring=score", "cost=cost"),
        *("cv=KFold(n_splits=3, random_state=None, shuffle=False)", "rare_classes='drop'"),
        *("curves=True", "equivalence=0.5"),
    )
    assert call.imports == (
        "from sklearn.linear_model import LogisticRegression",
        "from sklearn.linear_model import RidgeClassifier",
        "from sklearn.model_selection import KFold",
    )
    assert "    random_state=7,\n)" in code_of(call)
    assert "pandas" not in code_of(call)


def test_notebooks_show_the_answer_and_the_picture(result):
    shown = result._repr_html_()
    assert result.headline.answer in shown
    assert "role='img'" in shown
    assert "<script" not in shown
    sheet = re.sub(r"/\*.*?\*/", "", asset("chart.css"), flags=re.DOTALL)
    rules = [rule.strip() for rule in re.findall(r"([^{};]+)\{", sheet)]
    selectors = [one for rule in rules if not rule.startswith("@") for one in rule.split(",")]
    assert len(selectors) > 50
    assert all(".primum" in selector for selector in selectors)  # nothing else is changed


def test_failures_are_listed(result):
    done = dict(result.records.done)
    unit = next(unit for unit in done if unit[0] == "all/self-learning <i>")
    done[unit] = replace(done[unit], predicted=None, note="ValueError: <no>")
    records = replace(result.records, done=done, left_out=["TSVM was left out: too slow."])
    page = replace(result, records=records).to_html()
    assert "TSVM was left out: too slow." in page
    assert "self-learning &lt;i&gt; failed in split 0: ValueError: &lt;no&gt;" in page
    assert "No method could be compared" in page
    assert "role='img'" not in page[: page.index("<nav")]


def test_baselines_that_cannot_be_averaged_as_one_model_do_not_prevent_the_report():
    X, y, X_unlabeled, _ = two_classes(60, 30, 2)
    baselines = [("ridge", RidgeClassifier()), ("logistic", LogisticRegression())]
    settings = {**QUICK, "baseline": baselines, "curves": False}
    page = primum.compare(X, y, X_unlabeled, **settings).to_html()
    assert "coefficients of the logistic baseline, fitted to all labelled rows" in page
