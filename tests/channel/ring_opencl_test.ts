// Frames of another process that do not fill their memory, read by kernels where they lie.

import { assertEquals } from "@std/assert";
import { Frame, host, type HostTensor, MapperGraph } from "../../mod.ts";
import { FrameRing } from "../../src/channel/mod.ts";
import type { OpenCLContext, OpenCLTensor } from "../../src/opencl/mod.ts";
import { onDevices } from "../opencl/on_devices.ts";
import { withNothingLeft } from "./help.ts";
import { Child, freshPath } from "./ring_help.ts";
import { elements, type Kind, planesOf, ROUNDS, sizeOf } from "./strided.ts";

/** Gathers the elements of a plane, without what lies between its rows. */
const GATHER = `kernel void gather(global const uchar *plane, uint first, uint stride, global uchar *out) {
  size_t x = get_global_id(0), y = get_global_id(1);
  out[y * get_global_size(0) + x] = plane[first + y * stride + x];
}`;

/** What a kernel sees of a plane. */
async function gathered(cl: OpenCLContext, graph: MapperGraph, plane: OpenCLTensor): Promise<Uint8Array> {
  const [rows, width] = sizeOf(plane);
  const { strides: [stride], byteOffset } = plane.layout;
  using program = cl.program(GATHER);
  using gather = program.kernel("gather");
  using out = host.allocate({ shape: [rows, width], dtype: "u8" });
  {
    await using target = graph.map(out, cl);
    gather.run({ items: [width, rows] }, [plane.base, byteOffset, stride, target]);
  }
  return out.bytes().slice();
}

/** Kernels see every plane of every frame as the other process has filled it. */
async function kernelsSee(kind: Kind, cl: OpenCLContext): Promise<void> {
  const path = freshPath();
  await using writer = new Child(
    path,
    `import { send } from "${new URL("strided.ts", import.meta.url)}";\nawait send(path, "${kind}");`,
  );
  assertEquals(await writer.line(), "listens");
  using graph = new MapperGraph([host, cl]);
  await using reader = await FrameRing.open<HostTensor | Frame<HostTensor>>(path, { contexts: [host] });
  let round = 0;
  for await (const frame of reader) {
    await using onDevice = frame instanceof Frame ? graph.map(frame, cl) : graph.map(frame, cl);
    for (const [number, plane] of planesOf(onDevice).entries()) {
      const expected = elements(plane, round, number);
      assertEquals(await gathered(cl, graph, plane), expected, `plane ${number} of round ${round}`);
    }
    round++;
  }
  assertEquals(round, ROUNDS);
  assertEquals(await writer.end(), 0);
}

const CASES: Readonly<Record<Kind, string>> = {
  slices: "slices of one block, with padded rows",
  planes: "planes that lie apart in one block, with padded rows",
};
for (const [kind, what] of Object.entries(CASES)) {
  onDevices(`ring: kernels read another process's frames: ${what}`, () => false, async (open) => {
    using cl = open();
    await withNothingLeft(() => kernelsSee(kind as Kind, cl));
  });
}
