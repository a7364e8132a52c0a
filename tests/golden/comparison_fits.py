"""Comparisons, settlements and runs of the command, and all that a user can read of them.

After a change of results or words on purpose, ``python tests/golden/comparison_fits.py`` writes the
records anew; names of runs as arguments write only these. Read the difference before you commit it:
``python tests/golden/comparison_fits.py --diff`` prints it, and writes nothing.

Clocks stand still meanwhile, so that no second is recorded. Texts are recorded by lines, HTML by
tags, without the style sheets and scripts that are files of ``primum.pages``.
"""

import gzip
import json
import os
import re
import sys
import tempfile
import time
import warnings
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from click.testing import CliRunner
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))
import primum
from golden.machine import differences, machine
from primum.cli.main import primum as command

FOLDER = Path(__file__).with_name("comparison_fits")
QUICK = {"cv": 3, "n_repeats": 1, "curves": False, "verbose": False}
ONE = {"baseline": [("ridge", primum.LeastSquaresClassifier(alpha=0.1))]}
STACK = (
    "safe stack",
    primum.SafeClassifier(["components"], baseline=["ridge"], cv=3, n_repeats=1),
)
OF_NUMBERS = ("safe stack", primum.SafeRegressor(["components"], cv=3, n_repeats=1))
EM = ("EM", primum.EMLDAClassifier())
BAYES = ("bayes", GaussianNB(), False)
FOREST = ("forest", RandomForestClassifier(20, random_state=0), False)
ASSETS = [one for one in files("primum.pages").iterdir() if one.name.endswith((".css", ".js"))]
OPTIONS = ("--repeats", 1, "--no-curves", "--jobs", 1, "--quiet")


def customers(n=120, n_labeled=45, names=("no", "yes"), spread=1.0, seed=0):
    """Return a table with a target that is known for the first rows."""
    rng = np.random.default_rng(seed)
    code = np.arange(n) % len(names)
    X = rng.normal(size=(n, 3)) * np.where(code == 1, 1.5, 1.0)[:, None] + spread * code[:, None]
    frame = pd.DataFrame(X.round(3), columns=["age", "fee", "use"])
    frame.insert(0, "nr", [f"c{row:03d}" for row in range(n)])
    frame["plan"] = rng.choice(["basic", "plus <b>", "pro"], n)
    frame["churn"] = np.where(np.arange(n) < n_labeled, np.array(names, dtype=object)[code], None)
    return frame


def rings(names=("no", "yes")):
    """Return rows on rings, which no line separates, as a table like that of customers."""
    frame, rng = customers(names=names), np.random.default_rng(2)
    angle = rng.uniform(0, 2 * np.pi, len(frame))
    radius = 1.0 + np.arange(len(frame)) % len(names)
    frame["age"] = (radius * np.cos(angle) + 0.2 * rng.normal(size=len(frame))).round(3)
    frame["fee"] = (radius * np.sin(angle) + 0.2 * rng.normal(size=len(frame))).round(3)
    return frame


def truth(n=120, names=("no", "yes")):
    return np.array(names, dtype=object)[np.arange(n) % len(names)]


def prices(n=120, n_labeled=45):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    y = 100 + 20 * np.abs(X[:, 0]) - 7 * X[:, 1] + 5 * rng.normal(size=n)
    frame = pd.DataFrame(X.round(3), columns=["x", "z", "w"])
    frame["price"] = np.where(np.arange(n) < n_labeled, y.round(2), np.nan)
    return frame


def churn(frame=None, **settings):
    settings = {"target": "churn", "id": "nr", **QUICK, **settings}
    return primum.compare(customers() if frame is None else frame, **settings)


def arrays():
    """Return X, y and further rows, with three rare classes."""
    rng = np.random.default_rng(5)
    y = np.r_[np.arange(36) % 2, [2, 3, 4, 5], np.full(60, -1)]
    X = rng.normal(size=(100, 4)) + 1.5 * (np.arange(100) % 2)[:, None]
    return X, y, rng.normal(size=(20, 4))


def shifted():
    frame = customers(150, 60, spread=1.6)
    rare = (np.arange(150) >= 60) & (truth(150) == "yes") & (np.arange(150) % 3 > 0)
    return frame[~rare].reset_index(drop=True)


def in_groups():
    frame = customers()
    return frame.assign(flat=[f"f{row // 2}" for row in range(len(frame))])


def marked():
    frame = customers()
    return frame.assign(primum_chosen=np.where(np.arange(len(frame)) < 8, "yes", ""))


