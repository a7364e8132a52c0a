"""The paper's data sets, verified, and simulated problems with known solutions."""

from primum.datasets._errors import (
    CorruptDatasetError,
    DatasetError,
    DatasetNotFoundError,
    UnknownDatasetError,
)
from primum.datasets._info import DatasetInfo
from primum.datasets._places import data_directory
from primum.datasets.catalogue import CATALOGUE, describe
from primum.datasets.coding import pca99, z_score
from primum.datasets.loading import Dataset, available, fetch, load
from primum.datasets.simulated import (
    OneFeatureAnswer,
    harmful_clusters,
    harmful_clusters_bayes_error,
    one_feature,
    one_feature_answer,
    two_gaussians,
    two_gaussians_bayes_error,
)
from primum.datasets.text import sparse_text, sparse_text_bayes_error

__all__ = [
    "CATALOGUE",
    "CorruptDatasetError",
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "DatasetNotFoundError",
    "OneFeatureAnswer",
    "UnknownDatasetError",
    "available",
    "data_directory",
    "describe",
    "fetch",
    "harmful_clusters",
    "harmful_clusters_bayes_error",
    "load",
    "one_feature",
    "one_feature_answer",
    "pca99",
    "sparse_text",
    "sparse_text_bayes_error",
    "two_gaussians",
    "two_gaussians_bayes_error",
    "z_score",
]
