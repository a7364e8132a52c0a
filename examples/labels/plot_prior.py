"""
A prior on the shares of the classes
====================================

Labels are often collected per class: twenty patients who are ill and twenty who are healthy,
although only one in ten is ill. The labelled rows then say nothing about the shares of the
classes, but the shares may be known from elsewhere. With ``prior``, ICLS considers only
labellings of the unlabelled rows that agree with them.
"""

import matplotlib.pyplot as plt
import numpy as np

from primum import ICLSClassifier, LDAClassifier

FEATURES, N_LABELED, N_UNLABELED, SHARE = 20, 40, 1000, 0.1


def draw(seed):
    """Return equally many labelled rows of both classes, and unlabelled rows, 10% of them ill."""
    rng = np.random.default_rng(seed)
    healthy = rng.random(N_UNLABELED) >= SHARE
    ill = np.append(np.arange(N_LABELED) % 2 == 1, ~healthy)
    X = rng.normal(size=(len(ill), FEATURES)) + 2.5 / np.sqrt(FEATURES) * ill[:, None]
    truth = np.where(ill, "ill", "healthy")
    return X[:N_LABELED], truth[:N_LABELED], X[N_LABELED:], truth[N_LABELED:]


# %%
# Several priors
# --------------
#
# * ``None``: all labellings are possible.
# * The true share, and bounds that contain it.
# * Half of the rows, which is the share among the labelled rows and wrong for the others.
# * ``"confidence"``: intervals computed from the labelled rows. They assume that labelled and
#   unlabelled rows are drawn from the same population, which is not the case here.
#
# Two models without unlabelled rows are included: the supervised twin, and linear discriminant
# analysis with the true shares as its ``prior``. Predicting "healthy" for everyone has an error of
# 10%.

priors = {
    "no prior": None,
    "10% ill": {"ill": 0.1},
    "5 to 20% ill": {"ill": (0.05, 0.2)},
    "50% ill (wrong)": {"ill": 0.5},
    "confidence (not applicable)": "confidence",
}
errors = {"supervised twin": [], "LDA, 10% ill": [], **{name: [] for name in priors}}
for seed in range(12):
    X, y, X_more, truth = draw(seed)
    for name, prior in priors.items():
        clf = ICLSClassifier(prior=prior).fit(X, y, X_unlabeled=X_more)
        errors[name].append(100 * (1 - clf.score(X_more, truth)))
    lda = LDAClassifier(prior=(1 - SHARE, SHARE)).fit(X, y)
    errors["supervised twin"].append(100 * (1 - clf.supervised_.score(X_more, truth)))
    errors["LDA, 10% ill"].append(100 * (1 - lda.score(X_more, truth)))
for name, values in errors.items():
    print(f"{name:28}{np.mean(values):5.1f}% errors")

# %%
# What the certificate says about a prior
# ---------------------------------------
#
# Its last line has the shares of the labelling behind the model, and says whether the prior
# changed the fit.

X, y, X_more, truth = draw(0)
clf = ICLSClassifier(prior={"ill": (0.05, 0.2)}).fit(X, y, X_unlabeled=X_more)
print(clf.certificate_)

# %%
# The result
# ----------
#
# Dots are draws, bars are means, and the dotted line is the error of predicting "healthy" for
# everyone.

figure, axes = plt.subplots(figsize=(8.5, 4.2), layout="constrained")
colours = ["#000000", "#000000", "#56B4E9", "#009E73", "#009E73", "#D55E00", "#D55E00"]
for row, (values, colour) in enumerate(zip(errors.values(), colours, strict=True)):
    axes.barh(row, np.mean(values), color=colour, alpha=0.3, height=0.6)
    axes.plot(values, np.full(len(values), row), "o", color=colour, markersize=4)
axes.axvline(100 * SHARE, color="0.3", linestyle=":")
axes.set_yticks(range(len(errors)), list(errors))
axes.invert_yaxis()
axes.set_xlabel("error on the unlabelled rows (%)")
axes.set_title("Balanced labels, 10% ill among the unlabelled rows")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Without a prior, ICLS cannot know that few rows are ill, and it is no better than its twin. With
# the correct share the error is far lower, and it is the only model that is better than
# predicting "healthy" for everyone; with correct bounds, the error is about half that of the
# twin. A wrong share does more harm than none at all. The guarantees of ICLS hold only if the
# true shares are within the prior.
