"""The paper's data sets, verified."""

from primum._lazy import lazy

# The public names, by the modules that define them; each is imported when first used.
_HOMES = {
    "catalogue": (
        *("CATALOGUE", "DatasetInfo", "describe"),
        *("CorruptDatasetError", "DatasetError", "DatasetNotFoundError", "UnknownDatasetError"),
    ),
    "loading": ("Dataset", "available", "data_directory", "fetch", "load", "pca99", "z_score"),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)

__getattr__ = lazy(
    __name__, {name: f"{__name__}.{home}" for home, names in _HOMES.items() for name in names}
)
