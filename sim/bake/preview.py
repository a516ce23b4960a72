"""Moving pictures of a bake, drawn without a display: a GIF of all frames or a PNG of some side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.bake.cache import Cache
from jellycage.sim.errors import SettingsError
from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.scene.shot import Shot
from jellycage.sim.shapes import Plane
from jellycage.sim.shapes.colliders import Collider
from jellycage.sim.shapes.static_mesh import StaticMesh
from jellycage.toolkit.picture.camera import camera_around
from jellycage.toolkit.picture.gif_file import pillow, write_gif
from jellycage.toolkit.picture.picture import Drawn, contact_sheet, render, write_png

COLOURS = ((0.78, 0.055, 0.030), (0.10, 0.32, 0.75), (0.10, 0.55, 0.18), (0.85, 0.45, 0.05))
COLLIDER_COLOUR = (0.42, 0.42, 0.45)
GIF_SIZE, SHEET_SIZE = (480, 360), (360, 300)
SHEET_FRAMES, SHEET_COLUMNS = 12, 4
MOST_GIF_FPS = 25.0  # viewers play no faster


def check_preview(path: Path) -> None:
    """Stop before the work if the name says neither PNG nor GIF, or what writes GIFs is missing."""
    if path.suffix.lower() not in (".png", ".gif"):
        raise SettingsError(f"{path}: a preview ends in .png or .gif; rename it")
    if path.suffix.lower() == ".gif":
        pillow()


@dataclass(frozen=True, eq=False)
class Animation:
    """What moves in the pictures, and what it moves among."""

    meshes: Sequence[ExportMesh]
    frames: tuple[int, int]
    """First and last."""
    fps: float
    points: Callable[[int], Sequence[NDArray]]
    """Vertices of each mesh at a frame, shapes (v, 3) [m]."""
    colliders: Sequence[Collider] = ()
    obstacles: Sequence[StaticMesh] = ()


def write_preview(
    path: str | Path, shot: Shot, cache: Cache, *, progress: Callable[[float], None] | None = None
) -> None:
    """Draw the frames of a finished bake."""
    facts = cache.facts
    animation = Animation(
        cache.meshes,
        facts.frames,
        facts.fps,
        cache.frame,
        shot.scene.colliders,
        shot.scene.meshes,
    )
    draw_animation(path, animation, progress=progress)


def draw_animation(
    path: str | Path, animation: Animation, *, progress: Callable[[float], None] | None = None
) -> None:
    """Draw all frames into a GIF, or some side by side into a PNG."""
    path = Path(path)
    check_preview(path)
    first, last = animation.frames
    is_gif = path.suffix.lower() == ".gif"
    if is_gif:
        stride = max(1, round(animation.fps / MOST_GIF_FPS))
        frames = list(range(first, last + 1, stride))
    else:
        stride = 1
        frames = sorted(
            {round(f) for f in np.linspace(first, last, min(SHEET_FRAMES, last - first + 1))}
        )
    width, height = GIF_SIZE if is_gif else SHEET_SIZE
    camera, floor = _view(animation, width / height)
    images = []
    for number, frame in enumerate(frames, start=1):
        time = (frame - first) / animation.fps
        shapes = [*_bodies(animation, frame), *_surroundings(animation, time, floor), floor]
        images.append(render(shapes, width=width, height=height, camera=camera))
        if progress is not None:
            progress(number / len(frames))
    if is_gif:
        write_gif(path, images, animation.fps / stride)
    else:
        write_png(path, contact_sheet(images, min(SHEET_COLUMNS, len(images))))


def _view(animation: Animation, aspect):
    """A camera that sees the bodies at all frames, and the ground as a shape without faces."""
    first, last = animation.frames
    boxes = []
    for frame in range(first, last + 1):
        points = np.concatenate(animation.points(frame))
        boxes.append(np.stack([points.min(axis=0), points.max(axis=0)]))
    low, high = np.min(boxes, axis=0)[0].astype(float), np.max(boxes, axis=0)[1].astype(float)
    for collider in animation.colliders:
        pose = collider.motion.pose(0.0)
        if isinstance(collider.shape, Plane) and pose[8] > 0.999:
            low[2] = pose[11]
    corners = np.array(
        [[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    )
    camera = camera_around(corners, aspect=aspect)
    ground = corners[corners[:, 2] == low[2]]
    return camera, Drawn(ground, np.zeros((0, 3), np.int32))


def _bodies(animation: Animation, frame: int):
    parts = zip(animation.meshes, animation.points(frame), strict=True)
    for number, (mesh, points) in enumerate(parts):
        yield Drawn(points, _triangles(mesh), COLOURS[number % len(COLOURS)])


def _triangles(mesh) -> NDArray[np.int32]:
    """Fans of the polygons: good enough to look at."""
    start, corners = mesh.polygon_start, mesh.polygon_vertices
    size = np.diff(start)
    fans = [
        np.stack(
            [
                corners[start[:-1][size > k + 1]],
                corners[start[:-1][size > k + 1] + k],
                corners[start[:-1][size > k + 1] + k + 1],
            ],
            axis=1,
        )
        for k in range(1, int(size.max()) - 1)
    ]
    return np.concatenate(fans)


def _surroundings(animation: Animation, time: float, floor: Drawn):
    """What is not the ground itself."""
    for obstacle in animation.obstacles:
        yield Drawn(obstacle.vertices, obstacle.faces, COLLIDER_COLOUR)
    extent = 2.0 * float(np.ptp(floor.vertices, axis=0).max())
    for collider in animation.colliders:
        pose = collider.motion.pose(time)
        if isinstance(collider.shape, Plane) and pose[8] > 0.999:
            continue
        vertices, faces = collider.shape.drawn(fineness=2, extent=extent)
        turn, location = pose[:9].reshape(3, 3), pose[9:]
        yield Drawn(vertices @ turn.T + location, faces, COLLIDER_COLOUR)
