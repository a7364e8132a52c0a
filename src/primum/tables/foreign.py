"""Tables of other libraries than pandas, such as polars, by the protocols that they share."""

from typing import Any

from primum._optional import needed

STREAM, INTERCHANGE = "__arrow_c_stream__", "__dataframe__"


def as_pandas(table: Any) -> Any:
    """Return a table as a pandas DataFrame; anything else than a table is returned as it is.

    Parameters
    ----------
    table : object
        A pandas DataFrame, or a table with the Arrow PyCapsule protocol or the dataframe
        interchange protocol: polars, pyarrow, DuckDB and others.

    Returns
    -------
    DataFrame or object
        The table, or what was passed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from primum.tables.foreign import as_pandas
    >>> as_pandas(pa.table({"age": [30, None]}))["age"].tolist()
    [30.0, nan]
    """
    if hasattr(table, "iloc") or not (hasattr(table, STREAM) or hasattr(table, INTERCHANGE)):
        return table
    with needed("Tables of other libraries than pandas"):
        import pandas  # noqa: F401
        import pyarrow as pa
        from pyarrow.interchange import from_dataframe
    arrow = pa.table(table) if hasattr(table, STREAM) else from_dataframe(table)
    return arrow.to_pandas(ignore_metadata=True)
