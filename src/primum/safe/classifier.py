"""The safe choice for classes."""

import time
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted, validate_data

from primum._threads import one_blas_thread
from primum._warnings import warn
from primum.judging.losses import read_scorer, scoring_name
from primum.judging.objectives import read_objective, rule_of, with_storable_cost
from primum.judging.settlement import Settlement
from primum.judging.words import OwnVerdict
from primum.methods.base import fitting, with_parameters
from primum.reading.data import given_rows, read_rows, refuse_other_library
from primum.rows import is_outside
from primum.safe.candidates import BASELINE as DEFAULT_BASELINE
from primum.safe.candidates.own import choose_candidates, routed_weights, routing_of
from primum.safe.label_rows import (
    MAX_COMPARED_ROWS,
    MAX_PREDICTED_ROWS,
    ToLabel,
    ask_about_stacks,
    disagreements_in_fit,
    find_rows,
    names_in_fit,
    notes_on_pool,
    own_index,
    rows_to_ask,
    seed_of_order,
)
from primum.safe.out_of_fold import score_candidates, warn_of_failures
from primum.safe.rows import UNLESS_COUNTS, Targets, held_out_rows, shared_rows
from primum.safe.stack import (
    BASELINE,
    RANGES,
    SAFE,
    SUPERVISED,
    StackPredictionMixin,
    codes_of_scores,
    weigh_and_refit,
)
from primum.safe.verdict import (
    LACK_OF_TIME,
    judge_stacks,
    note_on_single_labels,
    notes_on_folds,
    remarks_on_rows,
    report_table,
)


