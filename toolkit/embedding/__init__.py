"""The visible surface as a function of the nodes of its cage."""
