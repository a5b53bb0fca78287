"""From target to force: stable PD, muscle forces, activations for a requested torque.

Everything works on `mujoco.MjModel`s and takes a leading batch dimension. SI units; joint
coordinates and generalised forces are MuJoCo's (free joint: linear velocity in the world frame,
angular velocity in the body's own).
"""
