/** Semaphores of other code's on a GPU: its work and ours take turns by them, and each lap is checked. */
import { assert, assertEquals } from "@std/assert";
import { ledger } from "@samepage/interop";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { NULL } from "../../ffi/address.ts";
import { opencl } from "../../src/opencl/library.ts";
import { assertAlive } from "../alive.ts";
import { SIGNAL, Theirs, WAIT } from "./external/theirs.ts";
import { hasDevice } from "./present.ts";

const LAPS = 100;
const BYTES = 1 << 20;

const device = hasDevice()
  ? openclDevices().find(({ type, extensions }) => type === "gpu" && extensions.includes("cl_khr_semaphore"))
  : undefined;
const lacks = device === undefined ? " (skipped: needs a GPU with cl_khr_semaphore)" : "";

Deno.test({
  name: `opencl: a cl_semaphore_khr of other code's: it is checked and retained, and orders ${LAPS} laps${lacks}`,
  ignore: device === undefined,
  async fn() {
    const before = ledger.alive;
    {
      await using cl = OpenCLContext.create([device!]);
      await using theirQueue = cl.createQueue();
      await using mine = cl.createQueue();
      await using tensor = cl.allocate({ shape: [BYTES], dtype: "u8" });
      await using rows = cl.allocate({ shape: [LAPS, BYTES], dtype: "u8" });
      using there = new Theirs(cl);
      using back = new Theirs(cl);
      await using ready = cl.attachSemaphore(there.handle);
      await using free = cl.attachSemaphore(back.handle);
      const at = (lap: number) => ({ shape: [BYTES], dtype: "u8", byteOffset: lap * BYTES }) as const;
      const parts = Array.from({ length: LAPS }, (_, lap) => rows.slice(at(lap)));
      for (const [lap, row] of parts.entries()) {
        if (lap > 0) back.submit(WAIT, theirQueue);
        const [queue, mem, value] = [theirQueue.handle, tensor.handle, Uint8Array.of(lap + 1)];
        assertEquals(opencl().clEnqueueFillBuffer!(queue, mem, value, 1n, 0n, BigInt(BYTES), 0, NULL, NULL), 0);
        there.submit(SIGNAL, theirQueue);
        mine.waitSemaphores([ready]);
        mine.copy(tensor, row);
        mine.signalSemaphores([free]);
      }
      await mine.fence().wait();
      for (const row of parts) row[Symbol.dispose]();
      const seen = new Uint8Array(LAPS * BYTES);
      cl.queue.read(rows, seen);
      assert(seen.every((byte, i) => byte === 1 + Math.floor(i / BYTES)));
    }
    await assertAlive(before, "what is alive");
  },
});
