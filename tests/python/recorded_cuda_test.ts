// CUDA's memory as arrays of a library that Python stands in for, by a recording: the calls that each gets, and what waits.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, host } from "@samepage/interop";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import { type ArrayLibrary, Python, PythonError, type PythonObject } from "@samepage/interop/python";
import * as cu from "../../ffi/cuda_driver/constants.ts";
import { until } from "../conformance/bytes.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { ARRAY, device, issued, orderingCalls, THEIRS } from "../cuda/ordering_calls.ts";
import { lacking } from "./help.ts";

const recorded = recordedTests(orderingCalls(cu.CU_MEMORYTYPE_HOST));

/** A library that takes each tensor on a stream of its own, and lends page-locked memory that its struct says is the CPU's. */
const LIBRARY = `
import ctypes, importlib, sys, types
api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NEW, USED = b"dltensor_versioned", b"used_dltensor_versioned"
calls = []
keeps = None

class Array:
    def __init__(self, lent):
        if hasattr(lent, "__dlpack__"):
            self.device = lent.__dlpack_device__()
            options = {"stream": stream} if self.device[0] in (2, 13) else {}
            calls.append(options.get("stream"))
            capsule = lent.__dlpack__(max_version=(1, 0), **options)
        else:
            calls.append("bare")
            capsule = lent
        self.at = api.PyCapsule_GetPointer(capsule, NEW)
        api.PyCapsule_SetName(capsule, USED)
        if keeps is not None:
            keeps.append(self)
            raise ValueError("too large")

    def __del__(self):
        if hasattr(self, "at"):
            deleter = ctypes.c_void_p.from_address(self.at + 16).value
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(self.at)

class Pinned:
    shape = (ctypes.c_int64 * 1)(4)

    def __dlpack_device__(self):
        return 3, 0

    def __dlpack__(self, *, stream=None, max_version=None):
        assert stream is None, "stream should be None on cpu."
        words = [1, 0, 0, 0, ${ARRAY}, 1, 1 | 2 << 32 | 32 << 40 | 1 << 48, ctypes.addressof(self.shape), 0, 0]
        self.struct = (ctypes.c_uint64 * len(words))(*words)
        return api.PyCapsule_New(ctypes.addressof(self.struct), NEW, None)

def turning(lent):
    global stream
    stream += 1
    return Array(lent)

def standing_in(name, take):
    module = types.ModuleType(name)
    # samepage keeps the function, also for tests of the library itself.
    module.from_dlpack = lambda lent: (take if sys.modules.get(name) is module else importlib.import_module(name).from_dlpack)(lent)
    return module

before = dict(sys.modules)
sys.modules.update({
    name: standing_in(name, take)
    for name, take in {"torch": Array, "cupy": Array, "jax": None, "jax.dlpack": turning}.items()
})
`;

const OVER = `
for name in ("torch", "cupy", "jax", "jax.dlpack"):
    sys.modules.pop(name)
sys.modules.update(before)
`;

function test(name: string, run: (cuda: CudaContext, python: Python) => unknown): void {
  recorded(
    name,
    async () => {
      device.isIdle = true;
      using cuda = CudaContext.open();
      const python = Python.open();
      python.run(LIBRARY);
      python.run("stream = number", { number: THEIRS });
      try {
        await run(cuda, python);
      } finally {
        python.run(OVER);
        device.isIdle = true;
      }
    },
    {},
    lacking(),
  );
}

const MATRIX = { shape: [2, 3], dtype: "f32" } as const;

test("toArray() says of memory what each library has a name for", (cuda, python) => {
  const kinds: readonly (readonly [CudaTensor, torch: number, cupy: number])[] = [
    [cuda.allocate(MATRIX), 2, 2],
    [cuda.pinned.allocate(MATRIX), 1, 2],
    [cuda.managed.allocate(MATRIX), 2, 13],
  ];
  for (const [tensor, ...types] of kinds) {
    using _ = tensor;
    for (const [i, library] of (["torch", "cupy"] as const satisfies readonly ArrayLibrary[]).entries()) {
      using array = python.toArray(tensor, library);
      assertEquals(array.get("device"), [types[i], 0], `${tensor.name} for ${library}`);
    }
  }
});

