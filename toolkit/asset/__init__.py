"""What preparing a mesh comes to: one file, its facts and its checks."""
