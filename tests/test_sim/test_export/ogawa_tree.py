"""An Alembic file as nested dictionaries: a parser that shares nothing with the writer.

Metadata indices are replaced by the text they stand for, and block positions by what lies there, so that two files
with the same content in another order give the same tree.
"""

import struct

PODS = ["?", "B", "b", "H", "h", "I", "i", "Q", "q", "e", "f", "d"]


class Ogawa:
    """Access to the blocks of a complete file."""

    def __init__(self, data):
        self.data = data
        assert data[:8] == b"Ogawa\xff\x00\x01"
        self.root = struct.unpack_from("<Q", data, 8)[0]

    def block(self, reference):
        """The bytes of a data block, or the references of a group."""
        at = reference & ~(1 << 63)
        if at == 0:
            return b"" if reference >> 63 else ()
        count = struct.unpack_from("<Q", self.data, at)[0]
        if reference >> 63:
            assert at + 8 + count <= len(self.data)
            return self.data[at + 8 : at + 8 + count]
        return struct.unpack_from(f"<{count}Q", self.data, at + 8)


def archive_tree(data):
    """Everything in the bytes of an archive."""
    file = Ogawa(data)
    core, library, top, metadata, samplings, table = file.block(file.root)
    file.texts = [""]
    rest = file.block(table)
    while rest:
        file.texts.append(rest[1 : 1 + rest[0]].decode())
        rest = rest[1 + rest[0] :]
    return {
        "versions": (file.block(core), file.block(library)),
        "metadata": file.block(metadata).decode(),
        "samplings": file.block(samplings),
        "top": object_tree(file, top, "ABC", ""),
    }


def object_tree(file, reference, name, metadata):
    properties, *children, last = file.block(reference)
    headers, hashes = file.block(last)[:-32], file.block(last)[-32:]
    found = []
    for child in children:
        size = struct.unpack_from("<I", headers)[0]
        child_name, index = headers[4 : 4 + size].decode(), headers[4 + size]
        assert index != 255
        headers = headers[5 + size :]
        found.append(object_tree(file, child, child_name, file.texts[index]))
    assert not headers
    return {
        "name": name,
        "metadata": metadata,
        "hashes": hashes.hex(),
        "properties": property_trees(file, properties),
        "children": found,
    }


def property_trees(file, reference):
    if not file.block(reference):
        return {}
    *groups, last = file.block(reference)
    headers, found = file.block(last), {}
    for group in groups:
        name, tree, headers = property_tree(file, group, headers)
        assert name not in found
        found[name] = tree
    assert not headers
    return found


def property_tree(file, group, headers):
    """(name, tree, headers that are left)."""
    info = struct.unpack_from("<I", headers)[0]
    width = "BHI"[info >> 2 & 3]
    at = 4

    def number():
        nonlocal at
        at += struct.calcsize("<" + width)
        return struct.unpack_from("<" + width, headers, at - struct.calcsize("<" + width))[0]

    tree = {"info": info & ~0x0FF00000, "metadata": file.texts[info >> 20 & 0xFF]}
    assert info >> 20 & 0xFF != 255
    if info & 3:
        tree["count"] = number()
        tree["changes"] = (number(), number()) if info & 0x200 else None
        tree["sampling"] = number() if info & 0x100 else 0
    size = number()
    name, rest = headers[at : at + size].decode(), headers[at + size :]
    tree["content"] = samples(file, group, info) if info & 3 else property_trees(file, group)
    return name, tree, rest


def samples(file, group, info):
    """(digest, values) of each stored slot."""
    slots = file.block(group)
    if info & 3 != 1:
        assert not any(file.block(dimensions) for dimensions in slots[1::2])
        slots = slots[::2]
    found, pod = [], PODS[info >> 4 & 15]
    for slot in slots:
        block = file.block(slot)
        count = (len(block[16:])) // struct.calcsize("<" + pod)
        found.append((block[:16].hex(), struct.unpack(f"<{count}{pod}", block[16:])))
    return found
