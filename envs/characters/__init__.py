"""Characters: the MuJoCo bodies that controllers, muscles and policies move."""
