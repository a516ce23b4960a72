"""The rotation in a deformation gradient, one file per method."""
