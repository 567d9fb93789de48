"""Files are for their owner alone, written by one caller at a time, and replaced as a whole or not at all."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from command_line import run_program

from groundjudge.files import lock_file, private_opener, replace_file

IN_USE = BlockingIOError("in use")


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def fail(_: object, error: type[BaseException]) -> None:
    raise error


def replace(path: Path) -> None:
    with replace_file(path) as file:
        file.write(b"new")


def append(path: Path) -> None:
    with open(path, "ab", opener=private_opener) as file:
        file.write(b"new")


both_ways = pytest.mark.parametrize("write", [replace, append])


@pytest.mark.usefixtures("umask")
@both_ways
def test_a_new_file_is_for_its_owner_alone(tmp_path: Path, write: Callable[[Path], None]) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "target")
    for name in ("new", "dangling"):
        write(tmp_path / name)
        assert ((tmp_path / name).read_bytes(), mode_of(tmp_path / name)) == (b"new", 0o600)
    assert names_in(tmp_path) == {"new", "dangling", "target"}


@pytest.mark.usefixtures("umask")
@both_ways
def test_another_file_keeps_its_mode_and_its_links(tmp_path: Path, write: Callable[[Path], None]) -> None:
    (tmp_path / "sub").mkdir()
    target, link = tmp_path / "sub" / "target", tmp_path / "link"
    link.symlink_to(target)
    for mode in (0o600, 0o644, 0o660, 0o755):
        target.write_bytes(b"")
        target.chmod(mode)
        write(link)
        assert (target.read_bytes(), mode_of(target), link.is_symlink()) == (b"new", mode, True)
        assert names_in(tmp_path / "sub") == {"target"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_replaced_file_keeps_its_owner_and_group(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.chown(path, 12345, 54321)
    replace(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_a_planted_link_leads_nowhere(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    for planted in (".file.part", ".file.0.part", ".part"):
        (tmp_path / planted).symlink_to(target)
    replace(tmp_path / "file")
    assert (target.read_bytes(), (tmp_path / "file").read_bytes()) == (b"mine", b"new")


@pytest.mark.parametrize("before", [None, b"", b"old"], ids=["no file", "empty file", "file"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_after_an_error_the_file_is_as_it_was_and_not_locked(
    tmp_path: Path, before: bytes | None, error: type[BaseException]
) -> None:
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(error), lock_file(path, IN_USE), replace_file(path) as file:
        fail(file.write(b"half"), error)
    with lock_file(path, IN_USE):
        pass
    assert (path.read_bytes() if path.exists() else None) == before
    assert names_in(tmp_path) == ({"file"} if path.exists() else set())


@both_ways
def test_what_is_no_regular_file_is_written_to(tmp_path: Path, write: Callable[[Path], None]) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    contents: list[bytes] = []
    reader = threading.Thread(target=lambda: contents.append(fifo.read_bytes()))
    reader.start()
    with lock_file(fifo, IN_USE):
        write(fifo)
    reader.join(30)
    assert (contents, names_in(tmp_path)) == ([b"new"], {"fifo"})
    mode = Path(os.devnull).stat().st_mode
    write(Path(os.devnull))
    assert Path(os.devnull).stat().st_mode == mode
    with pytest.raises(IsADirectoryError):
        write(tmp_path)


# Locks


NAMES = [
    # a name that is locked, another one, and whether they are of the same file
    ("v.jsonl", "v.jsonl", True),
    ("v.jsonl", "sub/../v.jsonl", True),
    ("link", "v.jsonl", True),
    ("link", "link to link", True),
    ("v.jsonl", "other folder/v.jsonl", True),
    ("v.jsonl", "w.jsonl", False),
    ("v.jsonl", "sub/v.jsonl", False),
    ("v.jsonl", ".v.jsonl.lock", False),
]


@pytest.mark.parametrize("exists", [True, False])
def test_a_locked_file_is_refused_under_all_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, exists: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    for link, target in {"link": "v.jsonl", "link to link": "link", "other folder": "."}.items():
        Path(link).symlink_to(tmp_path / target)
    if exists:
        Path("v.jsonl").write_bytes(b"old")
    names = names_in(tmp_path)
    for name, other_name, is_same in NAMES:
        expectation = pytest.raises(BlockingIOError) if is_same else nullcontext()
        with lock_file(Path(name), IN_USE):
            with expectation, lock_file(Path(other_name), IN_USE):
                pass
            assert {*glob("*")} == names  # noqa: PTH207  it leaves out what is hidden, as a shell does
        assert names_in(tmp_path) == names


def test_a_lock_outlives_the_replacement_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with lock_file(path, IN_USE):
        for _ in range(2):
            replace(path)
            with pytest.raises(BlockingIOError), lock_file(path, IN_USE):
                pass


def test_a_planted_link_is_not_taken_for_a_lock(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / ".file.lock").symlink_to("target")
    with pytest.raises(OSError, match="symbolic link"), lock_file(tmp_path / "file", IN_USE):
        pass
    assert (tmp_path / "target").read_bytes() == b"mine"


def test_only_one_of_many_has_a_lock_that_is_taken_and_removed_all_the_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    inside = [0]
    counts: list[int] = []
    attempt_made = threading.Event()

    def take() -> None:
        while len(counts) < 30:
            try:
                with lock_file(path, IN_USE):
                    inside[0] += 1
                    attempt_made.clear()
                    counts.append(inside[0])
                    if inside[0] == 1 and len(counts) < 30:  # after the last, nobody tries again
                        attempt_made.wait()  # of another thread, which must not get in meanwhile
                    inside[0] -= 1
            except BlockingIOError:
                pass
            attempt_made.set()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(counts) == {1}
    assert not names_in(tmp_path)


@pytest.mark.soak
def test_what_a_killed_process_leaves_locks_nothing(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from groundjudge.files import lock_file, replace_file
path = Path(sys.argv[1])
with lock_file(path, ValueError()), replace_file(path) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "file"
    assert run_program(program, str(path))[0] < 0
    (tmp_path / ".file.lock").write_bytes(b"123\n")
    with lock_file(path, IN_USE):
        replace(path)
    assert path.read_bytes() == b"new"
    (name,) = names_in(tmp_path) - {"file"}
    assert (name.startswith(".file."), name.endswith(".part")) == (True, True)


@pytest.mark.soak
def test_a_folder_that_cannot_be_written_to_is_named() -> None:
    program = """
import os, sys
import filelock, tempfile  # while this user may still read them
from pathlib import Path
from groundjudge.files import lock_file, replace_file
path = Path(sys.argv[1], "file")
if not os.geteuid():  # which may write to any folder
    os.setuid(65534)
for way in (lock_file(path, ValueError()), replace_file(path)):
    try:
        with way:
            pass
    except OSError as error:
        print(error.strerror, error.filename)
"""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        assert run_program(program, folder)[:2] == (0, f"Permission denied {folder}\n" * 2)
