"""Files that are written: complete or not at all, and never through a link that was planted."""

import os
import secrets
import stat

import pytest

from primum._files import open_itself, replacing, write_file
from primum.comparison.store import ResultsError, ResultStore


def test_the_file_appears_only_once_it_is_complete(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("before")
    with replacing(path) as file:
        file.write(b"after")
        file.flush()
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"never", None])
    assert path.read_text() == "after"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_the_temporary_name_is_another_one_each_time(tmp_path):
    names = set()
    for _ in range(3):
        with replacing(tmp_path / "out.txt"):
            names |= set(os.listdir(tmp_path)) - {"out.txt"}
    assert len(names) == 3
    assert all(str(os.getpid()) not in name.split(".") for name in names)


def test_a_file_of_the_temporary_name_is_not_opened(tmp_path, monkeypatch):
    """Even if the name were guessed: creation is exclusive."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    victim = tmp_path / "victim.txt"
    victim.write_text("keep me")
    (tmp_path / ".out.txt.guessed.unfinished").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "out.txt", "mine")
    assert victim.read_text() == "keep me"


def test_what_takes_the_temporary_name_later_is_not_written_to(tmp_path):
    """Everything goes through the file that was created, not through its name."""
    victim = tmp_path / "victim.txt"
    victim.write_text("keep me")
    with replacing(tmp_path / "out.txt") as file:
        os.unlink(file.name)
        os.symlink(victim, file.name)
        file.write(b"mine")
    assert victim.read_text() == "keep me"


def test_a_link_at_the_final_name_is_replaced(tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("keep me")
    (tmp_path / "out.txt").symlink_to(victim)
    write_file(tmp_path / "out.txt", "mïne")
    assert victim.read_text() == "keep me"
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "mïne"
    assert not (tmp_path / "out.txt").is_symlink()


def test_the_file_has_the_permissions_of_other_new_files(tmp_path):
    write_file(tmp_path / "ours", b"")
    (tmp_path / "theirs").touch()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "theirs")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("name", ["run.lock", "journal.jsonl", "config.json", "config.tmp"])
def test_results_are_not_written_through_links(tmp_path, name):
    victim = tmp_path / "victim.txt"
    victim.write_text("")
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / name).symlink_to(victim)
    try:
        with ResultStore(folder, {"data": {"wdbc": "checksum"}}) as store:
            store.append(("wdbc", 0), [{"error": 0.1}])
    except ResultsError as problem:
        assert "annot write" in str(problem)  # noqa: PT017 - some names are replaced instead
    assert victim.read_text() == ""


def test_what_is_changed_in_place_is_no_link(tmp_path):
    with open_itself(tmp_path / "journal", "ab") as file:
        file.write(b"1")
    with open_itself(tmp_path / "journal", "ab") as file:
        file.write(b"2")
    assert (tmp_path / "journal").read_bytes() == b"12"
    (tmp_path / "link").symlink_to("journal")
    with pytest.raises(OSError, match="symbolic links"):
        open_itself(tmp_path / "link", "ab")
