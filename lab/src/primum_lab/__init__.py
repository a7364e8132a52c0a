"""The laboratory: experiments of the paper, your own, and benchmarks of the safe choice."""

from primum._lazy import lazy

# The name of this package in results that were stored before it had a folder of its own.
__former_name__ = "primum.experiments"

# Public names by defining module; each module is imported when first used.
_HOMES = {
    "primum.comparison.store": ("ResultsError",),
    f"{__name__}.measures": (
        *("error", "squared_hinge", "squared_loss"),
        *("score_minus_half", "score_probability", "score_signed"),
    ),
    f"{__name__}.methods": (
        *("BASELINES", "LEAST_SQUARES", "METHODS", "SUPPORT_VECTORS", "Method", "find_method"),
    ),
    f"{__name__}.pages.results": ("curves_figure", "results_table"),
    f"{__name__}.pages.experiment": ("write_report",),
    f"{__name__}.runner": ("Experiment", "run_experiment"),
    f"{__name__}.splits": ("CrossValidation", "HoldOut", "LearningCurve"),
    f"{__name__}.summary": ("Harm", "failures", "fit_warnings", "harm", "summarize"),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = lazy(__name__, {name: home for home, names in _HOMES.items() for name in names})
