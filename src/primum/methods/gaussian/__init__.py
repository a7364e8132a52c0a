"""Gaussian classes with one covariance, and what unlabelled rows say of them."""
