"""Free text as features: words and short groups of characters, weighted by how rare they are.

A vocabulary is taken from the cells of all rows, labelled or not: the words, and the groups of two
or three characters within them, that occur in at least two rows; the most frequent ones if there
are too many. Groups of characters match words with other endings and spelling errors, and they are
the only terms in languages without spaces between words. A term that no training row contains has a
column of zeros, so a vocabulary leaks nothing.

A term that occurs c times in a cell has the value ``1 + log c``. Words and groups have the same
weight: each of the two parts of a row, and then the row, is scaled to a fixed length, and nothing
is learnt from other rows. The weight ``1 + log((1 + n) / (1 + n_j))`` of a term that n_j of n rows
contain is learnt later, by each method from the rows that it is fitted to (``TermWeights``),
because supervised methods must not learn from unlabelled rows. Methods that use them receive
components of all rows instead of the terms.

The terms of all cells are counted once, because folds read them many times.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from primum._typing import AnyArray
from primum.rows import as_dense
from primum.safe.rows import as_given, find_reduction
from primum.tables.cells import names_of, object_array

# The most terms of either kind, the most rows they are taken from, and the fewest rows with one:
# what occurs in one row tells nothing about others, and more terms take memory and add little.
MAX_TERMS, MAX_COUNTED_ROWS, MIN_TERM_ROWS = 2**14, 20_000, 2
# The smallest and the largest number of characters in a group: enough for endings and misspellings.
GROUP_SIZES = (2, 3)
# Rows whose terms are counted at a time: their counts are small compared with those of all rows.
COUNTED_ROWS_PER_BLOCK = 10_000
# Squared length of a row: text counts as much as this many scaled columns, before rare terms are
# weighted up, so that it neither outweighs the other columns of a table nor is lost among them.
SQUARED_TEXT_LENGTH = 10.0
# With more columns, methods that use unlabelled rows receive components, half as many: tuning ICLS
# takes minutes with several hundred columns.
MAX_TEXT_COLUMNS = 100
# The fewest words in an average cell of free text, and the most cells that are read for it: names
# have one or two words, and a sample tells the average.
MIN_TEXT_WORDS, MAX_WORD_CELLS = 3, 1000
# Two or more letters, so neither numbers nor codes.
WORD = re.compile(r"[^\W\d_]{2,}(?:['’-][^\W\d_]+)*")
LETTER = re.compile(r"[^\W\d_]")
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
CHARACTERS_PER_WORD = 2  # about this many make a word in these scripts
AROUND_WORDS = ".,;:!?\"'()[]{}«»„“”‘’…-–—/"


def words_per_cell(cells: Sequence[str]) -> float:
    """Return how many words an average cell has, not counting codes, numbers and addresses.

    Letters between spaces are a word. With digits, such as ``covid19``, they are a word if they
    occur in several cells, because what identifies a row occurs in no other.
    """
    if len(cells) == 0:
        return 0.0
    sampled = cells[:: -(-len(cells) // MAX_WORD_CELLS)]
    chunks = [[c.strip(AROUND_WORDS) for c in UNSPACED.sub(" ", cell).split()] for cell in sampled]
    n_cells = Counter(chunk for of_cell in chunks for chunk in set(of_cell))
    words = {c for c, n in n_cells.items() if WORD.fullmatch(c) or (n > 1 and LETTER.search(c))}
    unspaced = sum(len(UNSPACED.findall(cell)) for cell in sampled) / CHARACTERS_PER_WORD
    return (unspaced + sum(c in words for of_cell in chunks for c in of_cell)) / len(sampled)


@dataclass(frozen=True)
class Vocabulary:
    """The terms of a column of text.

    Attributes
    ----------
    words, groups : str
        The words and the groups of characters, one per line: a model file stores them as text.
    """

    words: str
    groups: str

    @property
    def terms(self) -> tuple[list[str], list[str]]:
        """The words, and the groups of characters."""
        return self.words.splitlines(), self.groups.splitlines()

    def __len__(self) -> int:
        return sum(map(len, self.terms))

    def counts(self, texts: Sequence[str]) -> Any:
        """Return how often every term occurs in texts, as a CSR matrix."""
        counters = [
            _counter(how, vocabulary={term: j for j, term in enumerate(terms)})
            for how, terms in zip(HOW, self.terms, strict=True)
            if terms
        ]
        starts = range(0, max(len(texts), 1), COUNTED_ROWS_PER_BLOCK)
        blocks = [texts[start : start + COUNTED_ROWS_PER_BLOCK] for start in starts]
        rows = [sparse.hstack([one.transform(block) for one in counters]) for block in blocks]
        return sparse.csr_array(sparse.vstack(rows))


HOW: tuple[dict[str, Any], ...] = (
    {"token_pattern": r"(?u)\b\w+\b"},
    {"analyzer": "char_wb", "ngram_range": GROUP_SIZES},
)


def _counter(options: dict[str, Any], **settings: Any) -> CountVectorizer:
    return CountVectorizer(**options, **settings, dtype=np.float64)


def find_vocabulary(texts: Sequence[str]) -> Vocabulary | None:
    """Return the terms of texts; None if no term occurs in two of them.

    Parameters
    ----------
    texts : sequence of str
        The cells of a column; if there are many, only every second, third, ... is read.

    Returns
    -------
    Vocabulary or None
        The most frequent terms.
    """
    step = -(-len(texts) // MAX_COUNTED_ROWS)
    terms = ["\n".join(_terms(options, texts[:: max(step, 1)])) for options in HOW]
    return Vocabulary(*terms) if any(terms) else None


def _terms(options: dict[str, Any], texts: Sequence[str]) -> list[str]:
    counter = _counter(options, min_df=MIN_TERM_ROWS, max_features=MAX_TERMS)
    try:
        terms = counter.fit(texts).get_feature_names_out().tolist()
    except ValueError:  # there are no terms, or none of them in two texts
        return []
    return [term for term in terms if len(term.splitlines()) == 1]


def count_terms(cells: AnyArray, vocabulary: Vocabulary) -> AnyArray:
    """Return, for every cell, the indices and counts of its terms; None if the cell is missing.

    Parameters
    ----------
    cells : array of object
        Texts, None where missing.
    vocabulary : Vocabulary
        The terms.

    Returns
    -------
    array of object
        Arrays of two rows; ``TextFeatures`` turns them into the same features as the texts.
    """
    counts = vocabulary.counts(["" if cell is None else cell for cell in cells])
    pairs = np.stack([part.astype(np.int32) for part in (counts.indices, counts.data)])
    ends = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    rows = (pairs[:, start:end] for start, end in ends)
    return object_array(
        None if cell is None else row for cell, row in zip(cells, rows, strict=True)
    )


def _of_counted(cells: Sequence[Any], n_terms: int) -> Any:
    """Return counted terms as a CSR matrix."""
    none = np.zeros((2, 0), dtype=np.int32)
    rows = [none if cell is None else cell for cell in cells]
    columns, counts = np.concatenate([*rows, none], axis=1)
    ends = np.cumsum([0, *(row.shape[1] for row in rows)])
    # scikit-learn's trees accept 32-bit indices only.
    index = np.int32 if ends[-1] <= np.iinfo(np.int32).max else np.int64
    parts = counts.astype(float), columns.astype(index), ends.astype(index)
    return sparse.csr_array(parts, shape=(len(rows), n_terms))


class TextFeatures(TransformerMixin, BaseEstimator):
    """Turn a column of text into one sparse feature per term; rows do not affect each other.

    Parameters
    ----------
    vocabulary : Vocabulary
        The terms.
    missing : sequence of str, default=()
        Markers of missing cells, in addition to empty ones.

    Attributes
    ----------
    feature_names_in_ : array of shape (1,)
        Name of the column.
    n_features_in_ : int
        1.

    Examples
    --------
    >>> import pandas as pd
    >>> from primum.tables.text import TextFeatures, find_vocabulary
    >>> remarks = pd.DataFrame({"remark": ["late again", "again too late", None]})
    >>> vocabulary = find_vocabulary(["late again", "again too late"])
    >>> features = TextFeatures(vocabulary).fit(remarks)
    >>> features.get_feature_names_out()[:2].tolist()
    ['remark: again', 'remark: late']
    >>> features.transform(remarks).sum(axis=1).round(1).tolist()
    [13.2, 13.2, 0.0]
    """

    def __init__(self, vocabulary: Vocabulary, missing: Sequence[str] = ()) -> None:
        self.vocabulary = vocabulary
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the name of the column.

        Parameters
        ----------
        X : DataFrame
            The table.
        y : None
            Ignored.

        Returns
        -------
        self
            The transformer.
        """
        self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of cells, texts or counted terms; a missing cell has none.

        Parameters
        ----------
        X : DataFrame
            The table.

        Returns
        -------
        CSR matrix of shape (n_rows, n_terms)
            The features.
        """
        values, n_words = X[self.feature_names_in_[0]], len(self.vocabulary.terms[0])
        if any(isinstance(cell, np.ndarray) for cell in values):
            counts = _of_counted(values.to_numpy(), len(self.vocabulary))
        else:
            texts = names_of(values, self.missing)
            counts = self.vocabulary.counts(["" if text is None else text for text in texts])
        counts.data = 1.0 + np.log(counts.data)
        halves = counts[:, :n_words], counts[:, n_words:]
        # Either part may be empty: languages without spaces may have no word in two rows.
        parts = [normalize(part) for part in halves if part.shape[1]]
        return np.sqrt(SQUARED_TEXT_LENGTH) * normalize(sparse.csr_array(sparse.hstack(parts)))

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the terms, prefixed by the name of the column; groups of characters are quoted.

        Parameters
        ----------
        input_features : None
            Ignored: the names are those of the table.

        Returns
        -------
        array of str
            The names.
        """
        words, groups = self.vocabulary.terms
        terms = [*words, *(f'"{group}"' for group in groups)]
        return object_array(f"{self.feature_names_in_[0]}: {term}" for term in terms)


