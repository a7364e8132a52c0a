"""What the other methods minimise: margins, their Newton systems, and searches over labels."""
