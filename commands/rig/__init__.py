"""Parts of `ambulo rig-server` and `ambulo rig-client`."""
