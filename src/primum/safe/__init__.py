"""Safe choices: models that use unlabelled rows only as far as labelled rows support it."""
