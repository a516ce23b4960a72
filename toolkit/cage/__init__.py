"""Cages: the lattice, the solid in its cells, tets or hexes around it, and their fit."""
