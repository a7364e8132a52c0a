"""What an experiment takes, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

from generate import two_classes
from primum_lab import (
    LEAST_SQUARES,
    METHODS,
    CrossValidation,
    Experiment,
    LearningCurve,
    Method,
    run_experiment,
    summarize,
)

DESIGN = CrossValidation(n_folds=3, n_labeled=10)


def make(data=None, methods=LEAST_SQUARES, design=DESIGN, **more):
    if data is None:
        data = {"a": two_classes(60, 0, 3)[:2]}
    return Experiment("test", data, design, methods, **{"repeats": 1, **more})


def run(folder, *args, **kwargs):
    return run_experiment(make(*args, **kwargs), folder, verbose=False)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [3, 4], [-1, 1], [0.5, 1.5]])
@pytest.mark.parametrize("kind", ["object", None])
def test_frames_and_series_give_the_results_of_arrays(tmp_path, labels, kind):
    X, y = two_classes(60, 0, 3)[:2]
    arrays = run(tmp_path / "arrays", {"a": (X, y)})
    order = np.random.default_rng(0).permutation(60)  # an index that is no position
    frame = pd.DataFrame(X, columns=["x", "y", "z"], index=order)
    series = pd.Series(np.array(labels)[y], index=order, dtype=kind)
    frames = run(tmp_path / "frames", {"a": (frame, series)})
    assert arrays["note"].isna().all()
    pd.testing.assert_frame_equal(frames.drop(columns="seconds"), arrays.drop(columns="seconds"))


def test_categorical_and_nullable_labels(tmp_path):
    X, y = two_classes(60, 0, 3)[:2]
    for k, dtype in enumerate(("category", "string", "Int64", "boolean")):
        values = pd.Series(y.astype(str) if dtype == "string" else y).astype(dtype)
        results = run(tmp_path / str(k), {"a": (pd.DataFrame(X), values)})
        assert results["error"].notna().all()


def test_numpy_numbers_are_stored(tmp_path):
    methods = tuple(
        Method(m.name, m.estimator, m.sees, every=np.int64(1)) for m in LEAST_SQUARES[:2]
    )
    design = LearningCurve(n_labeled=np.int64(8), sizes=tuple(np.arange(1, 3)))
    results = run(tmp_path, methods=methods, design=design, seed=np.int64(0), repeats=np.int64(2))
    assert len(results) == 2 * 2 * 2
    again = run_experiment(
        make(
            methods=methods,
            design=LearningCurve(n_labeled=8, sizes=(1, 2)),
            repeats=2,
        ),
        tmp_path,
        resume=True,
        verbose=False,
    )
    pd.testing.assert_frame_equal(again, results)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ((np.zeros((5, 2)), np.zeros(5)), "one label per row and at least two classes, got 5 row"),
        ((np.zeros((4, 2)), [0.5, 1.0, 1.5, 2.0]), "is a numeric target .4 different numbers"),
        ((np.zeros((5, 2)), np.arange(4) % 2), r"got 5 rows, labels of shape \(4,\)"),
        ((np.zeros((4, 2)), [0, 1, None, 1]), "fully labelled, but 1 labels are missing"),
        ((np.zeros((4, 2)), [0, 1, np.nan, 1]), "fully labelled, but 1 labels are missing"),
        (
            (np.zeros((4, 2)), pd.Series([0, 1, None, None], dtype="Int64")),
            "fully labelled, but 2 labels are missing",
        ),
        (
            (pd.DataFrame({"x": list("abcd")}), [0, 1, 0, 1]),
            "have numeric features: .* text in column 'x' .*'a'",
        ),
    ],
)
def test_bad_data(data, sentence):
    with pytest.raises(ValueError, match=f"(?i)data set 'c' .*{sentence}"):
        make({"c": data})


def test_data_must_be_named_pairs():
    X, y = two_classes(60, 0, 3)[:2]
    with pytest.raises(ValueError, match=r"data must be a dict \{name: \(X, y\)\}, .* got tuple"):
        make((X, y))
    with pytest.raises(ValueError, match=r"data\['a'\] is not a pair \(X, y\): got ndarray"):
        make({"a": X})


def test_repr_names_the_data_without_their_values():
    text = repr(make({"a": two_classes(60, 0, 3)[:2]}))
    assert text.startswith("Experiment(name='test', data={'a': 60 x 3}, design=CrossValidation(")
    assert text.endswith("repeats=1, seed=0, twin='Supervised')")
    assert "array" not in text


def test_bad_options():
    with pytest.raises(ValueError, match="repeats must be at least 1, got 0"):
        make(repeats=0)
    with pytest.raises(ValueError, match="scaling must be 'paper', 'train' or 'none', got 'papr'"):
        CrossValidation(scaling="papr")
    with pytest.raises(ValueError, match=r"sees of 'x' must be one of .*, got 'some'"):
        Method("x", None, sees="some")
    with pytest.raises(ValueError, match="every of 'x' must be at least 1, got 0"):
        Method("x", None, every=0)
    with pytest.raises(ValueError, match="must be unique, but 'ICLS' is used twice"):
        make(methods=(*LEAST_SQUARES, LEAST_SQUARES[3]))


class TestTwin:
    """It is a role, whatever its name."""

    def methods(self):
        supervised, _, _, icls, oracle = LEAST_SQUARES
        return (
            Method("Implicit", icls.estimator),
            Method("Plain", supervised.estimator, sees="labeled"),
            Method("Other", supervised.estimator, sees="labeled"),
            Method("Everything", oracle.estimator, sees="all"),
        )

    def test_is_the_first_that_sees_only_labelled_rows(self, tmp_path):
        experiment = make(methods=self.methods())
        assert experiment.twin == "Plain"
        assert list(experiment.roles.values()) == [
            *("semi-supervised", "twin", "supervised", "oracle")
        ]
        results = run_experiment(experiment, tmp_path, verbose=False)
        errors = summarize(results, curve=False).query("measure == 'error'").set_index("classifier")
        assert errors["times_worse"].notna().tolist() == [True, False, True, True]
        assert errors.loc["Other", "times_worse"] == 0

    def test_can_be_named(self, tmp_path):
        assert make(methods=self.methods(), twin="Other").twin == "Other"
        with pytest.raises(ValueError, match=r"twin must name a method \(.*\), got 'Supervised'"):
            make(methods=self.methods(), twin="Supervised")
        results = run(tmp_path, methods=self.methods())
        named = summarize(results, curve=False, twin="Everything").set_index("classifier")
        assert named.loc["Plain", "times_worse"].notna().all()
        with pytest.raises(ValueError, match=r"twin must be one of .*, got 'Supervised'"):
            summarize(results, curve=False, twin="Supervised")

    def test_its_absence_is_said(self, tmp_path):
        results = run(tmp_path, methods=self.methods()[:1])
        with pytest.warns(UserWarning, match="there is no supervised twin and times_worse is emp"):
            summarize(results, curve=False)

    def test_of_results_without_roles_is_known_by_the_papers_name(self, tmp_path):
        results = run(tmp_path)
        without = results.drop(columns=["role", "loss", "score"])
        pd.testing.assert_series_equal(
            summarize(without, curve=False)["times_worse"],
            summarize(results, curve=False)["times_worse"],
        )


def test_kernel_methods_have_errors_and_losses(tmp_path):
    kernels = (METHODS["kernel-ls"], METHODS["kernel-icls"])
    results = run(tmp_path, methods=(LEAST_SQUARES[0], *kernels))
    assert set(results["classifier"]) == {"Supervised", "Kernel LS", "Kernel ICLS"}
    assert np.isfinite(results[["error", "loss_test"]].to_numpy()).all()
