"""Motion files: BVH, ASF/AMC, DeepMimic and our own NPZ."""
