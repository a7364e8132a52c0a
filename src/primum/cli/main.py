"""The group of all commands, with those of other installed packages."""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import click

import primum as package
from primum._lazy import is_installed

SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}

HELP = """Semi-supervised learning that aims not to do worse than supervised learning.

Exit codes: 0 success, 1 failure, 2 usage error, 3 partial success (some data were missing).
"""
COMMANDS = ["compare", "settle", "fit", "predict"]
# Other packages add commands as entry points of this group.
GROUP = "primum.commands"
# Commands that users may know of, though a package that is not on PyPI has them.
ELSEWHERE = ("datasets", "reproduce")
ABSENT = (
    "primum {name} is a command of the laboratory, which is not installed: in the folder of the "
    "source code, pip install ./lab"
)


def added_commands() -> dict[str, EntryPoint]:
    """Return the commands of other packages, by name; a package may be gone that left its own."""
    return {
        one.name: one
        for one in entry_points(group=GROUP)
        if one.name not in COMMANDS and is_installed(one.module.partition(".")[0])
    }


class Commands(click.Group):
    """The commands, each imported when it is first used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: D102
        return [*COMMANDS, *sorted(added_commands())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: D102
        command: click.Command
        if cmd_name in COMMANDS:
            command = getattr(import_module(f"primum.cli.{cmd_name}"), cmd_name)
        elif (added := added_commands().get(cmd_name)) is not None:
            command = added.load()
        elif cmd_name in ELSEWHERE:
            raise click.UsageError(ABSENT.format(name=cmd_name), ctx)
        else:
            return None
        return command


primum = Commands("primum", help=HELP, context_settings=SETTINGS)
click.version_option(package.__version__, prog_name="primum")(primum)
