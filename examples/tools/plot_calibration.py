"""
Calibration and ensembles with unlabelled rows
==============================================

Least-squares scores are not calibrated probabilities. Scikit-learn's calibration and its ensembles
work with unlabelled rows if these are passed as ``X_unlabeled``; a -1 in y would be taken for a
class.
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from primum import ICLSClassifier, UnlabeledRows
from primum.simulated import two_gaussians

# %%
# 100 labels, 3000 unlabelled rows, 30 features
# ---------------------------------------------
# :class:`~primum.UnlabeledRows` marks rows that must reach every fit whole; otherwise scikit-learn
# would split them with the labelled rows if their numbers happened to be equal.

X, truth = two_gaussians(8100, 30, distance=2.2, prior=0.35, random_state=0)
X_labeled, y = X[:100], truth[:100]
X_test, truth_test = X[3100:], truth[3100:]
unlabeled = {"X_unlabeled": UnlabeledRows(X[100:3100])}

icls = ICLSClassifier(alpha=1.0, n_jobs=1)
models = {"ICLS": icls.fit(X_labeled, y, **unlabeled)}

# %%
# Calibration by cross-validation
# -------------------------------
#
# In each of five folds, ICLS is fitted to four fifths of the labelled rows and all unlabelled ones,
# and a sigmoid is fitted to the held-out rows.

models["ICLS, calibrated"] = CalibratedClassifierCV(icls, cv=5).fit(X_labeled, y, **unlabeled)

# %%
# Voting and bagging
# ------------------
#
# These need scikit-learn's metadata routing.

with sklearn.config_context(enable_metadata_routing=True):
    routed = ICLSClassifier(alpha=1.0, n_jobs=1).set_fit_request(X_unlabeled=True)
    members = [("ICLS", routed), ("logistic", LogisticRegression(C=0.1))]
    models["vote with logistic"] = VotingClassifier(members, voting="soft").fit(
        X_labeled, y, **unlabeled
    )
    models["bag of 20 ICLS"] = BaggingClassifier(routed, n_estimators=20, random_state=0).fit(
        X_labeled, y, **unlabeled
    )
models["logistic, supervised"] = LogisticRegression(C=0.1).fit(X_labeled, y)

# %%
# Reliability
# -----------
#
# Of the rows with a predicted probability of p, a share p should be positive. The right panel
# shows the Brier score, the mean squared error of the probabilities, and the classification error.

colours = ("#56B4E9", "#0072B2", "#E69F00", "#CC79A7", "#000000")
figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.5), layout="constrained")
left.plot([0, 1], [0, 1], color="0.7", linestyle=":")
for (name, clf), colour in zip(models.items(), colours, strict=True):
    probability = clf.predict_proba(X_test)[:, 1]
    share, mean = calibration_curve(truth_test, probability, n_bins=8)
    left.plot(mean, share, "o-", color=colour, label=name, markersize=4)
    brier = brier_score_loss(truth_test, probability)
    error = np.mean((probability > 0.5) != truth_test)
    right.plot(brier, error, "o", color=colour, markersize=10)
    right.annotate(name, (brier, error), xytext=(8, 4), textcoords="offset points", fontsize=9)
    print(f"{name:22} Brier score {brier:.4f}, error {error:.3f}")
left.set(xlabel="predicted probability", ylabel="share of positive rows", title="Reliability")
left.legend(frameon=False)
right.set(xlabel="Brier score", ylabel="error", title="Lower left is better")
right.margins(0.25)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With a strong ridge, the scores of ICLS are too close to the middle; so are those of the bag,
# although its error is the lowest. Calibration lowers the Brier score to that of logistic
# regression and hardly changes the error. The unlabelled rows give no advantage over a regularised
# logistic regression here.
