"""The turns of a ring that PyTorch takes: on a stream of its own, every word checked on the GPU, without a wait."""

import ctypes

import torch

stream = torch.cuda.Stream()
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NAME = b"dltensor_versioned"


def start(n):
    global step, expected, differs, wrong
    torch.cuda.set_stream(stream)
    step = 2 * torch.arange(n, dtype=torch.int32, device="cuda") + 1
    expected = torch.empty_like(step)
    differs = torch.empty(n, dtype=torch.bool, device="cuda")
    wrong = torch.zeros(1, dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()


def turn(words, number):
    torch.mul(step, number, out=expected)
    torch.ne(words, expected, out=differs)
    wrong.add_(differs.sum())
    torch.mul(step, number + 1, out=words)


def turn_of_capsule(address, number):
    turn(torch.from_dlpack(new_capsule(address, NAME, None)), number)


def late(cycles):
    torch.cuda._sleep(cycles)


def strict(is_on):
    """From now on PyTorch raises where it would wait for the GPU."""
    torch.cuda.set_sync_debug_mode("error" if is_on else "default")


def finish():
    torch.cuda.synchronize()


def found():
    torch.cuda.synchronize()
    return int(wrong.item())


def end():
    count = found()
    torch.cuda.set_stream(torch.cuda.default_stream())
    return count
