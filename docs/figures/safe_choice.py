"""Error on held-out rows against the better of two tuned supervised models, on sixteen data sets.

Read from the committed race, lab/results/safe-choice.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from committed import EXPERIMENTS

SHOWN = {
    "safe stack": "SafeClassifier",
    "supervised stack": "the same without\nunlabelled rows",
    "kernel": "manifold kernel",
    "tsvm": "transductive SVM",
    "spreading": "label spreading",
}
COLORS = {"safe stack": "#0072B2", "supervised stack": "#009E73"}


def changes():
    """Return the change in error, in points: one row per data set, one column per method."""
    summary = pd.read_csv(EXPERIMENTS / "safe-choice" / "summary.csv")
    errors = summary[summary["measure"] == "error"].pivot(
        index="dataset", columns="classifier", values="mean"
    )
    better = errors[["ridge", "logistic"]].min(axis=1)
    return 100 * errors[list(SHOWN)].sub(better, axis=0)


def draw():
    """Draw one dot per data set and method, and a bar at the mean."""
    table = changes()
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    rng = np.random.default_rng(0)
    for place, name in enumerate(SHOWN):
        color, values = COLORS.get(name, "#D55E00"), table[name]
        at = place + rng.uniform(-0.18, 0.18, len(values))
        axes.plot(values, at, "o", color=color, alpha=0.65, markersize=5)
        axes.plot([values.mean()] * 2, [place - 0.35, place + 0.35], color=color, linewidth=2.5)
    axes.axvline(0, color="0.3", linewidth=1)
    axes.set_yticks(range(len(SHOWN)), SHOWN.values())
    axes.invert_yaxis()
    axes.set_xlabel("change in error against tuned ridge or logistic regression (points)")
    axes.annotate("← better", (-10, -0.55), annotation_clip=False)
    axes.annotate("worse →", (19, -0.55), annotation_clip=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


draw()
