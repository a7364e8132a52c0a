import numpy as np
import pytest

from generate import two_classes
from primum import ICLSClassifierCV, ICLSRegressorCV, LeastSquaresClassifierCV
from primum.pages.pictures import plot_path

pytest.importorskip("matplotlib")


def test_path_shows_every_metric_the_twin_and_the_choice():
    X, y, X_u, _ = two_classes(30, 40, 3)
    alphas, metrics = (1.0, 0.01, 0.1), (0.0, 0.5)
    tuned = ICLSClassifierCV(alphas, metrics, cv=3).fit(X, y, X_u)
    axes = plot_path(tuned).axes[0]
    assert axes.get_xscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("alpha", "minus Brier score, mean of 3 folds")
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["metric 0.0", "metric 0.5", "supervised"]
    lines = {line.get_label(): line for line in axes.lines}
    means = tuned.cv_results_["mean_test_score"].reshape(3, 2)
    for number, name in enumerate(names[:2]):
        np.testing.assert_array_equal(lines[name].get_xdata(), [0.01, 0.1, 1.0])
        np.testing.assert_array_equal(lines[name].get_ydata(), means[[1, 2, 0], number])
    dots = [line.get_xydata()[0].tolist() for line in axes.lines if line.get_marker() == "o"]
    assert dots == [
        [tuned.alpha_, tuned.best_score_],
        [tuned.supervised_.alpha_, tuned.supervised_.best_score_],
    ]
    assert len({line.get_color() for line in lines.values()}) == 3
    assert len(axes.collections) == 3


def test_path_of_a_regression_with_and_without_a_ridge():
    X, y, X_u, _ = two_classes(30, 40, 3)
    tuned = ICLSRegressorCV((0.0, 0.1), (1.0,), bounds=(0, 1), cv=3, scoring="r2")
    axes = plot_path(tuned.fit(X, y, X_u)).axes[0]
    assert axes.get_xscale() == "symlog"
    assert axes.get_ylabel() == "r2, mean of 3 folds"


def test_a_search_without_metrics_is_refused():
    X, y, *_ = two_classes(30, 0, 3)
    tuned = LeastSquaresClassifierCV(cv=3).fit(X, y)
    with pytest.raises(ValueError, match="draws one line per metric, but LeastSquaresClassifierCV"):
        plot_path(tuned)
