"""Errors about data sets. Every message says what was found and what to do."""


class DatasetError(Exception):
    """Base of all errors about data sets.

    Examples
    --------
    >>> from primum.datasets import DatasetError, load
    >>> try:
    ...     load("wdbc2")
    ... except DatasetError as error:
    ...     print(type(error).__name__)
    UnknownDatasetError
    """


class UnknownDatasetError(DatasetError, ValueError):
    """The catalogue has no data set of that name.

    Examples
    --------
    >>> from primum.datasets import UnknownDatasetError
    >>> issubclass(UnknownDatasetError, ValueError)
    True
    """


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """The data set is in the catalogue, but not on this machine, and could not be fetched.

    Examples
    --------
    >>> from primum.datasets import DatasetNotFoundError
    >>> issubclass(DatasetNotFoundError, FileNotFoundError)
    True
    """


class CorruptDatasetError(DatasetError, ValueError):
    """A file is not the data set that its name says.

    Examples
    --------
    >>> from primum.datasets import CorruptDatasetError
    >>> issubclass(CorruptDatasetError, ValueError)
    True
    """
