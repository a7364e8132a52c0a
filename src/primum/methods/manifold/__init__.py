"""Methods that follow the manifold of all rows, by its graph."""
