"""Errors: who can mend them, and the exit codes of commands that end in them."""

import json

import pytest

from jellycage.sim import errors as sim_errors
from jellycage.toolkit import errors
from jellycage.toolkit.errors import ExitCode, exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.MeshError("x"), 3),
        (errors.SettingsError("x"), 3),
        (errors.AssetError("x"), 3),
        (sim_errors.SettingsError("x"), 3),
        (sim_errors.SceneError("x"), 3),
        (sim_errors.CacheError("x"), 3),
        (sim_errors.SolverError("x"), 4),
        (sim_errors.Cancelled("x"), 130),
        (MemoryError(), 3),
        (FileNotFoundError("x"), 5),
        (BrokenPipeError(), 5),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError(), 1),
        (ValueError("x"), 1),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_every_error_has_its_exit_code(error, code):
    assert exit_code(error) == code
    assert json.dumps(exit_code(error)) == str(code)


def test_the_exit_codes_are_those_that_others_script_against():
    numbers = {code.name: int(code) for code in ExitCode}
    assert numbers == {
        "OK": 0,
        "INTERNAL": 1,
        "USAGE": 2,
        "BAD_INPUT": 3,
        "SOLVER_FAILED": 4,
        "INPUT_OUTPUT": 5,
        "INTERRUPTED": 130,
    }


def test_one_except_catches_the_wrong_settings_of_both_packages():
    for error in (errors.SettingsError, sim_errors.SettingsError):
        with pytest.raises(errors.SettingsError):
            raise error("out of range")
        assert issubclass(error, ValueError)
    assert issubclass(sim_errors.SettingsError, sim_errors.SimError)
