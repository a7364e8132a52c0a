"""Further methods: the splits of the others, results of their own, names that help."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from generate import several_classes, two_classes
from primum import EntropyLogisticClassifier, ICLSClassifier
from primum._words import key_of
from primum_lab import (
    LEAST_SQUARES,
    METHODS,
    CrossValidation,
    Experiment,
    LearningCurve,
    Method,
    find_method,
    run_experiment,
    score_minus_half,
    summarize,
)
from primum_lab.methods import WITH_TRUE_SHARES
from primum_lab.paper import PLANS
from primum_lab.runner import further_folder, new_methods, run_with_further

FURTHER = [find_method("entropy-logistic"), find_method("logistic")]


def experiment(methods=LEAST_SQUARES, design=None, repeats=2):
    X, y, *_ = two_classes(90, 0, 3)
    design = design or CrossValidation(n_folds=3, n_labeled=10)
    return Experiment("test", {"a": (X, y)}, design, methods, repeats=repeats)


def run(folder, further, *, resume=False):
    return run_with_further(experiment(), further, folder, resume=resume, verbose=False)


def same(one, other):
    """Everything but the time is equal, in any order."""
    keys = ["dataset", "repeat", "at", "classifier"]
    one, other = (
        frame.drop(columns="seconds").sort_values(keys).reset_index(drop=True)
        for frame in (one, other)
    )
    pd.testing.assert_frame_equal(one, other)


def test_they_have_the_results_that_one_experiment_with_all_methods_has(tmp_path):
    apart = run(tmp_path / "apart", FURTHER)
    together = experiment([*LEAST_SQUARES, *FURTHER])
    same(apart, run_experiment(together, tmp_path / "together", verbose=False))
    summary = summarize(apart, curve=False).set_index(["classifier", "measure"])
    assert summary.loc[("Logistic", "error"), "role"] == "supervised"
    assert summary.loc[("Supervised", "error"), "role"] == "twin"
    assert summary.loc[("Entropy logistic", "error"), "times_worse"] >= 0


def test_earlier_results_are_kept_and_not_computed_again(tmp_path):
    before = run(tmp_path, [])
    files = [tmp_path / "config.json", tmp_path / "journal.jsonl"]
    content = [file.read_bytes() for file in files]
    first = run(tmp_path, FURTHER[:1], resume=True)
    files.append(further_folder(tmp_path, FURTHER[0].name) / "journal.jsonl")
    content.append(files[-1].read_bytes())
    both = run(tmp_path, FURTHER, resume=True)
    assert [file.read_bytes() for file in files] == content
    # Times are never equal by chance: these are the stored ones.
    pd.testing.assert_frame_equal(both[: len(before)], before)
    pd.testing.assert_frame_equal(both[: len(first)], first)
    pd.testing.assert_frame_equal(run(tmp_path, [], resume=True), before)


def test_a_method_that_changed_is_refused(tmp_path):
    run(tmp_path, FURTHER[:1])
    other = replace(FURTHER[0], estimator=EntropyLogisticClassifier(0.2))
    words = r"another configuration .*unlabeled_weight was 0\.1, now 0\.2"
    with pytest.raises(ValueError, match=words):
        run(tmp_path, [other], resume=True)


def test_known_names_are_found_as_typed_and_as_shown():
    for key, method in METHODS.items():
        assert find_method(key) is find_method(method.name) is method
    assert len({method.name for method in METHODS.values()}) == len(METHODS)
    assert key_of("EM-LS (hard)") == "em-ls-hard"
    for plan in PLANS.values():
        known = [method.config for method in METHODS.values()]
        assert all(method.config in known for method in plan.methods)


def test_unknown_names_are_answered_with_similar_ones():
    with pytest.raises(ValueError, match=r"'entropic-logistic': did you mean 'entropy-logistic'"):
        find_method("entropic-logistic")
    with pytest.raises(ValueError, match=r"Unknown method '\?': Known ones are supervised, "):
        find_method("?")


def test_methods_of_the_plan_are_left_out_and_others_of_their_name_renamed():
    svms = PLANS["table3"].methods
    asked = [METHODS[key] for key in ("supervised", "supervised-svm", "tsvm", "usm", "usm")]
    assert [method.name for method in new_methods(svms, asked)] == ["Supervised (LS)", "USM"]


class TestTrueShares:
    """Methods that know the shares of the classes among the unlabelled rows."""

    def test_with_one_unlabelled_row_they_are_the_oracle(self, tmp_path):
        design = LearningCurve(n_labeled=20, sizes=(1,))
        methods = [*LEAST_SQUARES, *WITH_TRUE_SHARES]
        results = run_experiment(experiment(methods, design, 5), tmp_path, verbose=False)
        losses = results.pivot(index="repeat", columns="classifier", values="loss_test")
        for name in ("ICLS_prior", "Projection_prior"):
            np.testing.assert_allclose(losses[name], losses["Oracle"], atol=1e-6)
        assert set(results.loc[results.classifier == "ICLS_prior", "role"]) == {"semi-supervised"}

    def test_of_several_classes(self, tmp_path):
        X, y, *_ = several_classes(90, 0, 3, 3)
        method = Method("prior", ICLSClassifier(alpha=0.01), "shares", score_minus_half)
        design = LearningCurve(n_labeled=20, sizes=(1, 8))
        several = Experiment("test", {"a": (X, y)}, design, [LEAST_SQUARES[0], method], repeats=2)
        results = run_experiment(several, tmp_path, verbose=False)
        assert results["error"].notna().all()
