"""An asset in one .npz file that numpy.load can open, written the same to the byte every time.

Reading trusts nothing: a member is unpacked only if the archive is not a bomb, and an array is made
only if its header agrees with the bytes that are really there. Pickles are never read.
"""

import io
import json
import math
import os
import stat
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.asset.asset import ARRAYS, FORMAT_VERSION, OPTIONAL, Asset
from jellycage.toolkit.atomic_file import atomic_file
from jellycage.toolkit.collision.surface import ARRAYS as COLLISION_ARRAYS
from jellycage.toolkit.collision.surface import CollisionSurface
from jellycage.toolkit.errors import AssetError, ToolkitError

COMPRESSION_LEVEL = 1  # level 6 takes up to five times as long for a few percent
BOMB_RATIO = 250  # regular grids, which pack best, reach 10
PREFIX = "collision_"  # of the collision surface's arrays
BOMB_FLOOR = 1 << 24  # a small file may unpack to this many bytes whatever its ratio

# What zipfile, zlib and numpy's header parser raise for damaged bytes.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    EOFError,
    LookupError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


def save_asset(asset: Asset, path: str | os.PathLike) -> None:
    """Write the asset to `path`, whole or not at all; the same asset gives the same bytes."""
    members = {name: getattr(asset, name) for name in ARRAYS}
    if asset.collision is not None:
        members |= {PREFIX + name: getattr(asset.collision, name) for name in COLLISION_ARRAYS}
    members["format_version"] = np.array(asset.format_version, dtype=np.int64)
    members["meta"] = np.array(json.dumps(asset.meta, sort_keys=True, allow_nan=False))
    with atomic_file(path) as temporary, _new_archive(temporary) as archive:
        for name, array in members.items():
            if array is not None:
                # By name, not by ZipInfo: zipfile then stamps 1980-01-01 and uses our level.
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)


def _new_archive(path: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL)


def is_asset_file(path: str | os.PathLike) -> bool:
    """Whether a file looks like an asset, of any version, whole or not."""
    return zipfile.is_zipfile(path) and b"format_version.npy" in Path(path).read_bytes()


def load_asset(path: str | os.PathLike) -> Asset:
    """The asset in the file at `path`.

    Raises AssetError, in one line, for anything but a whole asset of a known version, and OSError
    if the file cannot be read at all.
    """
    path = Path(path)
    try:
        return _asset_of(_file_bytes(path))
    except ToolkitError as error:
        raise AssetError(f"{path}: {error}") from error
    except DAMAGE as error:
        raise AssetError(
            f"{path}: the file is damaged or cut short; make it again with `jellycage cage`"
        ) from error


def _file_bytes(path: Path) -> bytes:
    with open(path, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise AssetError("not a regular file; give the .npz that `jellycage cage` wrote")
        return file.read()


def _asset_of(data: bytes) -> Asset:
    if not data.startswith(b"PK\x03\x04"):
        raise AssetError("not a jellycage asset; give the .npz that `jellycage cage` wrote")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_unpacked_size(archive, len(data))
        names = {name.removesuffix(".npy") for name in archive.namelist()}
        if "format_version" not in names or "meta" not in names:
            raise AssetError("not a jellycage asset; give the .npz that `jellycage cage` wrote")
        _check_version(_member(archive, "format_version"))
        missing = [name for name in ARRAYS if name not in names and name not in OPTIONAL]
        if missing:
            raise AssetError(f"{missing[0]} is missing; make the asset again with `jellycage cage`")
        meta = _meta_of(_member(archive, "meta"))
        arrays = {
            name: _typed(archive, name, kind) for name, (kind, _) in ARRAYS.items() if name in names
        }
        collision = _collision_of(archive, names)
    return Asset(**arrays, collision=collision, meta=meta)


def _collision_of(archive: zipfile.ZipFile, names: set[str]) -> CollisionSurface | None:
    """The collision surface if any of its arrays is there, else None."""
    if not any(name.startswith(PREFIX) for name in names):
        return None
    missing = [name for name in COLLISION_ARRAYS if PREFIX + name not in names]
    if missing:
        raise AssetError(
            f"{PREFIX}{missing[0]} is missing; make the asset again with `jellycage cage`"
        )
    kinds = {name: kind for name, (kind, *_) in COLLISION_ARRAYS.items()}
    return CollisionSurface(
        **{name: _typed(archive, PREFIX + name, kind) for name, kind in kinds.items()}
    )


def _check_unpacked_size(archive: zipfile.ZipFile, file_size: int) -> None:
    """Refuse an archive that announces far more than its own size; no more than that is read."""
    unpacked = sum(info.file_size for info in archive.infolist())
    if unpacked > max(BOMB_FLOOR, BOMB_RATIO * file_size):
        raise AssetError(f"{file_size} bytes announce {unpacked}; the file is damaged or hostile")


def _check_version(version: NDArray) -> None:
    if version.dtype.kind not in "iu" or version.shape != ():
        raise AssetError("format_version: expected a whole number")
    if version > FORMAT_VERSION:
        raise AssetError(
            f"written by a later jellycage (format {version}, this one knows {FORMAT_VERSION}); "
            "update jellycage"
        )
    if version < 1:
        raise AssetError(f"format_version: expected 1..{FORMAT_VERSION}, got {version}")


def _meta_of(text: NDArray) -> dict[str, Any]:
    if text.dtype.kind != "U" or text.shape != ():
        raise AssetError("meta: expected JSON text")
    try:
        return json.loads(text.item(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise AssetError("meta: expected JSON text") from error


def _refuse_constant(name: str):
    raise ValueError(f"{name} is not JSON")


def _typed(archive: zipfile.ZipFile, name: str, kind) -> NDArray:
    array = _member(archive, name)
    wanted = np.dtype(kind)
    if array.dtype != wanted:
        raise AssetError(f"{name}: expected {wanted.name}, got {array.dtype.name}")
    return array


def _member(archive: zipfile.ZipFile, name: str) -> NDArray:
    """One array, read-only, made from bytes that are there and never from an announced shape."""
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise AssetError(f"{name}: unknown compression; make the asset again")
    data = archive.read(info)
    header = io.BytesIO(data)
    if np.lib.format.read_magic(header) != (1, 0):
        raise AssetError(f"{name}: unknown array header; make the asset again")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(header)
    if dtype.hasobject or is_fortran or min(shape, default=0) < 0:
        raise AssetError(f"{name}: unknown array layout; make the asset again")
    offset = header.tell()
    if math.prod(shape) * dtype.itemsize != len(data) - offset:
        raise AssetError(f"{name}: shape {shape} does not agree with the bytes that follow")
    if len(data) == offset:
        return np.empty(shape, dtype)
    return np.frombuffer(data, dtype, offset=offset).reshape(shape)
