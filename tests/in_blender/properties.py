"""The settings of objects and scenes: what is a key of scene files has the limits, default and sentence of the key."""

import bpy
from claims import addon, claim, try_all

NUMBERS = {
    "resolution": "body.resolution",
    "sag": "body.sag",
    "young_modulus": "body.material.young_modulus",
    "poisson_ratio": "body.material.poisson_ratio",
    "density": "body.material.density",
    "friction": "body.friction",
    "damping_ratio": "body.damping_ratio",
    "paint_low": "body.paint.young_modulus.low",
    "paint_high": "body.paint.young_modulus.high",
    "pin_strength": "body.pin.strength",
    "collider_friction": "collider.friction",
    "ground_friction": "collider.friction",
    "frame_start": "frames",
    "frame_end": "frames",
}
CHOICES = {
    "element": "body.element",
    "surface": "body.surface",
    "preset": "body.preset",
    "law": "body.material.law",
    "quality": "quality",
}
VECTORS = {"velocity": "body.velocity", "spin": "body.spin"}
OF_THE_PANEL = {
    *("fit", "join", "units", "paint_group", "use_own_motion", "pin_group", "role", "shape"),
    *("ground", "ground_height"),
}
"""Settings that a scene file says in another way, or not at all."""


def group(kind):
    return kind.bl_rna.properties["jellycage"].fixed_type.properties


def found(name):
    """A property of objects or of scenes."""
    of_object, of_scene = group(bpy.types.Object), group(bpy.types.Scene)
    return of_object[name] if name in of_object else of_scene[name]


@claim
def every_setting_is_a_key_or_of_the_panel():
    settings = addon("settings")
    names = {*settings.BODY, *settings.COLLIDER, *settings.SCENE}
    keys = {*NUMBERS, *CHOICES, *VECTORS}
    assert names | {"frame_start", "frame_end"} == keys | OF_THE_PANEL and not keys & OF_THE_PANEL


@claim
def numbers_have_the_limits_of_their_keys():
    for name, path in NUMBERS.items():
        row = addon("schema").entry(path)
        row = row["either"][0] if "either" in row else row
        limits = found(name).hard_min, found(name).hard_max
        for limit, wanted in zip(limits, (row["low"], row["high"]), strict=True):
            assert abs(limit - wanted) <= 1e-6 * abs(wanted), (
                name,
                limits,
                row,
            )  # single precision


@claim
def numbers_have_the_sentences_of_their_keys():
    for name, path in NUMBERS.items():
        if path != "frames":  # one key, two properties
            sentence = addon("schema").entry(path)["sentence"].split(";")[0].rstrip(".")
            assert found(name).description.startswith(sentence), (name, found(name).description)


@claim
def what_may_not_be_left_out_has_the_default_of_its_key_or_of_the_first_preset():
    schema = addon("schema")
    preset = schema.PRESETS[schema.entry("body.preset")["default"]]
    for name, path in {**NUMBERS, **CHOICES}.items():
        wanted = preset.get(name, schema.entry(path)["default"])
        default = found(name).default
        if isinstance(wanted, list):
            wanted = wanted[name == "frame_end"]
        if isinstance(wanted, str):
            assert default == wanted.upper(), name
        elif wanted is not None:
            assert abs(default - wanted) <= 1e-6 * abs(wanted), (name, default, wanted)
    assert found("resolution").default == schema.QUALITIES["standard"]["resolution"]


@claim
def choices_are_those_of_their_keys():
    schema = addon("schema")
    for name, path in CHOICES.items():
        items = [item.identifier.lower() for item in found(name).enum_items]
        assert items == schema.entry(path)["options"], name
    shapes = {item.identifier.lower() for item in found("shape").enum_items}
    assert shapes == {*schema.entry("collider.kind")["options"]} - {"mesh"}


@claim
def every_file_format_can_be_exported():
    items = bpy.ops.jellycage.export.get_rna_type().properties["format"].enum_items
    assert [f".{item.identifier.lower()}" for item in items] == [*addon("schema").WRITERS]
    assert all(item.name and item.description for item in items)


if __name__ == "__main__":
    try_all()