COMPARISONS = {
    "errors": lambda: churn(methods=[STACK, EM, BAYES], n_repeats=2),
    "curves": lambda: churn(methods=[STACK, EM], curves=True, **ONE),
    "groups": lambda: churn(in_groups(), group="flat", methods=[STACK, BAYES]),
    "cost": lambda: churn(methods=[EM, BAYES], cost={("yes", "no"): 3}),
    "brier": lambda: churn(methods=[EM, FOREST], scoring="neg_brier_score", **ONE),
    "auc": lambda: churn(methods=[STACK, BAYES], scoring="roc_auc"),
    "recall": lambda: churn(methods=[BAYES], scoring="recall_at_precision=0.6", positive="yes"),
    "shift": lambda: churn(shifted(), methods=[STACK, BAYES], shift="label"),
    "numbers": lambda: primum.compare(
        prices(), target="price", methods=[OF_NUMBERS, "forest"], **QUICK
    ),
    "numbers_mae": lambda: primum.compare(
        prices().to_numpy()[:, :3],
        prices()["price"].to_numpy(),
        methods=[("neighbours", KNeighborsRegressor(3), False)],
        scoring="mae",
        equivalence=0.05,
        **QUICK,
    ),
    "chosen": lambda: churn(marked(), methods=[EM], **ONE),
    "rare_classes": lambda: primum.compare(
        *arrays(), methods=[EM, STACK], rare_classes="group", **ONE, **QUICK
    ),
    "several_classes": lambda: churn(
        customers(names=("a", "b", "c & d")),
        methods=[STACK, ("near", KNeighborsClassifier(5), False)],
        level=0.9,
    ),
    "failing": lambda: churn(
        methods=[EM, ("far", KNeighborsClassifier(500), False)], prepare=None, exclude=["plan"]
    ),
}


# Rows of which the classes are predicted, by comparison; of most comparisons, those of customers.
ROWS = {
    "groups": in_groups,
    "numbers": prices,
    "numbers_mae": lambda: prices().to_numpy()[:, :3],
    "rare_classes": lambda: arrays()[0],
    "failing": lambda: customers()[["age", "fee", "use"]],
}


def of_comparison(result, rows=None):
    """Return what a user can read of a comparison."""
    answer = {
        "json": without_seconds(result.to_dict()),
        "text": lines(str(result)),
        "repr": repr(result),
        "table": result.table.drop(columns="seconds").reset_index().to_dict("list"),
        "html": lines(result.to_html()),
        "fragment": lines(result._repr_html_()),
        "markdown": lines(result.to_markdown()),
    }
    if result.settlement is None:
        answer["rows_to_label"] = error_of(result.rows_to_label)
    else:
        sheet = result.rows_to_label(n=8, show_predictions=True)
        answer["rows_to_label"] = {"rows": sheet.index.to_numpy(), **sheet.to_dict("list")}
    if rows is not None:
        answer["predictions"] = result.fit_recommended().predict(rows)
        answer["baseline"] = result.fit("baseline").predict(rows)
        answer["last"] = result.fit(result.methods[-1].name).predict(rows)
    return answer


def error_of(call):
    try:
        call()
    except ValueError as problem:
        return str(problem)
    raise AssertionError("no error")


def of_settling(settled, result):
    return {
        "settled": settled.to_dict(),
        "text": lines(str(settled)),
        "headline": lines(str(result)),
        "predictions": result.fit_recommended().predict(customers()),
    }


def settled_in_python():
    """Labels arrive by id, by place and in the sheet; one is corrected, one cannot be said."""
    result, labels = (
        churn(rings(), methods=[("near", KNeighborsClassifier(7), False), BAYES], **ONE),
        truth(),
    )
    sheet = result.rows_to_label(n=1000)
    steps = [of_settling(result.settle({}, verbose=False), result)]
    few = {sheet["nr"].iloc[0]: "?", sheet["nr"].iloc[1]: "yes"}
    steps.append(of_settling(result.settle(few, verbose=False), result))
    sheet["churn"] = labels[sheet.index]
    sheet.loc[sheet.index[0], "churn"] = None
    wrong = error_of(lambda: result.settle({sheet["nr"].iloc[1]: "maybe"}, verbose=False))
    more = result.settle(sheet.iloc[:6], correct=True, verbose=False)
    steps.append(of_settling(more, result))
    result.settle(sheet, correct=True, verbose=False)
    return {"steps": steps, "wrong": wrong, **of_comparison(result, customers())}


