import numpy as np
import pytest

from jellycage.sim.export.digest_kernels import find_bounds, find_chained, find_murmur, find_spooky
from jellycage.sim.export.ogawa import chained, sample_digest, spooky

# Of the bytes 0, 1, 2, ... (n of them): made with the reference library's own C++ functions.
KNOWN = {
    0: ("00000000000000000000000000000000", "1909f56bfc062723c751e8b465ee728b"),
    1: ("b55cff6ee5ab10468335f878aa2d6251", "8012290418f4e28a291d2d4e715d311f"),
    8: ("c82f8ed6bde1a747c7dc31ec02eee660", "5c844a374662817c579634c8ccbc132c"),
    15: ("e92549fd98152347e97dc688ee6d84cd", "8b27dc65de86aad9104a2a55640524da"),
    16: ("303f9091b524494445e82f76566490ab", "51261f33d62502343d589a93237c6e88"),
    31: ("94d02ca3e1d33d05905400b4ef9ae59e", "09fe1f766c2a96a37a19c34adac78f67"),
    32: ("0f502fb622906dc65111c3346e0a051c", "d23f62e2680bf5578b1994f9ef243989"),
    33: ("1246bafa1b28417d0ba3d6a77380ac55", "24d26defcb8d953e07dce76ddaa68264"),
    191: ("0154f04d0ae311de0630045fc80fb641", "2f46bbb5033a047138b693a8d00a7dfe"),
    192: ("4618753476de5f8394d1e00207eeaaf5", "541aa3b2943fd102d3858d75db93a30e"),
    300: ("116e53684c44b3016f376da8137c4634", "fa61cc33373b867ccfe7295f8a750acc"),
}


@pytest.mark.parametrize("size", KNOWN)
def test_hashes_of_known_bytes(size):
    octets = (np.arange(size) % 256).astype(np.uint8)
    assert (sample_digest(octets).hex(), spooky(octets.tobytes()).hex()) == KNOWN[size]


def test_a_chain_of_two_hashes():
    pair = np.array([1, 2, 3, 4], np.uint64).tobytes()
    expected = np.array([0xD05BC6CE4C6B2EFE, 0x8616FFE259AF1463], np.uint64)
    assert chained(pair[:16], pair[16:]) == expected.tobytes()


def test_a_digest_depends_on_the_bytes_alone():
    octets = (np.arange(48) % 256).astype(np.uint8)
    for dtype in (np.float32, np.int32, np.float64, np.bool_):
        assert sample_digest(octets.view(dtype)) == sample_digest(octets)
    assert sample_digest(octets.view(np.float32).reshape(4, 3)) == sample_digest(octets)


def test_the_box_of_points():
    points = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    for count in (1, 2, 1000):
        box = np.empty((2, 3))
        find_bounds(points[:count], box)
        assert np.array_equal(box, [points[:count].min(axis=0), points[:count].max(axis=0)])


def test_every_kernel_compiles_only_once():
    for values in (np.zeros((7, 3), np.float32), np.ones(1, np.bool_), np.zeros(0, np.int32)):
        sample_digest(values)
        values.flags.writeable = False
        sample_digest(values)
    spooky(bytes(10), bytes(300))
    chained(bytes(16), bytes(16))
    find_bounds(np.zeros((7, 3), np.float32), np.empty((2, 3)))
    for kernel in (find_bounds, find_chained, find_murmur, find_spooky):
        assert len(kernel.signatures) == 1, kernel
