"""The bytes of small mesh files of every format that can be read, made by code."""

import io
import struct

import numpy as np
from shapes import QUADS, ball, box

CUBE_OBJ = "".join(f"v {x:g} {y:g} {z:g}\n" for x, y, z in box()[0]) + "".join(
    "f " + " ".join(str(i + 1) for i in quad) + "\n" for quad in QUADS
)


def ply_header(vertex_count, face_count, style="binary_little_endian", kind="float", extra=""):
    """The header of a PLY file; `face_count` None leaves the faces out."""
    faces = "" if face_count is None else f"element face {face_count}\n"
    faces += "" if face_count is None else "property list uchar int vertex_indices\n"
    axes = "".join(f"property {kind} {axis}\n" for axis in "xyz")
    start = f"ply\nformat {style} 1.0\ncomment b\xfcr\nelement vertex {vertex_count}\n"
    return (start + axes + extra + faces + "end_header\n").encode("latin-1")


def binary_ply(vertices, polygons, kind="float", order="<"):
    """A binary PLY file of polygons of any size."""
    style = "binary_little_endian" if order == "<" else "binary_big_endian"
    code = order + ("f4" if kind == "float" else "f8")
    rows = [struct.pack(f"{order}B{len(p)}i", len(p), *p) for p in polygons]
    header = ply_header(len(vertices), len(rows), style, kind)
    return header + np.asarray(vertices).astype(code).tobytes() + b"".join(rows)


def ascii_ply(vertices, polygons):
    """An ASCII PLY file."""
    lines = [" ".join(map(repr, row)) for row in np.asarray(vertices).tolist()]
    lines += [" ".join(map(str, [len(p), *p])) for p in polygons]
    return ply_header(len(vertices), len(polygons), "ascii") + "\n".join(lines).encode() + b"\n"


def binary_stl(vertices, faces):
    """A binary STL file with zero normals."""
    records = np.zeros(len(faces), dtype=[("n", "<f4", 3), ("c", "<f4", (3, 3)), ("a", "<u2")])
    records["c"] = np.asarray(vertices)[faces]
    return bytes(80) + struct.pack("<I", len(faces)) + records.tobytes()


def ascii_stl(vertices, faces):
    """An ASCII STL file."""
    lines = ["solid vertex facet"]
    for triangle in np.asarray(vertices)[faces].tolist():
        corners = ["vertex " + " ".join(map(repr, corner)) for corner in triangle]
        lines += ["facet normal 0 0 0", "outer loop", *corners, "endloop", "endfacet"]
    return "\n".join([*lines, "endsolid\n"]).encode()


def off(vertices, polygons):
    """An OFF file."""
    lines = ["OFF # made by a test", f"{len(vertices)} {len(polygons)} 0"]
    lines += [" ".join(map(repr, row)) for row in np.asarray(vertices).tolist()]
    lines += [" ".join(map(str, [len(p), *p])) for p in polygons]
    return "\n".join(lines).encode() + b"\n"


def through_meshio(folder, ending, vertices, faces, **options):
    """The bytes that meshio writes."""
    import meshio

    path = folder / f"made.{ending}"
    meshio.Mesh(vertices, [("triangle", faces)]).write(path, **options)
    return path.read_bytes()


def through_trimesh(ending, vertices, faces):
    """The bytes that trimesh writes as .glb, or as .gltf with the data inside."""
    import base64

    import trimesh

    scene = trimesh.Scene()
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    mesh.visual = trimesh.visual.TextureVisuals(uv=vertices[:, :2])
    scene.add_geometry(mesh, transform=trimesh.transformations.translation_matrix([5, 0, 0]))
    if ending == "glb":
        return scene.export(file_type="glb")
    files = scene.export(file_type="gltf", merge_buffers=True)
    text = files.pop("model.gltf").decode()
    for name, data in files.items():
        inside = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
        text = text.replace(f'"{name}"', f'"{inside}"')
    return text.encode()


def npy_bytes(array):
    """An array in numpy's own format: a file of a kind that is no mesh."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def samples(folder):
    """A valid small ball of every kind: {name.ending: bytes}."""
    vertices, faces = ball(1)
    single = vertices.astype(np.float32)
    lines = "".join(f"v {x!r} {y!r} {z!r}\nvt {x!r} {y!r}\n" for x, y, z in vertices.tolist())
    lines += "".join("f " + " ".join(f"{i + 1}/{i + 1}" for i in f) + "\n" for f in faces)
    return {
        "plain.obj": lines.encode(),
        "cube.obj": CUBE_OBJ.encode(),
        "binary.ply": binary_ply(vertices, faces),
        "big.ply": binary_ply(vertices, faces, "double", ">"),
        "mixed.ply": binary_ply(box()[0], [[0, 3, 2], [0, 2, 1], *QUADS[1:]]),
        "text.ply": ascii_ply(vertices, faces),
        "binary.stl": binary_stl(vertices, faces),
        "text.stl": ascii_stl(vertices, faces),
        "text.off": off(vertices, faces),
        "scene.glb": through_trimesh("glb", single, faces),
        "scene.gltf": through_trimesh("gltf", single, faces),
        "binary.vtk": through_meshio(folder, "vtk", vertices, faces, binary=True),
        "text.vtk": through_meshio(folder, "vtk", vertices, faces, binary=False),
        "packed.vtu": through_meshio(folder, "vtu", vertices, faces),
        "new.msh": through_meshio(folder, "msh", vertices, faces, file_format="gmsh", binary=False),
        "old.msh": through_meshio(
            folder, "msh", vertices, faces, file_format="gmsh22", binary=False
        ),
        "text.mesh": through_meshio(folder, "mesh", vertices, faces),
        "text.inp": through_meshio(folder, "inp", vertices, faces),
    }
