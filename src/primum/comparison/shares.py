"""The class shares of the unlabelled rows in a comparison, and the weights of a shift.

The scores are those of the baseline, a choice that does not depend on the result: its models of the
folds of the first repeat score the rows that these hold out, and the unlabelled rows. They are not
trained on chosen labels, so that drawn rows and other rows are alike to them. The first estimate is
of the shares among all rows whose labels were not drawn at random; the chosen labels among these
are known, and are subtracted.
"""

from dataclasses import replace

import numpy as np

from primum._sklearn import take_rows
from primum._threads import one_blas_thread
from primum._typing import AnyArray, Floats, Index
from primum.comparison.plan import Plan, rng_for, seeded
from primum.comparison.run import fit_entry
from primum.judging.drift import (
    Drift,
    ShiftWeights,
    covariate_weights,
    label_weights,
    no_mixture,
    no_overlap,
    one_of_each,
    refused_weights,
)
from primum.judging.shares import (
    COVARIATE,
    LABEL,
    RANDOM,
    CrossFittedScores,
    EstimatedShares,
    estimate_shares,
    without_known,
)
from primum.reading.classifiers import Entry, class_scores
from primum.reading.folds import Fold

SHIFTS = (RANDOM, LABEL, COVARIATE)
# Scores of more unlabelled rows mostly cost time, because the labelled rows limit the accuracy of
# shares. A sample of them widens the interval.
MAX_SCORED = 10_000
COUNTS = (
    "These shares estimate how many rows belong to a class. The number of rows that a model "
    "assigns to it does not: it is biased by the errors of the model."
)


def assumption_in_words(
    shares: EstimatedShares, drift: Drift | None, shift: ShiftWeights | None
) -> str:
    """Return the assumption of estimated shares, and whether it visibly fails."""
    text = f"This assumes that {shares.assumption}."
    if shift is None and drift is not None and drift.found:
        text += (
            " The drift test says that they are not, so these shares may be wrong: pass "
            "shift='label' or shift='covariate' if you accept its assumption."
        )
    return text


def check_shift(shift: str, plan: Plan) -> None:
    """Raise an error for an unknown shift, or if rows cannot be weighted for it."""
    if shift not in SHIFTS:
        raise ValueError(f"shift must be 'none', 'label' or 'covariate', got {shift!r}.")
    if shift == RANDOM:
        return
    if shift == LABEL and plan.table.numeric:
        raise ValueError(
            "shift='label' weights classes, but numbers are predicted: pass shift='covariate' if "
            "only the features differ, or leave it out."
        )
    if not plan.table.n_unlabeled:
        raise ValueError(
            f"shift={shift!r} weights labelled rows by the unlabelled ones, and there are none: "
            "leave it out."
        )
    for entry in plan.baselines:
        if not entry.weighs_rows:
            raise ValueError(
                f"shift={shift!r} weights rows, which the baseline {entry.name!r} does not "
                "support: choose another baseline, or leave shift out."
            )


def with_shift(
    plan: Plan, shift: str, prepare: object
) -> tuple[Plan, ShiftWeights | None, list[str]]:
    """Return a plan whose labelled rows are weighted, the weights, and what is left out.

    Parameters
    ----------
    plan : Plan
        The plan, without weights.
    shift : {"none", "label", "covariate"}
        How labelled and unlabelled rows differ.
    prepare : transformer or None
        Turns rows into numbers.

    Returns
    -------
    Plan, ShiftWeights or None, list of str
        The plan, the weights, and sentences on methods left out for not supporting weights. Without
        overlap, or if no mixture of the classes explains the unlabelled rows, weights are refused:
        the plan is unchanged, and the weights say why.
    """
    check_shift(shift, plan)
    if shift == RANDOM:
        return plan, None, []
    table, drawn = plan.table, plan.table.drawn
    groups = table.groups_of(drawn.labeled)
    if shift == LABEL:
        # Classes are handled one by one, so that weights of theirs cancel.
        unweighted = replace(plan, table=replace(table, weight=None))
        scored = _with_every_class(fold_scores(unweighted), table.labels.classes)
        shares = estimate_shares(scored, table.labels.classes, LABEL)
        weights = label_weights(table.labels_drawn.codes, shares)
        rows, others = scored_rows(unweighted)
        # One row of each group, or of several times that a row is held out.
        first = np.unique(scored.units, return_index=True)[1]
        why = no_mixture(
            take_rows(table.X, rows[first]),
            take_rows(table.X, others),
            scored.codes[first],
            (scored.scores[first], scored.unlabeled_rows(scored.unlabeled)),
            np.array(list(shares.estimates.values())),
            prepare=prepare,
            random_state=plan.seed,
        )
    else:
        both = [take_rows(table.X, rows) for rows in (drawn.labeled, drawn.unlabeled)]
        weights = covariate_weights(*both, prepare=prepare, groups=groups, random_state=plan.seed)
        why = no_overlap(
            one_of_each(both[0], groups),
            one_of_each(both[1], table.groups_of(drawn.unlabeled)),
            one_of_each(weights.weight, groups),
            prepare=prepare,
            random_state=plan.seed,
        )
    if why:
        return plan, refused_weights(shift, len(weights.weight), why), []
    weight = np.ones(table.n_rows)
    weight[drawn.labeled] = weights.weight
    weighed = [entry for entry in plan.methods if entry.weighs_rows]
    left_out = [
        f"{entry.name} was left out, because it does not support weights of rows, which "
        f"shift={shift!r} needs."
        for entry in plan.methods
        if not entry.weighs_rows
    ]
    return replace(plan, table=replace(table, weight=weight), methods=weighed), weights, left_out


