"""Compare two models by their held-out predictions: the difference of their losses.

The two models are fitted to the same training sets and scored on the same held-out rows, in splits
j = 1..J. With the differences d_i of their losses in the held-out rows (method minus baseline:
below 0 the method helps), the mean has the standard error

    se^2 = s^2 (1/J + n_test / n_train),    s^2 = variance of the d_i / n_test,

where s^2 is the variance of the mean of one split and the second term corrects for overlapping
training sets (Nadeau & Bengio 2003). The variance is estimated from rows rather than from the means
of the splits: with few splits the published form has too few degrees of freedom. Where rows belong
together, groups take the place of rows. The published form remains for scores that are not means
over rows; one that is undefined in some split is computed from the rows that all folds of a repeat
hold out together. Its variance comes from the jackknife: with the score theta of n rows, and
theta_i without row i, the pseudo-values

    p_i = n theta - (n - 1) theta_i

take the place of the losses of rows.

With numeric targets, the smallest difference that counts is a share of the loss of the baseline,
and two things are allowed for with few of them. The squared errors of two models differ by the
product (e - e')(e + e') of two nearly independent factors, whose kurtosis is 9 if they are normal.
The variance of n values of kurtosis k is as uncertain as one with 2 (n - 1) / (k - 1) degrees of
freedom (Box 1953): (n - 1) / 4 instead of n - 1. And the deployed models are not those of the
folds: with another training set, the first factor is another one. If the two factors are
independent, the product has the variance v = mean (e - e')^2 mean (e + e')^2, in units of the RMSE
R divided by 4 R^2. How much of it is due to the training set falls with its size, so that
v min(30 / n, 1) is added to the variance of a row: with that, intervals held with 10 to 30 numbers
in simulations. With fewer than ten numbers nothing is claimed.

References
----------
Box, G. E. P. (1953). Non-normality and tests on variances. Biometrika 40.
Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from primum._typing import AnyArray, Floats, Index, Mask
from primum.judging.difference import (
    EQUIVALENT_COST,
    EQUIVALENT_SHARE,
    PRACTICAL_EQUIVALENCE,
    Difference,
    Disagreement,
    Posterior,
    cautious_variance,
)
from primum.judging.losses import (
    RMSE,
    Loss,
    Predictions,
    check_folds,
    check_number_folds,
    folds_of_repeats,
    read_number_scoring,
    read_scoring,
    undefined_in_a_fold,
)
from primum.judging.objectives import COST, Objective, cross_fitted_codes
from primum.judging.words import Alert, JudgedSample
from primum.reading.data import effective_size
from primum.reading.folds import Fold

# As a share of the loss of the mean target: a baseline with less is right up to rounding.
NEGLIGIBLE_LOSS_SHARE = 1e-6
# The kurtosis of differences of squared errors, and the power of the RMSE that a loss of these is.
PRODUCT_KURTOSIS, NORMAL_KURTOSIS = 9.0, 3.0
SQUARED = {RMSE: 1, "neg_root_mean_squared_log_error": 1, "neg_mean_squared_error": 2, "r2": 2}
# Up to this many numbers, the variance due to the training set is taken to be v.
FULL_CHANGE = 30
# With fewer numbers nothing is claimed.
FEW_NUMBERS = 10
# As a share of the cost per row of guessing: a baseline that costs less is taken to cost this, so
# that differences are not divided by almost nothing.
MIN_SHARE_OF_GUESSING = 0.1


@dataclass(frozen=True)
class HeldOut:
    """The labelled rows that the folds hold out, one fold after the other, and what they show.

    Its methods take predictions for these rows, in this order.

    Attributes
    ----------
    folds : sequence of Fold
        The folds.
    truth : array of shape (n_labeled,)
        Class codes of the labelled rows, or their numeric targets.
    classes : array of shape (n_classes,) or None
        Names of the classes; None if the targets are numeric.
    weight : array of shape (n_labeled,) or None
        Weights of the labelled rows.
    groups : array of shape (n_labeled,) or None
        Groups of rows that belong together.
    n_unlabeled : int or None
        Number of rows that could be labelled; if rows belong together, of groups without a label.
    equivalence : float or None
        Differences up to this size count as none; with numeric targets it is a share of the loss of
        the baseline. None: one point of error, or 2% of the loss.
    chosen : bool array of shape (n_labeled,) or None
        Which labels were not drawn at random; no fold holds them out.
    """

    folds: Sequence[Fold]
    truth: AnyArray
    classes: AnyArray | None
    weight: Floats | None = None
    groups: AnyArray | None = None
    n_unlabeled: int | None = None
    equivalence: float | None = None
    chosen: Mask | None = None

    @cached_property
    def rows(self) -> Index:
        """Positions of the held-out rows among the labelled rows."""
        return np.concatenate([fold.test for fold in self.folds])

    @property
    def fold_of(self) -> Index:
        """The number of the fold that holds out each row."""
        return np.repeat(np.arange(len(self.folds)), [len(fold.test) for fold in self.folds])

    @property
    def row_weight(self) -> Floats | None:
        """Weights of the held-out rows (None: 1)."""
        return None if self.weight is None else self.weight[self.rows]

    @property
    def sample(self) -> JudgedSample:
        """How many rows there are, for the wording of a verdict."""
        n_groups = None if self.groups is None else self.n_scored_units
        n_drawn, n_scored = len(self.drawn), len(np.unique(self.rows))
        n_chosen = len(self.truth) - n_drawn
        return JudgedSample(n_drawn, n_scored, n_groups, self.n_unlabeled, n_chosen)

    @property
    def drawn(self) -> Index:
        """Positions of the labelled rows that may be held out: those drawn at random."""
        return np.arange(len(self.truth)) if self.chosen is None else np.flatnonzero(~self.chosen)

    def loss_of(self, scoring: Any, unit: str = "") -> Loss:
        """Return the loss of a scikit-learn scoring; ``unit`` is that of numeric targets."""
        if self.classes is None:
            return read_number_scoring(scoring, self.truth, unit)
        return read_scoring(scoring, self.classes)

    def undefined_folds(self, scoring: Any) -> list[int]:
        """Return the folds in which a scoring is undefined; raise an error if it is unusable."""
        drawn = self.drawn
        tests = [np.searchsorted(drawn, fold.test) for fold in self.folds]
        weight = None if self.weight is None else self.weight[drawn]
        if self.classes is None:
            return check_number_folds(scoring, tests, self.truth[drawn], weight)
        return check_folds(scoring, self.classes, tests, self.truth[drawn], weight)

    def predictions(self, scores: Floats, objective: Objective | None = None) -> Predictions:
        """Return the predictions of a model with these scores, or one column of numbers.

        With an objective, classes are predicted by a rule that is chosen for it: for the rows of
        each fold, on the scores of the other folds' rows.
        """
        if self.classes is None:
            return self.predicted_numbers(scores[:, 0])
        predictions = Predictions.of_scores(self.truth[self.rows], scores)
        if objective is None or not objective.has_rule:
            return predictions
        return replace(predictions, predicted=cross_fitted_codes(self, scores, objective))

    def predicted_numbers(self, predicted: Floats) -> Predictions:
        """Return the predictions of a model that predicts these numbers."""
        return Predictions(self.truth[self.rows], predicted, None)

    def mean_loss(self, mine: Predictions, loss: Loss) -> float:
        """Return the mean loss over rows, over folds or, if it is undefined in one, over repeats.

        A loss of rows is computed on all rows together, not fold by fold: a balanced error uses the
        class shares of all rows, even in a fold that lacks a class.
        """
        if loss.of_rows is not None:
            return loss.of_split(mine, self.row_weight)
        values = [self._loss_in(part, mine, loss) for part in self._parts]
        if np.isfinite(values).all():
            return float(np.average(values, weights=[len(part) for part in self._parts]))
        repeats = self._repeats(values, loss)
        return float(np.mean([self._loss_in(repeat, mine, loss) for repeat in repeats]))

    def difference(self, mine: Predictions, others: Predictions | None, loss: Loss) -> Difference:
        """Return the difference of the losses of a model and of another one, the baseline.

        Without another one, it is the loss itself with its standard error.
        """
        weight = self.row_weight
        if loss.of_rows is not None:
            change = loss.of_rows(mine, weight)
            if others is not None:
                change = change - loss.of_rows(others, weight)
            size = self.size(others or mine, loss)
            if self.classes is None and others is not None:
                return self._difference_of_numbers(mine, others, loss, change, size)
            return self.difference_of_rows(change, size, largest_cost(loss))

        def change_in(rows: Index) -> float:
            of_others = 0.0 if others is None else self._loss_in(rows, others, loss)
            return self._loss_in(rows, mine, loss) - of_others

        values = [change_in(part) for part in self._parts]
        if np.isfinite(values).all():
            n_test = [len(np.unique(self._units[fold.test])) for fold in self.folds]
            unit = self._equivalence * self.size(others or mine, loss)
            return resampled_difference_of_scores(values, self._n_train, n_test, unit=unit)
        repeats = self._repeats(values, loss)
        return pooled_difference(change_in, repeats, self._units[self.rows], self._n_train)

    def _difference_of_numbers(
        self, mine: Predictions, others: Predictions, loss: Loss, change: Floats, size: float
    ) -> Difference:
        """Return the difference of losses of numbers, with the uncertainty of few of them."""
        weight = self.row_weight
        errors, own = others.predicted - others.truth, mine.predicted - mine.truth
        moved, sums = (
            float(np.average(values**2, weights=weight)) for values in (own - errors, own + errors)
        )
        squares = float(np.average(errors**2, weights=weight))
        # The product of the factors in the unit of the loss, which is R once or twice.
        most = 0.0
        if squares > 0:
            most = SQUARED.get(loss.scoring, 1) * np.sqrt(moved) * np.sqrt(sums) / (2 * squares)
            most *= abs(self.mean_loss(others, loss))
        share = min(FULL_CHANGE / self.n_scored_units, 1.0)
        kurtosis = PRODUCT_KURTOSIS if loss.scoring in SQUARED else NORMAL_KURTOSIS
        return self.difference_of_rows(
            change, size, kurtosis=kurtosis, further=share * float(most) ** 2
        )

    def size(self, baseline: Predictions, loss: Loss) -> float:
        """Return the unit in which differences of losses are judged: 1, or the baseline's loss.

        The latter is for numeric targets, whose losses have the unit of the target, and for costs.
        """
        if self.classes is not None:
            is_cost = loss.scoring == COST and loss.of_rows is not None
            return self._size_of_costs(baseline, loss) if is_cost else 1.0
        truth = baseline.truth
        mean = np.full(len(truth), np.average(truth, weights=self.row_weight))
        least = NEGLIGIBLE_LOSS_SHARE * abs(self.mean_loss(Predictions(truth, mean, None), loss))
        return max(abs(self.mean_loss(baseline, loss)), least) or 1.0

    def _size_of_costs(self, baseline: Predictions, loss: Loss) -> float:
        """Return the cost per row of the baseline, at least a tenth of that of guessing."""
        guesses = range(len(self.classes if self.classes is not None else ()))
        guessed = [
            loss.of_split(replace(baseline, predicted=np.full(len(baseline.truth), guess)))
            for guess in guesses
        ]
        return max(self.mean_loss(baseline, loss), MIN_SHARE_OF_GUESSING * min(guessed))

    @property
    def _equivalence(self) -> float:
        if self.equivalence is not None:
            return self.equivalence
        return EQUIVALENT_SHARE if self.classes is None else PRACTICAL_EQUIVALENCE

    def difference_of_rows(
        self,
        change: Floats,
        size: float = 1.0,
        least: float = 0.0,
        *,
        kurtosis: float = NORMAL_KURTOSIS,
        further: float = 0.0,
    ) -> Difference:
        """Return the difference of two models, given that of their losses in every held-out row.

        ``size`` is the unit of the losses, which matters if the two are equal in all rows, and
        ``least`` the smallest difference assumed for one more row; ``resampled_difference``
        describes the others.
        """
        weight = self.row_weight
        if weight is not None:
            change = change * weight / weight.mean()
        parts = [change[part] for part in self._parts]
        if self.groups is not None:
            parts = group_contributions(parts, self.folds, self.groups)
        n_units = self.n_scored_units
        return resampled_difference(
            parts,
            self._n_train,
            n_rows=n_units,
            size=size,
            least=least,
            kurtosis=kurtosis,
            further=further,
        )

    def disagreement(
        self, mine: Predictions, others: Predictions, n_different: float = 0, n_compared: float = 0
    ) -> Disagreement:
        """Return how often two classifiers disagree, and which is right there.

        The fitted models differ on ``n_different`` of ``n_compared`` unlabelled rows. If fewer were
        compared than held out, or none, the held-out predictions count too.
        """
        assert self.classes is not None, "numbers have no disagreement"
        n_worth = self._n_worth
        weight = np.ones(len(self.rows)) if self.row_weight is None else self.row_weight
        # Every unit counts once in all, however often it is held out.
        weight = weight * n_worth / weight.sum()
        differ = mine.predicted != others.predicted
        right, others_right = mine.predicted == mine.truth, others.predicted == mine.truth
        better, worse, neither = (
            float(weight[differ & part].sum())
            for part in (right, others_right, ~right & ~others_right)
        )
        if n_compared < n_worth:
            n_different, n_compared = n_different + better + worse + neither, n_compared + n_worth
        train_share = float(np.mean(self._n_train)) / len(np.unique(self._units))
        compared = float(n_different), float(n_compared)
        return Disagreement(better, worse, neither, *compared, train_share, len(self.classes))

    def posterior(
        self,
        mine: Predictions,
        others: Predictions,
        loss: Loss,
        n_different: float = 0,
        n_compared: float = 0,
    ) -> Posterior:
        """Return the posterior of a difference: errors are judged by the disagreement."""
        difference = self.difference(mine, others, loss)
        if self.classes is None:
            size = self.size(others, loss)
            return Posterior(difference, equivalence=self._equivalence, baseline_loss=size)
        if loss.scoring == COST and self.equivalence is None:
            size = self.size(others, loss)
            return Posterior(difference, equivalence=EQUIVALENT_COST, baseline_loss=size)
        disagreement = None
        if loss.scoring == "accuracy":
            disagreement = self.disagreement(mine, others, n_different, n_compared)
        return Posterior(difference, disagreement, equivalence=self._equivalence)

    @cached_property
    def _parts(self) -> list[Index]:
        """Positions of the rows of every fold among all held-out rows."""
        ends = np.cumsum([len(fold.test) for fold in self.folds])
        return np.split(np.arange(ends[-1]), ends[:-1])

    def _loss_in(self, rows: Index, mine: Predictions, loss: Loss) -> float:
        """Return the loss of some of the held-out rows."""
        weight = None if self.weight is None else self.weight[self.rows[rows]]
        return loss.of_split(mine.take(rows), weight)

    def _repeats(self, values: Sequence[float], loss: Loss) -> list[Index]:
        """Return the positions of the held-out rows of every repeat; ``values`` are of folds."""
        tests = [np.searchsorted(self.drawn, fold.test) for fold in self.folds]
        repeats = folds_of_repeats(tests, len(self.drawn))
        if repeats is None:
            number = int(np.flatnonzero(~np.isfinite(values))[0])
            held_out = self.truth[self.folds[number].test]
            raise undefined_in_a_fold(loss.scoring, self.classes, number, held_out)
        return [np.concatenate([self._parts[number] for number in repeat]) for repeat in repeats]

    @property
    def _units(self) -> AnyArray:
        """What the statistics count: the labelled rows, or their groups."""
        return np.arange(len(self.truth)) if self.groups is None else self.groups

    @property
    def _n_train(self) -> list[int]:
        """The number of units that each fold trains on."""
        return [len(np.unique(self._units[fold.train])) for fold in self.folds]

    @property
    def n_scored_units(self) -> int:
        """How many units are held out in some fold."""
        return len(np.unique(self._units[self.rows]))

    @property
    def _n_worth(self) -> float:
        """Number of units that are held out; rows of unequal weights are worth fewer."""
        if self.groups is not None or self.weight is None:
            return float(self.n_scored_units)
        return effective_size(self.weight[np.unique(self.rows)])


def largest_cost(loss: Loss) -> float:
    """Return the largest cost of an error; 0 if errors have no costs."""
    cost = None if loss.objective is None else loss.objective.cost
    return 0.0 if cost is None else float(np.array(cost).max())


def resampled_difference(
    differences: Sequence[Any],
    n_train: Any,
    *,
    n_rows: int | None = None,
    size: float = 1.0,
    least: float = 0.0,
    kurtosis: float = NORMAL_KURTOSIS,
    further: float = 0.0,
) -> Difference:
    """Estimate the difference of two mean losses from the splits of a cross-validation.

    Parameters
    ----------
    differences : sequence of arrays
        For each split the differences of the two losses (method minus baseline) in its held-out
        rows. If rows belong together (several of one patient), pass the means over the rows of
        each group, and count groups in all numbers.
    n_train : int or sequence of int
        Number of labelled training rows of the splits.
    n_rows : int, optional
        Number of labelled rows, by default the mean number of training and held-out rows.
    size : float, default=1
        The unit of the losses: how much one more row may differ if all differences are 0.
    least : float, default=0
        The smallest difference assumed for one more row, whatever was observed.
    kurtosis : float, default=3
        Kurtosis of the differences; the larger, the less certain is their variance.
    further : float, default=0
        Variance that is added to that of a row.

    Returns
    -------
    Difference
        The estimate with its corrected standard error.

    See Also
    --------
    resampled_difference_of_scores : For scores that are not means over rows.

    Examples
    --------
    >>> from primum.judging.held_out import resampled_difference
    >>> wrong = [[0, 0, -1, 0], [0, -1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, -1, 0, 0]]
    >>> difference = resampled_difference(wrong, n_train=16)
    >>> difference.mean, round(difference.standard_error, 3)
    (-0.15, 0.18)
    """
    parts = [np.asarray(part, dtype=float) for part in differences]
    if not parts or min(map(len, parts)) == 0:
        raise ValueError("There must be at least one split, and at least one held-out row in each.")
    rows = _finite(np.concatenate(parts), "row")
    test = np.array([len(part) for part in parts])
    total = float(np.mean(test + np.asarray(n_train))) if n_rows is None else float(n_rows)
    units = min(total, len(rows))
    correction = 1 / len(parts) + float(np.mean(test / n_train))
    variance = cautious_variance(rows, units, size, least) + further
    error = np.sqrt(variance / np.mean(test) * correction)
    freedom = max(2 * (units - 1) / (kurtosis - 1), 1)
    return Difference(float(rows.mean()), float(error), freedom, round(total))


def too_few_numbers(n_numbers: int) -> Alert | None:
    """Return an alert that withholds claims, if there are too few numbers to judge by; else None.

    ``n_numbers`` counts rows or, if rows belong together, groups.
    """
    if n_numbers >= FEW_NUMBERS:
        return None
    return Alert(
        "few numbers",
        f"Nothing can be claimed from {n_numbers} known numbers, because errors of so few are too "
        f"uncertain: label at least {FEW_NUMBERS}.",
        withholds=True,
        assumes=f"{n_numbers} numbers are enough to judge by",
        next_step=f"Label at least {FEW_NUMBERS} rows, drawn at random, and compare again.",
    )


def resampled_difference_of_scores(
    differences: Any, n_train: Any, n_test: Any, *, unit: float = PRACTICAL_EQUIVALENCE
) -> Difference:
    """Estimate a difference from one number for each split: the corrected resampled t-test.

    Parameters
    ----------
    differences : array of shape (n_splits,)
        Differences of the two losses (method minus baseline), for example of 1 - AUC.
    n_train, n_test : int or sequence of int
        Numbers of labelled training rows and of held-out rows of the splits.
    unit : float, default=0.01
        Standard deviation over splits that is added as one more degree of freedom, so that equal
        values in a few splits are not taken for certainty.

    Returns
    -------
    Difference
        The estimate with its corrected standard error.
    """
    values = _finite(np.asarray(differences, dtype=float), "split")
    n_splits = len(values)
    if n_splits < 2:
        raise ValueError(
            f"The variance over splits needs at least two splits, got {n_splits}: use more folds."
        )
    variance = (np.sum((values - values.mean()) ** 2) + unit**2) / (n_splits - 1)
    correction = 1 / n_splits + float(np.mean(np.asarray(n_test) / n_train))
    total = round(float(np.mean(np.asarray(n_test) + np.asarray(n_train))))
    error = float(np.sqrt(variance * correction))
    return Difference(float(values.mean()), error, n_splits - 1, total)


def _finite(differences: Floats, unit: str) -> Floats:
    """Return differences; raise an error if one is not a finite number."""
    bad = np.flatnonzero(~np.isfinite(differences))
    if len(bad):
        raise ValueError(
            f"The losses of {len(bad)} of {len(differences)} held-out {unit}s are not finite (the "
            f"first is {unit} {bad[0]}): choose another scoring, or leave the method out."
        )
    return differences


def group_contributions(
    differences: Sequence[Any], folds: Sequence[Fold], groups: Any
) -> list[Floats]:
    """Return what groups contribute to a difference, if they are counted instead of rows.

    The estimate is the mean over all held-out rows, m, however large their groups are. With the
    sum S_g of the differences of a group, its size n_g and the mean size, the groups contribute

        m + (S_g - n_g m) / mean size,

    whose mean is m and whose variance is that of m as a ratio of two sums over groups.

    Parameters
    ----------
    differences : sequence of arrays
        As in ``resampled_difference``.
    folds : sequence of Fold
        The splits, with positions ``train`` and ``test`` among the labelled rows.
    groups : array of shape (n_labeled,)
        Group of each labelled row.

    Returns
    -------
    list of array of shape (n_groups,)
        For each split, one number per group that it holds out, for ``resampled_difference``.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    sums, sizes = [], []
    for values, fold in zip(differences, folds, strict=True):
        _, group = np.unique(codes[fold.test], return_inverse=True)
        sums.append(np.bincount(group, values))
        sizes.append(np.bincount(group))
    mean = np.concatenate(sums).sum() / np.concatenate(sizes).sum()
    mean_size = np.concatenate(sizes).mean()
    return [mean + (s - n * mean) / mean_size for s, n in zip(sums, sizes, strict=True)]


