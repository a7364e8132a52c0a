"""The walk of a fit on the page for contributors is the walk of a fit."""

import re
from pathlib import Path

import numpy as np

from primum import ICLSClassifier
from primum.simulated import two_gaussians
from walk import PACKAGE, functions_of

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A fit, step by step")[2].partition("\n## ")[0]


def named_in(text):
    """Yield (name, file) as the page has them: names, then their file in parentheses."""
    parts = re.split(r"\(`([\w/]+\.py)`\)", text)
    for names, file in zip(parts[::2], parts[1::2], strict=False):
        yield from ((name, file) for name in re.findall(r"`([\w.]+)`", names))


def test_the_three_structures_are_where_the_page_says():
    listed = SECTION.partition("calls, in this order")[0]
    structures = [next(named_in(item)) for item in listed.split("\n* ")[1:]]
    assert len(structures) == 3
    for name, file in structures:
        assert f"class {name}" in (Path(PACKAGE) / file).read_text(encoding="utf-8")


def test_the_steps_are_those_of_a_fit():
    X, y = two_gaussians(200, 2, random_state=0)
    y = np.where(np.arange(200) < 16, y, -1)
    walk = functions_of(lambda: ICLSClassifier().fit(X, y))
    visited = [re.sub(r":\d+ ", " ", function) for function in walk]
    steps = re.split(r"\n\d+\. ", SECTION.partition("calls, in this order")[2])[1:]
    assert len(steps) == 9
    firsts = []
    for step in steps:
        places = [visited.index(f"{file} {name}") for name, file in named_in(step)]
        assert places, step
        firsts.append(places[0])
    assert firsts == sorted(firsts)
