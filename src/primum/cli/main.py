"""The group of all commands."""

from importlib import import_module

import click

import primum as package

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}

HELP = """Semi-supervised learning that aims not to do worse than supervised learning.

Exit codes: 0 success, 1 failure, 2 usage error, 3 partial success (some data were missing).
"""
COMMANDS = ["compare", "settle", "fit", "predict", "datasets", "reproduce"]


class Commands(click.Group):
    """The commands, each imported when it is first used: only two of them need the experiments."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: D102
        return COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: D102
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"primum.cli.{cmd_name}"), cmd_name)
        return command


primum = Commands("primum", help=HELP, context_settings=SETTINGS)
click.version_option(package.__version__, prog_name="primum")(primum)
