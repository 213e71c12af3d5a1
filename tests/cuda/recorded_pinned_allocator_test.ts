// Pinned memory for native code over a recording: options, lifetimes, and blocks that CUDA does not make. libcudart is the
// true one, whose cudaHostAlloc fails where there is no driver. The blocks themselves are in host_pool_test.ts.

import { assertEquals, assertThrows } from "@std/assert";
import { ENOMEM } from "../../ffi/libc/errors.ts";
import { ArgumentError, DisposedError } from "../../src/core/errors.ts";
import { CudaContext, type PinnedFlags } from "../../src/cuda/mod.ts";
import { recordedTests } from "./recorded.ts";

let retained = 0;

const lacks = Deno.build.arch !== "x86_64"
  ? "needs x86-64"
  : isThere("/dev/nvidiactl")
  ? "needs a machine without a GPU"
  : undefined;

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path) !== undefined;
  } catch {
    return false;
  }
}

const recorded = recordedTests({
  cuDevicePrimaryCtxRetain: (out: BigUint64Array) => {
    out[0] = 0x1000n;
    retained++;
    return 0;
  },
  cuDevicePrimaryCtxRelease_v2: () => {
    retained--;
    return 0;
  },
} as Record<string, (...args: never[]) => number>);

function recordedTest(name: string, run: (cuda: CudaContext) => void): void {
  recorded(
    `pinned allocator: ${name}`,
    () => {
      retained = 0;
      using cuda = CudaContext.open();
      run(cuda);
    },
    {},
    lacks,
  );
}

const TAKE = { parameters: ["buffer", "usize", "usize"], result: "i32" } as const;

/** What `take` returns to native code. */
function taken(take: bigint): number {
  const pointer = Deno.UnsafePointer.create<typeof TAKE>(take)!;
  return new Deno.UnsafeFnPointer(pointer, TAKE).call(new BigUint64Array(1), 4096n, 100n);
}

recordedTest("where CUDA makes no block there is none, and nothing is counted", (cuda) => {
  using allocator = cuda.pinned.allocator();
  assertEquals(taken(allocator.take), ENOMEM);
  assertEquals(allocator.statistics, { lentBytes: 0, idleBytes: 0 });
  allocator.trim();
});

recordedTest("it keeps the primary context, and its functions stay after its end", (cuda) => {
  const allocator = cuda.pinned.allocator();
  assertEquals(retained, 2);
  const { take, give } = allocator;
  allocator[Symbol.dispose]();
  allocator[Symbol.dispose]();
  assertEquals(retained, 1);
  assertEquals(taken(take), ENOMEM);
  assertThrows(() => allocator.trim(), DisposedError);
  using again = cuda.pinned.allocator();
  assertEquals([again.take, again.give], [take, give], "the code is used again");
  using other = cuda.pinned.allocator({ writeCombined: true });
  assertEquals(new Set([again.take, other.take]).size, 2);
  const last = cuda.pinned.allocator();
  cuda[Symbol.dispose](); // ends them all
  assertEquals([last.resource.isLive, retained], [false, 0]);
  assertThrows(() => cuda.pinned.allocator(), DisposedError);
});

recordedTest("anything but flags is refused, and nothing was made", (cuda) => {
  for (const options of [null, 5, { mapped: 1 }, { portable: "yes" }, { shape: [1] }]) {
    assertThrows(() => cuda.pinned.allocator(options as unknown as PinnedFlags), ArgumentError);
  }
  assertEquals(retained, 1);
});
