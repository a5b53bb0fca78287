"""What every training and evaluation command shares: files, run folders, flags, pictures."""
