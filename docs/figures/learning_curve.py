"""Error on WDBC against the number of unlabelled rows, from the committed experiments."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from committed import EXPERIMENTS

STYLES = {
    "Supervised": ("#D55E00", "--"),
    "Self-Learning": ("#CC79A7", "-."),
    "ICLS": ("#0072B2", "-"),
    "Oracle": ("#009E73", ":"),
}


def draw():
    """Draw the mean error of four methods, with bands of two standard errors."""
    curves = pd.read_csv(EXPERIMENTS / "curves" / "summary.csv")
    curves = curves[(curves["dataset"] == "wdbc") & (curves["measure"] == "error")]
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for name, (color, line) in STYLES.items():
        one = curves[curves["classifier"] == name].sort_values("n_unlabeled")
        width = 2 * one["sd_over_repeats"] / np.sqrt(one["repeats"])
        axes.plot(one["n_unlabeled"], one["mean"], line, color=color, label=name)
        axes.fill_between(
            one["n_unlabeled"], one["mean"] - width, one["mean"] + width, color=color, alpha=0.2
        )
    axes.set_xscale("log", base=2)
    axes.set(xlabel="unlabelled rows", ylabel="error on other rows", ylim=(0, None))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


draw()
