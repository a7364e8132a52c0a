"""The public names: found after ``import primum`` alone, and one word for one thing."""

import inspect
import re
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import primum
from documented import documented_names, functions, modules_found_after_one_import
from primum.cli.main import COMMANDS
from primum.cli.main import primum as command

API = (Path(__file__).parents[2] / "docs" / "api.rst").read_text()

# All names of parameters. A new one is added only if none of these says the same.
PARAMETERS = {
    # penalties and weights
    *("alpha", "alphas", "alpha_labeled", "unlabeled_weight", "costs", "shrinkage"),
    # what is known about the labels
    *("prior", "prior_level", "bounds", "labels"),
    # the model
    *("fit_intercept", "penalize_intercept", "covariance", "metric", "metrics", "ramp", "risk"),
    "standardize",
    # kernels and graphs
    *("kernel", "gamma", "degree", "coef0", "kernel_params"),
    *("graph_alpha", "graph_neighbors", "graph_normalized", "graph_power", "graph_ratio"),
    "graph_weights",
    # the search for it
    *(
        "method",
        "solver",
        "tol",
        "max_iter",
        "max_search_rows",
        "max_switches",
        "n_init",
        "n_separators",
        "warm_start",
    ),
    # other models, and the comparison with them
    *("estimator", "candidates", "baseline", "level"),
    *("cv", "n_repeats", "scoring", "shuffle", "uses_unlabeled"),
    # what errors cost, and which class a scoring is about; "costs" scales the terms of an SVM
    *("cost", "positive"),
    # computing
    *("random_state", "n_jobs", "time_budget", "verbose"),
}
FIT = {"self", "X", "y", "X_unlabeled", "sample_weight", "groups", "chosen"}
FIT |= {"possible", "label_bounds", "target_bounds"}


def estimators():
    found = (getattr(primum, name) for name in primum.__all__)
    return [kind for kind in found if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]


@pytest.mark.parametrize("estimator", estimators())
def test_parameters_have_agreed_names(estimator):
    assert set(inspect.signature(estimator).parameters) - PARAMETERS == set()
    assert set(inspect.signature(estimator.fit).parameters) - FIT == set()


def test_every_agreed_name_is_used():
    used = {name for estimator in estimators() for name in inspect.signature(estimator).parameters}
    assert PARAMETERS - used == set()


# Attributes of fitted estimators. A new one is added only if none of these says the same.
ATTRIBUTES = {
    # the model
    *("classes_", "n_features_in_", "feature_names_in_", "coef_", "intercept_", "dual_coef_"),
    *("expansion_", "gamma_", "scale_", "svm_", "X_fit_"),
    *("means_", "covariance_", "directions_", "prior_", "rank_"),
    *("estimator_", "models_", "weights_", "candidates_", "mixture_", "separators_"),
    *("threshold_", "rule_", "cost_", "target_mean_", "target_scale_"),
    # the models it is compared with
    *("supervised_", "baseline_", "chosen_", "verdict_", "settlement_", "report_", "notes_"),
    *("differences_", "p_values_", "gain_", "gains_"),
    # what was found for unlabelled rows
    *("soft_labels_", "transduction_", "targets_", "n_positive_"),
    # how it was found
    *("solver_", "metric_", "alpha_", "certificate_", "gap_", "converged_", "rate_"),
    *("objective_", "supervised_objective_", "log_likelihood_", "log_likelihood_path_"),
    *("n_iter_", "n_optima_", "n_switches_", "history_", "termination_condition_"),
    *("best_estimator_", "best_index_", "best_params_", "best_score_", "cv_results_", "n_splits_"),
    *("failures_", "order_seed_"),
    *("held_out_folds_", "held_out_predictions_", "held_out_rows_", "held_out_scores_"),
}


def documented_attributes():
    """Yield the attributes of all estimators, from the sections of their docstrings."""
    for estimator in estimators():
        sections = re.split(r"\n(\w[\w ]*)\n-+\n", inspect.getdoc(estimator))
        section = dict(zip(sections[1::2], sections[2::2], strict=True)).get("Attributes", "")
        for names in re.findall(r"^(\w[\w, ]*) : ", section, flags=re.MULTILINE):
            yield from names.split(", ")


def test_attributes_have_agreed_names():
    assert set(documented_attributes()) == ATTRIBUTES


# Parameters of functions and methods, where those of estimators do not say the same.
ARGUMENTS = {
    # rows, labels and models
    *("clf", "model", "tuned", "oracle", "rows", "classes", "scores", "n_rows"),
    "n_features",
    # a table, and a comparison
    *("target", "target_kind", "id", "group", "exclude", "missing", "decimal", "prepare"),
    *("independent_rows", "rare_classes", "shift", "equivalence", "curves", "nested", "left_out"),
    *("name", "methods", "folder", "resume", "path"),
    *("n", "show_predictions", "correct", "settlement"),
    # pictures
    *("y", "ax"),
    # simulated problems
    *("agreement", "density", "distance", "gap", "means", "purity", "slope", "width"),
}


CALLED = {"SemiSupervisedSplit", "UnlabeledRows"}


def test_arguments_have_agreed_names():
    used = {
        name
        for function in functions(API, CALLED)
        for name in inspect.signature(function).parameters
    }
    assert used - PARAMETERS - FIT == ARGUMENTS - FIT


# Options of the command that are no arguments of a function: files, and what is printed.
OPTIONS = {"unlabeled", "features", "out", "report", "sheets", "force", "quiet", "form"}
OPTIONS |= {"separator", "encoding", "sheet", "header_row", "max_rows", "list_methods"}
OPTIONS |= {"id_column", "data", "score"}


def test_options_have_agreed_names():
    used = {
        parameter.name for name in COMMANDS for parameter in command.get_command(None, name).params
    }
    assert used - PARAMETERS - FIT - ARGUMENTS == OPTIONS


def test_everything_in_the_reference_works_after_one_import():
    """Every name is used after others, and one of each module is the first that is used."""
    names = list(documented_names(API))
    assert len(names) > 50
    assert {"primum.pages.plot_path", "primum.simulated.one_feature"} <= set(names)
    assert modules_found_after_one_import("primum", names) > 20


def test_the_reference_has_all_public_names():
    assert set(primum.__all__) <= {name.rpartition(".")[2] for name in documented_names(API)}
