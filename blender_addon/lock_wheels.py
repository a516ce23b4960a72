"""The lock of the wheels that the extension brings along: which file for which Python and platform, and its sha256.

    python blender_addon/lock_wheels.py

writes wheels.lock anew from the versions below, with what the package index says of them. It asks the simple index,
the one that pip asks, so that a mirror will do (--index).
"""

import argparse
import hashlib
import html
import os
import re
import shutil
import sys
import tempfile
import tomllib
import urllib.parse
import urllib.request
from dataclasses import asdict, dataclass, fields
from http.client import HTTPException
from pathlib import Path

LOCK = Path(__file__).resolve().parent / "wheels.lock"
INDEX = "https://pypi.org/simple"

PINNED = {
    # Blender 4.2 to 5.0. The first two come with numpy 1.24, and scipy 1.15 is the last that accepts it.
    "cp311": {"numba": "0.68.1", "llvmlite": "0.50.0", "scipy": "1.15.3"},
    # Blender 5.1 and later, numpy 2.
    "cp313": {"numba": "0.68.1", "llvmlite": "0.50.0", "scipy": "1.17.1"},
}

# What runs wherever Blender runs (glibc 2.28, macOS 12): of several wheels the first tag wins, the oldest system.
PLATFORM_TAGS = {
    "linux-x64": (
        "manylinux2014_x86_64",
        "manylinux_2_17_x86_64",
        "manylinux_2_27_x86_64",
        "manylinux_2_28_x86_64",
    ),
    "windows-x64": ("win_amd64",),
    "macos-arm64": ("macosx_11_0_arm64", "macosx_12_0_arm64"),
}

HEAD = """\
# The wheels in the extension. Made by lock_wheels.py, which holds the versions: change them there, not here.
# numpy is missing on purpose: Blender has its own.
"""

LINK = re.compile(r'<a\s[^>]*href="([^"#]+)#sha256=([0-9a-f]{64})"[^>]*>\s*([^<\s]+)\s*</a>')


class BuildError(Exception):
    """What is to be built is wrong; says what to do about it."""

    exit_code = 3


class BuildFileError(BuildError):
    """A file cannot be had or written; says what to do about it."""

    exit_code = 5


@dataclass(frozen=True)
class Wheel:
    """One line of the lock."""

    abi: str
    """A key of PINNED."""
    platform: str
    """As Blender spells it: a key of PLATFORM_TAGS."""
    name: str
    version: str
    file: str
    sha256: str
    url: str


