"""Commands other than training and evaluation: one file each."""
