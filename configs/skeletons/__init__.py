"""The canonical skeletons: one JSON file each in this folder, read by `ambulo.motion`."""