def settled_several_classes():
    """Three classes in arrays, with further rows."""
    X, y, more = arrays()
    result = primum.compare(X, y, more, methods=[STACK, EM], rare_classes="drop", **ONE, **QUICK)
    asked = result.rows_to_label(n=1000)
    few = pd.Series(asked.index.to_numpy() % 2, index=asked.index)
    steps = [result.settle(few.iloc[:part], verbose=False).to_dict() for part in (3, 5)]
    return {"steps": steps, **of_comparison(result)}


class Session:
    """Runs of the command in a folder of their own, and what they print."""

    def __init__(self):
        self.printed = []

    def __call__(self, *arguments):
        answer = CliRunner().invoke(command, [str(one) for one in arguments])
        if answer.exception is not None and not isinstance(answer.exception, SystemExit):
            raise answer.exception
        self.printed.append([answer.exit_code, *lines(answer.output)])


def fill(path, *, step=1, labels=None):
    """Fill in a sheet with the truth, every ``step``-th row."""
    sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = sheet["nr"].str[1:].astype(int)
    known = truth() if labels is None else labels
    sheet["churn"] = np.where(np.arange(len(sheet)) % step == 0, known[rows], "")
    sheet.to_csv(path, index=False)


def settle_once(run):
    rings().to_csv("data.csv", index=False)
    table = ("data.csv", "--target", "churn", "--id", "nr", "--methods", "laplacian-ls")
    run("compare", *table, *OPTIONS)
    run("settle", "data-comparison")
    fill("data-comparison/rows_to_label.csv", step=3)
    run("settle", "data-comparison", "--save-model", "model.skops")
    run("predict", "model.skops", "data.csv", "--out", "classes.csv")


def settle_to_the_end(run):
    names = ("a", "b", "c & d")
    rings(names).to_csv("data.csv", index=False)
    table = ("data.csv", "--target", "churn", "--id", "nr", "--out", "out")
    run("compare", *table, "--methods", "em-lda,laplacian-ls", "--format", "md", *OPTIONS)
    sheet = Path("out/rows_to_label.csv")
    fill(sheet, step=4, labels=truth(names=names))
    run("settle", "out")
    fill(sheet, labels=truth(names=names[::-1]))
    run("settle", "out", sheet)
    run("settle", "out", sheet, "--correct")


def settle_json(run):
    rings().to_csv("data.csv", index=False)
    table = ("data.csv", "--target", "churn", "--id", "nr", "--out", "out", "--format", "json")
    run("compare", *table, "--methods", "laplacian-ls", *OPTIONS)
    fill("out/rows_to_label.csv", step=2)
    run("settle", "out")
    run("compare", *table, "--methods", "em-lda,laplacian-ls", "--resume", *OPTIONS)
    fill("out/rows_to_label.csv")
    run("settle", "out")


def group_and_costs(run):
    in_groups().to_csv("data.csv", index=False, sep=";")
    table = ("data.csv", "--target", "churn", "--id", "nr", "--group", "flat")
    costs = ("--cost", "yes:no=3", "--methods", "em-lda", "--format", "md")
    run("compare", *table, *costs, *OPTIONS)
    run("compare", *table, *costs, *OPTIONS)
    run("compare", *table, *costs, *OPTIONS, "--resume", "--save-model", "m.skops")
    run("predict", "m.skops", "data.csv", "--out", "answers.csv")


def prices_as_json(run):
    prices().to_csv("data.csv", index=False)
    run(
        *("compare", "data.csv", "--target", "price", "--format", "json", "--methods", "forest"),
        *("--save-model", "m.skops", *OPTIONS),
    )
    run("predict", "m.skops", "data.csv", "--out", "answers.csv")
    run("settle", "data-comparison")


def nothing_unlabelled(run):
    customers(60, 60).to_parquet("data.parquet")
    run("compare", "data.parquet", "--target", "churn", "--methods", "forest", *OPTIONS)


def rare_and_chosen(run):
    frame = marked()
    frame.loc[[20, 22, 24, 26], "churn"] = ["maybe", "perhaps", "both", "both"]
    frame.to_csv("data.csv", index=False)
    table = ("data.csv", "--target", "churn", "--id", "nr", "--methods", "em-lda")
    run("compare", *table, *OPTIONS)
    run("compare", *table, "--rare-classes", "group", *OPTIONS)


