"""What ``fit`` is given: rows, labels and unknown labels, shares, weights, folds, classifiers."""
