"""A ragdoll: bodies, joints and a spine, made from a character at its frame of transition.

Thesis 000, section 7.5. Bones that matter get a body in the frame of the bone; the others ride on the next body below
them. The bones between hips and chest get none: one rod takes their place, with the length and the bulge that they have
at the transition, so that it is valid in any pose; half of their weight goes to either end. Everything starts as the
animation left it, with the velocities of its last interval, and limits give way to the pose at the transition.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.convex.detection import Detector
from jellycage.sim.contact.convex.detection_kernels import BodyPoses
from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll import roles
from jellycage.sim.ragdoll.anatomy import Bearings, bearings_of, body_shape, toe_shape
from jellycage.sim.ragdoll.character import Character
from jellycage.sim.ragdoll.joining import join
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.rigid.joints import Ball, Joint
from jellycage.sim.rigid.rods import Rod
from jellycage.sim.shapes.cores import shape_arrays
from jellycage.sim.shapes.static_mesh import mesh_arrays
from jellycage.toolkit.arrays import frozen

SPINES = ("rod", "joints", "ball")
SHORT = 0.035  # bones shorter than this share of the character, and than most, ride on another body
RIDING = (roles.CLAVICLE, roles.FINGER, roles.FACE, roles.TOE)
BODY_MASS_INDEX = 22.0  # [kg/m^2], for characters without a mass
DENSITY = 1000.0  # [kg/m^3], only for the share of each body
STRENGTH_RATE = 1.5  # [Hz] of a muscle of strength one half
MOST_STRENGTH = 0.97  # from here on as stiff as a wooden doll, 50 Hz; stiffer would be at the expense of the joints
MUSCLE_DAMPING = 0.6  # of critical
LEAST_SHARE = 0.3  # of the mean mass, for any body
LEAST_INERTIA = 0.3  # of a limb about its axis, as a share of that across
MOST_DAMPED = 100.0  # [1/s]: muscles that are faster are damped no more than this
SPINE_RATE = 0.5  # [Hz]: limp, it still is no string
SPINE_DAMPING = 0.3  # of critical


@dataclass(frozen=True)
class RagdollSettings:
    """How a character becomes a ragdoll."""

    spine: str = "rod"
    """"rod": one curved rod from hips to chest; "joints": a body for each bone, joined by balls; "ball": hips and chest
    joined by one ball half-way."""
    strength: float = 0.0
    """Of the muscles that hold the pose of the transition, 0 limp to 1 wooden."""
    damping: float = 2.0
    """Rate at which joints slow down [1/s]."""
    mass: float | None = None
    """Of the whole character [kg]; None: the character's own, or by its height."""
    friction: float = 0.7
    restitution: float = 0.0

    def __post_init__(self):
        if self.spine not in SPINES:
            raise SettingsError(f"spine: expected one of {', '.join(SPINES)}, got {self.spine!r}")
        if not 0.0 <= self.strength <= 1.0:
            raise SettingsError(f"strength: expected 0 to 1, got {self.strength}")
        if not 0.0 <= self.damping < np.inf:
            raise SettingsError(f"damping: expected 0 or a positive number, got {self.damping}")
        if self.mass is not None and not 0.0 < self.mass < np.inf:
            raise SettingsError(f"mass: expected a positive number [kg], got {self.mass}")


@dataclass(frozen=True, eq=False)
class Ragdoll:
    """What a simulation needs, and how bodies and bones belong together."""

    character: Character
    settings: RagdollSettings
    bodies: tuple[RigidBody, ...]
    """In the frames of their bones."""
    joints: tuple[Joint, ...]
    rods: tuple[Rod, ...]
    body_bone: NDArray[np.int64]
    """The bone of each body, shape (n,)."""
    bone_body: NDArray[np.int64]
    """The body that each bone is or rides on, shape (b,); -1: it stays as it is."""
    spine: tuple[int, ...]
    """Bones from hips to chest; those in between have no body if there is a rod. Empty: there is no spine."""
    excluded_pairs: NDArray[np.int64]
    """Pairs of bodies that do not collide, shape (k, 2)."""
    notes: tuple[str, ...] = field(default=())


def build_ragdoll(character: Character, settings: RagdollSettings | None = None) -> Ragdoll:
    """Bodies, joints and a spine for a character; raises SettingsError if nothing of it can be simulated."""
    settings = settings or RagdollSettings()
    bone_roles = roles.roles_of(character.names, character.parent)
    bearings = bearings_of(character, bone_roles)
    spine, notes = _spine(character, bone_roles)
    is_chain = settings.spine == "joints" or len(spine) < 3
    between = () if is_chain else spine[1:-1]
    bone_body = _carriers(character, bone_roles, spine, between)
    body_bone = np.array(
        [i for i in range(len(bone_body)) if bone_body[i] >= 0 and _is_own(bone_body, i)], np.int64
    )
    number = {int(bone): at for at, bone in enumerate(body_bone)}
    bone_body = np.array([number.get(int(owner), -1) for owner in bone_body], np.int64)
    shapes = _shapes(character, bone_roles, bearings, body_bone, between, spine)
    masses = _masses(character, settings, shapes)
    bodies = tuple(
        _body(character, settings, int(bone), parts, mass)
        for bone, parts, mass in zip(body_bone, shapes, masses, strict=True)
    )
    tree = _Tree(character, body_bone, bone_body, bodies)
    joints, rods = _held(tree, bone_roles, bearings, settings, spine, between)
    return Ragdoll(
        character, settings, bodies, joints, rods,
        frozen(body_bone), frozen(bone_body), spine, frozen(tree.excluded_pairs()), notes,
    )  # fmt: skip


