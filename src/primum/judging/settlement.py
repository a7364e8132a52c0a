"""Settling which of two fitted models makes fewer errors: the rows to label, and their labels.

A settlement asks one or several questions, each about two fitted models. Its rows are those on
which the models of some question predict different classes, labelled from the top of one random
order. This order is also random for the rows of each question, so each is bounded by its own rows
as `primum.judging.error_bounds` describes, with its share of the probability of error.

Questions whose models differ on too few rows to matter in practice are answered without labels, and
ask for no rows. The order, the models and the questions are fixed before the first label. A
settlement holds neither models nor tables, only class codes, names of rows and counts, so that it
can be stored as JSON.

An answer is about these two models on these rows. The model that is settled to be better is used;
if it makes no practical difference, the baseline, which is the simpler one. While the question is
open, it is the one that alone was right on more rows, in cross-validation and since. "Not worse" is
enough to use the challenger if it also made fewer errors on the rows labelled so far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np

from primum._typing import Index, Mask, PlainRecord
from primum._words import counted, listed
from primum.judging import error_bounds, named_labels, words
from primum.judging.difference import LEVEL, PRACTICAL_EQUIVALENCE
from primum.judging.disagreements import AGREE
from primum.judging.error_bounds import BASELINE, BLANK, CHALLENGER, NEITHER, OPEN, UNDECIDED, Pair
from primum.judging.named_labels import CANNOT_SAY

# The version of the JSON form, raised whenever its contents change.
SETTLED_FORMAT = 1
# Skipped rows that a sentence names; a longer list says how many more there are.
MAX_ROWS_NAMED = 3
HOW_TO_LABEL = "rows_to_label() returns these rows as a sheet, and settle() reads their labels."
MEANING = {
    words.HELP: "",
    words.HARM: "",
    words.NO_DIFFERENCE: ", which makes no practical difference",
    error_bounds.NOT_WORSE: ", so it is not worse in practice",
    error_bounds.NOT_BETTER: ", so it is not better in practice",
    error_bounds.OPEN: "",
}
# Attributes in the JSON of an answer: its own, those of its pair and of its bounds, and ranges.
OF_ANSWER = (
    *("challenger", "baseline", "answer", "settled", "low", "high", "level", "n_labels"),
    *("uses_challenger", "text", "deploy"),
)
OF_PAIR = ("n_rows", "n_different", "n_margin", "alpha")
OF_BOUNDS = ("n_undecided", "n_blank", "complete", "contradicted")
RANGES = ("expected_more", "expected_to_not_worse", "errors_so_far")


@dataclass(frozen=True)
class SettledPair:
    """What the labels so far tell about the errors of two fitted models on the unlabelled rows.

    Attributes
    ----------
    challenger, baseline : str
        The two in words.
    answer : {"help", "no_difference", "harm", "not_worse", "not_better", "open"}
        One of the first three is settled; "not_worse" and "not_better" leave one side open.
    low, high : int
        Bounds of errors(challenger) - errors(baseline) on these rows, in rows.
    n_labels : int
        Number of labels that count.
    expected_more : (int, int)
        About how many more labels settle it, as a range; (0, 0) if it is settled.
    expected_to_not_worse : (int, int)
        About how many more labels show whether the challenger is not worse, as a range.
    errors_so_far : (int, int)
        Errors of challenger and baseline on the labelled ones of the rows on which they differ.
    level : float
        Probability that all answers of a settlement hold together.
    bounds : Bounds
        The bounds, with their path from label to label.
    n_all_labels : int, default=0
        Number of labels of the settlement, those on rows of other questions included.
    wins : (float, float), default=(0, 0)
        Numbers of labelled rows, held out in cross-validation, on which the challenger alone and
        the baseline alone was right.
    """

    challenger: str
    baseline: str
    n_labels: int
    expected_more: tuple[int, int]
    expected_to_not_worse: tuple[int, int]
    errors_so_far: tuple[int, int]
    level: float
    bounds: error_bounds.Bounds = field(repr=False)
    n_all_labels: int = 0
    wins: tuple[float, float] = (0.0, 0.0)

    @property
    def pair(self) -> error_bounds.Pair:
        """How many rows there are, and on how many the two differ."""
        return self.bounds.pair

    @property
    def answer(self) -> str:
        """The answer."""
        return self.bounds.answer

    @property
    def low(self) -> int:
        """The lower bound, in rows."""
        return self.bounds.low

    @property
    def high(self) -> int:
        """The upper bound, in rows."""
        return self.bounds.high

    @property
    def settled(self) -> bool:
        """Whether the answer is help, no difference or harm."""
        return self.bounds.settled

    @property
    def uses_challenger(self) -> bool:
        """Whether the challenger is the one to use on these rows."""
        made, others = self.errors_so_far
        not_worse = self.answer == error_bounds.NOT_WORSE
        return self.answer == words.HELP or (not_worse and made < others)

    @property
    def challenger_leads(self) -> bool:
        """Whether the challenger alone was right more often, in cross-validation and since."""
        made, others = self.errors_so_far
        return self.wins[0] + others > self.wins[1] + made

    @property
    def text(self) -> str:
        """What is settled, or what is open and how many labels it needs: a few sentences."""
        return _sentences(self, self.needed)

    @property
    def known(self) -> str:
        """What is settled or open, without the number of labels that are still needed."""
        will_need = not self.settled and self.expected_more[1] > 0
        return _sentences(self, "" if will_need else self.needed)

    @property
    def needed(self) -> str:
        """How many labels were needed, or will be, in a sentence."""
        return _were_needed(self) if self.settled else _will_be_needed(self)

    @property
    def deploy(self) -> str:
        """Which of the two to use on these rows, in a sentence."""
        return _deploy(self)

    def __str__(self) -> str:
        return f"{self.text} {self.deploy}"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain JSON values."""
        decidable = self.bounds.decidable
        return {
            **{name: getattr(self, name) for name in OF_ANSWER},
            **{name: getattr(self.pair, name) for name in OF_PAIR},
            **{name: getattr(self.bounds, name) for name in OF_BOUNDS},
            **{name: list(getattr(self, name)) for name in RANGES},
            "decidable": decidable and [decidable.low, decidable.high],
            "path": self.bounds.path.tolist(),
        }


