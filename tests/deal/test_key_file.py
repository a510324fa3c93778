"""The key file: made once, read by its owner only, refused with path, reason and remedy."""

import multiprocessing
import os
import stat
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from ops.keys import DataKey, FileKeyStore, KeyFileError, KeyStore, WrappedDataKey, WrappedKeyError, new_data_key

ROUNDS = 40                 # races between two creating processes

posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows has no owner, group and world modes")


def key_file(folder: Path, content: bytes = bytes(range(32)), mode: int = 0o600) -> Path:
    path = folder / "key"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(KeyFileError) as caught:
        FileKeyStore(path)
    message = str(caught.value)
    assert str(path) in message and "\n" not in message
    return message


def test_a_missing_key_file_is_created_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    old_mask = os.umask(0)
    try:
        FileKeyStore(path)
    finally:
        os.umask(old_mask)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_bytes()) == 32
    assert [entry.name for entry in tmp_path.iterdir()] == ["key"]


def test_the_same_file_unwraps_what_it_wrapped_and_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "key"
    store: KeyStore = FileKeyStore(path)
    content, key = path.read_bytes(), new_data_key()
    text = store.wrap_data_key(key).to_text()

    assert FileKeyStore(path).unwrap_data_key(WrappedDataKey.from_text(text)) == key
    assert path.read_bytes() == content


def test_a_key_wrapped_elsewhere_renamed_or_changed_is_refused(tmp_path: Path) -> None:
    store, key = FileKeyStore(tmp_path / "key"), new_data_key()
    wrapped = store.wrap_data_key(key)
    elsewhere = FileKeyStore(tmp_path / "other").wrap_data_key(key)
    renamed = WrappedDataKey("f" * 16, wrapped.nonce, wrapped.ciphertext)
    changed = WrappedDataKey(wrapped.key_id, wrapped.nonce, bytes(48))

    for wrong in (elsewhere, renamed, changed):
        with pytest.raises(WrappedKeyError, match=f"data key {wrong.key_id}: .*{tmp_path}"):
            store.unwrap_data_key(wrong)


def test_wrapping_twice_never_uses_a_nonce_twice(tmp_path: Path) -> None:
    store, key = FileKeyStore(tmp_path / "key"), new_data_key()

    assert len({store.wrap_data_key(key).nonce for _ in range(1_000)}) == 1_000


def test_no_new_data_key_is_like_another() -> None:
    keys = [new_data_key() for _ in range(100)]

    assert len({key.id for key in keys}) == len({key.secret for key in keys}) == 100


@posix_only
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o620, 0o610, 0o601])
def test_a_key_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    message = refusal(key_file(tmp_path, mode=mode))

    assert f"mode {mode:04o}" in message and "chmod 600" in message


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_key_file_of_its_owner_is_accepted(tmp_path: Path, mode: int) -> None:
    FileKeyStore(key_file(tmp_path, mode=mode))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "half-written, 0 of 32 bytes; restore"),
        (b"k" * 31, "half-written, 31 of 32 bytes; restore"),
        (bytes(32), "half-written, all bytes are zero; restore"),
        (b"k" * 33, "longer than 32 bytes"),
        (b"k" * 64 + b"\n", "longer than 32 bytes"),
    ],
    ids=["empty", "one short", "all zero", "one long", "hex text"],
)
def test_a_key_file_of_a_wrong_length_or_half_written_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = key_file(tmp_path, content)

    assert reason in refusal(path)
    assert path.read_bytes() == content, "a refused file is left alone"


def test_a_key_file_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")

    assert "directory" in refusal(tmp_path)
    assert "No such file" in refusal(tmp_path / "missing" / "key")
    assert "Not a directory" in refusal(tmp_path / "file" / "key")
    assert "No such file" in refusal(tmp_path / "nowhere")


@posix_only
def test_a_named_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key", 0o600)

    assert "not a regular file" in refusal(tmp_path / "key")


def refuse_unreadable(path: Path) -> None:
    if os.geteuid() == 0:
        os.setuid(65534)    # root reads everything
    assert "Permission denied" in refusal(path)


@posix_only
def test_an_unreadable_key_file_is_refused(tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(
        target=refuse_unreadable, args=(key_file(tmp_path, mode=0o000),)
    )
    process.start()
    process.join(30)

    assert process.exitcode == 0


def test_a_file_system_without_hard_links_is_refused_and_left_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)

    assert "Operation not permitted" in refusal(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


def wrap_in_many_new_files(folder: Path, together: Barrier, key: DataKey, process: int) -> None:
    for number in range(ROUNDS):
        together.wait(30)
        wrapped = FileKeyStore(folder / f"key-{number}").wrap_data_key(key)
        (folder / f"wrapped-{number}-{process}").write_text(wrapped.to_text(), "ascii")


@posix_only
def test_two_processes_that_create_the_file_at_once_end_with_one_key(tmp_path: Path) -> None:
    """Each wraps under what it believes the key to be; the file must unwrap both."""
    context, key = multiprocessing.get_context("fork"), new_data_key()
    together = context.Barrier(2)
    processes = [context.Process(target=wrap_in_many_new_files, args=(tmp_path, together, key, i)) for i in (0, 1)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]

    for number in range(ROUNDS):
        store = FileKeyStore(tmp_path / f"key-{number}")
        for process_number in range(2):
            text = (tmp_path / f"wrapped-{number}-{process_number}").read_text("ascii")
            assert store.unwrap_data_key(WrappedDataKey.from_text(text)) == key
