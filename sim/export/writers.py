"""The table of exporters: what a file is called, what it holds, and who writes it.

To add one, write its file and a row here; command line, extension and tests read this table. It imports a writer only
when one is asked for, so that help texts need no numpy.
"""

from importlib import import_module
from typing import NamedTuple


class Exporter(NamedTuple):
    """A format of animations."""

    name: str
    sentence: str
    """What is written, as a phrase for people."""
    home: str
    """Module of this folder and class of its writer."""

    @property
    def writer(self) -> type:
        """Its FrameWriter."""
        module, name = self.home.split(".")
        return getattr(import_module(f"jellycage.sim.export.{module}"), name)


WRITERS = {
    ".abc": Exporter("Alembic", "all bodies in one file", "alembic.AlembicWriter"),
    ".obj": Exporter(
        "OBJ sequence", "one file per frame, all bodies in each", "obj_sequence.ObjSequenceWriter"
    ),
    ".pc2": Exporter("PC2", "point cache, one file per body", "pc2.Pc2Writer"),
    ".mdd": Exporter("MDD", "point cache, one file per body", "mdd.MddWriter"),
}
"""Exporters by the ending of the name."""
