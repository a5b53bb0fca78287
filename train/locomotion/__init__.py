"""Training and evaluation of bodies that walk."""