def compared(low: int, high: int, than: str) -> str:
    """Return bounds of a change in errors in words.

    Parameters
    ----------
    low, high : int
        Bounds of errors(challenger) - errors(baseline).
    than : str
        The baseline in words.

    Returns
    -------
    str
        Such as "between 72 and 150 fewer errors than the baseline".

    Examples
    --------
    >>> from primum.judging.settlement import compared
    >>> compared(-12, 31, "the baseline")
    'between 12 fewer and 31 more errors than the baseline'
    """
    if low == high == 0:
        return f"exactly as many errors as {than}"
    if low == high:
        direction = "fewer" if low < 0 else "more"
        return f"exactly {counted(abs(low), f'{direction} error')} than {than}"
    if high <= 0:
        return f"between {-high:,} and {-low:,} fewer errors than {than}"
    if low >= 0:
        return f"between {low:,} and {high:,} more errors than {than}"
    return f"between {-low:,} fewer and {high:,} more errors than {than}"


def certain(settled: SettledPair) -> str:
    """Return what is certain without any label, in a sentence.

    Parameters
    ----------
    settled : SettledPair
        The two models and their rows.

    Returns
    -------
    str
        Such as "On your 5,293 unlabelled rows the safe stack and the baseline differ in 150
        predictions, so the choice between them affects only these."
    """
    both, n_different = f"{settled.challenger} and {settled.baseline}", settled.pair.n_different
    where = f"On your {counted(settled.pair.n_rows, 'unlabelled row')} {both}"
    if n_different == 0:
        return f"{where} predict the same classes, so the choice between them changes nothing."
    these = "this one" if n_different == 1 else "these"
    changed = counted(n_different, "prediction")
    return f"{where} differ in {changed}, so the choice between them affects only {these}."


