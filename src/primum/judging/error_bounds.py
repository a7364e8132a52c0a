"""Which of two fitted models makes fewer errors on given rows, from labels where they differ.

Two fitted models, a baseline and a challenger, predict different classes on N of U unlabelled rows.
Only there can they differ in error. T of the N rows are those where the challenger is right, F
those where the baseline is, and R those where neither is (none with two classes), so that

    errors(challenger) - errors(baseline) = F - T        (below 0 the challenger is better).

(T, F, R) is the state of the world: one of M = N + 1 states if there are two outcomes a row, and of
M = (N + 1)(N + 2) / 2 with three. The rows are put in random order once and labelled from the top.
After n labels with the counts (t, f, r), and a uniform prior over the states, the evidence for a
state is its likelihood relative to the mean over all states,

    E_n = M C(T,t) C(F,f) C(R,r) / S_n,
    S_n = C(N+1, n+1) with two outcomes, C(N+2, n+2) with three,

and a state stays possible while E_n >= alpha. One label of the outcome k changes the evidence by
the factor

    ((T_k - t_k) / (N - n)) / ((t_k + 1) / (n + K)),        K = 2 or 3 outcomes,

the probability of k in this state relative to that by Laplace's rule. Given the true state, the
mean of the inverse factor is at most 1, so 1 / E_n is a non-negative supermartingale that begins at
1, and by Ville's inequality it ever reaches 1 / alpha with a probability of at most alpha
(Waudby-Smith & Ramdas 2020). So the true state stays possible *for all n at once* with a
probability of at least 1 - alpha, however labels decide when to stop. A state that was excluded
once stays excluded. The bounds are the least and the largest F - T of the possible states.

Unknowns are rows that nobody can decide, and rows left blank above the last one filled. With them a
state stays possible if, at every n, *some* outcomes of the unknowns among the first n rows keep it.
The true outcomes are among them, so the guarantee holds, whatever made the rows unknown.

* Two outcomes. The possible T form an interval, because the likelihood is log-concave in T. Its
  lower end is least if all unknowns count for the baseline, and its upper end is largest if all
  count for the challenger. Proof: S_n does not depend on t, so E(T; t+1) / E(T; t) increases in T,
  and it is below 1 up to t + (t+1)(N+1-n) / (n+1). That is at least t + t (N+1-n) / n, the mode of
  E(.; t). So what is excluded below the mode for t is excluded for t + 1.
* Three outcomes. The states are enumerated, each with its best completion x of the counts: the one
  that maximises sum_k log C(T_k, x_k), with x >= known counts and sum x = n. This is a sum of
  concave functions, so the best completion for n + 1 rows is the one for n rows and one more row of
  the outcome with the largest gain (T_k - x_k) / (x_k + 1). If the next row is a known k, and x_k
  exceeds the known count, x stays feasible, hence best, and one more row is added in the same way.
  If x_k equals the known count, the row is added to k: a larger x_k does not pay, as it did not
  pay before, and the other counts are best for their sum, which is the same.
* More than MAX_ENUMERATED_ROWS rows with three outcomes: T and F are bounded as with two (right, or
  not), each at alpha / 2.

If no state is possible any more, which has a probability of at most alpha, the labels contradict
the random order. Then only what is certain is claimed: t <= T and f <= F and r <= R. If all N rows
are labelled, that is the exact answer, whatever the order was.

Undecided rows prevent most answers. So there are also bounds on the decidable rows alone, with
three outcomes, where an undecided row counts as "neither". Each holds with probability 1 - alpha.

References
----------
Waudby-Smith, I. & Ramdas, A. (2020). Confidence sequences for sampling without replacement.
Advances in Neural Information Processing Systems 33.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import special

from primum._typing import Floats, Index, Mask
from primum.judging.difference import DESIGN_EFFECT, PRACTICAL_EQUIVALENCE, PRIOR_COUNT
from primum.judging.words import HARM, HELP, NO_DIFFERENCE

# What the label of a row says; the first three are also indices into arrays of counts.
CHALLENGER, BASELINE, NEITHER, UNDECIDED, BLANK = range(5)
# Answers beyond those of a verdict: one side is settled, or none.
NOT_WORSE, NOT_BETTER, OPEN = "not_worse", "not_better", "open"
SETTLED = (HELP, NO_DIFFERENCE, HARM)
# A state is kept if its log evidence is at least log(alpha) - EVIDENCE_ROUNDING, so that rounding
# errors, which are smaller for up to 10^7 rows, never exclude a state. This lowers alpha by a
# millionth of itself.
EVIDENCE_ROUNDING = 1e-6
# With three outcomes and at most this many rows, all states are enumerated: half a million.
MAX_ENUMERATED_ROWS = 1000
# A forecast looks at no more than about this many numbers of labels: neighbouring ones differ by
# a few per cent, which is less than a forecast can tell.
MAX_LOOKS = 200
# The range of a forecast leaves out this share of the draws on either side, so that four of five
# are in it: a range that holds all would say nothing.
FORECAST_TAIL = 0.1


@dataclass(frozen=True)
class Pair:
    """Two fitted models and the unlabelled rows on which they differ.

    Attributes
    ----------
    n_rows : int
        Number of unlabelled rows.
    n_different : int
        Number of them on which the two predict different classes.
    two_outcomes : bool
        Whether one of the two is right on every such row, as with two classes.
    alpha : float
        Probability that the bounds are wrong, at most. With 0, they are certain.
    margin : float, default=0.01
        Region of practical equivalence, as a share of all unlabelled rows.
    """

    n_rows: int
    n_different: int
    two_outcomes: bool
    alpha: float
    margin: float = PRACTICAL_EQUIVALENCE

    def __post_init__(self) -> None:
        if not 0 <= self.n_different <= self.n_rows or self.n_rows < 1:
            raise ValueError(
                "n_different must be from 0 to n_rows, and n_rows at least 1, "
                f"got {self.n_different} of {self.n_rows}."
            )
        if not 0 <= self.alpha < 1:  # also true if it is NaN
            raise ValueError(f"alpha must be at least 0 and below 1, got {self.alpha}.")
        if not 0 <= self.margin < np.inf:
            raise ValueError(f"margin must not be negative, got {self.margin}.")

    @cached_property
    def n_margin(self) -> int:
        """The largest number of rows whose share is within the margin."""
        # Quotients are compared, as the user means a decimal margin: 0.01 * 2900 is below 29.
        most = int(self.margin * self.n_rows) + 1
        while most / self.n_rows > self.margin:
            most -= 1
        return most

    @property
    def needs_labels(self) -> bool:
        """Whether the models differ on enough rows for a difference to matter."""
        return self.n_different > self.n_margin


@dataclass(frozen=True)
class Bounds:
    """What the labels say about the errors of two fitted models on given rows.

    Attributes
    ----------
    pair : Pair
        The models and their rows.
    low, high : int
        Bounds of errors(challenger) - errors(baseline) on these rows, in rows.
    n_read : int
        Number of rows up to the last one filled, unknowns included.
    n_labels, n_undecided, n_blank : int
        How many of them are labelled, undecided, and blank.
    path : array of shape (n_read + 1, 2)
        The bounds before any label, and after each row that was read.
    contradicted : bool
        Whether the labels exclude all states, so that only what is certain is claimed. False if
        ``complete``.
    complete : bool
        Whether all rows on which the models differ are labelled: the bounds are exact.
    answer : {"help", "no_difference", "harm", "not_worse", "not_better", "open"}
        One of the first three is settled; "not_worse" and "not_better" leave one side open.
    labels_needed : int or None
        The number of rows after which the answer was settled; None if it is not.
    labels_for_not_worse : int or None
        The number of rows after which it was known that the challenger is not worse by more than
        the margin; None if it is not.
    decidable : Bounds or None
        The same for the rows that can be decided, if some were undecided; ``complete`` if no row is
        blank.
    """

    pair: Pair
    low: int
    high: int
    n_read: int
    n_labels: int
    n_undecided: int
    n_blank: int
    path: Index = field(repr=False, compare=False)
    contradicted: bool
    complete: bool
    answer: str
    labels_needed: int | None
    labels_for_not_worse: int | None
    decidable: "Bounds | None" = None

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds as shares of all unlabelled rows."""
        return self.low / self.pair.n_rows, self.high / self.pair.n_rows

    @property
    def settled(self) -> bool:
        """Whether the answer is help, no difference or harm."""
        return self.answer in SETTLED


