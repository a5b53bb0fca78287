"""Parts of all commands: errors and exit codes, files, paths, console, run folders."""
