"""What `ambulo doctor` inspects: packages, engines, caches and models of this machine."""