def shares_in(plan: Plan, shift: str) -> EstimatedShares | None:
    """Return the class shares of the unlabelled rows; None if there are none.

    Parameters
    ----------
    plan : Plan
        The plan, with the weights of the shift.
    shift : {"none", "label", "covariate"}
        How labelled and unlabelled rows differ, which determines the estimator.

    Returns
    -------
    EstimatedShares or None
        The shares.
    """
    table = plan.table
    if not table.n_unlabeled:
        return None
    shares = _shares_of_others(plan, shift)
    if table.chosen is None:
        return shares
    codes = table.y[np.flatnonzero(table.chosen)]
    counts = np.bincount(codes, minlength=len(table.labels.classes))
    return without_known(shares, counts, table.n_unlabeled, len(table.drawn.unlabeled))


def unknown_shares(shares: EstimatedShares | None, shift: str) -> EstimatedShares | None:
    """Return shares of which nothing is known, because the correction for a shift was refused."""
    if shares is None:
        return None
    classes = [replace(one, estimate=one.labeled, low=0.0, high=1.0) for one in shares.classes]
    why = f"any shares are possible, because shift={shift!r} was refused"
    return replace(shares, classes=classes, method="unknown", assumption=why)


def _shares_of_others(plan: Plan, shift: str) -> EstimatedShares:
    """Return the class shares among all rows whose labels were not drawn at random."""
    classes = plan.table.labels.classes
    if shift == LABEL:  # classes are handled one by one, so that their weights cancel
        plan = replace(plan, table=replace(plan.table, weight=None))
        return estimate_shares(_with_every_class(fold_scores(plan), classes), classes, shift)
    return estimate_shares(fold_scores(plan), classes, shift)


def _with_every_class(scored: CrossFittedScores, classes: AnyArray) -> CrossFittedScores:
    """Return scores; raise an error if no row of some class is held out."""
    if len(lacking := np.setdiff1d(np.arange(len(classes)), scored.codes)):
        raise ValueError(
            f"shift='label' looks at held-out rows of every class, and cv holds out none of class "
            f"{classes.tolist()[lacking[0]]!r}: pass other splits, or leave it out."
        )
    return scored


def fold_scores(plan: Plan) -> CrossFittedScores:
    """Return the scores of the baseline for rows that its models were not trained on.

    Parameters
    ----------
    plan : Plan
        The comparison.

    Returns
    -------
    CrossFittedScores
        Scores of the rows that the folds of the first repeat hold out, and of all rows whose labels
        were not drawn at random.
    """
    table, folds = plan.table, plan.folds[0]
    rows, others = scored_rows(plan)
    with one_blas_thread():
        scored = [_scores_of(plan, number, others) for number in range(len(folds))]
    return CrossFittedScores(
        table.y[rows],
        np.concatenate([held_out for held_out, _ in scored]),
        np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds]),
        np.array([unlabeled for _, unlabeled in scored]),
        len(table.drawn.unlabeled),
        table.weight_of(rows),
        _units(rows, table.groups),
        _n_groups(plan),
    )


def scored_rows(plan: Plan) -> tuple[Index, Index]:
    """Return the rows that folds hold out, and other rows, of which ``fold_scores`` has scores."""
    others = plan.table.drawn.unlabeled
    if len(others) > MAX_SCORED:
        others = np.sort(rng_for(plan.seed, "shares").choice(others, MAX_SCORED, replace=False))
    held_out = np.concatenate([fold.test for fold in plan.folds[0]])
    return plan.table.labels.labeled[held_out], others


def _units(rows: Index, groups: AnyArray | None) -> AnyArray | None:
    """Return the groups of held-out rows; a row that is held out several times is a group."""
    if groups is not None:
        return groups[rows]
    return None if len(np.unique(rows)) == len(rows) else rows


def _n_groups(plan: Plan) -> int | None:
    """Return the number of groups of the rows whose labels were not drawn at random."""
    groups = plan.table.groups
    return None if groups is None else len(np.unique(groups[plan.table.drawn.unlabeled]))


def _scores_of(plan: Plan, number: int, others: Index) -> tuple[Floats, Floats]:
    """Return the scores of held-out and of other rows by the baseline of a fold."""
    table, fold = plan.table, plan.folds[0][number]
    both = np.concatenate([table.labels.labeled[fold.test], others])
    X = take_rows(table.X, both)
    scores = np.mean([_scored(plan, e, fold, number, X) for e in plan.baselines], axis=0)
    return scores[: len(fold.test)], scores[len(fold.test) :]


def _scored(plan: Plan, entry: Entry, fold: Fold, number: int, X: object) -> Floats:
    """Return the scores of rows by one baseline, fitted to the drawn labels of a fold."""
    table = plan.table
    train = table.labels.labeled[fold.train]
    if table.chosen is not None:
        train = train[~table.chosen[train]]
    entry = replace(entry, estimator=seeded(entry.estimator, plan.seed, entry.name, number))
    groups, weight = table.groups_of(train), table.weight_of(train)
    fitted = fit_entry(entry, take_rows(table.X, train), table.y[train], groups, weight=weight)
    return class_scores(fitted, X, len(table.labels.classes), entry.name)
