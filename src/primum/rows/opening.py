"""Opening rows in files or on a cluster."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

from primum.rows.base import Rows


def open_rows(source: Any, names: Sequence[str] | None, n_columns: int) -> Rows | None:
    """Return the rows of a path or Dask collection, or None for any other source.

    Parameters
    ----------
    source : object
        The path of a Parquet file or folder, or a Dask array or DataFrame; anything else is left
        to the caller.
    names : sequence of str or None
        The columns to read, in this order, if columns have names.
    n_columns : int
        Required number of columns.
    """
    if not is_outside(source):
        return None
    # Imported only when needed: pyarrow and dask are optional.
    if isinstance(source, str | PathLike):
        from primum.rows.parquet import ParquetRows

        return ParquetRows(source, names, n_columns)
    from primum.rows.dask_rows import DaskRows

    return DaskRows(source, names, n_columns)


def is_outside(source: Any) -> bool:
    """Return whether rows are in files or on a cluster."""
    of_dask = type(source).__module__.partition(".")[0] in ("dask", "dask_expr")
    return of_dask or isinstance(source, str | PathLike)