def about(low: int, high: int, most: int) -> str:
    """Return a range of numbers of labels, rounded up to two significant digits.

    Parameters
    ----------
    low, high : int
        The range.
    most : int
        Number of rows to label, which bounds both ends.

    Returns
    -------
    str
        Such as "20 to 60".
    """
    low, high = min(words.rounded_up(low), most), min(words.rounded_up(high), most)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _sentences(settled: SettledPair, needed: str) -> str:
    """Return what is known, with a sentence on the labels that it needs."""
    if not settled.pair.needs_labels:
        return _without_labels(settled)
    if not settled.bounds.n_read:
        return f"{certain(settled)} {needed}".strip()
    parts = (_contradicted(settled), _between(settled), needed, _decidable(settled))
    return " ".join(filter(None, parts))


def _without_labels(settled: SettledPair) -> str:
    """Return the answer that needs no label: the models differ on too few rows."""
    pair = settled.pair
    if pair.n_different == 0:
        return f"{certain(settled)} No label was needed."
    share = words.percent_of_level(pair.margin)
    but_certain = "" if settled.low == -settled.high else f" ({_change(settled)})"
    few = f"This is at most {share} of the rows, which makes no practical difference{but_certain}."
    return f"{certain(settled)} {few} No label was needed."


def _change(settled: SettledPair) -> str:
    """Return the bounds as part of a sentence, by the name of the challenger."""
    return f"{settled.challenger} makes {compared(settled.low, settled.high, settled.baseline)}"


def _between(settled: SettledPair) -> str:
    """Return the bounds and what they mean, in a sentence."""
    bounds, pair = settled.bounds, settled.pair
    lead = "Still open: on" if settled.answer == error_bounds.OPEN else "On"
    differ = f"they differ on {counted(pair.n_different, 'row')}"
    sure = f"{words.percent_of_level(settled.level)} sure; {differ}"
    if bounds.complete:
        sure = f"{differ}, and all are labelled"
    elif bounds.contradicted:
        sure = f"certain; {differ}"
    rows = counted(pair.n_rows, "row")
    return f"{lead} your {rows} {_change(settled)} ({sure}){MEANING[settled.answer]}."


def _contradicted(settled: SettledPair) -> str:
    """Return a warning if the labels leave no state possible."""
    if not settled.bounds.contradicted:
        return ""
    chance = words.percent_of_level(1 - settled.level)
    return (
        "These labels contradict a random order of the rows, which happens by chance in at most "
        f"{chance} of cases: check that no label is on the wrong row. Only what is certain is "
        "claimed here."
    )


def _were_needed(settled: SettledPair) -> str:
    """Return how many labels an answer has needed."""
    bounds, enough = settled.bounds, settled.bounds.labels_needed
    labels = counted(settled.n_labels, "label")
    if enough == bounds.n_read or enough is None:
        return f"{labels} {'was' if settled.n_labels == 1 else 'were'} needed."
    so_far = f"{labels} so far"
    if settled.n_all_labels > settled.n_labels:
        so_far = (
            f"{settled.n_labels:,} of the {settled.n_all_labels:,} labels so far are on rows where "
            "these two differ"
        )
    return f"It was settled after {counted(enough, 'row')} ({so_far})."


def _will_be_needed(settled: SettledPair) -> str:
    """Return how many more labels will be needed, as a range."""
    if settled.expected_more[1] == 0 and settled.bounds.n_blank:
        return "Only labels of the rows that were skipped can settle it."
    if settled.expected_more[1] == 0:
        return "No row is left that could settle it."
    most = settled.pair.n_different - settled.n_labels
    amount = about(*settled.expected_more, most)
    further = f"{amount} more {'label' if amount == '1' else 'labels'}"
    if settled.answer in (error_bounds.NOT_WORSE, error_bounds.NOT_BETTER):
        claim = "better" if settled.answer == error_bounds.NOT_WORSE else "worse"
        return f"About {further} should settle whether it is {claim}."
    rows = f"{amount} of these {settled.pair.n_different:,} rows"
    first = f"About {further} should settle it"
    if not settled.bounds.n_read:
        first = f"Labelling about {rows} should settle which of the two is better"
    not_worse = about(*settled.expected_to_not_worse, most)
    if not_worse == amount:
        return f"{first}."
    return f"{first}; about {not_worse} should show whether {settled.challenger} is not worse."