test("toArray() orders both streams on the device, and asks a library once which stream it has", (cuda, python) => {
  using tensor = cuda.allocate(MATRIX);
  const turns = (count: number) => {
    for (let i = 0; i < count; i++) {
      issued.length = 0;
      device.isIdle = false;
      cuda.stream.fill(tensor, 1);
      const array = python.toArray(tensor, "torch");
      array[Symbol.dispose]();
      device.isIdle = true;
    }
  };
  turns(2);
  python.run("calls.clear()");
  turns(1);
  assertEquals(python.run("calls"), [Number(THEIRS)]);
  assertEquals(issued.slice(-2), ["record on ours", "wait on theirs"]);
  issued.length = 0;
  device.isIdle = false;
  cuda.stream.fill(tensor, 1);
  assertEquals(issued, ["record on theirs", "wait on ours", "fill on ours"]);
  device.isIdle = true;
});

test("toArray() hands PyTorch a bare capsule while its stream is the one that it took a tensor on", (cuda, python) => {
  using tensor = cuda.allocate(MATRIX);
  python.run("sys.modules['torch']._C = types.SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: stream)");
  const [one, other] = [0x701, 0x801];
  const calls = (number: number) => {
    python.run("calls.clear()\nstream = number", { number });
    python.toArray(tensor, "torch")[Symbol.dispose]();
    return python.run("calls");
  };
  assertEquals(calls(one), [one, one]); // the first is refused, and the second known
  assertEquals(calls(one), ["bare"]);
  assertEquals(calls(other), [other, other]);
  assertEquals(calls(other), ["bare"]);
  device.isIdle = false;
  cuda.stream.fill(tensor, 1);
  issued.length = 0;
  assertEquals(calls(one), [one, "bare"]);
  assertEquals(issued.filter((line) => line.startsWith("wait")).length, 2, "each lend has its stream wait");
  device.isIdle = true;
});

test("toArray() has the host wait for a library that asks for another stream each time", (cuda, python) => {
  using tensor = cuda.allocate(MATRIX);
  for (const tries of [3, 1]) {
    python.run("calls.clear()");
    cuda.stream.fill(tensor, 1);
    issued.length = 0;
    device.isIdle = false;
    using array = python.toArray(tensor, "jax");
    assertEquals([array.get("device"), python.run("len(calls)"), issued.at(-1)], [
      [2, 0],
      tries,
      "host waits for ours",
    ]);
  }
});

test(
  "toArray() makes a dispose throw where a library failed and kept the bytes, though other threads run",
  async (cuda, python) => {
    const tensor = cuda.pinned.allocate(MATRIX);
    python.run("import threading; over = threading.Event(); keeps = []; threading.Thread(target=over.wait).start()");
    assertThrows(() => python.toArray(tensor, "torch"), PythonError, "torch.from_dlpack: ValueError: too large.");
    assertThrows(
      () => tensor[Symbol.dispose](),
      AccessError,
      "torch.from_dlpack took the bytes, failed, and has them still.",
    );
    assertEquals(tensor.resource.state, "closing");
    python.run("keeps, kept = None, keeps; kept.clear(); over.set()");
    assert(await until(() => tensor.resource.state === "freed"));
  },
);

test("fromArray() refuses an array of another device before its library is asked for it", (cuda, python) => {
  using array = python.run<PythonObject>(
    "type('Far', (), {'__dlpack_device__': lambda self: (2, 1), '__dlpack__': None})()",
  );
  assertThrows(() => python.fromArray(array, { contexts: [host, cuda] }), ArgumentError, "kDLCUDA, number 1");
});

test("fromArray() takes page-locked memory without a stream, for the context of CUDA", (cuda, python) => {
  using array = python.run<PythonObject>("Pinned()");
  using tensor = python.fromArray(array, { contexts: [host, cuda] }) as CudaTensor;
  assertEquals([cuda.is(tensor), tensor.address, tensor.memory, tensor.shape], [true, ARRAY, "pinned", [4]]);
});
