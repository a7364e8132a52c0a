"""Labels that are not a random sample, and class shares, in a comparison."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

import primum
from primum import ICLSClassifier, LeastSquaresClassifier, TSVMClassifier
from primum.cli.compare import screen_text
from primum.comparison.repeat import code_of
from primum.comparison.run import fit_entry
from primum.comparison.store import ResultsError
from primum.reading.classifiers import Entry

QUICK = {
    "baseline": [("ridge", LeastSquaresClassifier(alpha=0.1))],
    "methods": [("ICLS", ICLSClassifier(alpha=0.1)), ("logistic", LogisticRegression(), False)],
    "cv": 3,
    "n_repeats": 1,
    "curves": False,
    "verbose": False,
}


def shifted(n_labeled=60, n_unlabeled=300, labeled=0.7, unlabeled=0.1, seed=0):
    """Return X, y with -1 for unknown labels, and the hidden classes of the unlabelled rows."""
    rng = np.random.default_rng(seed)
    truth = np.append(rng.random(n_labeled) < labeled, rng.random(n_unlabeled) < unlabeled)
    X = rng.normal(size=(len(truth), 3)) + 1.5 * truth[:, None]
    y = np.where(np.arange(len(truth)) < n_labeled, truth.astype(int), -1)
    return X, y, truth[n_labeled:]


@pytest.fixture(scope="module")
def by_label():
    X, y, hidden = shifted()
    return primum.compare(X, y, shift="label", **QUICK), hidden


def test_label_shift_is_found_offered_and_corrected(by_label):
    X, y, hidden = shifted()
    plain, (corrected, _) = primum.compare(X, y, **QUICK), by_label
    (offer,) = [alert.text for alert in plain.alerts if alert.kind == "drift"]
    assert "shift='label'" in offer
    assert "shift='covariate'" in offer
    assert plain.shift is None
    (before,), (after,) = (
        [one for one in result.shares.classes if one.name == 1] for result in (plain, corrected)
    )
    assert not before.low <= hidden.mean() <= before.high
    assert after.low <= hidden.mean() <= after.high
    assert "random sample" in plain.shares.assumption
    assert "within a class" in corrected.shares.assumption
    doubt = "The drift test says that they are not, so these shares may be wrong"
    assert doubt in plain.to_markdown()
    assert f"{doubt}: pass --shift label or" in " ".join(screen_text(plain).split())
    assert doubt not in screen_text(corrected)


def test_losses_are_weighted_means_over_held_out_rows(by_label):
    result, _ = by_label
    table, weight = result.plan.table, result.plan.table.labeled_weight
    own = result.records.held_out("ICLS")
    wrong = own.all.predicted != own.all.truth
    expected = np.average(wrong, weights=weight[own.rows])
    assert result.table.loss["ICLS"] == pytest.approx(expected)
    shares = np.bincount(table.labels.codes, weight) / weight.sum()
    assert shares == pytest.approx(list(result.shares.estimates.values()))
    assert result.model_card.weighted
    assert result.model_card.guessing == pytest.approx(shares.min())


def test_models_learn_from_weighted_labels(by_label):
    result, _ = by_label
    X, y, _ = shifted()
    known = y >= 0
    model = result.fit("ridge")
    again = LeastSquaresClassifier(alpha=0.1).fit(
        model[0].transform(X[known]), y[known], sample_weight=result.shift.weight
    )
    assert model[-1].coef_ == pytest.approx(again.coef_)
    plain = LeastSquaresClassifier(alpha=0.1).fit(model[0].transform(X[known]), y[known])
    assert np.abs(plain.coef_ - again.coef_).max() > 1e-3


def test_transductive_machines_assume_the_shares_of_the_weighted_labels():
    X, y, _ = shifted()
    weight = np.where(y == 1, 0.25, 1.0)
    fitted = fit_entry(Entry("TSVM", TSVMClassifier(alpha=0.1)), X, y, weight=weight)
    known = y >= 0
    assert fitted.prior == pytest.approx(np.average(y[known], weights=weight[known]))


def test_what_was_done_is_said_everywhere(by_label):
    result, _ = by_label
    assert any(alert.kind == "shift" and "assumes" in alert.text for alert in result.alerts)
    stored = result.to_dict()
    assert stored["shift"]["kind"] == "label"
    assert [one["name"] for one in stored["shares"]["classes"]] == ["0", "1"]
    assert {"estimate", "low", "high"} <= set(stored["shares"]["classes"][0])
    assert "shift='label'" in code_of(result.call)
    text = result.to_markdown()
    assert "Classes among the unlabelled rows" in text
    assert f"{result.shares.classes[1].estimate:.1%}" in text
    ICLSClassifier(alpha=0.1, prior=result.shares.prior).fit(*shifted()[:2])


def test_chosen_labels_are_known_and_not_counted():
    X, y, hidden = shifted(labeled=0.3, unlabeled=0.3)
    more = 60 + np.flatnonzero(hidden)[:30]
    y[more] = 1
    result = primum.compare(X, y, chosen=more, **QUICK)
    left = np.delete(hidden, more - 60)
    share = result.shares.classes[1]
    assert share.low <= left.mean() <= share.high
    assert (result.shares.n_labeled, result.shares.n_unlabeled) == (60, 270)
    assert share.labeled == pytest.approx(np.mean(y[:60]))


def test_methods_without_weights_are_left_out_and_such_baselines_refused():
    X, y, _ = shifted()
    methods = [("neighbours", KNeighborsClassifier(), False), *QUICK["methods"]]
    result = primum.compare(X, y, shift="covariate", **QUICK | {"methods": methods})
    assert "neighbours" not in result.table.index
    assert any("neighbours was left out" in sentence for sentence in result.left_out)
    assert result.shift.effective_size < 60
    baseline = [("neighbours", KNeighborsClassifier())]
    with pytest.raises(ValueError, match="baseline 'neighbours' does not support"):
        primum.compare(X, y, shift="label", **QUICK | {"baseline": baseline})


def test_rows_that_are_held_out_several_times_count_once():
    X, y, _ = shifted(unlabeled=0.7)
    folds = list(StratifiedKFold(3).split(X[:60], y[:60]))
    once, thrice = (primum.compare(X, y, **{**QUICK, "cv": folds * k}).shares for k in (1, 3))
    assert thrice.n_labeled == once.n_labeled == 60
    assert thrice.estimates == pytest.approx(once.estimates, abs=0.01)
    widths = [one.classes[0].high - one.classes[0].low for one in (once, thrice)]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)


def test_label_shift_needs_held_out_rows_of_every_class():
    X, y, _ = shifted()
    y[20:60] = 0
    splits = [(np.arange(20), np.arange(20, 40)), (np.arange(40), np.arange(40, 60))]
    with pytest.raises(ValueError, match="cv holds out none of class 1"):
        primum.compare(X, y, shift="label", **{**QUICK, "cv": splits})


def test_wrong_shifts_get_a_sentence(tmp_path):
    X, y, _ = shifted()
    with pytest.raises(ValueError, match="shift must be 'none', 'label' or 'covariate'"):
        primum.compare(X, y, shift="prior", **QUICK)
    with pytest.raises(ValueError, match="and there are none"):
        primum.compare(X[:60], y[:60], shift="label", **QUICK)
    primum.compare(X, y, folder=tmp_path / "fits", **QUICK)
    with pytest.raises(ResultsError, match="shift"):
        primum.compare(X, y, shift="label", folder=tmp_path / "fits", resume=True, **QUICK)


@pytest.mark.parametrize("shift", ["label", "covariate"])
def test_without_overlap_the_correction_is_refused_and_nothing_claimed(shift):
    """The comparison goes on without the correction, and its first sentence says why."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 3)) + 3 * truth[:, None]
    X[80:] += [12, -9, 0]
    X[:, 2] = rng.normal(size=400)
    y = np.where(np.arange(400) < 80, truth, -1)
    given = QUICK | {"baseline": [("none", DummyClassifier())], "methods": QUICK["methods"][:1]}
    plain = primum.compare(X, y, **given)
    assert plain.recommended == "ICLS"
    found = primum.compare(X, y, shift=shift, **given)
    assert found.verdict.startswith(f"Warning: shift='{shift}' is refused: ")
    assert "nothing is claimed for the unlabelled ones" in found.verdict
    assert (found.claims_withheld, found.recommended) == (True, "baseline")
    assert set(found.table["answer"].dropna()) == {"cannot_tell"}
    assert found.table.loss["ICLS"] == pytest.approx(plain.table.loss["ICLS"])
    assert found.to_dict()["shift"]["refused"] == found.shift.refused
    assert found.shares.prior == {0: (0, 1), 1: (0, 1)}
    assert [alert.kind for alert in found.alerts].count("drift") == 0
    assert f"shift='{shift}'" in code_of(found.call)
    assert found.headline.next_step.startswith("Label some of the unlabelled rows, drawn at rand")
    assert "any shares are possible" in found.to_markdown()
