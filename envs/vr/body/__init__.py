"""Bodies with legs as VR worlds: simulated characters, and fast models of them."""
