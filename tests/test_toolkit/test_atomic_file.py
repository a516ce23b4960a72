import os
import stat

import pytest

from jellycage.toolkit.atomic_file import atomic_file


def test_the_file_appears_only_when_the_block_has_ended(tmp_path):
    path = tmp_path / "a.txt"
    with atomic_file(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists() and temporary.suffix == ".txt"
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_keeps_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="permissions and links are those of Unix")
def test_permissions_follow_the_umask_and_links_are_followed(tmp_path):
    path = tmp_path / "real.txt"
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    before = os.umask(0o027)
    try:
        with atomic_file(link) as temporary:
            temporary.write_text("through the link")
    finally:
        os.umask(before)
    assert link.is_symlink() and path.read_text() == "through the link"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="there is no /dev/null")
def test_a_device_is_never_replaced():
    with pytest.raises(OSError, match="regular"), atomic_file("/dev/null"):
        pass
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_missing_folder_and_a_folder_in_the_way_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="make it first"), atomic_file(tmp_path / "b" / "c"):
        pass
    with pytest.raises(IsADirectoryError), atomic_file(tmp_path):
        pass
