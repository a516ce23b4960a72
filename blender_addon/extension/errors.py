"""What can go wrong, said so that an artist knows what to do."""

import errno
import re

COMMAND_LINE = {
    r" with --force": "",
    r" \(--input-scale [^)]*\)": "",
    r"--keep-going": "Keep Going",
    r"--resume": "Resume",
}  # what the worker says of options, and what an artist reads instead


class SetupError(Exception):
    """What has to be changed before it works, in one sentence."""


class Stopped(Exception):
    """The artist stopped it."""


def for_artists(sentence: str) -> str:
    """What the worker says, without the options of a command line, and with a remedy if it was about a disk."""
    found = re.match(r"\[Errno (\d+)\] ([^:]*)(?:: '(.*)')?", sentence)
    if found is not None:
        return disk_sentence(OSError(int(found[1]), found[2], found[3]))
    for words, instead in COMMAND_LINE.items():
        sentence = re.sub(words, instead, sentence)
    return sentence


def disk_sentence(error: OSError) -> str:
    """What can be done about a disk."""
    if error.errno == errno.ENOSPC:
        return "The disk is full: free some space, then Resume"
    if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return f"{error.filename} cannot be written: save the .blend in a folder of your own"
    return f"{error.strerror or error}: {error.filename or 'copy the log'}"
