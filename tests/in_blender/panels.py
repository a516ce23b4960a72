"""The panel in every state, drawn on a layout that writes down what is put on it."""

import struct
import types
from functools import cache

import bpy
from claims import FOLDER, add_cube, addon, choose, claim, make_body, new_scene, try_all

LETTERS = 34  # of a line that fits into the sidebar at its default width


class Layout:
    """Stands in for Blender's: refuses what Blender does not have, keeps what an artist would read."""

    def __init__(self, drawn=None):
        self.__dict__["drawn"] = drawn or types.SimpleNamespace(labels=[], operators=[], props=[])

    def nested(self, **_options):
        return Layout(self.drawn)

    row = column = box = split = nested

    def label(self, text="", icon="NONE"):
        known_icon(icon)
        self.drawn.labels.append(text)

    def separator(self, factor=1.0):
        assert factor > 0.0

    def progress(self, factor=0.0, text=""):
        assert 0.0 <= factor <= 1.0, factor
        self.drawn.labels.append(text)

    def prop(self, data, name, text=None, **_options):
        found = data.bl_rna.properties[name]
        self.drawn.props.append(name)
        self.drawn.labels.append(found.name if text is None else text)

    def prop_search(self, data, name, source, names):
        assert name in data.bl_rna.properties and names in source.bl_rna.properties
        self.drawn.props.append(name)

    def operator(self, name, text=None, icon="NONE"):
        known_icon(icon)
        kind = operator_type(name)
        self.drawn.operators.append(name)
        self.drawn.labels.append(kind.name if text is None else text)
        return Options(kind)

    def operator_menu_enum(self, name, option, text=None, icon="NONE"):
        assert option in operator_type(name).properties
        self.drawn.operators.append(name)
        self.drawn.labels.append(text)

    def menu(self, name, text=None):
        assert hasattr(bpy.types, name), name
        self.drawn.labels.append(text)


class Options:
    """Stands in for the options of an operator."""

    def __init__(self, kind):
        self.__dict__["kind"] = kind

    def __setattr__(self, name, value):
        assert name in self.kind.properties, f"{self.kind.identifier} has no option {name}"


def known_icon(name):
    known = bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items
    assert name in known, name


def operator_type(name):
    module, _, function = name.partition(".")
    return getattr(getattr(bpy.ops, module), function).get_rna_type()


def draw_all():
    """Everything that the sidebar shows now; complains about lines that do not fit."""
    layout = Layout()
    for panel in addon("panel").CLASSES:
        if hasattr(panel, "poll") and not panel.poll(bpy.context):
            continue
        drawing = types.SimpleNamespace(layout=layout)
        for name, value in vars(panel).items():
            if isinstance(value, types.FunctionType):
                setattr(drawing, name, types.MethodType(value, drawing))
        drawing.draw(bpy.context)
    long = [text for text in layout.drawn.labels if text and len(text) > LETTERS]
    assert not long, long
    return layout.drawn


def next_step():
    return addon("panel").what_next(bpy.context)[0]


# ---- states


def quiet():
    """Forget what was said last."""
    running = addon("running")
    running.current, running.message, running.error, running.warnings = None, "", "", []


def chosen_cube():
    quiet()
    new_scene(6)
    obj = add_cube()
    obj.jellycage.role = "NONE"
    return obj


def built_cube():
    """As after Build Cage."""
    obj = make_body(chosen_cube())
    cage = bpy.data.objects.new("Cube Cage", bpy.data.meshes.new("Cube Cage"))
    bpy.context.scene.collection.objects.link(cage)
    obj.jellycage.cage, obj.jellycage.element_count = cage, 123456
    obj.jellycage.cage_note = "2 vertices where parts meet in a point doubled, and so on"
    return obj


def baked_cube():
    """As after Bake."""
    obj = built_cube()
    path = FOLDER / "cube.pc2"
    with open(path, "wb") as file:
        file.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 8, 1.0, 1.0, 6))
        file.write(bytes(8 * 6 * 12))
    addon("stack").attach(obj, str(path), 1)
    settings = addon("settings")
    obj.jellycage.baked_settings = settings.fingerprint(bpy.context.scene, obj)
    return obj


@cache
def run():
    """A run that does nothing."""

    def work(_run):
        yield

    return addon("running").Run("Bake", work)


@claim
def an_empty_scene_offers_the_demo():
    quiet()
    new_scene(6)
    assert next_step() == "Select a mesh object"
    assert "jellycage.add_demo" in draw_all().operators


@claim
def a_chosen_mesh_wants_a_cage():
    chosen_cube()
    assert next_step() == "Press Build Cage"
    assert "jellycage.build_cage" in draw_all().operators


