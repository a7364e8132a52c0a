"""Print the lowest versions that pyproject.toml allows, one requirement a line, for pip."""

import tomllib
from pathlib import Path

# Not ours, but those of our dependencies: the newest ones do not suit their lowest versions.
OTHERS = ["pyparsing<3.3"]
NOT_FOR_TESTS = {"browser", "dev", "dist", "docs"}

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
groups = {"": project["dependencies"], **project["optional-dependencies"]}
needed = [one for name, group in groups.items() if name not in NOT_FOR_TESTS for one in group]
for requirement in needed:
    if not requirement.startswith("primum["):
        print(requirement.replace(">=", "=="))
print(*OTHERS, sep="\n")
