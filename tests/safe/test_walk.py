"""How many functions one reads to follow a fit of the safe choice."""

import numpy as np
from sklearn.datasets import make_moons

from primum import SafeClassifier
from walk import functions_of

# Lower it whenever a fit takes fewer.
MOST_FUNCTIONS = 281


def test_a_fit_runs_few_functions():
    X, truth = make_moons(200, noise=0.2, random_state=0)
    y = np.where(np.arange(200) < 30, truth, -1)
    clf = SafeClassifier(["components"], cv=2, n_repeats=1, random_state=0)
    found = functions_of(lambda: clf.fit(X, y))
    assert len(found) <= MOST_FUNCTIONS, "\n".join(sorted(found))