@dataclass(frozen=True)
class Forecast:
    """How many more labels are needed, as ranges that leave out a tenth of the draws at either end.

    Attributes
    ----------
    low, high : int
        Until the answer is settled.
    not_worse_low, not_worse_high : int
        Until labels show whether the challenger is not worse than the baseline by more than the
        margin.
    """

    low: int
    high: int
    not_worse_low: int
    not_worse_high: int


def shared_level(
    level: float, n_rows: int, n_different: Sequence[int], *, margin: float = PRACTICAL_EQUIVALENCE
) -> list[float]:
    """Return an alpha for each of several pairs of models, so that all bounds hold together.

    Parameters
    ----------
    level : float
        Probability that all bounds hold, at least.
    n_rows : int
        Number of unlabelled rows.
    n_different : sequence of int
        For each pair, the number of rows on which its models differ.
    margin : float, default=0.01
        Region of practical equivalence.

    Returns
    -------
    list of float
        Equal shares of 1 - level for the pairs that need labels, which is known before the first
        label. Other pairs are settled already and get 0, because their bounds are certain.

    Examples
    --------
    >>> from primum.judging.error_bounds import shared_level
    >>> shared_level(0.9, 1000, [150, 10, 40])
    [0.05, 0.0, 0.05]
    """
    if not 0 < level <= 1:
        raise ValueError(f"level must be above 0 and at most 1, got {level}.")
    open_pairs = [Pair(n_rows, n, True, 0.0, margin).needs_labels for n in n_different]
    share = round(1 - level, 12) / max(sum(open_pairs), 1)  # 1 - 0.95 is not quite 0.05
    return [share if needs else 0.0 for needs in open_pairs]


