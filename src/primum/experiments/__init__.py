"""The laboratory: experiments of the paper and of your own, and races of the safe choice."""

from primum._lazy import lazy

# The public names, by the modules that define them; each is imported when first used.
_HOMES = {
    "primum.comparison.store": ("ResultsError",),
    "primum.experiments.experiment": ("Experiment",),
    "primum.experiments.measures": (
        "Harm",
        "error",
        "score_minus_half",
        "score_probability",
        "score_signed",
        "squared_hinge",
        "squared_loss",
    ),
    "primum.experiments.methods": (
        "BASELINES",
        "LEAST_SQUARES",
        "METHODS",
        "Method",
        "SUPPORT_VECTORS",
        "find_method",
    ),
    "primum.experiments.pages.experiment": ("results_table", "write_report"),
    "primum.experiments.pages.figures": ("curves_figure",),
    "primum.experiments.runner": ("run_experiment",),
    "primum.experiments.splits": ("CrossValidation", "HoldOut", "LearningCurve"),
    "primum.experiments.summary": ("failures", "fit_warnings", "harm", "summarize"),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = lazy(__name__, {name: home for home, names in _HOMES.items() for name in names})
