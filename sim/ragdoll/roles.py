"""What a bone is for, guessed from its name, and where the spine is, from names or else from who hangs on whom.

Names of Blender's Rigify and human metarig, Mixamo, Unreal, 3ds Max and MikuMikuDance are known.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ROOT, HIPS, SPINE, NECK, HEAD, CLAVICLE = "root", "hips", "spine", "neck", "head", "clavicle"
UPPER_ARM, FOREARM, HAND, FINGER = "upper arm", "forearm", "hand", "finger"
THIGH, SHIN, FOOT, TOE = "thigh", "shin", "foot", "toe"
FACE, TAIL, OTHER = "face", "tail", "other"

# The first row with a word in the name wins.
WORDS = (
    (FINGER, "finger thumb index middle ring pinky 指"),
    (FACE, "eye jaw brow lip tongue teeth nose ear cheek lid tooth hair 目 髪 顎"),
    (FOREARM, "forearm lowerarm lowarm elbow ひじ 肘"),
    (HAND, "hand wrist palm 手首"),
    (UPPER_ARM, "upperarm uparm"),
    (TOE, "toe つま先"),
    (FOOT, "foot ankle heel 足首"),
    (THIGH, "thigh upperleg upleg"),
    (SHIN, "shin calf knee lowerleg lowleg ひざ"),
    (CLAVICLE, "clavicle collar shoulder 肩"),
    (NECK, "neck 首"),
    (HEAD, "head skull 頭"),
    (HIPS, "hips hip pelvis 下半身 腰"),
    (SPINE, "spine chest torso abdomen ribcage thorax lumbar waist back upperbody 上半身 背骨"),
    (TAIL, "tail 尾"),
    (UPPER_ARM, "arm 腕"),
    (SHIN, "leg"),
    (THIGH, "足"),
    (ROOT, "root master armature センター 全ての親"),
)
PREFIX = re.compile(r"^(def|org|mch|mixamorig\d*|bip\d+|valvebiped|cc base|jnt|bn)[\W_]+", re.I)


def role_of(name: str) -> str:
    """The role that a bone's name suggests."""
    name = unicodedata.normalize("NFKC", name)
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", PREFIX.sub("", name))
    tokens = [token for token in re.split(r"[\W_\d]+", spaced.lower()) if token]
    joined = "".join(tokens)
    for role, words in WORDS:
        for word in words.split():
            # Short words must stand alone ("ear" is in "forearm"), long ones may be part of another.
            if word in tokens or (len(word) > 3 or not word.isascii()) and word in joined:
                return role
    return OTHER


def roles_of(names: Sequence[str], parent: NDArray[np.int32]) -> tuple[str, ...]:
    """The role of each bone; a thigh named like a shin ("leg", "leg") is told by its parent."""
    roles = [role_of(name) for name in names]
    for at, role in enumerate(roles):
        above = roles[parent[at]] if parent[at] >= 0 else ROOT
        if role == SHIN and above in (HIPS, SPINE, ROOT):
            roles[at] = THIGH
    return tuple(roles)


def guess_spine(names: Sequence[str], parent: NDArray[np.int32]) -> tuple[int, ...]:
    """Bones from the hips to the chest, each the parent of the next; empty if there is nothing like it."""
    roles = roles_of(names, parent)
    chains = [_chain_down(at, roles, parent) for at in range(len(roles)) if roles[at] == SPINE]
    best = max(chains, key=len, default=())
    if best:
        below = parent[best[0]]
        return (int(below), *best) if below >= 0 and roles[below] == HIPS else best
    return _branching_spine(parent) if OTHER in roles else ()


def _chain_down(at, roles, parent):
    """The chain of spine bones that ends at a bone, from bottom to top."""
    chain = []
    while at >= 0 and roles[at] == SPINE:
        chain.append(int(at))
        at = parent[at]
    return tuple(reversed(chain))


def _branching_spine(parent):
    """The way from the first bone that three hang on (two legs and a back) to the next such bone above it."""
    children = np.bincount(parent[parent >= 0], minlength=len(parent))
    forks = np.flatnonzero(children >= 3)
    for top in forks:
        chain, at = [int(top)], parent[top]
        while at >= 0:
            chain.append(int(at))
            if at in forks:
                return tuple(reversed(chain))
            at = parent[at]
    return ()
