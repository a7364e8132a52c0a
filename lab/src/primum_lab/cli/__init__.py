"""Commands that ``primum`` finds by their entry points in ``pyproject.toml``."""
