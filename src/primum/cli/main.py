"""The group of all verbs."""

import click

import primum as package
from primum.cli.datasets import datasets
from primum.cli.fit import fit
from primum.cli.predict import predict
from primum.cli.reproduce import reproduce

SETTINGS = {"help_option_names": ["-h", "--help"]}


@click.group(context_settings=SETTINGS)
@click.version_option(package.__version__, prog_name="primum")
def primum() -> None:
    """Semi-supervised classification that does not make the supervised answer worse.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done in part (some data were missing).
    """


primum.add_command(fit)
primum.add_command(predict)
primum.add_command(datasets)
primum.add_command(reproduce)
