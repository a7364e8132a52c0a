"""What labels have settled about two fitted models, in words, and which of the two to use.

The statement is about these two models on these rows. What is settled for the challenger, or for
the baseline, decides; where the models make no practical difference the baseline is used, which is
the simpler one; while it is open, the baseline stays in use. "Not worse" is enough to use the
challenger if it also made fewer errors on the rows that have been labelled.
"""

from dataclasses import dataclass, field
from typing import Any

from primum._words import counted
from primum.judging import error_bounds, words

HOW_TO_LABEL = "rows_to_label() returns these rows as a sheet, and settle() reads their labels."
MEANING = {
    words.HELP: "",
    words.HARM: "",
    words.NO_DIFFERENCE: ", which makes no practical difference",
    error_bounds.NOT_WORSE: ", so it is not worse in practice",
    error_bounds.NOT_BETTER: ", so it is not better in practice",
    error_bounds.OPEN: "",
}
# What an answer shows as JSON: of itself, of its pair of models, of its bounds; pairs of numbers.
OF_ANSWER = (
    *("challenger", "baseline", "answer", "settled", "low", "high", "level", "n_labels"),
    *("uses_challenger", "text", "deploy"),
)
OF_PAIR = ("n_rows", "n_different", "n_margin", "alpha")
OF_BOUNDS = ("n_undecided", "n_blank", "complete", "contradicted")
RANGES = ("expected_more", "expected_to_not_worse", "errors_so_far")


@dataclass(frozen=True)
class SettledPair:
    """What is known of the errors of two fitted models on the unlabelled rows.

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
        The same until it is known whether the challenger is not worse.
    errors_so_far : (int, int)
        Errors of challenger and baseline on the rows on which they differ, as far as labelled.
    level : float
        Probability with which all answers of a settlement hold together.
    bounds : Bounds
        The bounds, with their path from label to label.
    n_all_labels : int, default=0
        Number of labels of the settlement, those on rows of other questions included.
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
        own, others = self.errors_so_far
        return self.answer == words.HELP or (self.answer == error_bounds.NOT_WORSE and own < others)

    @property
    def text(self) -> str:
        """What is settled, or what is open and how many labels it needs: a few sentences."""
        return _sentences(self, self.needed)

    @property
    def known(self) -> str:
        """What is settled, or what is open, without how many more labels it needs."""
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
    >>> from primum.judging.settled_pair import compared
    >>> compared(-12, 31, "the baseline")
    'between 12 fewer and 31 more errors than the baseline'
    """
    if low == high == 0:
        return f"exactly as many errors as {than}"
    if low == high:
        more = "fewer" if low < 0 else "more"
        return f"exactly {counted(abs(low), f'{more} error')} than {than}"
    if high <= 0:
        return f"between {-high:,} and {-low:,} fewer errors than {than}"
    if low >= 0:
        return f"between {low:,} and {high:,} more errors than {than}"
    return f"between {-low:,} fewer and {high:,} more errors than {than}"


def certain(state: SettledPair) -> str:
    """Return what is certain without any label, in a sentence.

    Parameters
    ----------
    state : SettledPair
        The two models and their rows.

    Returns
    -------
    str
        Such as "On your 5,293 unlabelled rows the safe stack and the baseline differ in 150
        predictions, so the choice between them affects only these."
    """
    both, n_different = f"{state.challenger} and {state.baseline}", state.pair.n_different
    where = f"On your {counted(state.pair.n_rows, 'unlabelled row')} {both}"
    if n_different == 0:
        return f"{where} predict the same classes, so the choice between them changes nothing."
    these = "this one" if n_different == 1 else "these"
    changed = counted(n_different, "prediction")
    return f"{where} differ in {changed}, so the choice between them affects only {these}."


def about(low: int, high: int, most: int) -> str:
    """Return a range of numbers of labels, with two digits that are not 0.

    Parameters
    ----------
    low, high : int
        The range.
    most : int
        How many rows there are to label.

    Returns
    -------
    str
        Such as "20 to 60".
    """
    low, high = min(words.rounded_up(low), most), min(words.rounded_up(high), most)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _sentences(state: SettledPair, needed: str) -> str:
    """Return what is known, with a sentence on the labels that it needs."""
    if not state.pair.needs_labels:
        return _without_labels(state)
    if not state.bounds.n_read:
        return f"{certain(state)} {needed}".strip()
    parts = (_contradicted(state), _between(state), needed, _decidable(state))
    return " ".join(filter(None, parts))


