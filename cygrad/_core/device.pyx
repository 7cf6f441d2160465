# device: parsing, comparison, and the refusal of devices that this build cannot put memory on. Contract: device.pxd.

import re

from cygrad._core.memory cimport DEVICE_CPU, DEVICE_CUDA

cdef object form = re.compile(r"([a-z]+)(?::(0|[1-9][0-9]*))?")
cdef tuple TYPES = ("cpu", "cuda")
cdef int MAX_INDEX = 127                # what a device index may be in Storage.device


cdef int fill(device d, str type, object index) except -1:
    if index is not None and index > MAX_INDEX:
        raise RuntimeError(f"cygrad.device: the index {index} of device '{type}' is out of range: at most {MAX_INDEX}")
    d.type = type
    d.index = index
    d.code = (DEVICE_CUDA if type == "cuda" else DEVICE_CPU) | (0 if index is None else <int>index) << 8
    return 0


cdef class device:
    """Where a tensor's memory lies: ``device("cpu")``, ``device("cuda:1")``, ``device("cuda", 1)``, or another device.

    Attributes: ``type`` ("cpu" or "cuda") and ``index`` (an int, or None for the current device of that type).
    Raises RuntimeError for a string that names no device, and for negative indices; TypeError for other objects.
    """

    def __cinit__(self, type: object, index: object = None) -> None:
        cdef str text
        if isinstance(type, device) and index is None:
            self.type = (<device>type).type
            self.index = (<device>type).index
            self.code = (<device>type).code
            return
        if isinstance(type, int) and not isinstance(type, bool) and index is None:
            if type < 0:
                raise RuntimeError(f"cygrad.device: Device index must not be negative, got {type}")
            fill(self, "cuda", type)
            return
        if not isinstance(type, str):
            raise TypeError(f"cygrad.device: argument 'type' must be a str such as 'cpu' or 'cuda:0', or a device, not {type.__class__.__name__}")
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise TypeError(f"cygrad.device: argument 'index' must be int, not {index.__class__.__name__}")
        text = <str>type
        if not text:
            raise RuntimeError("cygrad.device: Device string must not be empty; name 'cpu' or 'cuda:0'")
        found = form.fullmatch(text)
        if found is None and text.partition(":")[0] in TYPES:
            raise RuntimeError(f"cygrad.device: Invalid device string: '{text}'; write a type and perhaps an index, as in 'cuda:1'")
        if found is None or found[1] not in TYPES:
            raise RuntimeError(f"cygrad.device: Expected one of {', '.join(TYPES)} device type at start of device string: {text}")
        if found[2] is not None:
            if index is not None:
                raise RuntimeError(f"cygrad.device: type (string) must not include an index because index was passed explicitly: {text}")
            index = int(found[2])
        elif index is not None and index < 0:
            raise RuntimeError(f"cygrad.device: Device index must not be negative, got {index}")
        fill(self, found[1], index)

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == (<device>other).type and self.index == (<device>other).index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[object, ...]:
        return (device, (self.type,) if self.index is None else (self.type, self.index))


cdef device CPU = device("cpu")
cdef dict by_code = {DEVICE_CPU: CPU}


cdef device device_object(int code):
    if code == DEVICE_CPU:
        return CPU
    found = by_code.get(code)
    if found is None:
        found = by_code[code] = device("cuda", code >> 8)
    return <device>found


cdef device device_parse(object obj):
    if obj is None:
        return CPU
    return <device>obj if type(obj) is device else device(obj)


cdef int device_usable(object obj) except -1:
    cdef device d
    if obj is None or obj is CPU:
        return DEVICE_CPU
    d = device_parse(obj)
    if d.type != "cpu":
        raise RuntimeError(f"cygrad: tensors cannot be put on device '{d}': this build of cygrad has no CUDA support; use device='cpu'")
    return DEVICE_CPU
