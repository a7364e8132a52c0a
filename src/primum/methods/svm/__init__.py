"""Support vector machines, and searches for the labels of unlabelled rows."""