def _spine(character, bone_roles):
    """(bones from hips to chest, notes)."""
    if character.spine is None:
        chain = roles.guess_spine(character.names, character.parent)
        if len(chain) < 3:
            return chain, ("no spine of three bones or more was found; joints hold the trunk",)
        return chain, ()
    chain = tuple(character.index(name) for name in character.spine)
    below = int(character.parent[chain[0]])
    # The rod stands on what carries the first bone of the spine, unless that is the hips already.
    if below >= 0 and bone_roles[chain[0]] != roles.HIPS and bone_roles[below] != roles.ROOT:
        chain = (below, *chain)
    notes = () if len(chain) > 2 else ("the spine has fewer than three bones; a joint holds it",)
    return chain, notes


def _carriers(character, bone_roles, spine, between):
    """The bone whose body each bone is or rides on, shape (b,); -1: none."""
    low = np.minimum(character.rest_head, character.rest_tail).min(axis=0)
    high = np.maximum(character.rest_head, character.rest_tail).max(axis=0)
    lengths = character.lengths()
    # Of three hundred bones in a row none is long, yet all matter.
    short = min(SHORT * float(np.linalg.norm(high - low)), 0.5 * float(np.median(lengths)))
    carrier = np.full(len(lengths), -1, np.int64)
    has_child = np.isin(np.arange(len(lengths)), character.parent)
    for at in range(len(lengths)):
        parent = character.parent[at]
        below = carrier[parent] if parent >= 0 else -1
        hint = character.bones[at].shape
        is_between = at in between
        rides = (
            hint == "none"
            or is_between
            or (hint is None and bone_roles[at] in RIDING and below >= 0)
            or (hint is None and lengths[at] < short and below >= 0)
            or lengths[at] < 1e-6
            or (hint is None and bone_roles[at] == roles.ROOT and has_child[at])
        )
        if at in (spine[:1] + spine[-1:]) and hint != "none":
            rides = False
        carrier[at] = below if rides else at
    if (carrier < 0).all():
        raise SettingsError(
            "character: no bone is long enough to be simulated; give one a length and a shape"
        )
    return carrier


def _is_own(carrier, bone):
    return carrier[bone] == bone


def _shapes(character, bone_roles, bearings: Bearings, body_bone, between, spine):
    """Shapes for each body; hips and chest also cover the bones between them, one half each, and feet have toes."""
    lengths = character.lengths()
    half = 0.5 * float(lengths[list(between)].sum()) if between else 0.0
    shapes = []
    for bone in body_bone:
        below, beyond = (half if between and bone == spine[end] else 0.0 for end in (-1, 0))
        own = body_shape(character, int(bone), bone_roles[bone], bearings, below, beyond)
        toes = [i for i in np.flatnonzero(character.parent == bone) if bone_roles[i] == roles.TOE]
        rides = [toe for toe in toes if bone_roles[bone] == roles.FOOT and toe not in body_bone]
        shapes.append((own, *(toe_shape(character, int(bone), int(toe)) for toe in rides)))
    return shapes


def _masses(character, settings, shapes):
    """Shares of the total by volume [kg]."""
    total = settings.mass or character.mass
    if total is None:
        heights = np.concatenate([character.rest_head[:, 2], character.rest_tail[:, 2]])
        total = BODY_MASS_INDEX * max(float(np.ptp(heights)), 1e-3) ** 2
    volumes = np.array([RigidBody(parts, density=DENSITY).properties.mass for parts in shapes])
    # No limb is so light beside the rest that Gauss-Seidel cannot hold it.
    volumes = np.maximum(volumes, LEAST_SHARE * volumes.mean())
    return total * volumes / volumes.sum()


def _body(character, settings, bone, shapes, mass):
    """A body where its bone is at the transition, with the velocity of the last interval."""
    location, rotation = character.location[-1, bone], character.rotation[-1, bone]
    centre = RigidBody(shapes).properties.centre
    velocity, spin = np.zeros(3), np.zeros(3)
    if len(character.frames) > 1:
        before = character.rotation[-2, bone]
        was = character.location[-2, bone] + quaternions.turned(before, centre)
        velocity = character.fps * (location + quaternions.turned(rotation, centre) - was)
        turn = quaternions.product(rotation, quaternions.inverse(before))
        spin = character.fps * quaternions.turn_vectors(turn)
    return RigidBody(
        shapes, location, rotation, velocity, spin, mass=float(mass),
        friction=settings.friction, restitution=settings.restitution, angular_damping=0.05, least_inertia=LEAST_INERTIA,
    )  # fmt: skip


