"""Commands of other packages are found by their entry points."""

import sys
import types
from importlib.metadata import EntryPoint

import click
import pytest

from primum.cli import main


@pytest.fixture
def others(monkeypatch):
    """Return a function that replaces the installed commands by some, (name, module:function)."""

    def replace(*pairs):
        found = [EntryPoint(name, value, main.GROUP) for name, value in pairs]
        monkeypatch.setattr(main, "entry_points", lambda group: found)

    replace()
    return replace


@pytest.fixture
def greeting(monkeypatch):
    """A package with a command."""

    @click.command()
    def greet():
        """Say something."""
        click.echo("Good morning.")

    package = types.ModuleType("greeting")
    package.__spec__ = types.SimpleNamespace(name="greeting")
    package.greet = greet
    monkeypatch.setitem(sys.modules, "greeting", package)


@pytest.mark.parametrize("arguments", [["reproduce", "table2"], ["reproduce", "-h"], ["datasets"]])
def test_without_the_laboratory_one_sentence_says_how_to_install_it(call, others, arguments):
    answer = call(*arguments)
    assert answer.exit_code == 2
    assert isinstance(answer.exception, SystemExit)
    assert answer.output.splitlines()[-1] == (
        f"Error: primum {arguments[0]} is a command of the laboratory, which is not installed: in "
        "the folder of the source code, pip install ./lab"
    )


def test_without_the_laboratory_the_help_does_not_list_its_commands(call, others):
    answer = call("--help")
    assert answer.exit_code == 0
    assert [line.split()[0] for line in answer.output.partition("Commands:\n")[2].splitlines()] == [
        *main.COMMANDS
    ]


@pytest.mark.usefixtures("greeting")
def test_a_command_of_another_package_is_listed_and_run(call, others):
    others(("greet", "greeting:greet"))
    assert "greet    Say something." in call("--help").output
    assert call("greet").output == "Good morning.\n"


@pytest.mark.usefixtures("greeting")
def test_no_package_replaces_a_command(call, others):
    others(("fit", "greeting:greet"))
    assert "Good morning" not in call("fit").output
    assert call("--help").output.count("\n  fit ") == 1


def test_a_package_that_left_only_its_entry_points_counts_as_not_installed(call, others):
    others(("reproduce", "gone.cli:reproduce"), ("other", "gone.cli:other"))
    assert call("--help").exit_code == 0
    assert "which is not installed" in call("reproduce").output
    assert "No such command 'other'" in call("other").output
