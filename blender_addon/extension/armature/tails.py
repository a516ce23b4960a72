"""Curves of animation that keep their beginning and get another end: exact up to a frame, dense keys after it."""

import numpy as np

LINEAR, FREE, VECTOR = 1, 0, 2  # as foreach_set wants interpolation and handle types
CLOSE = 1e-4  # frames


def replace_end(curve, frame: int, values, before: float | None, start: int) -> None:
    """Keep a curve up to `frame` and give it `values`, one for each of the frames after it.

    before: its value at `frame` if the curve is new or does nothing. start: the first frame that matters, from which
    a curve is sampled whose beginning cannot be kept as keys.
    """
    if before is not None:
        _clear(curve)
        _append(curve, [frame], [before])
    elif _needs_samples(curve):
        frames = np.arange(min(start, frame), frame + 1)
        samples = [curve.evaluate(at) for at in frames]
        _clear(curve)
        _append(curve, frames, samples)
    else:
        _cut(curve, frame)
    curve.extrapolation = "CONSTANT"
    _append(curve, frame + 1 + np.arange(len(values)), values)
    curve.update()


def _needs_samples(curve):
    """Whether what is before a frame depends on more than the keys before it."""
    return bool(curve.modifiers) or curve.extrapolation != "CONSTANT" or not curve.keyframe_points


def _clear(curve):
    for modifier in reversed(curve.modifiers):
        curve.modifiers.remove(modifier)
    curve.keyframe_points.clear()


def _cut(curve, frame):
    """Remove all after a frame; before it nothing changes, and there is a key at it."""
    value, points = curve.evaluate(frame), curve.keyframe_points
    times = np.empty(2 * len(points), np.float32)
    points.foreach_get("co", times)
    times = times[::2]
    kept = int(np.searchsorted(times, frame + CLOSE, side="right"))
    is_keyed = kept > 0 and abs(times[kept - 1] - frame) <= CLOSE
    # Handles that Blender places by itself would move with their neighbours.
    for name in ("handle_left_type", "handle_right_type"):
        points.foreach_set(name, np.full(len(points), FREE, np.int32))
    added = [] if is_keyed else [(frame, value)]
    handle = None
    if kept and not is_keyed:
        last = points[kept - 1]
        following = points[kept] if kept < len(points) else None
        if following is None or last.interpolation == "CONSTANT":
            last.interpolation = "CONSTANT"
        elif last.interpolation == "BEZIER":
            near, handle = split_handles(last, following, frame)
            last.handle_right = near
        elif last.interpolation != "LINEAR":  # one of the easings: no key can end it early
            between = np.arange(int(np.floor(times[kept - 1])) + 1, frame + 1)
            added = [(at, curve.evaluate(at)) for at in between]
            last.interpolation = "LINEAR"
    for at in reversed(range(kept, len(points))):
        points.remove(points[at], fast=True)
    if added:
        _append(curve, *zip(*added, strict=True))
    end = points[len(points) - 1]
    end.interpolation = "LINEAR"
    if handle is not None:
        end.handle_left_type = "FREE"
        end.handle_left = handle


def split_handles(first, second, frame: float):
    """Where the handles of a curve's segment between two keys lie after a key at `frame` is put in.

    ((time, value) after the first key, (time, value) before the new one)
    """
    p = np.array([first.co, first.handle_right, second.handle_left, second.co], np.float64)
    # As Blender does when it evaluates: handles that reach past each other are shortened.
    length, reach = p[3, 0] - p[0, 0], abs(p[1, 0] - p[0, 0]) + abs(p[3, 0] - p[2, 0])
    if reach > length > 0.0:
        p[1] = p[0] + (p[1] - p[0]) * length / reach
        p[2] = p[3] + (p[2] - p[3]) * length / reach
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        time = (
            np.array([1, 3, 3, 1]) * (1 - middle) ** np.arange(3, -1, -1) * middle ** np.arange(4)
        )
        low, high = (middle, high) if time @ p[:, 0] < frame else (low, middle)
    t = 0.5 * (low + high)
    a, b, _ = p[:-1] + t * (p[1:] - p[:-1])  # de Casteljau
    return tuple(a), tuple(a + t * (b - a))


def _append(curve, frames, values):
    """Add keys with straight lines between them, all later than those that are there."""
    points, count = curve.keyframe_points, len(curve.keyframe_points)
    points.add(len(frames))
    new = {"co": np.column_stack([frames, values]).astype(np.float32)}
    kinds = {"interpolation": LINEAR, "handle_left_type": VECTOR, "handle_right_type": VECTOR}
    for name in ("co", "handle_left", "handle_right"):
        every = np.empty((len(points), 2), np.float32)
        points.foreach_get(name, every.ravel())
        every[count:] = new["co"]
        points.foreach_set(name, every.ravel())
    for name, kind in kinds.items():
        every = np.empty(len(points), np.int32)
        points.foreach_get(name, every)
        every[count:] = kind
        points.foreach_set(name, every)
