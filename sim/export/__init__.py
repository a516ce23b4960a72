"""Animations as files for other programs: Alembic, OBJ sequences and the point caches PC2 and MDD."""