def bounds_after(pair: Pair, outcomes: Any) -> Bounds:
    """Return what the labels of the rows on which two models differ say about their errors.

    Parameters
    ----------
    pair : Pair
        The models and their rows.
    outcomes : array of int, of shape (n_listed,)
        For the rows in their stored random order, what their labels say: ``CHALLENGER``,
        ``BASELINE`` or ``NEITHER`` is right, or the row is ``UNDECIDED`` or ``BLANK``. Rows that
        are left out at the end are blank.

    Returns
    -------
    Bounds
        The bounds, and the answer that they give.

    Examples
    --------
    >>> from primum.judging.error_bounds import BASELINE, CHALLENGER, Pair, bounds_after
    >>> pair = Pair(n_rows=1000, n_different=100, two_outcomes=True, alpha=0.05)
    >>> found = bounds_after(pair, [CHALLENGER] * 12 + [BASELINE] + [CHALLENGER] * 5)
    >>> found.low, found.high, found.answer, found.labels_needed
    (-98, -32, 'help', 9)
    """
    codes = _read(pair, outcomes)
    undecided = codes == UNDECIDED
    bounds = _settled(pair, codes)
    if not undecided.any():
        return bounds
    decidable = _settled(replace(pair, two_outcomes=False), np.where(undecided, NEITHER, codes))
    decidable = replace(decidable, n_labels=bounds.n_labels, n_undecided=bounds.n_undecided)
    return replace(bounds, decidable=decidable)


def _read(pair: Pair, outcomes: Any) -> Index:
    """Return the outcomes up to the last row filled, checked."""
    codes = np.asarray(outcomes, dtype=np.intp).reshape(-1)
    if len(codes) > pair.n_different:
        raise ValueError(
            f"The models differ on {pair.n_different} rows, but there are {len(codes)} outcomes."
        )
    if np.any((codes < CHALLENGER) | (codes > BLANK)):
        wrong = codes[(codes < CHALLENGER) | (codes > BLANK)][0]
        raise ValueError(f"An outcome is a code from {CHALLENGER} to {BLANK}, got {wrong}.")
    if pair.two_outcomes and np.any(codes == NEITHER):
        raise ValueError(
            f"Neither model is right on row {int(np.argmax(codes == NEITHER))} of the order, but "
            "with two outcomes one of them always is: use two_outcomes=False."
        )
    filled = np.flatnonzero(codes != BLANK)
    return codes[: filled[-1] + 1] if len(filled) else codes[:0]


