"""Bad input gets one sentence: what, where, what was found, what to do."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils import get_tags

from primum import (
    ContrastivePessimisticLDAClassifier,
    EMLDAClassifier,
    EMLeastSquaresClassifier,
    EntropyLogisticClassifier,
    HealyWestmacottClassifier,
    ICLDAClassifier,
    ICLSClassifier,
    ICLSRegressor,
    L2SVMClassifier,
    LDAClassifier,
    LeastSquaresClassifier,
    MomentConstrainedLDAClassifier,
    S4VMClassifier,
    ScatterLDAClassifier,
    SelfLearningClassifier,
    TSVMClassifier,
    USMClassifier,
    WellSVMClassifier,
)

X = np.arange(12.0).reshape(6, 2) % 5
Y = np.array([0, 1, 0, 1, -1, -1])
SEMI_SUPERVISED = [
    USMClassifier,
    EMLeastSquaresClassifier,
    SelfLearningClassifier,
    ICLSClassifier,
    TSVMClassifier,
    S4VMClassifier,
    WellSVMClassifier,
    EntropyLogisticClassifier,
    HealyWestmacottClassifier,
    ContrastivePessimisticLDAClassifier,
    EMLDAClassifier,
    ICLDAClassifier,
    MomentConstrainedLDAClassifier,
    ScatterLDAClassifier,
]
EVERY = [LeastSquaresClassifier, L2SVMClassifier, LDAClassifier, *SEMI_SUPERVISED]

LABELS = {
    "no labelled row": (np.full(6, -1), "No row is labelled: all 6 labels in y are marked"),
    "no labelled row, objects": ([None] * 6, "No row is labelled: all 6 labels"),
    "one class": (
        [1, 1, 1, 1, 1, 1],
        "There is only one class among the 6 labelled rows, 1: label",
    ),
    "minus one as a class": (
        [1, 1, 1, -1, -1, -1],
        "There is only one class among the 3 labelled rows, 1 (-1 in a y of integers means",
    ),
    "minus one as float": (
        [0.0, 1.0, -1.0, 0.0, -1.0, -1.0],
        "in a y of floats an unknown label is NaN, and -1.0 is a class",
    ),
    "minus one as string": (
        ["a", "b", "-1", "a", "b", "-1"],
        'y contains strings, and "-1" is one',
    ),
    "minus one in a string array": (
        np.array(["a", "b", "-1", "a", "b", "-1"]),
        'y contains strings, and "-1" is one',
    ),
    "minus one in a string column": (
        pd.Series(["a", "b", "-1", "a", "b", "-1"]),
        'y contains strings, and "-1" is one',
    ),
    "nan as text": (
        np.array(["a", "b", "nan", "a", "b", "a"]),
        'y contains strings, and "nan" is one',
    ),
    "mixed types": (["a", 1, "a", 1, None, None], "y mixes labels of different types, int and str"),
    "mixed bool and int": ([True, 2, True, 2, None, None], "types, bool and int"),
    "two ways": (
        [0, 1, 0, 1, -1, None],
        "y has two markers of unknown labels, -1 and None, NaN or",
    ),
    "infinite": ([0.0, 1.0, np.inf, 0.0, np.nan, 1.0], "Input y contains infinity"),
    "continuous": ([0.1, 0.7, 0.3, 0.9, np.nan, np.nan], "Unknown label type: continuous"),
    "too short": ([0, 1, 0], "X has 6 rows but y has 3 labels: pass one label for every row"),
    "missing": (None, "requires y to be passed, but the target y is None; pass one label"),
}


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("case", LABELS)
def test_labels(kind, case):
    y, sentence = LABELS[case]
    with pytest.raises(ValueError, match=re.escape(sentence)):
        kind().fit(X, y)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (["a", "b", "c", "a", None, None], "found 3 classes in y, 'a', 'b', 'c'; keep two of them"),
        (
            [0.0, 1.0, -1.0, 0.0, np.nan, np.nan],
            "(in a y of floats an unknown label is NaN, and -1.0 is a class)",
        ),
    ],
    ids=["names", "minus one beside NaN"],
)
def test_three_classes(kind, y, sentence):
    if get_tags(kind()).classifier_tags.multi_class:
        # Four rows of three classes determine no covariance without a ridge.
        clf = kind(alpha=0.1) if "LDA" in kind.__name__ else kind()
        assert len(clf.fit(X, y).classes_) == 3
        return
    with pytest.raises(ValueError, match=re.escape(sentence)):
        kind().fit(X, y)


@pytest.mark.parametrize(
    ("clf", "name"),
    [
        (TSVMClassifier("annealing"), "TSVMClassifier"),
        (S4VMClassifier(), "S4VMClassifier"),
        (WellSVMClassifier(), "WellSVMClassifier"),
        (SelfLearningClassifier(TSVMClassifier()), "TSVMClassifier"),
    ],
    ids=str,
)
def test_methods_for_two_classes_name_those_for_several(clf, name):
    sentence = (
        f"{name} separates two classes but found 3 classes in y, 5, 6, 7; keep two of them or "
        "merge them into two, or use ICLSClassifier, L2SVMClassifier or SelfLearningClassifier for "
        "several, and mark unknown labels as -1 (integers) or None."
    )
    with pytest.raises(ValueError, match=re.escape(sentence) + "$"):
        clf.fit(X, [5, 6, 7, 5, -1, -1])


def with_value(value):
    bad = X.copy()
    bad[3, 1] = value
    return bad


ROWS = {
    "NaN": (with_value(np.nan), ValueError, "Input X contains NaN"),
    "infinity": (with_value(np.inf), ValueError, "Input X contains infinity"),
    "NaN, sparse": (sparse.csr_array(with_value(np.nan)), ValueError, "Input X contains NaN"),
    "text": (np.array([["a", "b"]] * 6), ValueError, "could not convert string to float"),
    "one dimension": (X[:, 0], ValueError, "Expected 2D array, got 1D array instead"),
}


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("case", ROWS)
def test_rows(kind, case):
    rows, error, sentence = ROWS[case]
    with pytest.raises(error, match=sentence):
        kind().fit(rows, Y)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_a_column_of_text_is_named(kind, dtype):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(colour=pd.Series(["red"] * 6, dtype=dtype))
    sentence = (
        "Input X has text in column 'colour' (could not convert string to float: 'red'): encode it "
        "as numbers, for example with a OneHotEncoder"
    )
    with pytest.raises(ValueError, match=re.escape(sentence)):
        kind().fit(frame, Y)


FURTHER_ROWS = {
    "too many columns": (np.zeros((4, 3)), "X_unlabeled has 3 features but X has 2: pass the"),
    "NaN": (with_value(np.nan), "Input X_unlabeled contains NaN"),
    "one dimension": (X[:, 0], "Expected 2D array, got 1D array instead"),
    "text": (
        pd.DataFrame({"a": [1.0], "b": ["x"]}),
        "Input X_unlabeled has text in column 'b' .*: encode it as numbers",
    ),
}


@pytest.mark.parametrize("kind", SEMI_SUPERVISED)
@pytest.mark.parametrize("case", FURTHER_ROWS)
def test_further_rows(kind, case):
    rows, sentence = FURTHER_ROWS[case]
    with pytest.raises(ValueError, match=sentence):
        kind().fit(X, Y, X_unlabeled=rows)


@pytest.mark.parametrize("kind", SEMI_SUPERVISED)
def test_further_rows_with_other_column_names(kind):
    frame = pd.DataFrame(X, columns=["a", "b"])
    sentence = (
        r"X_unlabeled has the columns of X in another order: column 0 is 'b', but 'a' in X: pass "
        r"the same columns in the same order, for example X_unlabeled\[X.columns\]"
    )
    with pytest.raises(ValueError, match=sentence):
        kind().fit(frame, Y, X_unlabeled=frame[["b", "a"]])


@pytest.mark.parametrize(
    ("clf", "sentence"),
    [
        (ICLSClassifier(metric="cosine"), "'metric' parameter of ICLSClassifier must be a str"),
        (ICLSClassifier(solver="simplex"), "'solver' parameter of ICLSClassifier must be a str"),
        (ICLSClassifier(alpha=-1), "'alpha' parameter of ICLSClassifier must be a float in"),
        (ICLSClassifier(alpha_labeled=-1), "'alpha_labeled' parameter of ICLSClassifier must"),
        (ICLSClassifier(tol=-1e-3), "'tol' parameter of ICLSClassifier must be a float in"),
        (ICLSClassifier(max_iter=0), "'max_iter' parameter of ICLSClassifier must be an int"),
        (LeastSquaresClassifier(alpha=-1), "'alpha' parameter of LeastSquaresClassifier must"),
        (USMClassifier(alpha=-1), "'alpha' parameter of USMClassifier must be a float in"),
        (EMLeastSquaresClassifier("warm"), "'labels' parameter of EMLeastSquaresClassifier must"),
        (SelfLearningClassifier("svm"), "'estimator' parameter of SelfLearningClassifier must"),
        (L2SVMClassifier(alpha=0), "'alpha' parameter of L2SVMClassifier must be a float in"),
        (L2SVMClassifier(costs="max"), "'costs' parameter of L2SVMClassifier must be a str"),
        (TSVMClassifier("magic"), "'method' parameter of TSVMClassifier must be a str among"),
        (
            TSVMClassifier(unlabeled_weight=-1),
            "'unlabeled_weight' parameter of TSVMClassifier must be a float",
        ),
        (TSVMClassifier(ramp=0.5), "'ramp' parameter of TSVMClassifier must be a float in"),
        (S4VMClassifier(n_init=0), "'n_init' parameter of S4VMClassifier must be an int"),
        (WellSVMClassifier(tol=0), "'tol' parameter of WellSVMClassifier must be a float in"),
    ],
)
def test_parameters(clf, sentence):
    with pytest.raises(ValueError, match=sentence):
        clf.fit(X, Y)


@pytest.mark.parametrize("kind", [TSVMClassifier, S4VMClassifier, WellSVMClassifier])
@pytest.mark.parametrize("share", [0.0, 1.0, -0.2, 1.5])
def test_positive_fraction_outside(kind, share):
    sentence = f"'prior' parameter of {kind.__name__} must"
    with pytest.raises(ValueError, match=sentence):
        kind(prior=share).fit(X, Y)


@pytest.mark.parametrize("kind", [TSVMClassifier, S4VMClassifier, WellSVMClassifier])
@pytest.mark.parametrize("share", [0.01, 0.25, 0.75, 0.99])
def test_unlabelled_set_too_small_for_the_fraction(kind, share):
    sentence = f"prior={share} of 2 unlabelled rows is .* pass more unlabelled rows"
    with pytest.raises(ValueError, match=sentence):
        kind(prior=share).fit(X, Y)
    kind(prior=share).fit(X[:4], Y[:4])  # without unlabelled rows nothing is asked


@pytest.mark.parametrize("kind", [TSVMClassifier, S4VMClassifier, WellSVMClassifier])
def test_one_unlabelled_row_shows_no_fraction(kind):
    sentence = "prior=0.5 of 1 unlabelled row is 0.5 rows, which leaves one class"
    with pytest.raises(ValueError, match=sentence):
        kind(prior=0.5).fit(X[:5], Y[:5])
    assert kind().fit(X[:5], Y[:5]).transduction_.shape == (5,)


@pytest.mark.parametrize("kind", EVERY)
def test_weights(kind):
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        kind().fit(X, Y, sample_weight=-np.ones(6))
    with pytest.raises(ValueError, match="All labelled rows of class 1 have sample_weight 0"):
        kind().fit(X, Y, sample_weight=np.where(Y == 1, 0.0, 1.0))


def test_self_learning_with_a_classifier_that_knows_no_weights():
    from sklearn.neighbors import KNeighborsClassifier

    clf = SelfLearningClassifier(KNeighborsClassifier(1))
    with pytest.raises(ValueError, match="KNeighborsClassifier does not support it: omit it"):
        clf.fit(X, Y, sample_weight=np.ones(6))


def test_a_failed_fit_leaves_the_arguments_alone():
    rows, y = X.copy(), Y.copy()
    with pytest.raises(ValueError, match="features"):
        ICLSClassifier().fit(rows, y, X_unlabeled=np.zeros((2, 3)))
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(y, Y)


def test_the_millionth_row_is_named_before_any_result_is_given():
    rows = np.zeros((1_000_000, 2), dtype=np.float32)
    rows[999_999, 1] = np.nan
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1]
    clf = ICLSClassifier()
    with pytest.raises(ValueError, match="X_unlabeled contains NaN in row 999999, column 1"):
        clf.fit(X, y, X_unlabeled=rows)
    named = pd.DataFrame(rows, columns=["age", "height"])
    with pytest.raises(ValueError, match="X_unlabeled contains NaN in row 999999, column 'height'"):
        clf.fit(pd.DataFrame(X, columns=["age", "height"]), y, X_unlabeled=named)
    assert not hasattr(clf, "coef_")


@pytest.mark.parametrize(
    "clf",
    [
        EMLeastSquaresClassifier(),
        SelfLearningClassifier(),
        TSVMClassifier(),
        S4VMClassifier(),
        WellSVMClassifier(),
    ],
    ids=lambda clf: type(clf).__name__,
)
def test_methods_that_keep_a_label_per_row_refuse_rows_outside_memory(clf, tmp_path):
    rows = pd.DataFrame(np.eye(2), columns=["a", "b"])
    rows.to_parquet(tmp_path / "rows.parquet")
    message = f"{type(clf).__name__} needs all rows in memory, and X_unlabeled is not"
    with pytest.raises(ValueError, match=message):
        clf.fit(rows, [0, 1], X_unlabeled=tmp_path / "rows.parquet")


@pytest.mark.parametrize("clf", [ICLSClassifier(), TSVMClassifier(), SelfLearningClassifier()])
def test_a_missing_value_of_pandas_is_named(clf):
    frame = pd.DataFrame(X, columns=["a", "b"]).astype("Float64")
    frame.loc[4, "b"] = pd.NA
    with pytest.raises(ValueError, match="Input X contains NaN in row 4, column 'b'"):
        clf.fit(frame, Y)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_cccp_needs_an_intercept_to_hold_the_mean_of_centred_rows(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    rows[4:] -= rows[4:].mean(axis=0)
    y = np.r_[0, 1, 0, 0, np.full(36, -1)]
    with pytest.raises(ValueError, match=r"mean output .* to -0.5, .* pass fit_intercept=True"):
        TSVMClassifier("cccp", fit_intercept=False).fit(kind(rows), y)
    clf = TSVMClassifier("cccp", fit_intercept=False).fit(kind(rows), np.r_[0, 1, 0, 1, y[4:]])
    assert np.abs(clf.coef_).max() < 10


@pytest.mark.parametrize("kind", [LeastSquaresClassifier, *SEMI_SUPERVISED[:4]])
@pytest.mark.parametrize("weight", [1e-320, 1e-200, 1e200])
def test_weights_beyond_the_range_of_their_products(kind, weight):
    y = Y if kind is not LeastSquaresClassifier else [0, 1, 0, 1, 0, 1]
    given = np.where(np.arange(6) > 2, weight, 1.0)
    with pytest.raises(
        ValueError, match=r"sample_weight has the value 1\.0e[+-]\d+ in row 3, whose square"
    ):
        kind().fit(X, y, sample_weight=given)


@pytest.mark.parametrize("weight", [1e-150, 1e-60, 1e150])
@pytest.mark.parametrize("more", [None, np.eye(40, 2) + 1])
def test_weights_within_that_range_are_only_ratios(weight, more):
    rng = np.random.default_rng(0)
    rows, truth = rng.normal(size=(60, 2)), np.arange(60) % 2
    rows += truth[:, None]
    y = np.where(np.arange(60) < 10, truth, -1)
    fits = [
        ICLSClassifier().fit(rows, y, X_unlabeled=more, sample_weight=np.full(60, w))
        for w in (weight, 1.0 if more is None else min(max(weight, 1e-20), 1e20))
    ]
    assert all(fit.certificate_.converged for fit in fits)
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-5)


TINY = np.random.default_rng(0).normal(size=(6, 2)) * 1e-200


@pytest.mark.parametrize("kind", [LeastSquaresClassifier, USMClassifier, ICLSClassifier])
@pytest.mark.parametrize(
    "rows",
    [TINY, sparse.csr_array(TINY), np.c_[TINY, np.full((6, 9), 0.1)]],
    ids=["dense", "sparse", "wide"],
)
def test_values_whose_squares_underflow(kind, rows):
    y = Y if kind is not LeastSquaresClassifier else [0, 1, 0, 1, 0, 1]
    sentence = (
        r"Column 0 \(and 1 more\) has values so small that their squares underflow, and no oth"
    )
    with pytest.raises(ValueError, match=sentence):
        kind().fit(rows, y)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_one_column_whose_squares_underflow_counts_as_constant_and_is_named(wide, form):
    rng = np.random.default_rng(0)
    others = rng.normal(size=(40, 50 if wide else 2))
    y = np.arange(40) % 2
    with pytest.warns(UserWarning, match=r"Column 0 has values so small.* counts as constant"):
        clf = LeastSquaresClassifier().fit(form(np.c_[rng.normal(size=40) * 1e-200, others]), y)
    assert clf.coef_[0, 0] == 0
    expected = LeastSquaresClassifier().fit(others, y)
    np.testing.assert_allclose(clf.coef_[0, 1:], expected.coef_[0], atol=1e-10)


class TestColumnsThatDiffer:
    """The message names the columns that differ, however many others there are."""

    frame = pd.DataFrame(np.tile(X, (1, 4)), columns=list("abcdefgh"))

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (
                lambda rows: rows.assign(extra=0.0),
                "has the column 'extra', which X does not have: pass",
            ),
            (lambda rows: rows.drop(columns="g"), "lacks the column 'g', which X has: pass"),
            (
                lambda rows: rows.rename(columns={"h": "k", "b": "B"}),
                "has the columns 'B', 'k', which X does not have, and lacks the columns 'b', 'h', ",
            ),
            (
                lambda rows: rows[list("abcdefhg")],
                "in another order: column 6 is 'h', but 'g' in X: pass",
            ),
            (lambda rows: rows[list("abcdefghg")], "has the column 'g' more than once: pass"),
        ],
    )
    def test_they_are_named(self, change, words):
        with pytest.raises(ValueError, match=f"^X_unlabeled .*{words}"):
            ICLSClassifier().fit(self.frame, Y, X_unlabeled=change(self.frame))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"prior": np.array([0.5 + 0.1j, 0.5])}, "prior is array.*pass shares, numbers between 0"),
        ({"prior": {0: np.complex128(0.5j)}}, r"prior\[0\] is .*0.5j.*: pass shares"),
        ({"prior": [[0.1, 0.5 + 1j], [0, 1]]}, "prior is .*: pass shares, numbers between 0 and 1"),
    ],
    ids=["array", "dict", "list"],
)
def test_a_complex_prior_is_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        ICLSClassifier(**parameters).fit(X, Y, X_unlabeled=X)


def test_complex_shares_and_bounds_are_refused():
    with pytest.raises(ValueError, match=r"prior is array.*: pass shares, numbers above 0"):
        LDAClassifier(prior=np.array([0.5 + 1j, 0.5])).fit(X, Y)
    with pytest.raises(ValueError, match="is not a range: pass two finite numbers"):
        ICLSRegressor(bounds=np.array([0, 1 + 1j])).fit(X, Y)
    with pytest.raises(ValueError, match="target_bounds has values that are not numbers"):
        ICLSRegressor().fit(X, Y, target_bounds=np.full((len(X), 2), 1j))
