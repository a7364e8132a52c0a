"""The figure of a comparison."""

import numpy as np
from sklearn.linear_model import LogisticRegression

import primum
from generate import two_classes


def test_the_figure_shows_every_method_and_curve():
    X, y, X_u, _ = two_classes(100, 40, 3)
    result = primum.compare(
        X,
        y,
        X_u,
        methods=[("learning", primum.SelfLearningClassifier()), ("icls", primum.ICLSClassifier())],
        baseline=[("logistic", LogisticRegression())],
        n_repeats=1,
        curves=True,
        verbose=False,
    )
    changes, unlabeled, labeled = result.plot().axes
    assert [label.get_text() for label in changes.get_yticklabels()] == ["learning", "icls"]
    assert changes.get_xlabel() == "estimated change in error (points), left is better"
    names = ["baseline", "learning", "icls"]
    for panel, axis in ((unlabeled, "n_unlabeled"), (labeled, "n_labeled")):
        assert [text.get_text() for text in panel.get_legend().get_texts()] == names
        for line, name in zip(panel.lines, names, strict=True):
            own = [p for p in result.curves if p.name == name and p.axis == axis]
            np.testing.assert_array_equal(line.get_xdata(), [p.n for p in own])
            np.testing.assert_allclose(line.get_ydata(), [100 * p.loss for p in own])
