"""Errors about data sets. Every message says what was found and what to do."""


class DatasetError(Exception):
    """Base of all errors about data sets."""


class UnknownDatasetError(DatasetError, ValueError):
    """The catalogue has no data set of that name."""


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """The data set is in the catalogue, but not on this machine, and could not be fetched."""


class CorruptDatasetError(DatasetError, ValueError):
    """A file is not the data set that its name says."""