def _decidable(settled: SettledPair) -> str:
    """Return the bounds for the rows that can be decided, named as such."""
    alone, count = settled.bounds.decidable, settled.bounds.n_undecided
    if alone is None:
        return ""
    if not settled.n_labels:
        return f"No row could be decided{'' if count == settled.pair.n_different else ' so far'}."
    return (
        f"{counted(count, 'row')} could not be decided; on the decidable rows alone, "
        f"{settled.challenger} makes {compared(alone.low, alone.high, settled.baseline)} "
        f"({words.percent_of_level(settled.level)} sure)."
    )


def _deploy(settled: SettledPair) -> str:
    """Return which of the two to use, and why, in a sentence."""
    challenger, baseline = settled.challenger, settled.baseline
    made, others = settled.errors_so_far
    errors = f"has made {counted(made, 'error')} where {baseline} has made {others:,}"
    return {
        words.HELP: f"Use {challenger} on these rows.",
        words.HARM: f"Use {baseline} on these rows: {challenger} would do harm.",
        words.NO_DIFFERENCE: f"Use {baseline}, the simpler of the two.",
        error_bounds.NOT_WORSE: (
            f"Use {challenger} on these rows: it is not worse, and so far it {errors}."
            if settled.uses_challenger
            else f"Use {baseline} for now: so far {challenger} {errors}."
        ),
        error_bounds.NOT_BETTER: f"Use {baseline} on these rows: {challenger} is not better.",
        error_bounds.OPEN: (
            f"Use {challenger} for now: where the two differ, it was right more often."
            if settled.challenger_leads
            else f"Use {baseline} for now, the cautious choice."
        ),
    }[settled.answer]


