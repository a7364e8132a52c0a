"""Implicitly constrained least squares: the classes, their tuning, and the set they choose from."""
