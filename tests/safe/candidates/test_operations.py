"""Candidates that would take a number of operations out of proportion are left out, and noted."""

import numpy as np
import pytest
from scipy import sparse

from primum import SafeClassifier
from primum.experiments.datasets import CATALOGUE
from primum.safe.candidates import CANDIDATES, DEFAULT, SharedRows
from primum.safe.candidates import entrants as reading
from primum.safe.candidates.entrants import excess_of, read_entrants

ICLS = CANDIDATES["icls"]
N_FITS = 11  # five folds, twice, and the final fit


def rows_of(n_labeled, n_unlabeled, n_columns):
    """Return rows of the given numbers, which take no memory."""
    shapes = (n_labeled, n_columns), (n_unlabeled, n_columns)
    return SharedRows(*(sparse.csr_array(shape) for shape in shapes))


def left_out(rows, n_classes):
    problem = n_classes, rows.unlabeled.shape[0]
    entrants = read_entrants(
        "default", ("ridge",), *problem, lambda c: excess_of(c, rows, n_classes, N_FITS)
    )
    return set(DEFAULT) - {c.name for c in entrants.candidates}, entrants.notes


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_the_data_sets_of_the_paper_keep_all_candidates(share):
    for info in CATALOGUE.values():
        n_labeled = round(share * info.rows)
        rows = rows_of(n_labeled, info.rows - n_labeled, info.features)
        assert left_out(rows, 2) == (set(), []), info.name


@pytest.mark.parametrize(
    ("n_labeled", "n_unlabeled", "n_columns", "n_classes"),
    [
        (150, 1647, 64, 10),  # digits
        (1500, 297, 64, 10),
        (80, 500, 8, 9),
        (150, 3850, 200, 3),
        (2000, 8000, 300, 2),
        (2000, 8000, 100, 10),
    ],
)
def test_ordinary_tables_keep_icls(n_labeled, n_unlabeled, n_columns, n_classes):
    found, _ = left_out(rows_of(n_labeled, n_unlabeled, n_columns), n_classes)
    assert "icls" not in found


@pytest.mark.parametrize(("n_columns", "n_classes"), [(3000, 2), (3000, 3), (20_000, 2)])
def test_texts_do_without_icls(n_columns, n_classes):
    found, notes = left_out(rows_of(150, 3850, n_columns), n_classes)
    assert found - {"tsvm"} == {"icls"}
    assert notes[-1].startswith(
        f"icls is left out: with 4000 rows, {n_columns} columns and {n_classes} classes it would "
        "take about "
    )


def test_operations_follow_from_the_algebra():
    """The rank is that of the rows or the columns, and a Newton system has it K - 1 times."""
    narrow = ICLS.operations(rows_of(100, 900, 20), 2)
    # Twice the columns: four times the work of a decomposition and of a system.
    assert ICLS.operations(rows_of(100, 900, 40), 2) == pytest.approx(4 * narrow, rel=0.01)
    # Of more rows, a sample is used.
    sampled = [ICLS.operations(rows_of(100, n, 40), 2) for n in (1000, 50_000)]
    assert sampled[0] == sampled[1]
    # With more columns than rows, only the decomposition grows, in proportion to the columns.
    wide = [ICLS.operations(rows_of(100, 900, d), 2) for d in (2000, 4000, 6000)]
    assert wide[1] - wide[0] == pytest.approx(wide[2] - wide[1])
    # Four classes: systems of three times the size.
    steps = [ICLS.operations(rows_of(0, 900, 20), k) for k in (2, 3, 4)]
    assert steps[2] - steps[0] == pytest.approx((9 - 1) / (4 - 1) * (steps[1] - steps[0]))


@pytest.fixture(scope="module")
def moons():
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 2
    return rng.normal(size=(90, 2)) + 2 * truth[:, None], np.where(np.arange(90) < 30, truth, -1)


def test_a_fit_without_an_excessive_candidate_says_so(moons, monkeypatch):
    monkeypatch.setattr(reading, "MOST_OPERATIONS", 1e3)
    monkeypatch.setattr(reading, "DEFAULT", ("ridge", "logistic", "spreading", "icls"))
    clf = SafeClassifier(cv=2, n_repeats=1, random_state=0).fit(*moons)
    assert "icls" not in clf.weights_
    assert any("icls is left out: with 90 rows, 2 columns and 2" in note for note in clf.notes_)
    named = SafeClassifier(["spreading", "icls"], cv=2, n_repeats=1, random_state=0).fit(*moons)
    assert "icls" in named.weights_
    assert not any("left out" in note for note in named.notes_)
