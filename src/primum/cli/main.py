"""The group of all commands."""

import click

import primum as package
from primum.cli.compare import compare
from primum.cli.datasets import datasets
from primum.cli.fit import fit
from primum.cli.predict import predict
from primum.cli.reproduce import reproduce
from primum.cli.settle import settle

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}

HELP = """Semi-supervised learning that aims not to do worse than supervised learning.

Exit codes: 0 success, 1 failure, 2 usage error, 3 partial success (some data were missing).
"""
COMMANDS = [compare, settle, fit, predict, datasets, reproduce]

primum = click.Group("primum", COMMANDS, help=HELP, context_settings=SETTINGS)
click.version_option(package.__version__, prog_name="primum")(primum)
