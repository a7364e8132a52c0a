"""Build the wheel and the sdist, check what is in them, and try both in clean environments.

    python .ci/check_dist.py

Run by ``make dist``. Files are left in ``dist``; everything else happens in a temporary folder.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
SMOKE = ROOT / ".ci" / "smoke.py"
LARGEST = {".whl": 1.5e6, ".gz": 4e6}
IN_WHEEL = {".py", ".typed", ".css", ".js", ".html", ".toml"}
IN_SDIST = ["LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "Makefile", "pyproject.toml"]
IN_SDIST += ["conftest.py", "lab/pyproject.toml", "lab/README.md", "lab/results/README.md"]


def run(*command: str | Path, folder: Path = ROOT, **variables: str) -> None:
    """Run a command, and stop everything if it fails."""
    print("+", *command, flush=True)
    subprocess.run(list(map(str, command)), cwd=folder, env=os.environ | variables, check=True)


def require(fact: bool, otherwise: str) -> None:
    """Stop with a sentence unless the fact holds."""
    if not fact:
        sys.exit(f"make dist: {otherwise}")


def build() -> tuple[Path, Path]:
    """Build the sdist, and from it the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    run(sys.executable, "-m", "check_wheel_contents", wheel)
    return wheel, sdist


def check_size(file: Path, members: int) -> None:
    """Print the size of a distribution, which must not grow by accident."""
    size, limit = file.stat().st_size, LARGEST[file.suffix]
    print(f"{file.name}: {size / 1000:.0f} kB, {members} files")
    require(size < limit, f"{file.name} is larger than {limit / 1000:.0f} kB: what was added?")


def belongs(name: str) -> bool:
    """Whether a file is part of the package, and neither a test nor data."""
    path = Path(name)
    is_test = path.name.startswith(("test_", "conftest")) or "tests" in path.parts
    return path.suffix in IN_WHEEL and not is_test


def check_wheel(wheel: Path) -> None:
    """Require the package, its types and its licence in the wheel, and neither tests nor data."""
    names = zipfile.ZipFile(wheel).namelist()
    check_size(wheel, len(names))
    package = {name for name in names if ".dist-info/" not in name}
    sources = ROOT / "src"
    lacking = {path.relative_to(sources).as_posix() for path in sources.rglob("*.py")} - package
    require(not lacking, f"the wheel lacks {sorted(lacking)}.")
    require("primum/py.typed" in package, "the wheel lacks primum/py.typed.")
    require(any(name.endswith("licenses/LICENSE") for name in names), "the wheel lacks LICENSE.")
    strange = {name for name in package if not belongs(name)}
    require(not strange, f"the wheel has tests or data: {sorted(strange)}.")


def check_sdist(sdist: Path, folder: Path) -> Path:
    """Require all that `make test` needs, and no results, in the sdist; return its folder."""
    shutil.unpack_archive(sdist, folder)
    top = folder / sdist.name.removesuffix(".tar.gz")
    check_size(sdist, sum(path.is_file() for path in top.rglob("*")))
    code = [path for folder in ("tests", "lab") for path in (ROOT / folder).rglob("*.py")]
    published = (ROOT / "lab" / "src" / "primum_lab" / "published").iterdir()
    needed = [path.relative_to(ROOT).as_posix() for path in [*code, *published]]
    lacking = [name for name in [*IN_SDIST, *needed] if not (top / name).exists()]
    require(not lacking, f"the sdist lacks {sorted(lacking)}.")
    results = [path.name for path in (top / "lab" / "results").iterdir() if path.is_dir()]
    require(not results, f"the sdist has the results {sorted(results)}.")
    return top


def install(file: Path, folder: Path) -> Path:
    """Install a distribution without extras into a new environment; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "install", "--quiet", file, folder=folder)
    return python


def try_out(file: Path, folder: Path, laboratory: Path | None = None) -> None:
    """Run the smoke test on the installed package, far from the checkout, and on a laboratory."""
    python = install(file, folder)
    run(python, "-I", SMOKE, "core", folder=folder)
    if laboratory is not None:
        run(python, "-m", "pip", "install", "--quiet", f"{file}[cli]", folder=folder)
        run(python, "-I", SMOKE, "cli", folder=folder)
        run(python, "-m", "pip", "install", "--quiet", laboratory, folder=folder)
        run(python, "-I", SMOKE, "laboratory", folder=folder)


def main() -> None:
    """Build, check and try."""
    wheel, sdist = build()
    check_wheel(wheel)
    with tempfile.TemporaryDirectory(prefix="primum-dist-") as name:
        folder = Path(name)
        unpacked = check_sdist(sdist, folder)
        tests = ["tests/test_project.py", "tests/test_rooms.py"]
        options = ["--quiet", "-p", "no:cacheprovider"]
        sources = os.pathsep.join([str(unpacked / "src"), str(unpacked / "lab" / "src")])
        run(sys.executable, "-m", "pytest", *options, *tests, folder=unpacked, PYTHONPATH=sources)
        try_out(wheel, folder / "wheel", unpacked / "lab")
        try_out(sdist, folder / "sdist")
    print(f"{wheel.name} and {sdist.name} are in {DIST.name}/ and work.")


if __name__ == "__main__":
    main()
