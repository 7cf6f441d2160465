"""Kernels: functions from Arrays to Arrays that need neither Python objects nor the GIL.

Contract: Note [Kernels] in array.pxd.
"""
