"""A static web page in which agents act, without Python behind it: its builder and sources."""
