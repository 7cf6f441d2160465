# Only C code uses this module: its contract is the .pxd of the same name.
__pyx_capi__: dict[str, object]
