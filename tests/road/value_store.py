"""An engine that keeps values in a node, through libkvcast's C interface: kvcast/kvcast_store.h says what each thing means."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

LOOKUP, PUT, GET = range(3)
IN_MEMORY, ON_DISK = range(2)
LOADED, STORED, HELD = 1, 2, 3
PENDING = 1  # Of a call; the others are of items.


class _Node(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("address", c_char_p), ("authorities", c_char_p), ("certificate", c_char_p),
                ("certificate_key", c_char_p), ("token", c_char_p), ("tenant", c_char_p), ("naming_key", c_void_p),
                ("patience_ms", c_int64), ("index_bytes_max", c_uint64)]


class _Format(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("model", c_char_p), ("layout", c_char_p), ("layout_bytes", c_size_t),
                ("block_tokens", c_uint32)]


class _Item(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("key_bytes", c_size_t), ("region", c_uint32), ("zero", c_uint32),
                ("offset", c_uint64), ("bytes", c_uint64)]


class _Batch(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("kind", c_int32), ("flags", c_uint32), ("items", POINTER(_Item)),
                ("item_size", c_size_t), ("count", c_size_t), ("timeout_us", c_int64), ("salt", c_char_p),
                ("salt_bytes", c_size_t), ("durability", c_int32)]


class Values:
    """with Values(library, address, size, places) as values: memory for so many values of one size."""

    def __init__(self, library: str, address: str, size: int, places: int, patience_ms: int = 60_000):
        self.library = ctypes.CDLL(library)
        self.library.kvcast_message.restype = c_char_p
        self.size = size
        self.memory = bytearray(size * places)
        self._pinned = (ctypes.c_char * len(self.memory)).from_buffer(self.memory)
        node = _Node(ctypes.sizeof(_Node), address=address.encode(), patience_ms=patience_ms)
        layout = b"bytes by number"
        form = _Format(ctypes.sizeof(_Format), b"road", layout, len(layout), 16)
        self._store, self._region = c_void_p(), c_uint32()
        self._call("kvcast_store_open", byref(node), byref(form), byref(self._store))
        self._call("kvcast_store_register", self._store, byref(self._pinned), c_size_t(len(self.memory)),
                   byref(self._region))

    def _call(self, name, *arguments) -> int:
        code = getattr(self.library, name)(*arguments)
        if code < 0:
            raise RuntimeError(f"{name}: {self.library.kvcast_message().decode()}")
        return code

    def _batch(self, kind, keys, first, durability, timeout_s) -> _Batch:
        items = (_Item * len(keys))(*[_Item(key, len(key), self._region.value, 0, (first + i) * self.size, self.size)
                                      for i, key in enumerate(keys)])
        return _Batch(ctypes.sizeof(_Batch), kind, 0, items, ctypes.sizeof(_Item), len(keys),
                      int(timeout_s * 1e6), None, 0, durability)

    def run(self, kind: int, keys: list[bytes], first: int = 0, durability: int = IN_MEMORY,
            timeout_s: float = 60) -> list[int]:
        """The statuses of the values of these keys, which are, or are to be, in the places from `first` on."""
        statuses = (c_int32 * len(keys))()
        self._call("kvcast_store_run", self._store, byref(self._batch(kind, keys, first, durability, timeout_s)),
                   statuses, None)
        return list(statuses)

    def submit(self, kind: int, keys: list[bytes], first: int = 0, timeout_s: float = 60) -> int:
        """Begins; wait() is to be called with what it returns."""
        batch = c_uint64()
        self._call("kvcast_store_submit", self._store, byref(self._batch(kind, keys, first, IN_MEMORY, timeout_s)),
                   byref(batch))
        return batch.value

    def wait(self, batch: int, count: int) -> list[int]:
        statuses = (c_int32 * count)()
        while self._call("kvcast_store_wait", self._store, c_uint64(batch), c_int64(1_000_000), statuses, None,
                         c_size_t(count)) == PENDING:
            pass
        return list(statuses)

    def place(self, index: int) -> memoryview:
        return memoryview(self.memory)[index * self.size:(index + 1) * self.size]

    def close(self):
        self.library.kvcast_store_close(self._store)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()
