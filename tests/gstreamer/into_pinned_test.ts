/** `pipeline.sink(name, { into: cuda.pinned })`, over a recording of CUDA: its blocks are pages, and there is no GPU. */
import { assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, ledger, MapperGraph } from "@samepage/interop";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { assertAlive } from "../alive.ts";
import { mapBlock, PAGE } from "../../src/core/native/blocks.ts";
import type { Fakes } from "../cuda/kernels/recording.ts";
import { cudaMemoryClass } from "../../src/cuda/alias/classes.ts";
import { warningsOf } from "../warnings.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { missing } from "./open.ts";

const blocks = new Map<bigint, () => void>();

const FAKES: Fakes = {
  cudaHostAlloc: (out: BigUint64Array, byteLength: bigint) => {
    const whole = Math.ceil(Number(byteLength) / PAGE) * PAGE;
    const { address, free } = mapBlock({ byteLength: whole, align: PAGE, sharable: false, guard: false });
    blocks.set(out[0] = address, () => free("unused"));
    return 0;
  },
  cudaFreeHost: (address: bigint) => {
    blocks.get(address)!();
    blocks.delete(address);
    return 0;
  },
} as Record<string, (...args: never[]) => number>;

recordedTests(FAKES)(
  "elements of GStreamer write into pinned memory, and each frame is CUDA's at once",
  async () => {
    const before = ledger.alive;
    {
      using gst = await GStreamerContext.open();
      using cuda = CudaContext.open();
      using graph = new MapperGraph([host, gst, cuda]);
      await using pipeline = gst.launch(
        "videotestsrc num-buffers=8 pattern=white ! video/x-raw,format=GRAY8,width=100,height=16 ! appsink name=out sync=false",
      );
      await warningsOf(() => cuda.proofs.tryToProve(cudaMemoryClass("pinned", cuda.device))); // it runs no kernel
      let count = 0;
      for await (await using frame of pipeline.sink("out", { into: cuda.pinned, slots: 10, rowAlign: 256 })) {
        assertEquals([frame.target, blocks.size], [cuda.pinned, 10]);
        {
          using seen = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
          assertEquals(seen.planes[0].layout.strides, [256, 1]);
          assertEquals(seen.planes[0].bytes({ access: "read" })[256 * 15 + 99], 235);
        }
        using onDevice = graph.map(frame, cuda, { access: "read" }) as Frame<CudaTensor>;
        const { address } = onDevice.planes[0];
        assertEquals(blocks.keys().filter((block) => block <= address && address < block + 8192n).toArray().length, 1);
        count++;
      }
      assertEquals([count, cuda.bytesCopied], [8, 0]);
    }
    await assertAlive(before, "alive after the test");
    assertEquals(blocks.size, 0);
  },
  {},
  missing,
);