def _without_labels(state: SettledPair) -> str:
    """Return the answer that needs no label: the models differ on too few rows."""
    pair = state.pair
    if pair.n_different == 0:
        return f"{certain(state)} No label was needed."
    share = words.percent_of_level(pair.margin)
    but_certain = "" if state.low == -state.high else f" ({_change(state)})"
    few = f"This is at most {share} of the rows, which makes no practical difference{but_certain}."
    return f"{certain(state)} {few} No label was needed."


def _change(state: SettledPair) -> str:
    """Return the bounds as part of a sentence, by the name of the challenger."""
    return f"{state.challenger} makes {compared(state.low, state.high, state.baseline)}"


def _between(state: SettledPair) -> str:
    """Return the bounds and what they mean, in a sentence."""
    bounds, pair = state.bounds, state.pair
    lead = "Still open: on" if state.answer == error_bounds.OPEN else "On"
    differ = f"they differ on {counted(pair.n_different, 'row')}"
    sure = f"{words.percent_of_level(state.level)} sure; {differ}"
    if bounds.complete:
        sure = f"{differ}, and all are labelled"
    elif bounds.contradicted:
        sure = f"certain; {differ}"
    rows = counted(pair.n_rows, "row")
    return f"{lead} your {rows} {_change(state)} ({sure}){MEANING[state.answer]}."


def _contradicted(state: SettledPair) -> str:
    """Return a warning if the labels leave no state possible."""
    if not state.bounds.contradicted:
        return ""
    chance = words.percent_of_level(1 - state.level)
    return (
        "These labels contradict a random order of the rows, which happens by chance in at most "
        f"{chance} of cases: check that no label is on the wrong row. Only what is certain is "
        "claimed here."
    )


def _were_needed(state: SettledPair) -> str:
    """Return how many labels an answer has needed."""
    bounds, enough = state.bounds, state.bounds.labels_needed
    labels = counted(state.n_labels, "label")
    if enough == bounds.n_read or enough is None:
        return f"{labels} {'was' if state.n_labels == 1 else 'were'} needed."
    so_far = f"{labels} so far"
    if state.n_all_labels > state.n_labels:
        so_far = (
            f"{state.n_labels:,} of the {state.n_all_labels:,} labels so far are on rows where "
            "these two differ"
        )
    return f"It was settled after {counted(enough, 'row')} ({so_far})."


def _will_be_needed(state: SettledPair) -> str:
    """Return how many more labels will be needed, as a range."""
    if state.expected_more[1] == 0:
        return "No row is left that could settle it."
    most = state.pair.n_different - state.n_labels
    amount = about(*state.expected_more, most)
    more = f"{amount} more {'label' if amount == '1' else 'labels'}"
    if state.answer in (error_bounds.NOT_WORSE, error_bounds.NOT_BETTER):
        what = "better" if state.answer == error_bounds.NOT_WORSE else "worse"
        return f"About {more} should settle whether it is {what}."
    rows = f"{amount} of these {state.pair.n_different:,} rows"
    first = f"About {more} should settle it"
    if not state.bounds.n_read:
        first = f"Labelling about {rows} should settle which of the two is better"
    not_worse = about(*state.expected_to_not_worse, most)
    if not_worse == amount:
        return f"{first}."
    return f"{first}; about {not_worse} should show whether {state.challenger} is not worse."


def _decidable(state: SettledPair) -> str:
    """Return the bounds for the rows that can be decided, named as such."""
    alone, count = state.bounds.decidable, state.bounds.n_undecided
    if alone is None:
        return ""
    if not state.n_labels:
        return f"No row could be decided{'' if count == state.pair.n_different else ' so far'}."
    return (
        f"{counted(count, 'row')} could not be decided; on the decidable rows alone, "
        f"{state.challenger} makes {compared(alone.low, alone.high, state.baseline)} "
        f"({words.percent_of_level(state.level)} sure)."
    )


def _deploy(state: SettledPair) -> str:
    """Return which of the two to use, and why, in a sentence."""
    own, other = state.challenger, state.baseline
    made, others = state.errors_so_far
    errors = f"has made {counted(made, 'error')} where {other} has made {others:,}"
    return {
        words.HELP: f"Use {own} on these rows.",
        words.HARM: f"Use {other} on these rows: {own} would do harm.",
        words.NO_DIFFERENCE: f"Use {other}, the simpler of the two.",
        error_bounds.NOT_WORSE: (
            f"Use {own} on these rows: it is not worse, and so far it {errors}."
            if state.uses_challenger
            else f"Use {other} for now: so far {own} {errors}."
        ),
        error_bounds.NOT_BETTER: f"Use {other} on these rows: {own} is not better.",
        error_bounds.OPEN: f"Use {other} for now, the cautious choice.",
    }[state.answer]
