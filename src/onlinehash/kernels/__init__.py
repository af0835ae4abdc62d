"""The only compiled code. Each kernel has a plain NumPy twin that the tests compare it with.

Kernels are compiled on first use and cached on disk; nothing here is imported before it is needed.
"""