def mistakes(run):
    customers().to_csv("data.csv", index=False)
    run("compare", "data.csv", "--target", "churned")
    run("compare", "data.csv", "--target", "churn", "--methods", "em-ldo")
    run("compare", "data.csv", "--target", "churn", "--positive", "perhaps", "--scoring", "f1")
    run("compare", "data.csv", "--target", "churn", "--bounds", "1", "2")
    run("settle", ".")
    run("compare", "none.csv", "--target", "churn")


def of_one_class(run):
    customers(spread=1.5).to_csv("data.csv", index=False)
    run(
        *("compare", "data.csv", "--target", "churn", "--id", "nr", "--positive", "yes"),
        *("--scoring", "f1", "--methods", "em-lda", "--baseline", "ridge", *OPTIONS),
    )


COMMANDS = {
    "settle_once": settle_once,
    "settle_to_the_end": settle_to_the_end,
    "settle_json": settle_json,
    "group_and_costs": group_and_costs,
    "prices_as_json": prices_as_json,
    "nothing_unlabelled": nothing_unlabelled,
    "rare_and_chosen": rare_and_chosen,
    "mistakes": mistakes,
    "of_one_class": of_one_class,
}
SETTLEMENTS = {"python": settled_in_python, "several_classes": settled_several_classes}
RUNS = {
    **{f"comparison_{name}": call for name, call in COMPARISONS.items()},
    **{f"settlement_{name}": call for name, call in SETTLEMENTS.items()},
    **{f"command_{name}": call for name, call in COMMANDS.items()},
}


def record(name):
    """Return what a run leaves behind, as values of JSON."""
    kind, _, which = name.partition("_")
    with ExitStack() as stack:
        issued = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        stack.enter_context(threadpool_limits(1))
        stack.enter_context(standing_clocks())
        if kind == "comparison":
            result = COMPARISONS[which]()
            answer = of_comparison(result, ROWS.get(which, customers)())
        elif kind == "settlement":
            answer = SETTLEMENTS[which]()
        else:
            stack.enter_context(in_new_folder())
            run = Session()
            COMMANDS[which](run)
            answer = {"printed": run.printed, "files": files_here()}
    answer["warnings"] = [f"{one.category.__name__}: {one.message}" for one in issued]
    return json.loads(json.dumps(answer, default=_plain))


@contextmanager
def standing_clocks():
    with (
        mock.patch.object(time, "perf_counter", return_value=0.0),
        mock.patch.object(time, "monotonic", return_value=0.0),
    ):
        yield


@contextmanager
def in_new_folder():
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def files_here():
    """Return the files that were written: texts by lines, of others their names only."""
    found = {}
    for path in sorted(path for path in Path().rglob("*") if path.is_file()):
        if path.parent.name == "fits" or path.stem == "data":
            continue
        text = None
        if path.suffix in (".html", ".md", ".csv", ".txt"):
            text = lines(path.read_text(encoding="utf-8"))
        elif path.suffix == ".json":
            text = without_seconds(json.loads(path.read_text(encoding="utf-8")))
            text.pop("checksum", None)
        found[path.as_posix()] = text
    return found


def lines(text):
    """Return the lines of a text, or the tags of HTML, without versions, styles and scripts."""
    for one in ASSETS:
        text = text.replace(one.read_text(encoding="utf-8"), f"[{one.name}]\n")
    text = re.sub(r"Versions: [^<\n]*", "Versions: ...", text)
    return text.replace("><", ">\n<").splitlines()


def without_seconds(value):
    """Return JSON without times, which stand still anyway."""
    if isinstance(value, dict):
        times = ("seconds", "stored_seconds")
        return {key: without_seconds(one) for key, one in value.items() if key not in times}
    return [without_seconds(one) for one in value] if isinstance(value, list) else value


def _plain(value):
    return value.tolist()


def written(name):
    """Return the record of a run, and the machine that wrote it."""
    content = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    return content["record"], content["machine"]


def write(name):
    """Write the record of a run as it is now."""
    FOLDER.mkdir(exist_ok=True)
    content = json.dumps({"machine": machine(), "record": record(name)}, ensure_ascii=False)
    packed = gzip.compress(content.encode(), mtime=0)
    (FOLDER / f"{name}.json.gz").write_bytes(packed)


def changes(name):
    """Return in words what a run leaves behind otherwise than recorded."""
    expected, written_by = written(name)
    return list(differences(record(name), expected, exact=written_by == machine()))


if __name__ == "__main__":
    diff, *chosen = sys.argv[1:] if "--diff" in sys.argv else [None, *sys.argv[1:]]
    for run_name in chosen or RUNS:
        if diff:
            print(run_name, *changes(run_name), sep="\n  ")
        else:
            write(run_name)
