"""A reader of BVH files that shares nothing with the writer: it parses words and multiplies matrices."""

import numpy as np


def read_bvh(path):
    """(joints, frame time [s], positions): positions {name: (f, 3)} of heads, {name + " end": (f, 3)} of End Sites.

    joints are (name, parent name, channel names), in the axes of the file.
    """
    words = path.read_text(encoding="utf-8").split()
    at, stack, joints, ends = 0, [], [], []
    assert words[at] == "HIERARCHY"
    at += 1
    while words[at] != "MOTION":
        word = words[at]
        if word in ("ROOT", "JOINT"):
            assert (word == "ROOT") == (not stack)
            assert words[at + 2] == "{" and words[at + 3] == "OFFSET"
            offset = np.array(words[at + 4 : at + 7], float)
            assert words[at + 7] == "CHANNELS"
            count = int(words[at + 8])
            channels = words[at + 9 : at + 9 + count]
            joints.append((words[at + 1], stack[-1] if stack else None, offset, channels))
            stack.append(words[at + 1])
            at += 9 + count
        elif word == "End":
            assert words[at + 1 : at + 4] == ["Site", "{", "OFFSET"] and words[at + 7] == "}"
            ends.append((stack[-1], np.array(words[at + 4 : at + 7], float)))
            at += 8
        else:
            assert word == "}", word
            stack.pop()
            at += 1
    assert not stack and words[at + 1] == "Frames:" and words[at + 3 : at + 5] == ["Frame", "Time:"]
    frames, time = int(words[at + 2]), float(words[at + 5])
    values = np.array(words[at + 6 :], float).reshape(frames, -1)
    return joints, time, _positions(joints, ends, values)


def _positions(joints, ends, values):
    found = {}
    placed = {}
    at = 0
    for name, parent, offset, channels in joints:
        world = np.tile(np.eye(4), (len(values), 1, 1)) if parent is None else placed[parent]
        place = np.tile(offset, (len(values), 1))
        turn = np.tile(np.eye(3), (len(values), 1, 1))
        for channel in channels:
            axis = "XYZ".index(channel[0])
            if channel.endswith("position"):
                place[:, axis] = values[:, at]
            else:
                turn = turn @ _about(axis, np.radians(values[:, at]))
            at += 1
        local = np.tile(np.eye(4), (len(values), 1, 1))
        local[:, :3, :3], local[:, :3, 3] = turn, place
        placed[name] = world @ local
        found[name] = placed[name][:, :3, 3]
    assert at == values.shape[1]
    for name, offset in ends:
        found[f"{name} end"] = (placed[name] @ np.append(offset, 1.0))[:, :3]
    return found


def _about(axis, angles):
    """Rotation matrices about x, y or z, (f, 3, 3)."""
    one, other = [k for k in range(3) if k != axis]
    cosine, sine = np.cos(angles), np.sin(angles) * (1.0 if axis != 1 else -1.0)
    matrices = np.tile(np.eye(3), (len(angles), 1, 1))
    matrices[:, one, one] = matrices[:, other, other] = cosine
    matrices[:, one, other], matrices[:, other, one] = -sine, sine
    return matrices