@dataclass(frozen=True)
class Question(PlainRecord):
    """Whether one fitted model makes fewer errors than another on the unlabelled rows.

    Attributes
    ----------
    challenger, baseline : str
        The two in words, as parts of a sentence: "the safe stack", "the baseline".
    pair : Pair
        How many rows there are, on how many the two differ, alpha and margin.
    codes : array of shape (n_listed, 2)
        The classes that baseline and challenger predict for every listed row, as codes; (-1, -1)
        where they agree.
    wins : (float, float)
        Numbers of labelled rows, held out in cross-validation, on which the challenger alone and
        the baseline alone was right: for forecasts only.
    """

    challenger: str
    baseline: str
    pair: Pair
    codes: Index = field(repr=False, compare=False)
    wins: tuple[float, float] = (0.0, 0.0)

    @cached_property
    def differs(self) -> Mask:
        """Where the two predict different classes, among the listed rows."""
        return np.asarray(self.codes[:, 0] != AGREE)

    def outcomes(self, labels: Mapping[int, int]) -> Index:
        """Return what labels say of the rows on which the two differ, in the stored order.

        Parameters
        ----------
        labels : mapping of place to class code
            The labels.

        Returns
        -------
        array of int
            ``CHALLENGER``, ``BASELINE`` or ``NEITHER`` is right, or ``UNDECIDED`` or ``BLANK``.
        """
        every = np.full(len(self.codes), BLANK, dtype=np.intp)
        for place, code in labels.items():
            baseline, challenger = self.codes[place]
            right = {int(baseline): BASELINE, int(challenger): CHALLENGER}
            every[place] = UNDECIDED if code == CANNOT_SAY else right.get(code, NEITHER)
        return every[self.differs]

    def answer(self, labels: Mapping[int, int], level: float) -> SettledPair:
        """Return what labels settle.

        Parameters
        ----------
        labels : mapping of place to class code
            The labels.
        level : float
            Probability that all answers of a settlement hold together.

        Returns
        -------
        SettledPair
            The bounds, the answer and its words.
        """
        outcomes = self.outcomes(labels)
        bounds = error_bounds.bounds_after(self.pair, outcomes)
        counts = np.bincount(outcomes, minlength=BLANK + 1)
        wrong = counts[BASELINE] + counts[NEITHER], counts[CHALLENGER] + counts[NEITHER]
        needed = self._expected(outcomes, bounds)
        return SettledPair(
            challenger=self.challenger,
            baseline=self.baseline,
            n_labels=bounds.n_labels,
            expected_more=(needed.low, needed.high),
            expected_to_not_worse=(needed.not_worse_low, needed.not_worse_high),
            errors_so_far=(int(wrong[0]), int(wrong[1])),
            level=level,
            bounds=bounds,
            n_all_labels=sum(code != CANNOT_SAY for code in labels.values()),
            wins=self.wins,
        )

    def _expected(self, outcomes: Index, bounds: error_bounds.Bounds) -> error_bounds.Forecast:
        """Return how many more labels will be needed, at most the number of rows left."""
        if bounds.settled:
            return error_bounds.Forecast(0, 0, 0, 0)
        left = int(np.sum(outcomes == BLANK))
        needed = error_bounds.forecast(self.pair, outcomes, wins=self.wins)
        return error_bounds.Forecast(*(min(number, left) for number in vars(needed).values()))

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return a question that was stored by ``to_dict``."""
        codes = np.array(values["codes"], dtype=np.intp).reshape(-1, 2)
        better, worse = values["wins"]
        pair = Pair(**values["pair"])
        return cls(values["challenger"], values["baseline"], pair, codes, (better, worse))


class LedByFirst:
    """What a settlement says of its first pair of models, which is the leading one."""

    pairs: tuple[SettledPair, ...]

    @property
    def leading(self) -> SettledPair:
        """What is settled of the first pair."""
        return self.pairs[0]

    @property
    def answer(self) -> str:
        """The answer for the first pair."""
        return self.leading.answer

    @property
    def low(self) -> int:
        """Its lower bound of errors(challenger) - errors(baseline), in rows."""
        return self.leading.low

    @property
    def high(self) -> int:
        """Its upper bound of errors(challenger) - errors(baseline), in rows."""
        return self.leading.high

    @property
    def n_labels(self) -> int:
        """Number of labels that its answer is based on."""
        return self.leading.n_labels

    @property
    def expected_more(self) -> tuple[int, int]:
        """About how many more labels settle it, as a range."""
        return self.leading.expected_more

    @property
    def settled(self) -> bool:
        """Whether it is settled."""
        return self.leading.settled


@dataclass(frozen=True)
class Settlement(LedByFirst, PlainRecord):
    """Questions about fitted models, the rows that answer them, and their labels so far.

    A settlement does not change: ``with_labels`` returns another one.

    Attributes
    ----------
    questions : tuple of Question
        The first is the one that leads.
    rows : array of int, of shape (n_listed,)
        Positions in the table of the rows to label, in the stored random order.
    classes : tuple of str
        The classes as they are written.
    ids : tuple of str or None
        The ids of these rows, if the table has them.
    id_name, target : str or None
        Names of the columns of the table with the ids and with the labels.
    labels : dict of int to int
        Class codes by place in the order; -1 where nobody can decide.
    notes : tuple of str
        Which of the last labels were not counted, and why.
    left_out : str
        Which rows were left out because they are also labelled ones, in a sentence.
    """

    questions: tuple[Question, ...]
    rows: Index = field(repr=False, compare=False)
    classes: tuple[str, ...]
    ids: tuple[str, ...] | None = field(default=None, repr=False)
    id_name: str | None = None
    target: str | None = None
    labels: dict[int, int] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    left_out: str = ""
    in_json = ("questions", "rows", "classes", "ids", "id_name", "target", "left_out")

    def __post_init__(self) -> None:
        if not self.questions:
            raise ValueError("A settlement needs at least one pair of models, got none.")
        for question in self.questions:
            if len(question.codes) != len(self.rows):
                raise ValueError(
                    f"There are {len(self.rows)} rows to label, but {len(question.codes)} codes of "
                    f"{question.challenger} and {question.baseline}: give one pair for every row."
                )
        if self.ids is not None and len(self.ids) != len(self.rows):
            raise ValueError(f"There are {len(self.rows)} rows to label, but {len(self.ids)} ids.")

    def __str__(self) -> str:
        standing = self.standing(self.leading.deploy)
        return "\n".join(filter(None, [self.left_out, *self.notes, standing, *self.further]))

    @classmethod
    def ask(
        cls,
        pairs: Sequence[tuple[str, str]],
        rows: Any,
        codes: Any,
        *,
        n_rows: int,
        classes: Sequence[str],
        n_different: Sequence[int] | None = None,
        level: float = LEVEL,
        margin: float = PRACTICAL_EQUIVALENCE,
        wins: Sequence[tuple[float, float]] | None = None,
        ids: Sequence[str] | None = None,
        id_name: str | None = None,
        target: str | None = None,
        left_out: str = "",
    ) -> Self:
        """Return a settlement without labels; rows that no question needs are left out.

        Parameters
        ----------
        pairs : sequence of (str, str)
            Challenger and baseline of every question, in words.
        rows : array of int, of shape (n_listed,)
            Positions of the rows on which models of some pair differ, or of a random part of them,
            in random order.
        codes : array of int, of shape (n_listed, n_pairs, 2)
            Classes predicted by (baseline, challenger) of each pair.
        n_rows : int
            Number of all unlabelled rows.
        classes : sequence of str
            The classes as they are written.
        n_different : sequence of int, optional
            Numbers of unlabelled rows on which the pairs differ, if ``rows`` is a part of them.
        level : float, default=0.95
            Probability that all answers hold.
        margin : float, default=0.01
            Region of practical equivalence.
        wins : sequence of (float, float), optional
            For each question, as in ``Question``.
        ids : sequence of str, optional
            The ids of the rows.
        id_name, target : str, optional
            Names of columns of the table.
        left_out : str, default=""
            As the attribute.

        Returns
        -------
        Settlement
            The questions and the rows to label.

        Examples
        --------
        >>> from primum.judging.settlement import Settlement
        >>> asked = Settlement.ask(
        ...     [("the safe stack", "the baseline")],
        ...     rows=[17, 4, 9],
        ...     codes=[[[0, 1]], [[1, 0]], [[0, 1]]],
        ...     n_rows=100,
        ...     classes=["no", "yes"],
        ... )
        >>> found = asked.with_labels({"r1": "yes", "r2": "no", "r3": "yes"})
        >>> print(found.pairs[0])
        On your 100 rows the safe stack makes exactly 3 fewer errors than the baseline (they \
differ on 3 rows, and all are labelled). 3 labels were needed. Use the safe stack on these rows.
        """
        shape = (len(rows), len(pairs), 2)
        codes = np.asarray(codes, dtype=np.intp).reshape(shape)
        codes = np.where((codes[..., :1] == codes[..., 1:]), AGREE, codes)
        counts = np.sum(codes[..., 0] != AGREE, axis=0).tolist()
        counts = counts if n_different is None else list(n_different)
        alphas = error_bounds.shared_level(level, n_rows, counts, margin=margin)
        asked = [
            Pair(n_rows, count, len(classes) == 2, alpha, margin)
            for count, alpha in zip(counts, alphas, strict=True)
        ]
        needs = [pair.needs_labels for pair in asked]
        listed_rows = np.flatnonzero((codes[:, needs, 0] != AGREE).any(axis=1))
        scores = [(0.0, 0.0)] * len(pairs) if wins is None else wins
        questions = tuple(
            Question(*names, pair, codes[listed_rows, number], (float(won[0]), float(won[1])))
            for number, (names, pair, won) in enumerate(zip(pairs, asked, scores, strict=True))
        )
        return cls(
            questions=questions,
            rows=np.asarray(rows, dtype=np.intp)[listed_rows],
            classes=tuple(map(str, classes)),
            ids=None if ids is None else tuple(str(ids[place]) for place in listed_rows.tolist()),
            id_name=id_name,
            target=target,
            left_out=left_out,
        )

    @property
    def level(self) -> float:
        """Probability that all answers hold together."""
        return round(1 - sum(question.pair.alpha for question in self.questions), 12)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names of the rows by their places in the order: "r1", "r2", ..."""
        return tuple(f"r{place + 1}" for place in range(len(self.rows)))

    @cached_property
    def names(self) -> named_labels.RowNames:
        """All names of the rows."""
        return named_labels.RowNames(self.keys, self.rows.tolist(), self.ids, self.id_name)

    def with_labels(
        self, labels: Any, *, known: named_labels.KnownCodes | None = None, correct: bool = False
    ) -> Self:
        """Return the settlement with further labels.

        Rows may be labelled in any order, but the answer relies on the order of the rows: a row
        that is left blank above the last one filled counts as undecided. Labels of rows that were
        not asked for do not count, and ``notes`` says so.

        Parameters
        ----------
        labels : mapping, Series or DataFrame
            Classes by key, id or position of the row, or the table of rows to label with its
            label column filled. Empty cells are no labels, "?" means that nobody can decide.
        known : mapping of position or id to class code, optional
            The labels of the labelled rows of the table, which must not be contradicted.
        correct : bool, default=False
            Whether labels may replace other ones that were given before.

        Returns
        -------
        Settlement
            With all labels so far.
        """
        new, notes = named_labels.read_named_labels(
            labels, self.names, self.classes, target=self.target, known=known
        )
        if not correct:
            for sentence in named_labels.contradictions(self.labels, new, self.names, self.classes):
                raise ValueError(sentence)
        return replace(self, labels={**self.labels, **new}, notes=tuple(notes))

    def cleared(self) -> Self:
        """Return the settlement without its labels."""
        return replace(self, labels={}, notes=())

    def asks_the_same(self, other: Self) -> bool:
        """Return whether another settlement has the same questions about the same rows.

        Parameters
        ----------
        other : Settlement
            The other one, with its own order of the rows, labels and forecasts.

        Returns
        -------
        bool
            Whether labels of one answer the questions of the other: these are about predictions
            for certain rows, so the order of one is also random given the models of the other.
        """
        return self._asked_of_rows() == other._asked_of_rows()

    def _asked_of_rows(self) -> Any:
        """Return the questions, and what is predicted for every row, whatever the order."""
        names = [(one.challenger, one.baseline, one.pair) for one in self.questions]
        codes = np.stack([one.codes for one in self.questions], axis=1).tolist()
        ids = self.ids or [None] * len(self.rows)
        rows = dict(zip(self.rows.tolist(), zip(ids, codes, strict=True), strict=True))
        return names, self.classes, self.id_name, self.target, rows

    @cached_property
    def pairs(self) -> tuple[SettledPair, ...]:  # type: ignore[override]
        """What is settled, for every question."""
        return tuple(question.answer(self.labels, self.level) for question in self.questions)

    @cached_property
    def places_to_label(self) -> Index:
        """Places of the rows without a label that a question which is still open needs."""
        needed = np.zeros(len(self.rows), dtype=bool)
        for question, answer in zip(self.questions, self.pairs, strict=True):
            if not answer.settled:
                needed |= question.differs
        needed[list(self.labels)] = False
        return np.flatnonzero(needed)

    def next_places(self, n: int | None) -> Index:
        """Return the places of the next n rows to label; None: all that may be needed."""
        if n is None:
            n = self.forecast().high
        elif not (isinstance(n, Integral) and n > 0):
            raise ValueError(f"n must be an int >= 1, or None for the expected number, got {n!r}.")
        return self.places_to_label[:n]

    def forecast(self) -> error_bounds.Forecast:
        """Return how many more rows have to be labelled, from the top, for the first open question.

        Rows in between that only other open questions need are counted, too.

        Returns
        -------
        Forecast
            Ranges; zeros if all is settled.
        """
        for question, answer in zip(self.questions, self.pairs, strict=True):
            if not answer.settled:
                differing = np.flatnonzero(question.differs[self.places_to_label]) + 1
                until = np.concatenate([[0], differing])
                needed = (*answer.expected_more, *answer.expected_to_not_worse)
                return error_bounds.Forecast(*(int(until[number]) for number in needed))
        return error_bounds.Forecast(0, 0, 0, 0)

    @property
    def request(self) -> str:
        """How many rows to label, in a sentence; empty if all is settled.

        Such as "Label rows from the top of the sheet: about 20 to 60 of its 311 rows decide between
        the safe stack and the baseline (8 to 25 rule out that the safe stack is worse)."
        """
        needed, most = self.forecast(), len(self.places_to_label)
        if needed.high == 0:
            return ""
        asked = next(answer for answer in self.pairs if not answer.settled)
        amount = about(needed.low, needed.high, most)
        not_worse = about(needed.not_worse_low, needed.not_worse_high, most)
        also = f" ({not_worse} rule out that {asked.challenger} is worse)"
        if not_worse == amount or asked.answer != OPEN:
            also = ""
        label = "Label rows from the top of the sheet"
        return (
            f"{f'Optional: {label.lower()}' if self.settled else label}: about {amount} "
            f"{'more ' if self.labels else ''}of its {counted(len(self.rows), 'row')} "
            f"{'decides' if amount == '1' else 'decide'} between {asked.challenger} and "
            f"{asked.baseline}{also}.{self._serving}"
        )

    @property
    def _serving(self) -> str:
        """What the other rows are for, if the first open question does not need all of them."""
        both = zip(self.questions, self.pairs, strict=True)
        (first, _), *others = [(ask, answer) for ask, answer in both if not answer.settled]
        n_different = int(first.differs.sum())
        if first.differs[self.places_to_label].all() or not others:
            return ""
        further = [f"{answer.challenger} and {answer.baseline}" for _, answer in others]
        return f" These two differ on {n_different}; the other rows compare {listed(further)}."

    @property
    def skipped(self) -> str:
        """Which rows of the first question were skipped, in a sentence; empty if it is settled.

        The bounds allow for any label of such a row.
        """
        differing = np.flatnonzero(self.questions[0].differs)
        labeled = np.isin(differing, list(self.labels))
        if self.settled or not labeled.any():
            return ""
        gaps = differing[: np.flatnonzero(labeled)[-1]]
        names = [self.keys[place] for place in gaps.tolist() if place not in self.labels]
        if not names:
            return ""
        were = "was skipped: label it" if len(names) == 1 else "were skipped: label these"
        return (
            f"{'Row' if len(names) == 1 else 'Rows'} {listed(names, MAX_ROWS_NAMED)} {were} first; "
            "rows below a gap count only in part until it is filled."
        )

    def standing(self, deploy: str, *, asks: bool = True) -> str:
        """Return the answer to the first question so far, and what to do, in a few sentences.

        Parameters
        ----------
        deploy : str
            Which model to use, in a sentence.
        asks : bool, default=True
            Whether to say how many more rows to label, as long as it is open.

        Returns
        -------
        str
            The sentences.
        """
        request = self.request if asks and not self.settled else ""
        return " ".join(filter(None, (self.leading.known, self.skipped, request, deploy)))

    @property
    def further(self) -> list[str]:
        """The answers so far to the further questions, which are optional: a few sentences each."""
        return [
            answer.text if answer.settled else f"{answer.text} This question is optional."
            for answer in self.pairs[1:]
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values; ``read`` reads them."""
        labels = {self.keys[place]: code for place, code in sorted(self.labels.items())}
        return {"format": SETTLED_FORMAT, **super().to_dict(), "labels": labels}

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return a settlement that was stored by ``to_dict``.

        Parameters
        ----------
        values : mapping
            The JSON values.

        Returns
        -------
        Settlement
            The same questions, rows and labels.
        """
        if values.get("format") != SETTLED_FORMAT:
            raise ValueError(
                f"This settlement has the format {values.get('format')!r}, but this version of "
                f"primum reads {SETTLED_FORMAT}: compare again, or use the version that wrote it."
            )
        ids, classes = values["ids"], values["classes"]
        places = {f"r{place + 1}": place for place in range(len(values["rows"]))}
        for key, code in values["labels"].items():
            whole = isinstance(code, int) and not isinstance(code, bool)
            if key not in places or not whole or not CANNOT_SAY <= code < len(classes):
                raise ValueError(
                    f"This settlement is damaged: it has the label {code!r} for the row {key!r}, "
                    f"but rows are r1 to r{len(places)} and labels whole numbers from {CANNOT_SAY} "
                    f"to {len(classes) - 1}; restore the file, or compare again."
                )
        return cls(
            questions=tuple(Question.read(question) for question in values["questions"]),
            rows=np.array(values["rows"], dtype=np.intp),
            classes=tuple(classes),
            ids=None if ids is None else tuple(ids),
            id_name=values["id_name"],
            target=values["target"],
            labels={places[key]: code for key, code in values["labels"].items()},
            left_out=values.get("left_out", ""),
        )
