"""Ogawa, the container of Alembic archives: blocks, properties and objects, written in one pass.

A file is a header and then blocks of two kinds in any order: data (bytes) and groups (references to other blocks).

    root group - versions, metadata, time samplings
               - top object - properties - samples, headers
                            - child objects - ...

A block can be written once its children are, so samples are appended as they arrive and all groups at the end; then
the header is told where the root group is, and that the file is complete. What stays in memory is one reference, 8
bytes, per sample that differs from the one before it. The layout is that of the reference library, Alembic 1.8.

Left out, because nothing here needs it: strings, arrays of several dimensions, irregular time samplings, metadata too
long or too varied for the shared table, and equal samples that share a block without following one another.
"""

from array import array
from dataclasses import dataclass, field
from struct import pack
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from jellycage.sim.export.digest_kernels import find_chained, find_murmur, find_spooky
from jellycage.toolkit.arrays import frozen

MAGIC, CONTAINER_VERSION = b"Ogawa", b"\x00\x01"
IN_WORK, COMPLETE = b"\x00", b"\xff"
HEADER_SIZE = 16
CORE_VERSION = 0
LIBRARY_VERSION = 10812  # major, minor and patch of the layout that is written: 1.8.12

IS_DATA = 1 << 63
"""Bit that tells references to data from those to groups; alone it stands for no data, as 0 for an empty group."""

POD = {"bool": 0, "uint8": 1, "uint32": 5, "int32": 6, "float32": 10, "float64": 11}
"""Number of each kind of value in a property header."""

SCALAR, ARRAY, ARRAY_OF_ONE = 1, 2, 3
"""Kinds of properties with values: the last is an array that never held more or less than one element."""

WIDTHS = ((0, 0xFF, "B"), (1, 0xFFFF, "H"), (2, 0xFFFFFFFF, "I"))
"""How the numbers in a property header are stored: code, largest number, format."""

WIDTH_SHIFT, POD_SHIFT, EXTENT_SHIFT, METADATA_SHIFT = 2, 4, 12, 20
HAS_SAMPLING, HAS_CHANGES, IS_HOMOGENOUS, IS_CONSTANT = 1 << 8, 1 << 9, 1 << 10, 1 << 11


def sample_digest(values: np.ndarray) -> bytes:
    """MurmurHash3 of the bytes of a C-ordered array, 16 bytes."""
    octets = frozen(values.reshape(-1).view(np.uint8))
    whole = octets.size - octets.size % 16
    return _hashed(find_murmur, octets[:whole].view(np.uint64), octets[whole:])


def spooky(*parts: bytes) -> bytes:
    """SpookyHash of bytes, 16 bytes."""
    return _hashed(find_spooky, np.frombuffer(b"".join(parts), np.uint8))


def chained(first: bytes, second: bytes) -> bytes:
    """One hash of two, 16 bytes."""
    return _hashed(find_chained, np.frombuffer(first + second, np.uint64))


def _hashed(kernel, *arrays):
    result = np.empty(2, np.uint64)
    kernel(*arrays, result)
    return result.tobytes()