class _Tree:
    """Which bodies hang on which, as bones do, and what they weigh."""

    def __init__(self, character, body_bone, bone_body, bodies):
        self.character, self.body_bone, self.bodies = character, body_bone, bodies
        parent = character.parent
        self.parent = np.array(
            [-1 if parent[b] < 0 else bone_body[parent[b]] for b in body_bone], np.int64
        )

    def inertia_beyond(self, body: int, point: NDArray[np.float64]) -> float:
        """Moment of inertia of a body and all that hangs on it about a point [kg m^2], at the transition."""
        total = 0.0
        for at in self._beyond(body):
            properties = self.bodies[at].properties
            r = self.bodies[at].centre() - point
            total += properties.mass * (r @ r) + np.trace(properties.inertia) / 3.0
        return float(total)

    def _beyond(self, body):
        hanging = {body}
        for at in range(body + 1, len(self.parent)):  # parents stand before their children
            if self.parent[at] in hanging:
                hanging.add(at)
        return sorted(hanging)

    def excluded_pairs(self):
        """Pairs that are joined, hang on the same body or on the one that the other hangs on, or overlap already."""
        pairs = self._overlapping()
        for b, a in enumerate(self.parent):
            if a < 0:
                continue
            pairs.add((int(a), b))
            if self.parent[a] >= 0:
                pairs.add((int(self.parent[a]), b))
            pairs |= {(c, b) for c in range(b) if self.parent[c] == a}
        return np.array(sorted(pairs), np.int64).reshape(-1, 2)

    def _overlapping(self):
        """Pairs that overlap at the transition: what an animator has put into each other is not to be torn apart."""
        count = len(self.bodies)
        centres = np.array([body.properties.centre for body in self.bodies])
        shapes = shape_arrays([body.shapes for body in self.bodies], centres)
        p = np.array([body.centre() for body in self.bodies])
        q = np.array([body.rotation for body in self.bodies])
        still = np.zeros((count, 3))
        poses = BodyPoses(p, q, still, still, np.zeros(count, bool))
        contacts = Detector(shapes, mesh_arrays()).find(poses, 0.0, 0.0, count)
        return {tuple(map(int, sorted(pair))) for pair in contacts.body[contacts.gap < 0.0]}


def _held(tree, bone_roles, bearings, settings, spine, between):
    """(joints, rods) that hold the bodies of a tree together."""
    joints, rods = [], []
    character = tree.character
    for b, a in enumerate(tree.parent):
        if a < 0:
            continue
        bone = int(tree.body_bone[b])
        base = int(tree.body_bone[a])
        is_rod = bool(between) and bone == spine[-1] and settings.spine == "rod"
        is_ball = bool(between) and bone == spine[-1] and not is_rod
        inertia = tree.inertia_beyond(b, character.location[-1, bone])
        # Joints of a spine in a row are each as much stiffer as there are more of them.
        in_spine = len(spine) - 1 if bone in spine[1:] and base in spine and not between else 1
        spring = _spring(inertia, settings, in_spine if bone in spine[1:] else 0)
        if is_rod:
            rods.append(_rod(character, int(a), b, spine, between, spring))
        elif is_ball:
            middle = character.location[-1, [*between, bone]].mean(axis=0)
            joints.append(Ball(a=int(a), b=b, point=middle, **spring))
        else:
            role = bone_roles[bone]
            joints.append(join(character, int(a), base, b, bone, role, bearings, spring))
    return tuple(joints), tuple(rods)


def _spring(inertia, settings, backbone):
    """Stiffness and damping of what moves something of that inertia: a muscle, and the spine itself."""
    strength = min(settings.strength, MOST_STRENGTH)
    rate = 2.0 * np.pi * STRENGTH_RATE * strength / (1.0 - strength)
    own = 2.0 * np.pi * SPINE_RATE
    damping = settings.damping + 2.0 * MUSCLE_DAMPING * min(rate, MOST_DAMPED)
    return {
        "stiffness": inertia * (rate**2 + backbone * own**2),
        "damping": inertia * (damping + backbone * 2.0 * SPINE_DAMPING * own),
    }


def _rod(character, a, b, spine, between, spring):
    """The rod in place of the bones between hips and chest."""
    bones = len(between)
    return Rod(
        a=a, b=b, points=character.location[-1, [*between, spine[-1]]],
        bend_stiffness=spring["stiffness"], twist_stiffness=spring["stiffness"],
        bend_damping=spring["damping"], twist_damping=spring["damping"],
        most_bend=min(np.radians(30.0) * (bones + 1), 2.4), most_twist=np.radians(18.0) * (bones + 1),
    )  # fmt: skip
