"""Gaussian classes with one covariance, fitted with the help of unlabelled rows."""
