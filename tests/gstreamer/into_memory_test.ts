/** `pipeline.sink(name, { into })`: elements that write into memory which several APIs share, or other processes. */
import { assertEquals, assertRejects } from "@std/assert";
import { ArgumentError, type Context, type Frame, host, type HostTensor, MapperGraph } from "@samepage/interop";
import { type FrameMemory, GStreamerContext } from "@samepage/interop/gstreamer";
import { VulkanContext } from "@samepage/interop/vulkan";
import { HERE, open as openOpenCL } from "../opencl/help.ts";
import { missing as noVulkan } from "../vulkan/help.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { testOfLateEnds } from "./open.ts";

const PICTURES =
  "videotestsrc pattern=ball num-buffers=8 ! video/x-raw,format=NV12,width=320,height=240 ! appsink name=out sync=false";

type Init = Parameters<FrameMemory["allocate"]>[0] & { shape: readonly [number]; dtype: "u8" };

/** The bytes of all planes, as the host sees them in place. */
function bytesOf(graph: MapperGraph, frame: Frame): Uint8Array[] {
  using seen = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
  assertEquals(seen.route?.bytesMoved ?? 0, 0);
  return seen.planes.map((plane) => plane.bytes({ access: "read" }).slice());
}

/** Takes all frames, which are in this memory, and returns their bytes. */
async function framesIn(
  gst: GStreamerContext,
  into: FrameMemory | undefined,
  others: readonly Context[],
  use: (frame: Frame, graph: MapperGraph, bytes: readonly Uint8Array[]) => unknown = () => {},
): Promise<Uint8Array[][]> {
  using graph = new MapperGraph([host, gst, ...others]);
  await using pipeline = gst.launch(PICTURES);
  const seen = [];
  for await (using frame of pipeline.sink("out", into && { into, slots: 10 })) {
    assertEquals(frame.target === gst, into === undefined);
    const bytes = bytesOf(graph, frame);
    await use(frame, graph, bytes);
    seen.push(bytes);
  }
  assertEquals(seen.length, 8);
  return seen;
}

function test(name: string, fn: (gst: GStreamerContext) => Promise<void>, lacks?: string): void {
  testOfLateEnds(
    `sink into ${name}`,
    async () => {
      using gst = await GStreamerContext.open();
      await fn(gst);
    },
    {},
    lacks,
  );
}

const noPoCL = HERE.includes("pocl") ? undefined : "PoCL";

test("shareable host memory: its fd shows other processes what elements have written", async (gst) => {
  const blocks: { readonly start: bigint; readonly end: bigint; readonly file: Deno.FsFile }[] = [];
  using files = new DisposableStack();
  const into = {
    allocate(init: Init) {
      const block = host.allocate({ ...init, shape: [...init.shape], sharable: true });
      const fd = block.exportFd();
      const file = files.use(Deno.openSync(`/proc/self/fd/${fd}`));
      closeFd(fd);
      blocks.push({ start: block.address, end: block.address + BigInt(block.byteLength), file });
      return block;
    },
  };
  const theirs = await framesIn(gst, undefined, []);
  const ours = await framesIn(gst, into as FrameMemory, [], (frame, _, bytes) => {
    for (const [i, { address }] of (frame.planes as readonly HostTensor[]).entries()) {
      const { file, start } = blocks.find(({ start, end }) => start <= address && address < end)!;
      file.seekSync(Number(address - start), Deno.SeekMode.Start);
      const read = new Uint8Array(bytes[i].length);
      file.readSync(read);
      assertEquals(read, bytes[i]);
    }
  });
  assertEquals(ours, theirs);
});

test("Vulkan's memory, which the host sees", async (gst) => {
  using vulkan = VulkanContext.open();
  const theirs = await framesIn(gst, undefined, []);
  const ours = await framesIn(gst, vulkan, [vulkan], (frame) => assertEquals(frame.target.context, vulkan));
  assertEquals(ours, theirs);
}, noVulkan());

test("memory of OpenCL's is refused: the host sees it only while it is mapped", async (gst) => {
  using cl = openOpenCL("pocl");
  const fine = { allocate: (init: Init) => cl.svm.allocate({ ...init, shape: [...init.shape], grain: "fine" }) };
  for (const into of [cl, cl.svm, fine]) {
    await assertRejects(() => framesIn(gst, into as FrameMemory, [cl]), ArgumentError, "the CPU cannot use it");
  }
}, noPoCL);

test("host memory: each frame is OpenCL's, without a copy", async (gst) => {
  using cl = openOpenCL("pocl");
  await framesIn(gst, host as FrameMemory, [cl], (frame, graph) => {
    using onDevice = graph.map(frame, cl, { access: "read" }) as Frame;
    assertEquals(onDevice.route!.bytesMoved, 0);
  });
}, noPoCL);