class TermWeights(TransformerMixin, BaseEstimator):
    """Weight terms by how rare they are in the rows of the fit, or reduce rows to components.

    Columns without zeros, such as numbers, keep their weight.

    Parameters
    ----------
    reduce : bool, default=False
        Whether to reduce rows with more than 100 columns to their first fifty components, by a
        truncated SVD of the rows of the fit.
    random_state : int, RandomState instance or None, default=None
        Seed of the SVD.

    Attributes
    ----------
    change_ : Affine
        The change that weights or reduces rows.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from scipy import sparse
    >>> from primum.tables.text import TermWeights
    >>> rows = sparse.csr_array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    >>> TermWeights().fit_transform(rows).toarray().round(2).tolist()
    [[1.0, 1.69], [1.0, 0.0], [1.0, 0.0]]
    """

    def __init__(self, reduce: bool = False, random_state: Any = None) -> None:
        self.reduce = reduce
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self
            The transformer.
        """
        self.n_features_in_ = X.shape[1]
        self.change_ = as_given(X)
        if self.reduce and X.shape[1] > MAX_TEXT_COLUMNS and X.shape[0] > 1:
            rows = np.arange(0, X.shape[0], -(-X.shape[0] // MAX_COUNTED_ROWS))
            self.change_ = find_reduction(X[rows], self.random_state)
        return self

    def transform(self, X: Any) -> Any:
        """Return the weighted or reduced rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array or sparse matrix
            Dense if they are reduced.
        """
        rows = self.change_.transform(X)
        return as_dense(rows) if self.reduce else rows

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns, or "component 1", "component 2", ...

        Parameters
        ----------
        input_features : array of str or None
            Names of the columns.

        Returns
        -------
        array of str
            The names.
        """
        if self.change_.directions is None:
            return np.asarray(input_features, dtype=object)
        numbers = range(1, self.change_.directions.shape[1] + 1)
        return object_array(f"component {number}" for number in numbers)
