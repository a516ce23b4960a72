"""Characters of binary glTF files that bones move: a mesh, and where its vertices are at a time.

Only what the sample characters need: node hierarchies, skins, and the first animation with linear or stepped keys.
"""

import json
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # glTF has y up
BLEND = 0.5  # time in which the pose of the file becomes that of the animation [s]


@dataclass(frozen=True, eq=False)
class Character:
    """One file."""

    path: Path
    action: str = ""
    """Name of the animation; the first one if there is none of that name."""

    @cached_property
    def _file(self):
        data = self.path.read_bytes()
        length = struct.unpack_from("<I", data, 12)[0]
        return json.loads(data[20 : 20 + length]), data[28 + length :]

    @cached_property
    def mesh(self):
        """(vertices, triangles) of all its meshes in the pose of the file [m], shapes (v, 3) and (t, 3)."""
        faces, count = [], 0
        for _, primitive in self._primitives:
            added = len(self._read(primitive["attributes"]["POSITION"]))
            corners = (
                self._read(primitive["indices"]) if "indices" in primitive else np.arange(added)
            )
            faces.append(corners.reshape(-1, 3).astype(int) + count)
            count += added
        return self.vertices(None), np.concatenate(faces)

    def vertices(self, time):
        """Where the vertices are at a time [s], shape (v, 3) [m]; None: in the pose of the file."""
        world = self._world(time)
        return np.concatenate([self._posed(*row, world) for row in self._primitives]) @ UP.T

    @cached_property
    def _primitives(self):
        document = self._file[0]
        return [
            (number, primitive)
            for number, node in enumerate(document["nodes"])
            if "mesh" in node
            for primitive in document["meshes"][node["mesh"]]["primitives"]
        ]

    def _posed(self, number, primitive, world):
        node, attributes = self._file[0]["nodes"][number], primitive["attributes"]
        points = np.pad(self._read(attributes["POSITION"]), ((0, 0), (0, 1)), constant_values=1.0)
        if "skin" not in node:
            return points @ world[number, :3].T
        skin = self._file[0]["skins"][node["skin"]]
        inverse = self._read(skin["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        bones = world[skin["joints"]] @ inverse
        joints, weights = self._read(attributes["JOINTS_0"]), self._read(attributes["WEIGHTS_0"])
        weights = weights / weights.sum(axis=1, keepdims=True)
        return np.einsum("vk,vkij,vj->vi", weights, bones[joints.astype(int), :3], points)

    def _world(self, time):
        """Transforms of the nodes, shape (n, 4, 4)."""
        nodes = self._file[0]["nodes"]
        local = [_matrix(node, self._keyed(number, time)) for number, node in enumerate(nodes)]
        world = np.array(local)
        parents = {
            child: number for number, node in enumerate(nodes) for child in node.get("children", ())
        }
        for number in range(len(nodes)):
            at = number
            while at in parents:
                at = parents[at]
                world[number] = local[at] @ world[number]
        return world

    def _keyed(self, number, time):
        """What the animation says of a node at a time, blended in from its own pose."""
        if time is None:
            return {}
        node, share, values = self._file[0]["nodes"][number], min(time / BLEND, 1.0), {}
        for path, times, keys in self._channels.get(number, ()):
            now = np.array([np.interp(time % times[-1], times, column) for column in keys.T])
            own = np.array(node.get(path, OWN[path]))
            if path == "rotation" and own @ now < 0.0:
                now = -now
            values[path] = own + share * (now - own)
        return values

    @cached_property
    def _channels(self):
        animations = self._file[0].get("animations", [])
        named = [one for one in animations if one.get("name") == self.action] or animations
        channels = {}
        for channel in named[0]["channels"] if named else ():
            target, sampler = channel["target"], named[0]["samplers"][channel["sampler"]]
            if target["path"] in OWN:
                times, keys = self._read(sampler["input"]).ravel(), self._read(sampler["output"])
                if target["path"] == "rotation":  # neighbours in one half of the sphere
                    turns = np.cumprod(
                        np.where((keys[1:] * keys[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
                    )
                    keys = keys * np.append(1.0, turns)[:, None]
                channels.setdefault(target["node"], []).append((target["path"], times, keys))
        return channels

    def _read(self, accessor):
        """An array of the file, shape (count, width)."""
        document, data = self._file
        accessor = document["accessors"][accessor]
        view = document["bufferViews"][accessor["bufferView"]]
        kind, width = np.dtype(COMPONENTS[accessor["componentType"]]), WIDTHS[accessor["type"]]
        stride = view.get("byteStride", width * kind.itemsize)
        first = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        rows = np.ndarray((accessor["count"], width), kind, data, first, (stride, kind.itemsize))
        values = rows.astype(float)
        return values / np.iinfo(kind).max if accessor.get("normalized") else values


OWN = {"translation": (0.0, 0.0, 0.0), "rotation": (0.0, 0.0, 0.0, 1.0), "scale": (1.0, 1.0, 1.0)}


def _matrix(node, keyed):
    """Transform (4, 4) of a node with what is keyed of it."""
    if "matrix" in node:
        return np.array(node["matrix"]).reshape(4, 4).T
    place, turn, scale = (np.array(keyed.get(path, node.get(path, OWN[path]))) for path in OWN)
    x, y, z, w = turn / np.linalg.norm(turn)
    matrix = np.eye(4)
    matrix[:3, :3] = (
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )
        * scale
    )
    matrix[:3, 3] = place
    return matrix