def _settled(pair: Pair, codes: Index) -> Bounds:
    """Return the bounds of outcomes that were read."""
    counts = _running_counts(codes)
    enumerated = not pair.two_outcomes and pair.n_different <= MAX_ENUMERATED_ROWS
    path, empty = _by_states(pair, codes) if enumerated else _by_ends(pair, counts)
    path = np.where(empty[:, None], _certain(pair, counts), path)
    low, high = (int(end) for end in path[-1])
    n_labels, n_undecided = int(counts[-1].sum()), int(np.sum(codes == UNDECIDED))
    complete = n_labels == pair.n_different
    settled, not_worse = _is_settled(pair, path), path[:, 1] <= pair.n_margin
    return Bounds(
        pair=pair,
        low=low,
        high=high,
        n_read=len(codes),
        n_labels=n_labels,
        n_undecided=n_undecided,
        n_blank=len(codes) - n_labels - n_undecided,
        path=path,
        contradicted=bool(empty[-1]) and not complete,
        complete=complete,
        answer=_answer(pair, low, high),
        labels_needed=_since(settled),
        labels_for_not_worse=_since(not_worse),
    )


def _answer(pair: Pair, low: int, high: int) -> str:
    """Return the answer that bounds give."""
    edge = pair.n_margin
    if high < -edge or low > edge:
        return HELP if high < -edge else HARM
    not_worse, not_better = high <= edge, low >= -edge
    if not_worse and not_better:
        return NO_DIFFERENCE
    return NOT_WORSE if not_worse else NOT_BETTER if not_better else OPEN


def _is_settled(pair: Pair, path: Index) -> Mask:
    """Return where bounds, in the last axis, give help, no difference or harm."""
    low, high, edge = path[..., 0], path[..., 1], pair.n_margin
    return np.asarray((high < -edge) | (low > edge) | ((low >= -edge) & (high <= edge)))


def _since(holds: Mask) -> int | None:
    """Return the first place from which something holds up to the end, if it does at the end."""
    fails = np.flatnonzero(~holds)
    first = int(fails[-1]) + 1 if len(fails) else 0
    return first if first < len(holds) else None


def _running_counts(codes: Index) -> Index:
    """Return how many rows of each known outcome there are before any row, and after each."""
    is_outcome = codes[:, None] == np.arange(NEITHER + 1)
    return np.concatenate([np.zeros((1, NEITHER + 1), int), np.cumsum(is_outcome, axis=0)])


def _certain(pair: Pair, counts: Index) -> Index:
    """Return the bounds that are certain: either model may be right on all other rows."""
    left = pair.n_different - counts.sum(axis=-1)
    change = counts[..., BASELINE] - counts[..., CHALLENGER]
    return np.stack([change - left, change + left], axis=-1)


def _cut(alpha: float) -> float:
    """Return the least log evidence that keeps a state possible."""
    return float(np.log(alpha)) - EVIDENCE_ROUNDING if alpha > 0 else -np.finfo(float).max


def _by_ends(pair: Pair, counts: Index, n_read: Index | None = None) -> tuple[Index, Mask]:
    """Return the running bounds and where no state is possible, from bounds on T and on F.

    ``counts`` has the outcomes in its last axis and the running number of rows, ``n_read``, in the
    one before.
    """
    n_all = pair.n_different
    n_read = np.arange(counts.shape[-2]) if n_read is None else n_read
    t, f, r = np.moveaxis(counts, -1, 0)
    if pair.two_outcomes:
        least, most = _right_between(n_all, t, f, n_read, pair.alpha)
        return np.stack([n_all - 2 * most, n_all - 2 * least], axis=-1), least > most
    least_t, most_t = _right_between(n_all, t, f + r, n_read, pair.alpha / 2)
    least_f, most_f = _right_between(n_all, f, t + r, n_read, pair.alpha / 2)
    low = least_f - np.minimum(most_t, n_all - r - least_f)
    high = np.minimum(most_f, n_all - r - least_t) - least_t
    empty = (least_t > most_t) | (least_f > most_f) | (least_t + least_f + r > n_all)
    return np.stack([low, high], axis=-1), empty


def _right_between(
    n_all: int, right: Index, wrong: Index, n_read: Index, alpha: float
) -> tuple[Index, Index]:
    """Return the least and the largest number of rows on which a model is right, running.

    Unknown rows, those read beyond ``right`` and ``wrong``, are wrong for the least number and
    right for the largest.
    """
    least = _least_right(n_all, right, n_read - right, alpha)
    least_wrong = _least_right(n_all, wrong, n_read - wrong, alpha)
    running = np.maximum.accumulate
    return running(least, axis=-1), n_all - running(least_wrong, axis=-1)


