"""The safe choice for numeric targets."""

import time
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from primum._sklearn import StrOptions
from primum._threads import one_blas_thread
from primum._typing import Floats
from primum._warnings import warn
from primum.judging.held_out import too_few_numbers
from primum.judging.losses import RMSE, full_scoring, read_number_scorer
from primum.judging.words import OwnVerdict
from primum.methods.base import fitting, with_parameters
from primum.reading.data import read_numbers, refuse_other_library
from primum.reading.known import refuse_underflow, warn_of_markers
from primum.safe.candidates.own import choose_candidates, routed_weights, routing_of
from primum.safe.label_rows import MAX_COMPARED_ROWS
from primum.safe.out_of_fold import score_candidates, warn_of_failures
from primum.safe.rows import UNLESS_COUNTS, Targets, held_out_rows, shared_rows
from primum.safe.stack import (
    BASELINE,
    RANGES,
    SAFE,
    SUPERVISED,
    StackNumberMixin,
    weigh_and_refit,
)
from primum.safe.verdict import (
    LACK_OF_TIME,
    judge_stacks,
    notes_on_folds,
    remarks_on_rows,
    report_table,
)

# The bounds of icls are the range of the known targets.
BY_LABELS = "labels"


@with_parameters
class SafeRegressor(StackNumberMixin, RegressorMixin, BaseEstimator):
    """A stack of supervised and semi-supervised regressors, shrunk towards a baseline.

    It does for numeric targets what SafeClassifier does for classes. Candidates with and without
    unlabelled rows are tuned, and predict the labelled rows by cross-validation. The model is their
    weighted mean, with weights that minimise half the squared error of the out-of-fold predictions,
    in units of the variance of the known targets, plus ``shrinkage / n_labeled`` times the squared
    distance to the baseline, ridge regression. With few labels it is close to the baseline; with
    more, the out-of-fold predictions decide.

    Parameters
    ----------
    candidates : "default" or list, default="default"
        The models to combine. "default" is ``["ridge", "components", "kernel", "forest"]`` and,
        with ``bounds``, "icls"; see Notes. An item of a list is one of these names,
        "hist_gradient_boosting", "tabpfn", "tabicl" or "catboost" (the last three if the package
        of that name is installed), or a regressor of your own as ``(name, regressor)`` or ``(name,
        regressor, uses_unlabeled)``. If it uses unlabelled rows, which is the default, it is fitted
        to all rows, with NaN for unknown targets, and a fourth item may be its supervised
        counterpart: a name or a regressor.
    baseline : str, regressor or list, default="ridge"
        The supervised model to compare with: the name of a supervised candidate, a regressor, or a
        list of names, regressors and ``(name, regressor)``, whose mean is taken.
    shrinkage : float, default=3.0
        Strength of the shrinkage towards the baseline.
    cv : int, splitter or iterable, default=5
        How to split the labelled rows: a number of folds, which keep groups together if ``fit`` is
        given some, a scikit-learn splitter (for example in the order of time), or pairs of indices
        of rows of X to train on and to hold out. Unlabelled rows are in every training set.
    n_repeats : int, default=2
        How often to repeat the folds, shuffled each time; only with a number of folds.
    scoring : str or callable, default="neg_root_mean_squared_error"
        The loss that ``verdict_`` judges: "neg_root_mean_squared_error" ("rmse" for short),
        "neg_mean_absolute_error" ("mae"), "neg_mean_squared_error" ("mse"),
        "neg_root_mean_squared_log_error" ("rmsle"), "r2", or any other scorer of scikit-learn for
        numbers. It does not affect the model.
    time_budget : float, default=None
        Seconds that ``fit`` may take. The baseline is always fitted; other candidates are left out
        if they would not be finished in time, as in SafeClassifier. None: no limit.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, samples and forests. With an integer the result is the same every time.
    standardize : bool or "auto", default="auto"
        True: candidates scale every feature to unit variance. False: features have comparable
        scales already, as in SafeClassifier. "auto": False if X is sparse and its labelled rows
        have no negative entries, otherwise True.
    n_jobs : int, default=None
        Number of fits in parallel; -1 means all processors, None means 1 unless inside a
        ``joblib.parallel_config``. It does not affect the result.
    verbose : bool, default=False
        Whether to show progress.
    bounds : pair of float, "labels" or None, default=None
        A range that is certain to contain all targets, known or not; implicitly constrained least
        squares is then a candidate, too. "labels" uses the range of the known targets of every
        training set. Other targets may exceed it, so nothing is guaranteed.

    Attributes
    ----------
    weights_ : dict of str to float
        The weight of every candidate that was not left out.
    gap_ : float
        Proven bound on how much the objective of the weights exceeds its minimum.
    models_ : dict
        The candidates with a weight above 0, fitted to all rows.
    target_mean_, target_scale_ : float
        Mean and standard deviation of the known targets, in whose units the models predict.
    baseline_ : StackedRegressor
        The fitted baseline.
    supervised_ : StackedRegressor
        The stack of the supervised candidates and of the supervised counterparts of the others.
        The difference from it is what unlabelled rows contribute.
    verdict_ : SafeVerdict
        Whether the model is better than ``baseline_`` (``verdict_.baseline.answer``, which is also
        ``verdict_.answer``), and whether unlabelled rows contribute to it
        (``verdict_.supervised.answer``), with probabilities and in words: ``print(reg.verdict_)``.
        A change of the loss by less than 2% of the baseline's loss counts as none.
    report_ : dict of lists
        A table with a row for each candidate and stack, for ``pandas.DataFrame(reg.report_)``: its
        kind, its weights, out-of-fold RMSE and mean absolute error (cross-fitted for the stacks),
        seconds.
    held_out_rows_, held_out_folds_ : array of shape (n_held_out,)
        Rows of X that the folds hold out, one fold after the other, and the numbers of the folds.
    held_out_predictions_ : array of shape (n_held_out,)
        Predictions of these rows by the stack, cross-fitted: neither the candidates nor their
        weights have seen the target of the row. ``verdict_`` is based on them.
    notes_ : list of str
        What was approximated, left out or warned of.
    failures_ : list of Failure
        Candidates that were left out because they raised an exception, with its message.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    SafeClassifier : A safe stack for classes.
    ICLSRegressor : Semi-supervised linear regression within bounds, with a certificate.

    Notes
    -----
    The candidates, and the supervised counterpart of each that uses unlabelled rows:

    * ridge: ridge regression, its penalty chosen by leave-one-out
    * components: ridge regression on whitened principal components of all rows (of the labelled
      rows)
    * kernel: kernel ridge regression in a Gaussian kernel that is deformed by a graph of nearest
      neighbours (in the Gaussian kernel of the labelled rows)
    * icls: implicitly constrained least squares within ``bounds`` (ridge)
    * forest: 100 extremely randomised trees
    * hist_gradient_boosting, tabpfn, tabicl, catboost: as in SafeClassifier; not default candidates

    As in SafeClassifier, features are standardised, many unlabelled rows are sampled, and held-out
    rows stay in the training set without their targets.

    Two classifiers differ on few rows, whose labels settle which one is better. Two regressors
    differ on every row, so there is no ``settle``.

    Examples
    --------
    >>> import numpy as np
    >>> from primum import SafeRegressor
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.normal(size=(400, 2))
    >>> X = hidden @ rng.normal(size=(2, 60)) + rng.normal(size=(400, 60))
    >>> truth = hidden[:, 0] + 0.3 * rng.normal(size=400)
    >>> y = np.where(np.arange(400) < 40, truth, np.nan)
    >>> reg = SafeRegressor(["components"], random_state=0).fit(X, y)
    >>> list(reg.weights_)
    ['ridge', 'components']
    >>> reg.score(X[40:], truth[40:]) > reg.baseline_.score(X[40:], truth[40:])
    True
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {
        **RANGES,
        "bounds": [StrOptions({BY_LABELS}), "array-like", None],
    }
    candidates: Any = field(default="default", kw_only=False)
    baseline: Any = "ridge"
    shrinkage: float = 3.0
    cv: Any = 5
    n_repeats: int = 2
    scoring: Any = RMSE
    time_budget: float | None = None
    random_state: Any = None
    standardize: bool | str = UNLESS_COUNTS
    n_jobs: int | None = None
    verbose: bool = False
    bounds: Any = None

    def fit(
        self,
        X: Any,
        y: Any,
        X_unlabeled: Any = None,
        *,
        sample_weight: Any = None,
        groups: Any = None,
        chosen: Any = None,
    ) -> Self:
        """Fit the candidates and their weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets; NaN, None or pd.NA where the target is unknown. Every number, including -1, is
            a target.
        X_unlabeled : array-like or sparse matrix of shape (n_more, n_features), path or Dask \
                collection, default=None
            Further unlabelled rows, each of weight 1. A Parquet file or folder, or a Dask array or
            DataFrame, is read once: principal components come from all rows, and all other
            candidates that use unlabelled rows get a random sample if there are more than 20,000.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row of X, in the candidates, the weights of the stack and the verdict.
            The graph and the kernel have a node for every row, whatever its weight above 0.
        groups : array-like of shape (n_samples,), default=None
            Group of each row of X. Rows of one group are held out together, also when penalties are
            chosen, and the verdict counts groups instead of rows.
        chosen : array-like of shape (n_samples,) or (n_chosen,), default=None
            Rows of X whose targets were not drawn at random, such as those that active learning
            asked for: a mask, or indices. They are trained on, but never held out, and the verdict
            and the drift test do not count them.

        Returns
        -------
        self
            The fitted estimator.
        """
        started = time.perf_counter()
        with fitting(self), one_blas_thread():
            # The arguments: arrays, targets, and what the verdict is about.
            scoring = full_scoring(self.scoring)
            read_number_scorer(scoring)
            bounds = None if isinstance(self.bounds, str) else self.bounds
            given = read_numbers(self, X, y, X_unlabeled, sample_weight, bounds=bounds)
            known = given.labels.labeled[given.known]
            numbers = given.labels.targets[given.known]
            refuse_underflow(numbers, "y")
            _warn_of_numbers(numbers)
            refuse_other_library(self, given.home)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))

            # Rows, targets and folds, the same for every candidate.
            columns = getattr(self, "feature_names_in_", None) if hasattr(X, "iloc") else None
            rows = shared_rows(given, seed, self.standardize, columns, self.n_jobs)
            held_out = held_out_rows(
                given,
                numbers,
                None,
                groups,
                chosen,
                self.cv,
                self.n_repeats,
                rows.n_unlabeled,
                seed,
            )
            weight, group, asked = held_out.weight, held_out.groups, held_out.chosen
            targets = Targets.of_numbers(numbers, weight, group, asked)
            assert targets.scale is not None, "the targets are numbers"
            self.target_mean_ = targets.scale.shift
            self.target_scale_ = targets.scale.width
            n_rows = rows.unlabeled.shape[0]
            routed = routed_weights(self, sample_weight)
            team = choose_candidates(
                self.candidates, self.baseline, None, n_rows, self.bounds, routed
            )
            of_folds = notes_on_folds(scoring, self.cv, self.n_repeats, held_out)
            unknown = given.labels.unlabeled[given.unknown]
            free = None if groups is None else np.asarray(groups)[unknown]
            notes, alerts = remarks_on_rows(rows, group, free, asked)
            if (few := too_few_numbers(held_out.n_scored_units)) is not None:
                alerts = [few, *alerts]

            # Out-of-fold scores of the candidates, weights of the stacks, final fits.
            title = type(self).__name__ if self.verbose else ""
            how: Any = {"n_jobs": self.n_jobs, "title": title}
            deadline = None if self.time_budget is None else started + self.time_budget
            probe = rows.with_at_most(MAX_COMPARED_ROWS).unlabeled
            scored = score_candidates(
                team, rows, targets, held_out.folds, probe, deadline=deadline, **how
            )
            stacks = weigh_and_refit(team, scored, held_out, targets, self.shrinkage, probe, **how)
            self.weights_ = stacks.weights[SAFE]
            self.gap_ = stacks.gap
            self.models_ = {n: stacks.models[n] for n, w in self.weights_.items() if w > 0}
            self.supervised_ = self._stack(stacks.weights[SUPERVISED], stacks.models)
            self.baseline_ = self._stack(stacks.weights[BASELINE], stacks.models)

            # The verdict, held-out predictions, and what the user reads.
            notes += [f"{skipped}: {LACK_OF_TIME}" for skipped in scored.skipped]
            self.verdict_, judged, _ = judge_stacks(
                held_out,
                team,
                stacks,
                targets,
                scoring,
                notes=scored.notes_with(notes, self.models_),
                alerts=alerts,
            )
            self.held_out_rows_ = known[held_out.rows]
            self.held_out_folds_ = held_out.fold_of
            self.held_out_predictions_ = judged[SAFE][:, 0]
            self.report_ = report_table(team, scored.seconds, stacks, judged, held_out, targets)
            approximated = scored.notes_with(notes, scored.approximated)
            self.notes_ = [*approximated, *scored.all_warned, *team.notes, *of_folds]
            self.failures_ = scored.failures
            warn_of_failures(self.failures_)
        return self

    def count_fits(self) -> int:
        """Return how many fits of the candidates a fit makes: one per fold, and the final one.

        Returns
        -------
        int
            Their number; 1 if it depends on the rows.
        """
        return self.n_repeats * int(self.cv) + 1 if isinstance(self.cv, Integral) else 1

    def own_verdict(self) -> OwnVerdict:
        """Return the verdicts of the fit on the model, in the form that ``primum.compare`` uses.

        Returns
        -------
        OwnVerdict
            The verdicts, and the cross-fitted predictions that they are based on.
        """
        check_is_fitted(self, "verdict_")
        return OwnVerdict(
            self.verdict_.baseline,
            self.verdict_.supervised,
            self.held_out_rows_,
            self.held_out_folds_,
            self.held_out_predictions_[:, None],
            notes=list(self.notes_),
            limited=any(note.endswith(LACK_OF_TIME) for note in self.notes_),
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata ``fit`` accepts, and which of them your own candidates receive.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        return routing_of(
            self, choose_candidates(self.candidates, self.baseline, None, 1, self.bounds)
        )


def _warn_of_numbers(numbers: Floats) -> None:
    """Warn of targets that are all equal, or that look like classes."""
    if len(numbers) > 1 and (numbers == numbers[0]).all():
        warn(
            f"All {len(numbers)} known numbers in y are {numbers[0]:g}: the model predicts "
            "this number for every row, and its verdict does not hold for rows with others."
        )
    else:
        warn_of_markers(numbers)
