"""Parts of all training and evaluation commands: files, run folders, flags, pictures."""