def pooled_difference(
    change: Callable[[Index], float], repeats: Sequence[Index], units: AnyArray, n_train: Any
) -> Difference:
    """Estimate a difference from all held-out rows of a repeat together, by the jackknife.

    Parameters
    ----------
    change : callable
        Function of positions of held-out rows that returns the difference of the two losses there.
    repeats : sequence of arrays
        Positions of the rows that each repeat holds out.
    units : array
        The unit of each held-out row: the number of the labelled row, or its group.
    n_train : sequence of int
        Number of units that the folds train on.

    Returns
    -------
    Difference
        The mean over repeats, with the corrected standard error.
    """
    means, values = [], []
    for rows in repeats:
        of_row, every = units[rows], change(rows)
        kinds = np.unique(of_row)
        without = np.array([change(rows[of_row != unit]) for unit in kinds])
        means.append(every)
        values.append(len(kinds) * every - (len(kinds) - 1) * without)
    pseudo, n_units = np.concatenate(values), len(np.unique(units))
    if not np.isfinite(pseudo).all():
        raise ValueError(
            "The scoring is undefined without one of the labelled rows, probably the only one of "
            "its class: label more rows of that class, or choose another scoring."
        )
    correction = 1 / len(pseudo) + 1 / float(np.mean(n_train))
    error = np.sqrt(cautious_variance(pseudo, n_units) * correction)
    return Difference(float(np.mean(means)), float(error), max(n_units - 1, 1), n_units)
