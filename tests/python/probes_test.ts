// When the kernel is asked whether memory is there: about addresses that a program passes, and not about those that a live
// object of Python's has.

import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, type Tensor } from "../../mod.ts";
import { fromDLPack, toDLPack } from "../../src/dlpack/mod.ts";
import { setTap } from "../../src/core/native/library.ts";
import { Python } from "../../src/python/mod.ts";
import { made, test } from "./help.ts";

const HOST = { contexts: [host] };

const PROBES = ["signalfd", "madvise", "process_vm_readv"];

let asked: string[] = [];

setTap((_, functions) => {
  const counted = PROBES.filter((name) => name in functions).map((name) => {
    const call = functions[name] as (...args: unknown[]) => unknown;
    return [name, (...args: unknown[]) => (asked.push(name), call(...args))] as const;
  });
  return { ...functions, ...Object.fromEntries(counted) };
});

/** The kernel's calls while a tensor is made. */
function askedBy(make: () => Tensor): string[] {
  asked = [];
  using _tensor = make();
  return asked;
}

test("fromArray() does not ask the kernel about the memory of a live object", ["numpy"], () => {
  for (const code of ["import numpy; numpy.ones((64, 4096), 'f4')", "bytearray(100_000)", "memoryview(bytes(9999))"]) {
    using array = made(code);
    assertEquals(askedBy(() => Python.open().fromArray(array, HOST)), [], code);
  }
});

test("fromArray() asks about the address of an object, which a program passes", ["numpy"], () => {
  using array = made("import numpy; numpy.ones(4)");
  assertEquals(askedBy(() => Python.open().fromArray(array.address, HOST)), ["signalfd"]);
});

test("fromDLPack() asks about each address", [], () => {
  using tensor = host.allocate({ shape: [4], dtype: "f32" });
  const struct = toDLPack(tensor).handOver();
  assertEquals(askedBy(() => fromDLPack(struct, HOST)), ["signalfd", "signalfd"]); // the struct, and its deleter
});

test("fromArray() refuses an array over a tensor that was disposed", ["numpy"], () => {
  const tensor = host.allocate({ shape: [4], dtype: "f32" });
  using array = made(
    `import ctypes, numpy; numpy.ctypeslib.as_array(ctypes.cast(${tensor.address}, ctypes.POINTER(ctypes.c_float)), (4,))`,
  );
  Python.open().fromArray(array, HOST)[Symbol.dispose]();
  tensor[Symbol.dispose]();
  assertThrows(() => Python.open().fromArray(array, HOST), ArgumentError, "has been disposed");
});
