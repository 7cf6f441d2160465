# layout and memory_format objects, and the checks of keyword arguments that creation and conversion share. Contract: options.pxd.


cdef class layout:
    """How a tensor lies in memory. ``cygrad.strided`` is the only layout there is."""

    def __init__(self):
        raise TypeError("cygrad.layout: layouts are not made by calling this class; use cygrad.strided")

    def __repr__(self) -> str:
        return "cygrad." + self.name

    def __reduce__(self) -> str:
        return self.name


cdef class memory_format:
    """The order of a new tensor's dimensions in memory: ``contiguous_format``, ``preserve_format``, ``channels_last`` or ``channels_last_3d``."""

    def __init__(self):
        raise TypeError("cygrad.memory_format: memory formats are not made by calling this class; use cygrad.contiguous_format and its like")

    def __repr__(self) -> str:
        return "cygrad." + self.name

    def __reduce__(self) -> str:
        return self.name


cdef object make_layout(str name):
    cdef layout result = layout.__new__(layout)
    result.name = name
    return result


cdef object make_format(str name, int code):
    cdef memory_format result = memory_format.__new__(memory_format)
    result.name = name
    result.code = code
    return result


strided = make_layout("strided")
contiguous_format = make_format("contiguous_format", FORMAT_CONTIGUOUS)
preserve_format = make_format("preserve_format", FORMAT_PRESERVE)
channels_last = make_format("channels_last", FORMAT_CHANNELS_LAST)
channels_last_3d = make_format("channels_last_3d", FORMAT_CHANNELS_LAST_3D)


cdef int check_layout(object obj, const char* operation) except -1:
    if obj is not None and not isinstance(obj, layout):
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'layout' must be cygrad.layout, not {type(obj).__name__}; cygrad.strided is the only one")
    return 0


cdef int format_code(object obj, int default, const char* operation) except -1:
    if obj is None:
        return default
    if type(obj) is not memory_format:
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'memory_format' must be cygrad.memory_format, not {type(obj).__name__}")
    return (<memory_format>obj).code


cdef int check_pin_memory(object obj, const char* operation) except -1:
    if obj is None or obj is False:
        return 0
    if obj is not True:
        raise TypeError(f"cygrad.{operation.decode()}(): argument 'pin_memory' must be bool, not {type(obj).__name__}")
    raise RuntimeError(f"cygrad.{operation.decode()}(): pin_memory=True requires a CUDA backend, and this build of cygrad has none; leave it False")
