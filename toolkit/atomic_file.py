"""Files that appear whole or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_file(path: str | os.PathLike) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` when the block ends without an error.

    It lies in the same folder and ends in the same suffix. On any error, Ctrl-C included, it is
    removed and whatever was at `path` stays. A link is followed; a device is refused, because
    replacing it would remove the device.
    """
    target = Path(os.path.realpath(path))
    check_writable(target)
    temporary = target.with_name(f".jellycage-{secrets.token_hex(6)}{target.suffix}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        _flush_to_disk(temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(temporary)
        raise


def check_writable(path: str | os.PathLike) -> None:
    """Raise the OSError that writing `path` would end in, before any work is done for it."""
    path = Path(path)
    folder = path.parent
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, "no such folder, make it first", str(folder))
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "not a folder, choose another", str(folder))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder, give a file name", str(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file, choose another name", str(path))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "folder is write-protected", str(folder))


def _flush_to_disk(path: Path) -> None:
    # Windows can only flush a handle that may write.
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
