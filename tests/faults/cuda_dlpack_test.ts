/** Every native call of a loan of a GPU's memory, and of memory that is taken there, fails once. */
import { swept, test } from "./cuda.ts"; // first: it taps the libraries
import { assert } from "@std/assert";
import { fromDLPack, toDLPack } from "../../src/dlpack/mod.ts";
import { callAt } from "../../src/core/native/callbacks.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { DLManagedTensorVersioned } from "../../ffi/dlpack/structs.ts";
import type { Address } from "../../ffi/address.ts";
import type { Tensor } from "../../mod.ts";

const MATRIX = { shape: [1024, 1024], dtype: "f32" } as const;

/** What a consumer calls when it is through. */
function release(struct: Address): void {
  const { deleter: { offset } } = DLManagedTensorVersioned.fields;
  callAt(viewAt(struct, DLManagedTensorVersioned.size, "test").getBigUint64(offset, true) as Address, struct);
}

test("a loan on a consumer's stream, and its release", async (cuda) => {
  using tensor = cuda.allocate({ shape: [1 << 14, 1 << 13], dtype: "f32" }); // the consumer finds its fill under way
  await swept(
    () => {
      using theirs = cuda.createStream();
      cuda.stream.fill(tensor, 1);
      release(toDLPack(tensor, { stream: theirs.handle }).handOver());
      cuda.stream.fill(tensor, 2);
      cuda.stream.finish();
    },
    ["cudart.cudaStreamWaitEvent"],
    () => cuda.stream.finish(),
  );
});

test("a struct that is taken on the device", async (cuda) => {
  using tensor = cuda.allocate(MATRIX);
  await swept(
    () => {
      const struct = toDLPack(tensor).handOver();
      let same: Tensor | undefined;
      try {
        same = fromDLPack(struct, { contexts: [cuda], after: cuda.stream.fence() });
      } finally {
        if (same === undefined) release(struct);
        else same[Symbol.dispose]();
      }
    },
    ["cuda.cuPointerGetAttribute"],
    () => cuda.stream.finish(),
  );
  assert(tensor.resource.isLive);
});
