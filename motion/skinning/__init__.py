"""A skin for human23, made from its measures: a surface, weights of the joints, colours."""
