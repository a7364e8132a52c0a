"""The arguments of ``fit``: rows, labels, class shares, weights, folds, user-supplied models."""
