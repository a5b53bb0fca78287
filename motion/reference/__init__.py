"""Reference motions: captured gait made periodic and physical for the body that imitates it."""
