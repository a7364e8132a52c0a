"""What can go wrong with a data set. Every text says what was found and what to do."""


class DatasetError(Exception):
    """Base of all errors about data sets."""


class UnknownDatasetError(DatasetError, ValueError):
    """No data set of that name is in the catalogue."""


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """The data set is in the catalogue, but not on this machine, and could not be fetched."""


class CorruptDatasetError(DatasetError, ValueError):
    """A file claims to be the data set and is not."""
