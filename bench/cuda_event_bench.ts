// A fence of CUDA's: an event that is recorded and waited for, alone and behind a kernel of one thread. The events of
// C's first way are made as samepage makes them; its second way waits as fast as the device can be asked.

import { cudaEventBlockingSync, cudaEventDisableTiming } from "../ffi/cuda_runtime/constants.ts";
import { check } from "../src/cuda/errors.ts";
import { createEvent } from "../src/cuda/events.ts";
import { cudart } from "../src/cuda/library.ts";
import { cudaC } from "./harness/c.ts";
import { gpu } from "./harness/cuda.ts";
import { figure } from "./harness/figure.ts";
import { atMost } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { here } from "./harness/way.ts";

/** One thread. */
const ONE = { groups: [1], groupSize: [1] };

/** Makes a fence and waits for it, behind a kernel if that is asked for. */
function blocking(launches: boolean): Operation {
  const { cuda, kernel } = gpu();
  const touch = kernel("touch");
  const byte = cuda.allocate({ shape: [1], dtype: "u8" });
  return {
    run(count) {
      for (let i = 0; i < count; i++) {
        if (launches) touch.run(ONE, [byte]);
        const fence = cuda.stream.fence();
        fence.waitSync();
      }
    },
  };
}

/** C's two native calls, made by Deno. */
function calling(): Operation {
  const { cuda } = gpu();
  const { handle } = cuda.stream;
  const event = createEvent(cuda, cudaEventDisableTiming | cudaEventBlockingSync);
  const { cudaEventRecord, cudaEventSynchronize } = cudart();
  return {
    run(count) {
      for (let i = 0; i < count; i++) {
        check(cudaEventRecord(event, handle), "cudaEventRecord");
        check(cudaEventSynchronize(event), "cudaEventSynchronize");
      }
    },
  };
}

/** The same, while the event loop goes on. */
function awaiting(launches: boolean): Operation {
  const { cuda, kernel } = gpu();
  const touch = kernel("touch");
  const byte = cuda.allocate({ shape: [1], dtype: "u8" });
  return {
    async run(count) {
      for (let i = 0; i < count; i++) {
        if (launches) touch.run(ONE, [byte]);
        const fence = cuda.stream.fence();
        await fence.wait();
      }
    },
  };
}

figure({
  id: "cuda-event",
  title: "a fence made and waited for",
  on: "cuda",
  goal: atMost(1.10),
  ways: [
    cudaC("cuda_event", "record_wait"),
    here("samepage", () => blocking(false)),
    here("samepage, awaited", () => awaiting(false)),
    here("Deno, the calls alone", calling),
    cudaC("cuda_event", "record_spin", "C, spinning"),
  ],
});

figure({
  id: "cuda-launch-wait",
  title: "a kernel of one thread, and a fence behind it waited for",
  on: "cuda",
  goal: atMost(1.10),
  ways: [
    cudaC("cuda_event", "launch_wait"),
    here("samepage", () => blocking(true)),
    here("samepage, awaited", () => awaiting(true)),
    cudaC("cuda_event", "launch_spin", "C, spinning"),
  ],
});
