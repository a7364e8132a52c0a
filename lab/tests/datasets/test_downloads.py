"""Downloads, from this machine only."""

import http.server
import os
import threading

import pytest

from primum_lab.datasets import DatasetNotFoundError, Origin, fetch, load


def test_download_is_kept_and_found_again(amend, haberman, reference, tmp_path, same):
    amend("haberman", downloads=(Origin((haberman.as_uri(),)),))
    home = tmp_path / "new" / "home"
    first = load("haberman", home)
    same(first, load("haberman", reference))
    assert first.origin == haberman.as_uri()
    assert [path.name for path in home.iterdir()] == ["haberman.csv.gz"]
    haberman.unlink()
    again = load("haberman", home)
    same(again, first)
    assert again.origin == str(home / "haberman.csv.gz")


def test_the_next_address_is_tried(amend, haberman, tmp_path):
    dead, alive = Origin(((tmp_path / "gone").as_uri(),)), Origin((haberman.as_uri(),))
    amend("haberman", downloads=(dead, alive))
    assert load("haberman", tmp_path / "home").origin == haberman.as_uri()


def test_a_bad_download_is_refused_and_leaves_nothing(amend, haberman, tmp_path):
    lines = haberman.read_text().splitlines()
    haberman.write_text("\n".join([lines[1], lines[0], *lines[2:]]))
    amend("haberman", downloads=(Origin((haberman.as_uri(),)),))
    with pytest.raises(DatasetNotFoundError, match="order of its rows differ"):
        load("haberman", tmp_path / "home")
    with pytest.raises(DatasetNotFoundError, match="order of its rows differ"):
        fetch("haberman", tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_no_download_unless_allowed(amend, haberman, tmp_path):
    amend("haberman", downloads=(Origin((haberman.as_uri(),)),))
    with pytest.raises(DatasetNotFoundError, match="is not on this machine: put"):
        load("haberman", tmp_path / "home", download=False)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_cannot_be_written_is_a_warning(amend, haberman, tmp_path):
    amend("haberman", downloads=(Origin((haberman.as_uri(),)),))
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    with pytest.warns(UserWarning, match="cannot be stored as"):
        load("haberman", home)


def test_a_home_that_is_a_file_is_a_warning(amend, haberman, tmp_path):
    amend("haberman", downloads=(Origin((haberman.as_uri(),)),))
    with pytest.warns(UserWarning, match=r"downloaded but cannot be stored as .*data_home"):
        assert load("haberman", haberman).X.shape == (306, 3)
    with pytest.raises(DatasetNotFoundError, match=r"'haberman' cannot be stored as .*data_home"):
        fetch("haberman", haberman)


class _Server(http.server.BaseHTTPRequestHandler):
    """Serve two parts of a set, break one off, and know nothing else."""

    parts: dict[str, bytes]

    def do_GET(self):
        content = self.parts.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + 9 * self.path.endswith("cut")))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Stay quiet."""


@pytest.fixture
def server(haberman):
    lines = haberman.read_bytes().splitlines(keepends=True)
    _Server.parts = {"/one": b"".join(lines[:100]), "/two": b"".join(lines[100:])}
    _Server.parts["/cut"] = b"".join(lines[:-1])
    running = http.server.HTTPServer(("127.0.0.1", 0), _Server)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    thread.join()
    running.server_close()


def test_parts_are_downloaded_in_order(amend, server, reference, tmp_path, same):
    amend("haberman", downloads=(Origin((f"{server}/one", f"{server}/two")),))
    same(load("haberman", tmp_path / "home"), load("haberman", reference))


def test_failed_downloads_say_why(amend, server, tmp_path):
    amend("haberman", downloads=(Origin((f"{server}/no",)), Origin((f"{server}/cut",))))
    with pytest.raises(
        DatasetNotFoundError, match=r"/no failed: .*404.*; .*/cut failed: it has 305"
    ):
        load("haberman", tmp_path / "home")
