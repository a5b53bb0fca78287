"""Bodies with legs as VR worlds: simulated characters, and fast surrogates of them (twins)."""
