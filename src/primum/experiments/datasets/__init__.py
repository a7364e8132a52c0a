"""The paper's data sets, verified."""

from primum.experiments.datasets.catalogue import (
    CATALOGUE,
    CorruptDatasetError,
    DatasetError,
    DatasetInfo,
    DatasetNotFoundError,
    UnknownDatasetError,
    describe,
)
from primum.experiments.datasets.coding import pca99, z_score
from primum.experiments.datasets.loading import Dataset, available, data_directory, fetch, load

__all__ = [
    "CATALOGUE",
    "CorruptDatasetError",
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "DatasetNotFoundError",
    "UnknownDatasetError",
    "available",
    "data_directory",
    "describe",
    "fetch",
    "load",
    "pca99",
    "z_score",
]
