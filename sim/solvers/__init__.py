"""Solvers: each steps one body from one state to the next."""