def _least_right(n_all: int, right: Index, wrong: Index, alpha: float) -> Index:
    """Return the least possible number of right rows, by bisection below the mode.

    The evidence increases from the impossible ``right - 1`` to the mode, which is always possible.
    """
    n_read = right + wrong
    log_factorial, cut = _log_factorials(n_all + 1), _cut(alpha)

    def log_choose(n: Index, k: Index) -> Floats:
        return np.asarray(log_factorial[n] - log_factorial[k] - log_factorial[n - k])

    least_likelihood = cut - np.log(n_all + 1) + log_choose(np.array(n_all + 1), n_read + 1)
    excluded = right - 1
    possible = np.minimum(right * (n_all + 1) // np.maximum(n_read, 1), n_all - wrong)
    while np.any(possible - excluded > 1):
        middle = (excluded + possible + 1) // 2
        likelihood = log_choose(middle, right) + log_choose(n_all - middle, wrong)
        kept = likelihood >= least_likelihood
        possible, excluded = np.where(kept, middle, possible), np.where(kept, excluded, middle)
    return possible


@lru_cache(maxsize=4)
def _log_factorials(largest: int) -> Floats:
    """Return log k! for k = 0 to the largest."""
    return np.asarray(special.gammaln(np.arange(largest + 1) + 1.0))


class _States:
    """The states with three outcomes that are still possible.

    ``rows`` has their numbers of rows of each outcome, and ``evidence`` the logarithms of the
    evidence. ``n_known`` counts the known rows, and ``best`` is the best completion of these counts
    in every state, if there are unknown rows.
    """

    def __init__(self, n_all: int, alpha: float) -> None:
        self.n_all, self.cut, self.n_read = n_all, _cut(alpha), 0
        t, f = np.nonzero(np.tri(n_all + 1, dtype=bool)[::-1])
        self.rows = np.stack([t, f, n_all - t - f]).astype(float)
        self.evidence = np.zeros(len(t))
        self.n_known = np.zeros(NEITHER + 1)
        self.best: Floats | None = None

    def read(self, code: int) -> None:
        """Exclude the states that one more row excludes."""
        if self.best is None and code > NEITHER:
            self.best = np.repeat(self.n_known[:, None], len(self.evidence), axis=1)
        gain = self._gain(code) if self.best is None else self._best_gain(code, self.best)
        if code <= NEITHER:
            self.n_known[code] += 1
        laplace = (self.n_read + NEITHER + 1) / (self.n_all - self.n_read)
        with np.errstate(divide="ignore"):
            self.evidence += np.log(gain * laplace)
        self.n_read += 1
        self._keep(self.evidence >= self.cut)

    def _gain(self, code: int) -> Floats:
        """Return the gain of a known row if all rows so far are known."""
        return np.asarray((self.rows[code] - self.n_known[code]) / (self.n_known[code] + 1))

    def _best_gain(self, code: int, best: Floats) -> Floats:
        """Count a row as its best outcome; a known row, if no unknown makes room, as its own."""
        gains = (self.rows - best) / (best + 1)
        gain = gains.max(axis=0)
        where = np.where(gains[CHALLENGER] == gain, CHALLENGER, NEITHER)
        where = np.where(gains[BASELINE] == gain, BASELINE, where)  # faster than argmax
        if code <= NEITHER:
            full = best[code] == self.n_known[code]
            gain, where = np.where(full, gains[code], gain), np.where(full, code, where)
        for outcome in range(NEITHER + 1):
            best[outcome] += where == outcome
        return np.asarray(gain)

    def _keep(self, possible: Mask) -> None:
        if possible.all():
            return
        places = np.flatnonzero(possible)  # faster than the mask itself
        self.rows, self.evidence = self.rows.take(places, axis=1), self.evidence.take(places)
        if self.best is not None:
            self.best = self.best.take(places, axis=1)

    def ends(self) -> tuple[int, int]:
        """Return the least and the largest F - T."""
        change = self.rows[BASELINE] - self.rows[CHALLENGER]
        return int(change.min()), int(change.max())


def _by_states(pair: Pair, codes: Index) -> tuple[Index, Mask]:
    """Return the running bounds and where no state is possible, from all states."""
    path = np.zeros((len(codes) + 1, 2), dtype=np.intp)
    empty = np.zeros(len(codes) + 1, dtype=bool)
    states = _States(pair.n_different, pair.alpha)
    path[0] = states.ends()
    for n, code in enumerate(codes, start=1):
        states.read(int(code))
        if not len(states.evidence):
            empty[n:] = True
            break
        path[n] = states.ends()
    return path, empty


def forecast(
    pair: Pair,
    outcomes: Any = (),
    *,
    wins: Sequence[float] = (0.0, 0.0),
    seed: Any = 0,
    n_draws: int = 200,
) -> Forecast:
    """Return how many more labels will be needed, as a range.

    The shares of the outcomes are drawn from their posterior distribution with Jeffreys' prior,
    the labels from these shares, and the rule of ``bounds_after`` is applied to them. The labels to
    come are taken to have no unknowns, and with three outcomes T and F are bounded one by one.

    Parameters
    ----------
    pair : Pair
        The models and their rows.
    outcomes : array of int, of shape (n_listed,), optional
        What is known so far, as in ``bounds_after``.
    wins : (float, float) or (float, float, float), optional
        Numbers of labelled rows, held out in cross-validation, on which the two differ and the
        challenger is right, the baseline is, and neither is.
    seed : int, optional
        Seed of the random numbers.
    n_draws : int, default=200
        Number of draws.

    Returns
    -------
    Forecast
        The ranges.

    Examples
    --------
    >>> from primum.judging.error_bounds import Pair, forecast
    >>> pair = Pair(n_rows=1000, n_different=100, two_outcomes=True, alpha=0.05)
    >>> expected = forecast(pair, wins=(12, 3))
    >>> 0 < expected.low < expected.high <= 100
    True
    """
    now = bounds_after(pair, outcomes)
    counts_so_far = _running_counts(_read(pair, outcomes))[-1]
    looks = _looks(pair.n_different - now.n_read)
    counts = counts_so_far + _drawn(
        pair, counts_so_far, wins, looks, np.random.default_rng(seed), n_draws
    )
    path, empty = _by_ends(pair, counts, now.n_read + looks)
    path = np.where(empty[..., None], _certain(pair, counts), path)
    np.maximum(path[..., 0], now.low, out=path[..., 0])
    np.minimum(path[..., 1], now.high, out=path[..., 1])
    not_worse = (path[..., 1] <= pair.n_margin) | (path[..., 0] > pair.n_margin)
    return Forecast(*_range(_is_settled(pair, path), looks), *_range(not_worse, looks))


def _looks(n_left: int) -> Index:
    """Return numbers of further labels, from 0 to all: each number, or a geometric grid."""
    if n_left <= MAX_LOOKS:
        return np.arange(n_left + 1)
    grown = np.ceil(np.geomspace(1, n_left, MAX_LOOKS)).astype(np.intp)
    return np.unique(np.concatenate([[0], grown, [n_left]]))


def _drawn(
    pair: Pair,
    counts_so_far: Index,
    wins: Sequence[float],
    looks: Index,
    rng: np.random.Generator,
    n_draws: int,
) -> Index:
    """Return drawn counts of the labels to come, of shape (n_draws, n_looks, 3)."""
    held_out = np.zeros(NEITHER + 1)
    held_out[: len(wins)] = wins
    n_outcomes = NEITHER if pair.two_outcomes else NEITHER + 1
    prior = (held_out / DESIGN_EFFECT + counts_so_far + PRIOR_COUNT)[:n_outcomes]
    shares = rng.dirichlet(prior, n_draws)
    steps = np.diff(looks, prepend=0)
    drawn = rng.multinomial(np.broadcast_to(steps, (n_draws, len(steps))), shares[:, None, :])
    counts = np.zeros((n_draws, len(looks), NEITHER + 1), dtype=np.intp)
    counts[..., :n_outcomes] = np.cumsum(drawn, axis=1)
    return counts


def _range(holds: Mask, looks: Index) -> tuple[int, int]:
    """Return the range of the first numbers of labels at which something holds."""
    first = np.where(holds.any(axis=1), looks[holds.argmax(axis=1)], looks[-1])
    method: Any = "inverted_cdf"
    low, high = np.quantile(first, [FORECAST_TAIL, 1 - FORECAST_TAIL], method=method)
    return int(low), int(high)
