"""How the command line talks: progress, results, one-line errors and exit codes.

Results go to stdout, everything else to stderr, so that `--json` can be piped.
"""

import json
import logging
import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from typing import Any

import click

from jellycage.toolkit.errors import ExitCode, exit_code
from jellycage.toolkit.json_values import plain

PROGRESS_MODES = ("bar", "plain", "json", "none")
BAR_WIDTH = 24
REDRAW_SECONDS = 0.05
RETRY_SECONDS = 0.05  # after which an interrupt comes again that came while code was compiled


@dataclass(frozen=True)
class Console:
    """What the user asked to see."""

    json: bool = False
    """Result as one JSON object on stdout."""
    quiet: bool = False
    """Nothing but the JSON result and the error line."""
    verbose: bool = False
    """More lines in the result, and what the libraries log."""
    progress: str = "none"
    """One of PROGRESS_MODES."""

    def result(self, data: dict[str, Any], text: str) -> None:
        """Print the result of a command: the data with --json, else the text."""
        if self.json:
            click.echo(json.dumps(plain(data), allow_nan=False))
        elif not self.quiet:
            click.echo(text)
        sys.stdout.flush()

    def warn(self, sentence: str) -> None:
        """Say what the user should know but that stops nothing."""
        if not self.quiet and not self.json:
            click.echo(f"warning: {sentence}", err=True)


def console_of(context: click.Context) -> Console:
    """The console that the options of this call describe; a bar only where there is a terminal."""
    options = context.meta.get("jellycage.options", {})
    quiet = options.get("quiet", False)
    default = "bar" if sys.stderr.isatty() else "plain"
    console = Console(
        json=options.get("json", False),
        quiet=quiet,
        verbose=options.get("verbose", False),
        progress=options.get("progress") or ("none" if quiet else default),
    )
    _hush_libraries(console)
    return console


def _hush_libraries(console: Console) -> None:
    """Keep what numpy, trimesh and others log out of the way of the one error line."""
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.handlers.clear()
    root.addHandler(logging.StreamHandler() if console.verbose else logging.NullHandler())


class Progress:
    """Progress of long work on stderr, called as progress(stage, fraction)."""

    def __init__(self, mode: str, note: str = ""):
        self.mode = mode
        self.note = f" ({note})" if note else ""
        self._stage = ""
        self._drawn_at = 0.0
        self._width = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_) -> None:
        if self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)

    def __call__(self, stage: str, fraction: float) -> None:
        is_new = stage != self._stage
        self._stage = stage
        if self.mode == "json":
            line = {"stage": stage + self.note, "fraction": round(float(fraction), 4)}
            click.echo(json.dumps(line), err=True)
        elif self.mode == "plain" and is_new:
            click.echo(f"{stage}{self.note}", err=True)
        elif self.mode == "bar":
            self._draw(stage, fraction, is_new)

    def _draw(self, stage: str, fraction: float, is_new: bool) -> None:
        if not is_new and time.monotonic() - self._drawn_at < REDRAW_SECONDS:
            return
        self._drawn_at = time.monotonic()
        done = round(BAR_WIDTH * min(max(fraction, 0.0), 1.0))
        line = f"[{'#' * done}{'.' * (BAR_WIDTH - done)}] {fraction:4.0%} {stage}{self.note}"
        click.echo("\r" + line.ljust(self._width), nl=False, err=True)
        self._width = max(self._width, len(line))


def progress_of(console: Console) -> Progress:
    """Progress as the user asked for it, with a note if kernels have to be compiled first."""
    from jellycage.toolkit.compile_kernels import COMPILING, is_compiled

    return Progress(console.progress, "" if is_compiled() else COMPILING)


def store_option(context: click.Context, parameter: click.Parameter, value) -> None:
    """Remember an option that every command has, given before or after the command's name."""
    if value:
        context.meta.setdefault("jellycage.options", {})[parameter.name] = value


def talk_options(command):
    """The options that every command has."""
    shared = {"expose_value": False, "callback": store_option}
    for option in (
        click.option("--debug", is_flag=True, help="Show the traceback of an error.", **shared),
        click.option("-v", "--verbose", is_flag=True, help="Say more.", **shared),
        click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.", **shared),
        click.option("--progress", type=click.Choice(PROGRESS_MODES), help="Progress.", **shared),
        click.option("--json", is_flag=True, help="Result as JSON on stdout.", **shared),
    ):
        command = option(command)
    return command


class Carried(Exception):
    """An error on its way out through click, which would print or exit by itself if it saw it."""


class OneLineErrors(click.Group):
    """A group of commands that ends in an exit code and at most one line on stderr."""

    def invoke(self, ctx):
        """Run the command; errors that click has its own way with are carried past it."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError, OSError) as error:
            raise Carried from error

    def main(self, args=None, prog_name=None, complete_var=None, standalone_mode=True, **extra):
        """Run the command named in `args` and leave with its exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        if args is None:
            heed_ctrl_c_between_kernels()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(arguments, "jellycage", complete_var, False, **extra)
        except (Exception, KeyboardInterrupt) as error:
            if "--debug" in arguments:
                traceback.print_exc()
            code = _explain(
                error.__cause__ if isinstance(error, Carried) else error, "--json" in arguments
            )
        if code == ExitCode.INTERRUPTED and args is None:
            _leave_at_once(code)
        sys.exit(code if isinstance(code, int) else 0)


def heed_ctrl_c_between_kernels() -> None:
    """Let Ctrl-C interrupt this process, but not while a kernel is compiled or loaded: then as soon as that is done.

    The compiler calls back into Python, where an interrupt would be lost; what it was about then fails, or crashes.
    """

    def interrupt(number, frame):
        compiler = sys.modules.get("numba.core.compiler_lock")
        if compiler is None or not compiler.global_compiler_lock.is_locked():
            raise KeyboardInterrupt
        again = threading.Timer(RETRY_SECONDS, signal.raise_signal, [number])
        again.daemon = True
        again.start()

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it is ignored
        signal.signal(signal.SIGINT, interrupt)


def _leave_at_once(code: int) -> None:
    """End this process without taking the interpreter down in order.

    If the signal came while Python ran code from a string, as dataclasses do, it would end itself by the signal.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _explain(error: BaseException, is_json: bool) -> int:
    """Print the one line that says what went wrong, where, and the remedy; the exit code.

    With --json the same goes to stdout as an object, unless the command has told its result already.
    """
    if isinstance(error, BrokenPipeError):
        sys.stdout = open(os.devnull, "w")  # or the interpreter complains again when it closes
        return exit_code(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return exit_code(error)
    is_file = isinstance(error, click.ClickException) and not isinstance(error, click.UsageError)
    code = ExitCode.INPUT_OUTPUT if is_file else exit_code(error)
    sentence = " ".join(_sentence(error).split())
    if is_json and not getattr(error, "is_told", False):
        click.echo(json.dumps({"ok": False, "error": sentence, "code": code}))
    colour = False if os.environ.get("NO_COLOR") else None
    name = click.style("jellycage:", fg="red", bold=True)
    click.echo(f"{name} {sentence}", err=True, color=colour)
    return code


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; no file was left half-written"
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "jellycage"
        return f"{error.format_message().rstrip('.')}; see `{path} --help`"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if hasattr(error, "exit_code"):  # ours
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory; lower --resolution, or simplify the mesh"
    if isinstance(error, OSError):
        reason = (error.strerror or str(error)).rstrip(".")
        return f"{error.filename}: {reason}" if error.filename else reason
    name = type(error).__name__
    return f"{name}: {error}; this is a bug, please report it with what --debug shows"
