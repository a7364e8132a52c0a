"""The command ``primum``. Exit codes: 0 success, 1 failure, 2 usage error, 3 partial success."""

import os
import sys

from primum._files import DISK_FULL
from primum._lazy import COMMAND, EXTRAS


def main() -> None:
    """Run the command line."""
    try:
        from primum.cli.main import primum

        primum(prog_name="primum")
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in EXTRAS:
            raise
        sys.exit(f"The command primum needs {missing.name}: pip install 'primum[{COMMAND}]'.")
    except OSError as problem:  # click itself handles a closed pipe
        if problem.errno not in DISK_FULL:
            raise
        # Flushing the rest of the buffer at exit would fail again, with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"Error: cannot write the output: {problem.strerror}.")