@with_parameters
class SafeClassifier(StackPredictionMixin, ClassifierMixin, BaseEstimator):
    """A stack of supervised and semi-supervised models, shrunk towards a supervised baseline.

    Candidates with and without unlabelled rows are tuned, and scored by cross-validation on the
    labelled rows. The model is their weighted mean, with weights that minimise the squared error
    of the out-of-fold scores plus ``shrinkage / n_labeled`` times the squared distance to the
    baseline: half ridge and half logistic regression. With few labels it is close to the baseline;
    with more, the scores decide.

    Parameters
    ----------
    candidates : "default" or list, default="default"
        The models to combine. "default" is ``["ridge", "logistic", "components", "spreading",
        "kernel", "tsvm", "forest"]``, see Notes. An item of a list is one of these names, "icls",
        "hist_gradient_boosting", "tabpfn", "tabicl" or "catboost" (the last three if the package
        of that name is installed), or a classifier of your own as ``(name, classifier)`` or
        ``(name, classifier, uses_unlabeled)``. If it uses unlabelled rows, which is the default, it
        is fitted to all rows, with class codes 0, 1, ... and -1 for unknown labels, and a fourth
        item may be its supervised counterpart: a name or a classifier. It needs ``predict_proba``
        or ``decision_function``.
    baseline : str, classifier or list, default=("ridge", "logistic")
        The supervised model to compare with: the name of a supervised candidate, a classifier, or a
        list of names, classifiers and ``(name, classifier)``, whose mean is taken. The model is
        safe against this baseline: ``baseline="tabpfn"`` is for those who would use TabPFN.
    shrinkage : float, default=3.0
        Strength of the shrinkage towards the baseline.
    cv : int, splitter or iterable, default=5
        How to split the labelled rows: a number of stratified folds, which keep groups together
        if ``fit`` is given some, a scikit-learn splitter (for example in the order of time), or
        pairs of indices of rows of X to train on and to hold out. Unlabelled rows are in every
        training set.
    n_repeats : int, default=2
        How often to repeat the folds, shuffled each time; only with a number of folds.
    scoring : str or callable, default="accuracy"
        The loss that ``verdict_`` judges: "accuracy", "balanced_accuracy", "neg_brier_score",
        "neg_log_loss", or any other scorer of scikit-learn for predictions or probabilities, such
        as "roc_auc". A score that is undefined in some fold is computed from all held-out rows of a
        repeat together. It does not affect the candidates and their weights, but
        "balanced_accuracy", "f1" and "recall_at_precision=0.9" (or another precision) also choose
        the decision rule, see ``cost``.
    time_budget : float, default=None
        Seconds that ``fit`` may take. The baseline is always fitted. Every other candidate is left
        out if it would not finish in time, judging by fits to small parts of the rows and then by
        the first fold. A single fit is not interrupted. None: no limit.
    random_state : int, RandomState instance or None, default=None
        Seed of folds, samples and forests. With an integer the result is the same every time.
    standardize : bool or "auto", default="auto"
        True: candidates scale every feature to unit variance. False: dense features, such as those
        of an embedding, are used as they are, and sparse ones, such as word counts, are weighted by
        how rare they are among the rows that a candidate learns from. "auto": False if X is sparse
        and its labelled rows have no negative entries, like counts of words, otherwise True. Pass
        True for sparse columns of different units.
    n_jobs : int, default=None
        Number of fits in parallel; -1 means all processors, None means 1 unless inside a
        ``joblib.parallel_config``. It does not affect the result.
    verbose : bool, default=False
        Whether to show progress.
    cost : dict, DataFrame or array-like, default=None
        Costs of errors, which ``verdict_`` judges: ``{(true class, predicted class): cost}``, where
        any other error costs 1, a DataFrame with true classes as index and predicted ones as
        columns, or a matrix in the order of ``classes_``. The model predicts the class with the
        least expected cost, after a calibration of its cross-fitted scores. The rule for a held-out
        row is chosen on the other folds.
    positive : object, default=None
        The class of interest, one of two: scorings such as "f1" and the threshold refer to it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes.
    weights_ : dict of str to float
        The weight of every candidate that was not left out.
    gap_ : float
        Proven bound on how much the objective of the weights exceeds its minimum.
    models_ : dict
        The candidates with a weight above 0, fitted to all rows.
    baseline_ : StackedClassifier
        The fitted baseline.
    supervised_ : StackedClassifier
        The stack of the supervised candidates and of the supervised counterparts of the others.
        The difference from it is what unlabelled rows contribute.
    verdict_ : SafeVerdict
        Whether the model is better than ``baseline_`` (``verdict_.baseline.answer``, which is also
        ``verdict_.answer``), and whether unlabelled rows contribute to it
        (``verdict_.supervised.answer``), with probabilities and in words: ``print(clf.verdict_)``.
    report_ : dict of lists
        A table with a row for each candidate and stack, for ``pandas.DataFrame(clf.report_)``: its
        kind, its weights, out-of-fold error and Brier score (cross-fitted for the stacks), seconds.
    held_out_rows_, held_out_folds_ : array of shape (n_held_out,)
        Rows of X that the folds hold out, one fold after the other, and the numbers of the folds.
    held_out_scores_ : array of shape (n_held_out, n_classes)
        Scores of these rows by the stack, cross-fitted: neither the candidates nor their weights
        have seen the label of the row. ``verdict_`` is based on them.
    held_out_predictions_ : array of shape (n_held_out,)
        Their predicted classes; with a decision rule, by one that was chosen on other folds.
    objective_ : Objective or None
        What the decision rule optimises; None: the class with the largest score is predicted.
    rule_ : DecisionRule or None
        The decision rule, chosen on the scores of all held-out rows.
    threshold_ : float or None
        With two classes, the positive one is predicted if its score is at least this; None without
        a rule.
    settlement_ : Settlement or None
        The rows of ``rows_to_label`` in their order, how many of them to label
        (``settlement_.request``) and what their labels have settled. It is not part of a model
        file. With more than 20,000 unlabelled rows, it exists after a call of ``rows_to_label(X)``.
    order_seed_ : int
        Seed of the order in which ``rows_to_label`` lists rows: a digest of the rows, labels and
        settings of the fit.
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
    SafeRegressor : A safe stack for numeric targets.
    TunedDecisionClassifierCV : A decision rule for any other classifier.
    ICLSClassifier : A linear semi-supervised classifier with a certificate of optimality.
    SAFEWClassifier : A combination that needs no cross-validation.

    Notes
    -----
    The candidates, and the supervised counterpart of each that uses unlabelled rows:

    * ridge: least squares with a ridge chosen by leave-one-out
    * logistic: logistic regression, tuned by cross-validation
    * components: logistic regression on whitened principal components of all rows (of the labelled
      rows)
    * spreading: label spreading on a graph of nearest neighbours (nearest neighbours)
    * kernel: kernel ridge regression in a Gaussian kernel that is deformed by the graph (in the
      Gaussian kernel of the labelled rows)
    * tsvm: transductive SVM by annealing, for two classes only (the SVM)
    * forest: 100 extremely randomised trees
    * icls: implicitly constrained least squares (ridge); not a default candidate
    * hist_gradient_boosting: histogram boosting with small leaves; not a default candidate
    * tabpfn, tabicl, catboost: the classifiers of these packages with their default settings, which
      are imported when they are used; not default candidates. Networks of the first two are
      downloaded at first use, and have licences of their own.

    Features are standardised: by all rows for candidates that use unlabelled rows, by the labelled
    training rows for the others. Sparse rows with more than 1000 columns, such as texts, are
    reduced to 50 components for candidates that use unlabelled rows, by a truncated SVD of all
    rows; the others receive the columns. Each candidate is tuned within every training set. A
    candidate uses a random sample of more than 4000 (spreading), 1500 (kernel, tsvm) or 1000 (icls)
    unlabelled rows, and ``notes_`` and ``verdict_`` say so. Kernel and its counterpart also use a
    random sample of more than 1500 labelled rows.

    In the folds, the held-out rows stay in the training set without their labels, so that graphs,
    kernels and components are computed once. Candidates with the weight 0 are not fitted again.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from primum import SafeClassifier
    >>> X, truth = make_moons(500, noise=0.1, random_state=0)
    >>> y = np.where(np.arange(500) < 30, truth, -1)
    >>> clf = SafeClassifier(["spreading"], random_state=0).fit(X, y)
    >>> list(clf.weights_)
    ['ridge', 'logistic', 'spreading']
    >>> clf.score(X[30:], truth[30:]) > clf.baseline_.score(X[30:], truth[30:]) + 0.05
    True
    """

    _ranges: ClassVar[dict[str, list[Any]]] = {
        **RANGES,
        "cost": [Mapping, "array-like", None],
        "positive": [object],
    }
    candidates: Any = field(default="default", kw_only=False)
    baseline: Any = DEFAULT_BASELINE
    shrinkage: float = 3.0
    cv: Any = 5
    n_repeats: int = 2
    scoring: Any = "accuracy"
    time_budget: float | None = None
    random_state: Any = None
    standardize: bool | str = UNLESS_COUNTS
    n_jobs: int | None = None
    verbose: bool = False
    cost: Any = None
    positive: Any = None

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
            Labels; -1 (integers) or None, NaN, pd.NA (any other type) where the label is unknown.
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
            chosen (spreading and its counterpart leave out single rows there), and the verdict
            counts groups instead of rows.
        chosen : array-like of shape (n_samples,) or (n_chosen,), default=None
            Rows of X whose labels were not drawn at random, such as those that active learning
            asked for: a mask, or indices. They are trained on in every fold (unless their group is
            held out, or ``cv`` gives pairs of indices) and when penalties are chosen, but never
            held out. The verdict, the drift test and the class shares do not count them.

        Returns
        -------
        self
            The fitted estimator.
        """
        started = time.perf_counter()
        with fitting(self), one_blas_thread():
            # The arguments: arrays, classes, and what the verdict is about.
            self._to_label: ToLabel | None = None
            given = read_rows(self, X, y, X_unlabeled, sample_weight)
            classes = self.classes_ = given.labels.classes
            self.objective_ = read_objective(self.scoring, classes, self.cost, self.positive)
            if self.objective_ is None:
                read_scorer(self.scoring)
            refuse_other_library(self, given.home)
            scoring = self.scoring if self.objective_ is None else self.objective_
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))

            # Rows, targets and folds, the same for every candidate.
            columns = getattr(self, "feature_names_in_", None) if hasattr(X, "iloc") else None
            rows = shared_rows(given, seed, self.standardize, columns, self.n_jobs)
            codes = given.labels.codes[given.known]
            held_out = held_out_rows(
                given,
                codes,
                classes,
                groups,
                chosen,
                self.cv,
                self.n_repeats,
                rows.n_unlabeled,
                seed,
            )
            weight, group, asked = held_out.weight, held_out.groups, held_out.chosen
            targets = Targets.of_classes(codes, len(classes), weight, group, asked)
            n_rows = rows.unlabeled.shape[0]
            routed = routed_weights(self, sample_weight)
            team = choose_candidates(
                self.candidates, self.baseline, len(classes), n_rows, routed=routed
            )
            of_folds = notes_on_folds(scoring, self.cv, self.n_repeats, held_out)
            unknown = given.labels.unlabeled[given.unknown]
            free = None if groups is None else np.asarray(groups)[unknown]
            notes, alerts = remarks_on_rows(rows, group, free, asked)

            # Out-of-fold scores of the candidates, weights of the stacks, final fits.
            title = type(self).__name__ if self.verbose else ""
            how: Any = {"n_jobs": self.n_jobs, "title": title}
            deadline = None if self.time_budget is None else started + self.time_budget
            most = MAX_PREDICTED_ROWS if deadline is None else MAX_COMPARED_ROWS
            probe = rows.with_at_most(most).unlabeled
            scored = score_candidates(
                team, rows, targets, held_out.folds, probe, deadline=deadline, **how
            )
            stacks = weigh_and_refit(team, scored, held_out, targets, self.shrinkage, probe, **how)
            self.weights_ = stacks.weights[SAFE]
            self.gap_ = stacks.gap
            self.models_ = {n: stacks.models[n] for n, w in self.weights_.items() if w > 0}
            self.supervised_ = self._stack(stacks.weights[SUPERVISED], stacks.models)
            self.baseline_ = self._stack(stacks.weights[BASELINE], stacks.models)

            # The unlabelled rows on which the stacks differ, in an order of their own, and the
            # verdict.
            compared = [stacks.weights[name] for name in (SAFE, BASELINE, SUPERVISED)]
            predicted = codes_of_scores(compared, stacks.probe)
            self._labeled_digests = np.unique(rows.labeled_digests)
            self.order_seed_ = seed_of_order(self, rows, targets, held_out)
            differing = names = None
            if scoring == "accuracy":
                features = getattr(self, "feature_names_in_", None)
                differing = disagreements_in_fit(predicted, rows, self.order_seed_, features)
            if differing is not None:
                every, codes_by_name = names_in_fit(given, X, X_unlabeled)
                names = every[differing.positions]
            notes += [f"{skipped}: {LACK_OF_TIME}" for skipped in scored.skipped]
            notes += notes_on_pool(rows, len(predicted), differing, limited=deadline is not None)
            self.verdict_, judged, questions = judge_stacks(
                held_out,
                team,
                stacks,
                targets,
                scoring,
                predicted=predicted,
                differing=differing,
                names=names,
                notes=scored.notes_with(notes, self.models_),
                alerts=alerts,
            )

            # Held-out scores, decision rules, and what the user reads.
            known = given.labels.labeled[given.known]
            self.held_out_rows_ = known[held_out.rows]
            self.held_out_folds_ = held_out.fold_of
            self.held_out_scores_ = judged[SAFE]
            predictions = held_out.predictions(judged[SAFE], self.objective_)
            self.held_out_predictions_ = classes[predictions.predicted]
            self.rule_ = self.threshold_ = None
            if self.objective_ is not None and self.objective_.has_rule:
                self.rule_ = rule_of(held_out, judged[SAFE], self.objective_)
                self.threshold_ = self.rule_.threshold
                self.supervised_.rule_ = rule_of(held_out, judged[SUPERVISED], self.objective_)
                self.baseline_.rule_ = rule_of(held_out, judged[BASELINE], self.objective_)
            self.report_ = report_table(team, scored.seconds, stacks, judged, held_out, targets)
            approximated = scored.notes_with(notes, scored.approximated)
            alone = note_on_single_labels(codes, classes)
            self.notes_ = [*approximated, *scored.all_warned, *team.notes, *of_folds, *alone]
            self.failures_ = scored.failures
            warn_of_failures(self.failures_)
            for note in alone:
                warn(note)
            if differing is not None and names is not None and questions is not None:
                self._to_label = rows_to_ask(questions, differing, names, codes_by_name)
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
            The verdicts, and the cross-fitted scores that they are based on.
        """
        check_is_fitted(self, "verdict_")
        return OwnVerdict(
            self.verdict_.baseline,
            self.verdict_.supervised,
            self.held_out_rows_,
            self.held_out_folds_,
            self.held_out_scores_,
            notes=list(self.notes_),
            limited=any(note.endswith(LACK_OF_TIME) for note in self.notes_),
            predicted=np.searchsorted(self.classes_, self.held_out_predictions_),
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata ``fit`` accepts, and which of them your own candidates receive.

        Returns
        -------
        MetadataRouter
            The routing.
        """
        return routing_of(self, choose_candidates(self.candidates, self.baseline, 2, 1))

    def rows_to_label(
        self, X: Any = None, n: int | None = None, *, show_predictions: bool = False
    ) -> Any:
        """Return the unlabelled rows whose labels settle which model makes fewer errors.

        Two fitted models can differ in error only on rows for which they predict different
        classes. These rows are listed in a random order, for the model against ``baseline_`` and
        against ``supervised_``. Label them from the top, and pass the labels to ``settle``. The
        order depends on everything that was passed to ``fit``: after a fit with further labels, it
        is another one.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, path or Dask collection, default=None
            Unlabelled rows to choose from. Labelled rows of ``fit`` are left out, because models
            make fewer errors on them than on others: they are recognised by their values, unless
            two of the given rows are equal. A Parquet file or folder, or a Dask array or DataFrame,
            is read once, block by block. None: those of ``fit``, or of the last call; a model that
            was loaded from a file, or fitted to more than 20,000 unlabelled rows, has none.
        n : int, default=None
            Number of rows to return. None: as many as are expected to be needed, the upper end of
            the range in ``settlement_.request``.
        show_predictions : bool, default=False
            Whether to add what the models predict. A labeller who sees this is biased.

        Returns
        -------
        DataFrame
            The next rows without a label. The column "primum_row" has their names in the random
            order, "label" ("primum_label" if a feature has that name) is empty, and the other
            columns are the features. The index is that of X, or the positions in X; rows of
            ``X_unlabeled`` are below those of X.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_moons
        >>> from primum import SafeClassifier
        >>> X, truth = make_moons(500, noise=0.1, random_state=0)
        >>> y = np.where(np.arange(500) < 30, truth, -1)
        >>> clf = SafeClassifier(["spreading"], random_state=0).fit(X, y)
        >>> table = clf.rows_to_label(n=20)
        >>> table["label"] = truth[table.index]
        >>> clf.settle(table, verbose=False).answer
        'help'
        """
        check_is_fitted(self, "models_")
        if isinstance(X, Integral):
            raise TypeError(f"X must be rows, got {X}: pass the number of rows to label as n={X}.")
        asked = self._rows_asked(X)
        if X is not None:
            asked = asked.with_labels_of(getattr(self, "_to_label", None))
        self._to_label = asked
        return asked.table(n, self.classes_ if show_predictions else None)

    def settle(self, labels: Any, *, correct: bool = False, verbose: bool = True) -> Settlement:
        """Return what labels of ``rows_to_label`` say about the errors of the fitted models.

        The bounds hold for these fitted models on these rows, with a probability of at least 95%
        for all pairs of models together, however often you look and whenever you stop. The verdict
        of the fit, in contrast, is about new rows. A model that is fitted again, with these labels
        too, is a different model.

        Parameters
        ----------
        labels : mapping, Series or DataFrame
            Classes by name or index of the row, or the table of ``rows_to_label`` with its column
            "label" filled. Empty cells are no labels, and "?" means that nobody can decide. Labels
            of earlier calls count too.
        correct : bool, default=False
            Whether labels may replace those given earlier for the same rows.
        verbose : bool, default=True
            Whether to print what is settled.

        Returns
        -------
        Settlement
            With ``answer``, ``low``, ``high`` (bounds of the change in errors, in rows),
            ``n_labels`` and ``expected_more`` of the model against the baseline, and the same for
            all ``pairs``.
        """
        check_is_fitted(self, "models_")
        self._to_label = self._rows_asked().with_labels(labels, correct=correct)
        settlement = self._to_label.settlement
        if verbose:
            print(settlement)
        return settlement

    @property
    def settlement_(self) -> Settlement | None:
        """What labels can settle, and have settled; None before any rows to label are known."""
        asked = getattr(self, "_to_label", None)
        return None if asked is None else asked.settlement

    def _rows_asked(self, X: Any = None) -> ToLabel:
        """Return the rows to label among those of X, or those of the last call or of ``fit``."""
        asked: ToLabel | None = getattr(self, "_to_label", None)
        if X is None and asked is not None:
            return asked
        if self.scoring != "accuracy" or getattr(self, "objective_", None) is not None:
            raise ValueError(
                "Labels of the rows on which models differ settle which makes fewer errors, but "
                f"not which is better by {scoring_name(self.scoring)}: fit with scoring='accuracy'."
            )
        if X is None:
            raise ValueError(
                "No unlabelled rows are known to this model, because it was loaded from a file, or "
                "fitted without unlabelled rows, within a time_budget, or to more than "
                f"{MAX_PREDICTED_ROWS:,} of them: pass them to rows_to_label(X)."
            )
        X = given_rows(X)
        differing = find_rows(
            (self, self.baseline_, self.supervised_),
            X,
            partial(validate_data, self, accept_sparse="csr", dtype=np.float64, reset=False),
            self.order_seed_,
            getattr(self, "_labeled_digests", None),
            self.n_jobs,
        )
        index = None if is_outside(X) else own_index([X])
        names = differing.positions if index is None else index[differing.positions]
        verdicts = (self.verdict_.baseline, self.verdict_.supervised)
        named = None if index is None else names
        questions = ask_about_stacks(differing, self.classes_, verdicts, named)
        return rows_to_ask(questions, differing, names, {})

    def __getstate__(self) -> dict[str, Any]:
        # The rows to label belong to the session, not to the model, and would enlarge its file.
        state: dict[str, Any] = super().__getstate__()
        state = {name: value for name, value in state.items() if name != "_to_label"}
        objective = getattr(self, "objective_", None)
        return with_storable_cost(state, None if objective is None else objective.cost)