def read_lock(path: Path = LOCK) -> list[Wheel]:
    """The wheels in a lock, checked: every platform has the same packages in the same versions."""
    again = "run blender_addon/lock_wheels.py again"
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["wheel"]
        wheels = [Wheel(**row) for row in rows]
    except OSError as error:
        raise BuildFileError(f"{path}: {error.strerror}; {again}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise BuildError(f"{path}: not a lock of wheels ({error}); {again}") from None
    for wheel in wheels:
        if wheel.platform not in PLATFORM_TAGS or wheel.abi not in PINNED:
            raise BuildError(f"{path}: {wheel.abi} {wheel.platform}: not known; {again}")
        if preference(wheel.file, wheel) is None:
            raise BuildError(
                f"{path}: {wheel.file} is no wheel of {wheel.name} {wheel.version} "
                f"for {wheel.abi} on {wheel.platform}; {again}"
            )
    for abi in {wheel.abi for wheel in wheels}:
        check_same_versions([wheel for wheel in wheels if wheel.abi == abi], path)
    return wheels


def check_same_versions(wheels: list[Wheel], path: Path) -> None:
    """Refuse wheels of one Python that differ from platform to platform: results would differ too."""
    versions = {platform: set() for platform in PLATFORM_TAGS}
    for wheel in wheels:
        versions[wheel.platform].add(f"{wheel.name} {wheel.version}")
    present = {platform: found for platform, found in versions.items() if found}
    (first, expected), *others = present.items()
    for platform, found in others:
        if found != expected:
            one, other = sorted(expected - found), sorted(found - expected)
            raise BuildError(
                f"{path}: for {wheels[0].abi}, {first} has {', '.join(one) or 'less'} where {platform} has "
                f"{', '.join(other) or 'nothing'}; pin one version in lock_wheels.py and run it again"
            )


def preference(file: str, wanted: Wheel) -> int | None:
    """Rank of a wheel's file name among those that would do, 0 the best; None if it would not."""
    parts = file.removesuffix(".whl").split("-")
    expected = [wanted.name, wanted.version, wanted.abi, wanted.abi]
    if not file.endswith(".whl") or parts[:-1] != expected:
        return None
    tags = PLATFORM_TAGS[wanted.platform]
    return min((tags.index(tag) for tag in parts[-1].split(".") if tag in tags), default=None)


def chosen_wheels(lock: Path, platform: str, abis: list[str]) -> list[Wheel]:
    """The wheels of the lock for a platform, by name."""
    wheels = [
        wheel for wheel in read_lock(lock) if wheel.platform == platform and wheel.abi in abis
    ]
    missing = sorted(set(abis) - {wheel.abi for wheel in wheels})
    if missing:
        raise BuildError(
            f"{lock}: has no wheels for {missing[0]} on {platform}; run blender_addon/lock_wheels.py"
        )
    return sorted(wheels, key=lambda wheel: wheel.file)


def download(wheel: Wheel, folder: Path) -> None:
    """Download a wheel to a folder; nothing is left there of one that is cut short or wrong."""
    print(f"downloading {wheel.file}", flush=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as draft_folder:
        draft = Path(draft_folder) / wheel.file
        try:
            with urllib.request.urlopen(wheel.url, timeout=60) as page, open(draft, "wb") as file:
                shutil.copyfileobj(page, file)
        except (OSError, HTTPException, ValueError) as error:
            raise BuildFileError(
                f"{wheel.file}: cannot be downloaded ({error}); check the connection, or put the file into {folder}"
            ) from None
        check_hash(wheel, draft, "build again, or run lock_wheels.py if the index has changed")
        os.replace(draft, folder / wheel.file)


def check_hash(wheel: Wheel, path: Path, remedy: str) -> None:
    """Refuse a file that is not the one of the lock."""
    with open(path, "rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != wheel.sha256:
        raise BuildError(
            f"{path.name}: its sha256 is {sha256[:12]}..., not {wheel.sha256[:12]}... as locked; {remedy}"
        )


def index_files(name: str, index: str) -> list[tuple[str, str, str]]:
    """(file name, sha256, address) of every file that the index has of a package."""
    address = f"{index.rstrip('/')}/{name}/"
    try:
        with urllib.request.urlopen(address, timeout=60) as page:
            text = page.read().decode("utf-8")
    except (OSError, HTTPException, ValueError) as error:
        raise BuildFileError(
            f"{address}: cannot be read ({error}); check the connection, or give a mirror with --index"
        ) from None
    return [
        (html.unescape(file), sha256, urllib.parse.urljoin(address, html.unescape(url)))
        for url, sha256, file in LINK.findall(text)
    ]


def find_wheel(wanted: Wheel, files: list[tuple[str, str, str]]) -> Wheel:
    """The wanted wheel with the file, sha256 and address of the best one among the files of its package."""
    ranked = [
        (rank, file, sha256, url)
        for file, sha256, url in files
        if (rank := preference(file, wanted)) is not None
    ]
    if not ranked:
        raise BuildError(
            f"{wanted.name} {wanted.version}: no wheel for {wanted.abi} on {wanted.platform}; "
            "pin another version in lock_wheels.py"
        )
    _, file, sha256, url = min(ranked)
    return Wheel(wanted.abi, wanted.platform, wanted.name, wanted.version, file, sha256, url)


def locked(index: str = INDEX) -> list[Wheel]:
    """Every pinned wheel as the index has it."""
    names = {name for versions in PINNED.values() for name in versions}
    files = {name: index_files(name, index) for name in sorted(names)}
    return [
        find_wheel(Wheel(abi, platform, name, version, "", "", ""), files[name])
        for abi, versions in PINNED.items()
        for platform in PLATFORM_TAGS
        for name, version in versions.items()
    ]


def lock_text(wheels: list[Wheel]) -> str:
    """A lock as TOML."""
    names = [field.name for field in fields(Wheel)]
    tables = [
        "\n[[wheel]]\n" + "".join(f'{name} = "{asdict(wheel)[name]}"\n' for name in names)
        for wheel in wheels
    ]
    return HEAD + "".join(tables)


def main(arguments: list[str] | None = None) -> int:
    """Write the lock; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the lock of the extension's wheels anew.")
    parser.add_argument("--index", default=INDEX, help=f"simple package index ({INDEX})")
    parser.add_argument("--lock", type=Path, default=LOCK, help="file to write")
    options = parser.parse_args(arguments)
    try:
        text = lock_text(locked(options.index))
        options.lock.write_text(text, encoding="utf-8", newline="\n")
        print(f"{options.lock}: {len(read_lock(options.lock))} wheels")
        return 0
    except BuildError as error:
        print(f"lock_wheels: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"lock_wheels: {error.filename}: {error.strerror}", file=sys.stderr)
        return BuildFileError.exit_code


if __name__ == "__main__":
    sys.exit(main())
