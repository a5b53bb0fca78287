"""A static web page with acting agents that needs no Python: its builder and sources."""
