// DLPack alone, without an interpreter: 256 floats of the host are lent as a struct and released by its deleter, and taken
// back. Beside it, NumPy lends to itself in Python.

import { host } from "@samepage/interop";
import { fromDLPack, toDLPack } from "@samepage/interop/dlpack";
import type { Address } from "../ffi/address.ts";
import { DLManagedTensorVersioned } from "../ffi/dlpack/structs.ts";
import { callAt } from "../src/core/native/callbacks.ts";
import { viewAt } from "../src/core/native/pin.ts";
import { figure } from "./harness/figure.ts";
import { here, program, PYTHON, side } from "./harness/way.ts";

const SIZE = { shape: [256], dtype: "f32" } as const;

const numpy = program("numpy", () => ({ path: PYTHON, args: [side("sides/numpy_side.py")] }), "from_dlpack");

/** The function that ends every loan of ours. */
function deleterOf(struct: Address): Address {
  const { deleter: { offset } } = DLManagedTensorVersioned.fields;
  return viewAt(struct, DLManagedTensorVersioned.size, "bench").getBigUint64(offset, true) as Address;
}

figure({
  id: "dlpack-lend",
  title: "a host tensor lent by DLPack, and released",
  ways: [
    numpy,
    here("samepage", () => {
      const tensor = host.allocate(SIZE);
      using first = toDLPack(tensor);
      const deleter = deleterOf(first.address);
      return {
        run(count) {
          for (let i = 0; i < count; i++) callAt(deleter, toDLPack(tensor).handOver());
        },
      };
    }),
  ],
});

figure({
  id: "dlpack-take",
  title: "a host tensor lent by DLPack and taken back, and both released",
  ways: [
    numpy,
    here("samepage", () => {
      const tensor = host.allocate(SIZE);
      const contexts = [host];
      return {
        run(count) {
          for (let i = 0; i < count; i++) fromDLPack(toDLPack(tensor).handOver(), { contexts })[Symbol.dispose]();
        },
      };
    }),
  ],
});
