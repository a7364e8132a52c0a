"""A user's classifier, wrapped once for comparisons, combinations and stacks."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from primum.reading.classifiers import Entry, LogScorer, class_scores, named

X, CODES = np.array([[0.0], [1.0], [0.1], [0.9]]), np.array([0, 1, -1, -1])


def test_supervised_ones_see_labelled_rows_only():
    fitted = Entry("nearest", KNeighborsClassifier(1), uses_unlabeled=False).fit(X, CODES)
    assert fitted.n_samples_fit_ == 2
    with pytest.raises(ValueError, match="treats -1, the marker of unlabelled rows, as a class"):
        Entry("naive", GaussianNB()).fit(X, CODES)


def test_random_states_that_were_left_open_are_set():
    pipeline = make_pipeline(RandomForestClassifier())
    entry = Entry("forest", pipeline).seeded(3)
    assert entry.estimator[-1].random_state == 3
    assert pipeline[-1].random_state is None
    assert (
        Entry("forest", RandomForestClassifier(random_state=1)).seeded(3).estimator.random_state
        == 1
    )


def test_weights():
    assert Entry("naive", GaussianNB()).takes_weights
    nearest = Entry("nearest", KNeighborsClassifier(), uses_unlabeled=False)
    assert not nearest.takes_weights
    with pytest.raises(ValueError, match=r"'nearest' .* does not support sample weights"):
        nearest.fit(X, CODES, np.ones(4))


def test_codes_become_names_and_unseen_classes_have_no_score():
    fitted = Entry("naive", GaussianNB(), uses_unlabeled=False).fit(X, CODES)
    assert named(fitted, np.array(["a", "b"])).predict([[0.9]]).tolist() == ["b"]
    scores = class_scores(fitted, X, 3)
    assert scores.shape == (4, 3)
    np.testing.assert_array_equal(scores[:, 2], 0)


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
