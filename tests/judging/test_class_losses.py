"""Losses of classifiers, against those of scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from primum.judging.losses import LogScorer


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("names", ["ba", "bca"])
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_the_log_score_is_that_of_scikit_learn(rng, C, names, weighted):
    y = np.resize(list(names), 60)
    clf = LogisticRegression(C=C, max_iter=1000).fit(rng.normal(size=(60, 3)), y)
    far = rng.normal(size=(20, 3)) * 1e4  # the probability of a row's own class may be 0
    truth = np.repeat(names[0], 20)
    weight = rng.random(20) if weighted else None
    expected = -log_loss(truth, clf.predict_proba(far), sample_weight=weight, labels=clf.classes_)
    assert LogScorer()(clf, far, truth, sample_weight=weight) == pytest.approx(expected, rel=1e-12)
