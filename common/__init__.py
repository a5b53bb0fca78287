"""What all commands share: errors and exit codes, files, paths, console, run folders."""
