"""Opens memory of another process by its CUDA IPC handle, with CuPy or else torch, and sees and changes its bytes.

A line in JSON from standard input is a request, a line in JSON to standard output its reply: first, unasked, with what
it works; then open, see (the bytes' SHA-256), change (every byte to its complement) and close.
"""

import ctypes
import hashlib
import importlib
import json
import sys


class WithCuPy:
    def __init__(self):
        self.cupy = importlib.import_module("cupy")
        self.name = f"CuPy {self.cupy.__version__}"

    def open(self, handle, allocation, offset, length):
        cuda = self.cupy.cuda
        self.base = cuda.runtime.ipcOpenMemHandle(handle)
        memory = cuda.UnownedMemory(self.base, allocation, None)
        self.bytes = self.cupy.ndarray((length,), self.cupy.uint8, cuda.MemoryPointer(memory, offset))

    def see(self):
        return self.bytes.get().tobytes()

    def change(self):
        self.cupy.invert(self.bytes, out=self.bytes)
        self.cupy.cuda.get_current_stream().synchronize()

    def close(self):
        self.bytes = None
        self.cupy.cuda.runtime.ipcCloseMemHandle(self.base)


class Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_ubyte * 64)]


class WithTorch:
    def __init__(self):
        self.torch = importlib.import_module("torch")
        self.name = f"torch {self.torch.__version__}"
        self.torch.cuda.init()
        # torch has this library loaded: the name leads to the same one.
        self.runtime = ctypes.CDLL(f"libcudart.so.{self.torch.version.cuda.split('.')[0]}")
        self.runtime.cudaIpcOpenMemHandle.argtypes = [ctypes.POINTER(ctypes.c_void_p), Handle, ctypes.c_uint]
        self.runtime.cudaIpcCloseMemHandle.argtypes = [ctypes.c_void_p]

    def open(self, handle, allocation, offset, length):
        self.base = ctypes.c_void_p()
        lazy_peer_access = 1
        self.check(
            self.runtime.cudaIpcOpenMemHandle(self.base, Handle.from_buffer_copy(handle), lazy_peer_access),
            "cudaIpcOpenMemHandle",
        )
        data = (self.base.value + offset, False)
        self.__cuda_array_interface__ = {"shape": (length,), "typestr": "|u1", "data": data, "version": 2}
        self.bytes = self.torch.as_tensor(self, device="cuda")
        if self.bytes.data_ptr() != data[0]:
            raise RuntimeError("torch has made a copy")

    def see(self):
        return self.bytes.cpu().numpy().tobytes()

    def change(self):
        self.bytes.bitwise_not_()
        self.torch.cuda.synchronize()

    def close(self):
        self.bytes = None
        self.check(self.runtime.cudaIpcCloseMemHandle(self.base), "cudaIpcCloseMemHandle")

    @staticmethod
    def check(code, fn):
        if code != 0:
            raise RuntimeError(f"{fn} returned {code}")


def reply(**fields):
    print(json.dumps(fields), flush=True)


def library():
    for kind in (WithCuPy, WithTorch):
        try:
            return kind()
        except ImportError:
            continue
    return None


def main():
    peer = library()
    if peer is None:
        reply(missing="python3 has neither CuPy nor torch.")
        return
    reply(name=peer.name)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "open":
                handle = bytes.fromhex(request["handle"])
                peer.open(handle, request["allocation"], request["offset"], request["length"])
                reply()
            elif request["do"] == "see":
                reply(sha256=hashlib.sha256(peer.see()).hexdigest())
            elif request["do"] == "change":
                peer.change()
                reply()
            elif request["do"] == "close":
                peer.close()
                reply()
        except Exception as error:  # told to whoever asked
            reply(error=f"{type(error).__name__}: {error}")


main()