class BlockFile:
    """The blocks of a file, each appended after the last."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self._end = HEADER_SIZE
        self._write_header(IN_WORK, 0)

    def append_data(self, *parts: bytes | np.ndarray) -> int:
        """Append one data block made of bytes and arrays; the reference to it."""
        size = sum(memoryview(part).nbytes for part in parts)
        return IS_DATA | (self._append(size, parts, size) if size else 0)

    def append_group(self, references: ArrayLike) -> int:
        """Append one group block; the reference to it."""
        references = np.asarray(references, np.uint64)
        return self._append(len(references), [references], references.nbytes)

    def complete(self, root: int) -> None:
        """Name the root group and declare the file whole."""
        self._file.seek(0)
        self._write_header(COMPLETE, root)

    def _write_header(self, mark, root):
        self._file.write(MAGIC + mark + CONTAINER_VERSION + pack("<Q", root))

    def _append(self, count, parts, size):
        start = self._end
        self._file.write(pack("<Q", count))
        for part in parts:
            self._file.write(part)
        self._end += 8 + size
        return start


@dataclass
class TimeSampling:
    """When samples were taken: sample i at start + i * spacing [s]."""

    index: int
    start: float
    spacing: float
    largest_count: int = 0
    """Samples of the longest property that uses it; one that never changes counts as 1."""

    def packed(self) -> bytes:
        return pack("<dId", self.spacing, 1, self.start)


@dataclass(frozen=True)
class Closed:
    """Where a property or object was written, and the hash of all that is in it."""

    reference: int
    hash: bytes


class Samples:
    """A property that holds values: one element at each sample, or an array of any number of elements.

    An element is `extent` numbers. `is_timeless` if its only sample belongs to no frame.
    """

    def __init__(
        self, archive, name, dtype, extent=1, *, is_array=False, is_timeless=False, metadata=""
    ):
        self.name = name
        self.dtype = np.dtype(dtype)
        self.extent = extent
        self.metadata = metadata
        self.sampling = archive.samplings[0 if is_timeless else 1]
        self.kind = ARRAY_OF_ONE if is_array else SCALAR
        self.count = self.first_change = self.last_change = 0
        self._blocks = archive.blocks
        self._slots = array("Q")
        self._latest = None
        self._latest_hash = self._hash = b""

    def push(self, values: ArrayLike) -> "Samples":
        """Add a sample and return the property; bytes are written only if they differ from the sample before."""
        values = np.ascontiguousarray(values, self.dtype)
        digest = sample_digest(values)
        if (digest, values.size) != self._latest:
            self._store(digest, values)
        self.repeat()
        return self

    def repeat(self) -> None:
        """Add a sample that equals the one before."""
        self._hash = chained(self._hash, self._latest_hash) if self.count else self._latest_hash
        self.count += 1

    def _store(self, digest, values):
        if self.first_change:
            # Samples between the first change and the last have a slot each, even repeats.
            self._slots.extend(self._slots[-1:] * (self.count - self.last_change - 1))
        self.first_change = self.first_change or self.count
        self.last_change = self.count
        # Of an empty array not even the digest is stored.
        self._slots.append(self._blocks.append_data(*([digest, values] if values.size else [])))
        self._latest, self._latest_hash = (digest, values.size), digest
        if self.kind != SCALAR:
            element_count = values.size // self.extent
            self.kind = self.kind if element_count == 1 else ARRAY
            self._latest_hash = spooky(pack("<Q", element_count), digest)

    def closed(self, archive: "Archive") -> Closed:
        """Write the references to all samples."""
        references = np.array(self._slots, np.uint64)
        element = bytes([POD[self.dtype.name], self.extent])
        if self.kind == SCALAR:
            element += b"\x00"
        else:
            # Each is followed by the dimensions of the array: no data, as it has only one.
            dimensions = np.full_like(references, IS_DATA)
            references = np.stack([references, dimensions], axis=1).reshape(-1)
        sampling = self.sampling
        sampling.largest_count = max(sampling.largest_count, self.count if self.last_change else 1)
        described = self.name.encode(), self.metadata.encode(), element, sampling.packed()
        return Closed(archive.blocks.append_group(references), spooky(*described, self._hash))

    def header(self, archive: "Archive") -> bytes:
        """What the parent says of it."""
        info = self.kind | POD[self.dtype.name] << POD_SHIFT | self.extent << EXTENT_SHIFT
        # The reference library's meaning: all but arrays whose elements are several numbers.
        info |= IS_HOMOGENOUS if self.kind == SCALAR or self.extent == 1 else 0
        numbers = [self.count]
        if not self.last_change:
            info |= IS_CONSTANT
        elif (self.first_change, self.last_change) != (1, self.count - 1):
            info |= HAS_CHANGES
            numbers += [self.first_change, self.last_change]
        if self.sampling.index:
            info |= HAS_SAMPLING
            numbers += [self.sampling.index]
        return archive.property_header(info, numbers, self.name, self.metadata)


@dataclass
class Compound:
    """A property that holds properties."""

    name: str
    metadata: str
    properties: list["Samples | Compound"]

    def closed(self, archive: "Archive") -> Closed:
        """Write all that is in it."""
        reference, hashes = archive.close_properties(self.properties)
        return Closed(reference, spooky(hashes, self.name.encode(), self.metadata.encode()))

    def header(self, archive: "Archive") -> bytes:
        """What the parent says of it."""
        return archive.property_header(0, [], self.name, self.metadata)


@dataclass
class Object:
    """A named node of the scene; its metadata says of which schema it is."""

    name: str
    metadata: str
    properties: list["Samples | Compound"]
    children: list["Object"] = field(default_factory=list)

    def closed(self, archive: "Archive") -> Closed:
        """Write it and all below it."""
        children = [child.closed(archive) for child in self.children]
        child_hashes = b"".join(child.hash for child in children)
        properties, hashes = archive.close_properties(self.properties)
        properties_hash = spooky(hashes)
        headers = archive.blocks.append_data(
            *(child.header(archive) for child in self.children),
            properties_hash,
            spooky(child_hashes) if children else bytes(16),
        )
        references = [properties, *(child.reference for child in children), headers]
        described = child_hashes, properties_hash, self.metadata.encode(), self.name.encode()
        return Closed(archive.blocks.append_group(references), spooky(*described))

    def header(self, archive: "Archive") -> bytes:
        """What the parent says of it."""
        name = self.name.encode()
        return pack("<I", len(name)) + name + bytes([archive.metadata_index(self.metadata)])


class Archive:
    """An Alembic archive on its way into an empty binary file: sample i of each property at start + i * spacing [s]."""

    def __init__(self, file: BinaryIO, start: float, spacing: float):
        self.blocks = BlockFile(file)
        self.samplings = [TimeSampling(0, 0.0, 1.0), TimeSampling(1, start, spacing)]
        self._metadata = {"": 0}
        versions = pack("<i", CORE_VERSION), pack("<i", LIBRARY_VERSION)
        self._versions = [self.blocks.append_data(version) for version in versions]

    def close(self, top: Object, metadata: str) -> None:
        """Write the scene below `top` and the archive's own metadata; the file is complete then."""
        scene = top.closed(self).reference
        samplings = [pack("<I", s.largest_count) + s.packed() for s in self.samplings]
        texts = [bytes([len(text)]) + text.encode() for text in self._metadata if text]
        tables = metadata.encode(), b"".join(samplings), b"".join(texts)
        references = [self.blocks.append_data(table) for table in tables]
        self.blocks.complete(self.blocks.append_group([*self._versions, scene, *references]))

    def close_properties(self, properties: "list[Samples | Compound]") -> tuple[int, bytes]:
        """Write properties and their headers: the reference to them, and their hashes joined."""
        if not properties:
            return 0, b""
        closed = [each.closed(self) for each in properties]
        headers = self.blocks.append_data(*(each.header(self) for each in properties))
        references = [*(each.reference for each in closed), headers]
        return self.blocks.append_group(references), b"".join(each.hash for each in closed)

    def property_header(self, info: int, numbers: list[int], name: str, metadata: str) -> bytes:
        """The header of a property, its numbers as wide as the largest of them needs."""
        octets = name.encode()
        largest = max(len(metadata), len(octets), *numbers, 0)
        code, _, width = next(row for row in WIDTHS if largest <= row[1])
        info |= self.metadata_index(metadata) << METADATA_SHIFT | code << WIDTH_SHIFT
        return pack(f"<I{len(numbers) + 1}{width}", info, *numbers, len(octets)) + octets

    def metadata_index(self, text: str) -> int:
        """The place of an ASCII text of up to 255 letters in the table that all headers share."""
        return self._metadata.setdefault(text, len(self._metadata))
