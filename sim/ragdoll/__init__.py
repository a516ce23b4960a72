"""Ragdolls: characters made of bones, simulated from the frame at which their animation lets go of them."""
