"""What the simulator says of its own settings, as the build wrote it down: presets, file formats, keys of scene files.

resolution: IntProperty(name="Resolution", **of("body.resolution", default=16), soft_max=48)
"""

import json
from pathlib import Path


def _read(name):
    return json.loads((Path(__file__).parent / "vendor" / name).read_text(encoding="utf-8"))


_PRESETS, _SCHEMA = _read("presets.json"), _read("schema.json")
PRESETS, QUALITIES = _PRESETS["presets"], _PRESETS["qualities"]
SCENE, WRITERS, LAWS = _SCHEMA["scene"], _SCHEMA["writers"], _SCHEMA["laws"]


def entry(path: str) -> dict:
    """All that is known of a key of scene files, such as "body.material.density"."""
    found = SCENE
    for name in path.split("."):
        found = found["keys"][name]
    return found


def of(path: str, also: str = "", **own) -> dict:
    """Default, limits and description of a property that stands for a key of scene files.

    also: another sentence, for artists. own: what the panel says otherwise; always the default of a key that may be
    left out, as a property cannot be.
    """
    row = entry(path)
    limits = row["either"][0] if "either" in row else row  # of a number or keys the number
    sentence = row["sentence"].partition("; left out")[0].rstrip(".")
    unit = f" [{limits['unit']}]" if limits.get("unit") else ""
    result = {"description": f"{sentence}{unit}{'. ' if also else ''}{also}"}
    if "low" in limits:
        result |= {"min": limits["low"], "max": limits["high"]}
    if row["default"] is not None:
        result["default"] = row["default"]
    return result | own
