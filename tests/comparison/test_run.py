"""Worker processes end with the run, however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from primum.comparison.run import run_parallel
from primum.comparison.store import FolderLock

CODE = """
import os, sys, time
from pathlib import Path
from primum.comparison.run import run_parallel
from primum.comparison.store import FolderLock

def endless(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(3600)

if __name__ == "__main__":
    Path(sys.argv[2]).mkdir()
    lock = FolderLock(Path(sys.argv[2]))
    list(run_parallel(endless, [(sys.argv[1],)] * 9, n_jobs=2))
"""


def wait_for(condition, seconds=600):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def is_running(pid):
    """Tell whether a process exists that is not a zombie which nobody has reaped yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_no_worker_outlives_a_killed_run(tmp_path):
    script, folder = tmp_path / "script.py", tmp_path / "workers"
    script.write_text(CODE)
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder), str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    wait_for(lambda: len(os.listdir(folder)) == 2)
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    group = [pid for pid in pids if _group(pid) == process.pid]
    workers = [int(name) for name in os.listdir(folder)]
    assert {process.pid, *workers} <= set(group)
    assert all(map(is_running, group))
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not any(map(is_running, group)))
    # Nor is the folder's lock held by any of them.
    FolderLock(tmp_path / "out").release()


def _group(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_results_of_all_tasks_are_yielded():
    tasks = [(-k,) for k in range(5)]
    assert list(run_parallel(abs, tasks, n_jobs=1)) == list(range(5))
    assert sorted(run_parallel(abs, tasks, n_jobs=2)) == list(range(5))
