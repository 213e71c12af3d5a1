"""What the sides that take pictures through pyopencl share."""

import sys
import time

import pyopencl as cl


def find_device(platform_name, device_name):
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            if (platform.name, device.name) == (platform_name, device_name):
                return device
    raise SystemExit(f"no device {device_name} of {platform_name}")


def planes_of(array, width, height):
    """The three planes of an I420 array, which lie one behind the other."""
    flat = array.reshape(-1)
    luma, chroma = width * height, width * height // 4
    return [
        (flat[:luma], width, height),
        (flat[luma : luma + chroma], width // 2, height // 2),
        (flat[luma + chroma :], width // 2, height // 2),
    ]


def serve(one):
    """Runs as often as it is asked: bench/c/serve.h says how."""
    print("ready", flush=True)
    for line in sys.stdin:
        _, count = line.split()
        start = time.perf_counter_ns()
        for _ in range(int(count)):
            one()
        print(time.perf_counter_ns() - start, flush=True)
