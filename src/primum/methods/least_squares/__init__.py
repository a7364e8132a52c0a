"""Least squares: supervised, tuned, and with labels or moments that are filled in."""