@claim
def another_kind_of_object_is_no_body():
    quiet()
    new_scene(6)
    for add in (bpy.ops.object.light_add, bpy.ops.object.camera_add, bpy.ops.object.empty_add):
        add()
        assert next_step() == "Select a mesh object"
        draw_all()
    assert refusal(bpy.ops.jellycage.build_cage).endswith("Select a mesh object")


@claim
def edit_mode_is_to_be_left():
    chosen_cube()
    bpy.ops.object.mode_set(mode="EDIT")
    assert next_step() == "Press Tab for Object mode"
    draw_all()
    bpy.ops.object.mode_set(mode="OBJECT")


@claim
def a_cage_that_was_built_wants_a_bake():
    built_cube()
    assert next_step() == "Press Bake"
    drawn = draw_all()
    assert "123,456 tets" in drawn.labels and "jellycage.bake" in drawn.operators
    assert "jellycage.free" not in drawn.operators


@claim
def all_settings_can_be_drawn():
    obj = built_cube()
    body, scene = obj.jellycage, bpy.context.scene.jellycage
    obj.vertex_groups.new(name="group")
    body.units, body.paint_group, body.pin_group, body.element = "REAL", "group", "group", "HEX"
    scene.use_scene_range, scene.ground = False, "HEIGHT"
    drawn = draw_all()
    expected = {"young_modulus", "paint_low", "pin_strength", "frame_start", "ground_height"}
    expected |= {"keep_going"}
    assert expected <= set(drawn.props), expected - set(drawn.props)


@claim
def a_setup_that_was_checked_is_listed():
    obj = built_cube()
    obj.data.clear_geometry()
    points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (5, 5, 5)]
    obj.data.from_pydata(points, [], [(0, 1, 2, 3)])
    bpy.context.scene.use_gravity = False
    assert bpy.ops.jellycage.check_setup() == {"FINISHED"}
    assert {"jellycage.select_problem", "jellycage.fix_problem"} <= set(draw_all().operators)


@claim
def a_bake_that_runs_can_be_stopped():
    built_cube()
    running = addon("running")
    running.current = run()
    run().text, run().fraction, run().eta = "Compiling, first run only", 0.25, 4000.0
    assert next_step() == "Working. ESC stops"
    drawn = draw_all()
    assert "jellycage.stop" in drawn.operators and "jellycage.resume" not in drawn.operators
    assert any(text.startswith("25%") for text in drawn.labels)
    assert refusal(bpy.ops.jellycage.build_cage).endswith("still running")
    quiet()


@claim
def what_a_bake_warns_of_is_shown_and_the_rest_counted():
    baked_cube()
    assert not any("inside out" in text for text in draw_all().labels)
    running = addon("running")
    running.warnings = [f"Cube, frame {k}: 3 elements were inside out, and so on" for k in range(6)]
    drawn = draw_all()
    starts = [text for text in drawn.labels if text.startswith("Cube, frame ")]
    assert [text[12] for text in starts] == ["0", "1", "2", "3"]
    assert "2 more: Copy Log" in drawn.labels and "jellycage.copy_log" in drawn.operators
    bpy.ops.jellycage.copy_log()
    assert bpy.app.background or "frame 5" in bpy.context.window_manager.clipboard
    running.forget()
    assert not any(text.startswith("Cube, frame ") for text in draw_all().labels)


@claim
def every_note_of_a_cage_is_shown():
    built_cube().jellycage.cage_note = (
        "2 holes closed by caps.\nIt is 1600 m long: Scale it by 0.001"
    )
    labels = draw_all().labels
    assert "2 holes closed by caps." in labels
    assert any(text.startswith("It is 1600 m long") for text in labels)


@claim
def a_baked_body_wants_to_be_played():
    baked_cube()
    assert next_step() == "Press Space to play"
    drawn = draw_all()
    assert {"jellycage.free", "jellycage.export", "jellycage.to_shape_keys"} <= set(drawn.operators)
    assert not any(text.startswith("Settings changed since") for text in drawn.labels)


@claim
def changed_settings_are_noticed_and_delete_nothing():
    for owner, name, value in (
        (lambda: bpy.context.active_object.jellycage, "sag", 0.03),
        (lambda: bpy.context.scene.render, "fps", 60),
        (lambda: bpy.context.scene, "use_gravity", False),
        (lambda: bpy.context.scene.jellycage, "quality", "FINAL"),
    ):
        obj = baked_cube()
        setattr(owner(), name, value)
        assert next_step() == "Settings changed since the bake: Bake again", name
        assert any(text.startswith("Settings changed since") for text in draw_all().labels)
        assert addon("stack").result_modifier(obj) is not None


@claim
def a_bake_of_before_with_a_seed_is_not_outdated():
    obj = baked_cube()
    kept = obj.jellycage.baked_settings
    obj.jellycage.baked_settings = kept.replace('"ground":', '"seed": 5, "ground":')
    assert obj.jellycage.baked_settings != kept and next_step() == "Press Space to play"


