"""Features of text and of embeddings."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

import tables_like
from primum.tables.preparation import ScaledTogether, preparing, sets_scales, steps_after
from primum.tables.problem import table_problem
from primum.tables.text import TermWeights, TextFeatures, find_vocabulary, words_per_cell


def problem_of(frame, target="topic"):
    return table_problem(frame, target, independent_rows=True)


def test_counted_terms_are_the_features_of_the_text():
    frame, _ = tables_like.remarks(60, seed=0)
    frame.loc[[3, 7], "remark"] = ["", None]
    problem = problem_of(frame)
    counted, written = (
        preparing(problem.columns).fit(X[:20]).transform(X) for X in (problem.X, frame)
    )
    assert sparse.issparse(counted)
    assert abs(counted - written).max() == 0
    names = preparing(problem.columns).fit(problem.X).get_feature_names_out()
    text = counted[:, [name.startswith("remark: ") for name in names]]
    lengths = np.sqrt(text.power(2).sum(axis=1))
    np.testing.assert_allclose(np.delete(lengths, [3, 7]), np.sqrt(10.0))
    assert (lengths[[3, 7]] == 0).all()


def test_a_row_of_text_does_not_depend_on_others():
    frame, _ = tables_like.remarks(60, seed=0)
    problem = problem_of(frame)
    fitted = [preparing(problem.columns).fit(problem.X[rows]) for rows in (slice(9), slice(9, 60))]
    one, other = (t.named_transformers_["text  remark"].transform(problem.X[-5:]) for t in fitted)
    assert abs(one - other).max() == 0


def test_weights_are_learnt_from_the_rows_of_the_fit():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(np.column_stack([np.ones(40), rng.poisson(0.3, (40, 30))]))
    weights = 1 / TermWeights().fit(X[:20]).change_.scale
    counts = (X[:20].toarray() != 0).sum(axis=0)
    np.testing.assert_allclose(weights, 1 + np.log(21 / (1 + counts)))
    assert weights[0] == 1


def test_names_say_which_terms_are_words():
    frame, _ = tables_like.remarks(60, seed=0)
    names = preparing(problem_of(frame).columns).fit(frame).get_feature_names_out()
    assert "remark: bababa" in names
    assert 'remark: " ba"' in names
    assert "age" in names


@pytest.mark.parametrize(
    ("texts", "least"),
    [
        (["今天天气很好", "他昨天没有来上班"], 3),
        (["วันนี้อากาศดีมาก"], 3),
        (["The parcel (again!) came late."], 5),
    ],
)
def test_words_of_several_scripts_count(texts, least):
    assert words_per_cell(texts) >= least


@pytest.mark.parametrize(
    "code", ["9f86d081884c7d65", "AB-12 CD-34 EF-56", "2024-01-31 12:30", "42 17 3"]
)
def test_codes_are_no_words(code):
    assert words_per_cell([code]) == 0


def test_words_with_digits_recur():
    rng = np.random.default_rng(0)
    said = [" ".join(f"w{i}" for i in rng.integers(0, 50, 8)) for _ in range(40)]
    assert words_per_cell(said) > 7.5
    assert words_per_cell([f"{rng.integers(2**40):x} {rng.integers(2**40):x}" for _ in said]) == 0


def test_texts_without_spaces_share_groups_of_characters():
    vocabulary = find_vocabulary(["天气很好", "今天天气", "很好吃"])
    words, groups = vocabulary.terms
    assert words == []
    assert {"天气", "很好"} <= set(groups)


def test_a_block_is_scaled_together():
    X = np.random.default_rng(0).normal(size=(50, 9)) * np.arange(1, 10)
    scaled = ScaledTogether().fit_transform(X)
    np.testing.assert_allclose(scaled.var(axis=0).sum(), 9.0)
    ratio = pdist(scaled) / pdist(X)
    np.testing.assert_allclose(ratio, ratio[0])
    X[0] = np.nan
    assert (ScaledTogether().fit_transform(X)[0] == 0).all()


def test_vectors_in_cells_and_in_columns_are_the_same_block():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 10)), np.array(["a", "b"] * 30)
    cells = pd.DataFrame({"vector": list(X), "y": y})
    columns = pd.DataFrame(X, columns=[f"emb_{j}" for j in range(10)]).assign(y=y)
    prepared = []
    for frame in (cells, columns):
        problem = problem_of(frame, "y")
        assert sets_scales(problem.transformer)
        assert steps_after(problem.transformer, uses_unlabeled=True) == []
        prepared.append(problem.transformer.fit(problem.X).transform(problem.X))
    np.testing.assert_allclose(*prepared)
    names = problem_of(cells, "y").transformer.fit(cells).get_feature_names_out()
    assert names[:2].tolist() == ["vector[0]", "vector[1]"]


def test_texts_without_a_common_word_have_groups_of_characters_only():
    texts = ["明天的会议很重要", "昨天的会议不重要", "今天没有会议记录"]
    cells = pd.DataFrame({"remark": texts})
    vocabulary = find_vocabulary(texts)
    assert vocabulary.terms[0] == []
    rows = TextFeatures(vocabulary).fit(cells).transform(cells)
    np.testing.assert_allclose(rows.power(2).sum(axis=1), 10.0)


def test_zeros_and_ones_keep_their_scales_and_numbers_may_be_scaled_again():
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(y=["u", "v"] * 30)
    assert not sets_scales(problem_of(numbers, "y").transformer)
    coloured = numbers.assign(colour=["red", "green", "blue"] * 20)
    assert sets_scales(problem_of(coloured, "y").transformer)
    assert not sets_scales(None)


def test_short_texts_of_some_hundred_terms_are_reduced_too():
    rng = np.random.default_rng(0)
    X = sparse.random_array((80, 300), density=0.1, format="csr", rng=rng)
    assert TermWeights(reduce=True, random_state=0).fit_transform(X).shape == (80, 50)
    assert TermWeights(reduce=True, random_state=0).fit_transform(X[:, :90]).shape == (80, 90)
    assert TermWeights().fit_transform(X).shape == (80, 300)
