"""``primum.compare``: plan, run, result, deployment and page of a comparison."""