@claim
def an_error_is_shown_with_a_button_that_copies_the_log():
    built_cube()
    running = addon("running")
    running.error = "The worker ended without a word (code -11): copy the log, and tell us about it"
    drawn = draw_all()
    assert "jellycage.copy_log" in drawn.operators
    assert " ".join(drawn.labels).count("code -11") == 1
    quiet()


@claim
def a_long_path_in_an_error_still_fits():
    built_cube()
    running = addon("running")
    path = "/a/rather/long/folder/with_an_unbreakable_name_that_goes_on_and_on/jellycage_cache"
    running.error = f"{path} cannot be written: save the .blend in a folder of your own"
    draw_all()
    quiet()


@claim
def a_missing_cache_is_shown():
    obj = baked_cube()
    addon("stack").result_modifier(obj).filepath = str(FOLDER / "gone.pc2")
    assert next_step() == "The cache is missing: Bake again"
    draw_all()
    assert refusal(bpy.ops.jellycage.to_shape_keys).endswith("Its cache is missing: bake again")


@claim
def a_collider_shows_its_shape():
    built_cube()
    bpy.ops.mesh.primitive_cube_add()
    assert bpy.ops.jellycage.set_collider(shape="SPHERE") == {"FINISHED"}
    assert next_step() == "Select a soft body, or Bake"
    assert {"shape", "collider_friction"} <= set(draw_all().props)


@claim
def the_demo_can_be_added_built_upon_and_drawn():
    quiet()
    new_scene(6)
    assert bpy.ops.jellycage.add_demo() == {"FINISHED"}
    assert next_step() == "Press Build Cage"
    draw_all()


def refusal(operator):
    """Why an operator is greyed out."""
    try:
        operator()
    except RuntimeError as error:
        return str(error).strip()
    raise AssertionError("it was not refused")


@claim
def greyed_buttons_say_why():
    quiet()
    new_scene(6)
    ops, said = bpy.ops.jellycage, {}
    for name in (
        "build_cage",
        "bake",
        "resume",
        "free",
        "export",
        "to_shape_keys",
        "save_material",
    ):
        said[name] = refusal(getattr(ops, name)).partition("poll() ")[2]
    for name in ("remove_body", "set_collider", "check_setup"):
        said[name] = refusal(getattr(ops, name)).partition("poll() ")[2]
    mute = [name for name, text in said.items() if not text or "context is incorrect" in text]
    assert not mute, said


@claim
def every_operator_has_a_tooltip():
    names = dir(bpy.ops.jellycage)
    mute = [name for name in names if not operator_type(f"jellycage.{name}").description]
    assert len(names) > 12 and not mute, mute


@claim
def own_materials_are_saved_loaded_and_deleted():
    obj = built_cube()
    body = obj.jellycage
    body.units, body.young_modulus, body.density = "REAL", 4321.0, 900.0
    assert bpy.ops.jellycage.save_material(name="Aspic: best/of") == {"FINISHED"}
    (name,) = addon("operators.materials").own_materials()
    body.units, body.young_modulus, body.density = "SIZE", 1.0, 1.0
    assert bpy.ops.jellycage.load_material(name=name) == {"FINISHED"}
    assert (body.units, body.young_modulus, body.density) == ("REAL", 4321.0, 900.0)
    menu = types.SimpleNamespace(layout=Layout())
    bpy.types.JELLYCAGE_MT_materials.draw(menu, bpy.context)
    assert name in menu.layout.drawn.labels
    assert bpy.ops.jellycage.delete_material(name=name) == {"FINISHED"}
    assert not addon("operators.materials").own_materials()


@claim
def problems_can_be_selected_and_fixed():
    obj = chosen_cube()
    obj.data.clear_geometry()
    square = [
        (0, 0, 0),
        (1, 0, 0),
        (1, 1, 0),
        (0, 1, 0),
        (0, 0, 1),
        (1, 0, 1),
        (1, 1, 1),
        (0, 1, 1),
    ]
    sides = [(0, 3, 2, 1), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]  # no lid
    obj.data.from_pydata([*square, (9, 9, 9)], [], sides)
    choose(obj)
    assert bpy.ops.jellycage.check_setup() == {"FINISHED"}
    found = addon("operators.setup").found
    assert found[obj.name][0] == {"loose": 1, "holes": 4}, found
    assert bpy.ops.jellycage.select_problem(kind="holes") == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    assert sum(edge.select for edge in obj.data.edges) == 4
    for kind in ("loose", "holes"):
        assert bpy.ops.jellycage.fix_problem(kind=kind) == {"FINISHED"}
    assert not found[obj.name][0] and len(obj.data.polygons) == 6


if __name__ == "__main__":
    try_all()
