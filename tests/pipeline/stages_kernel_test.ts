// Kernels and operations over the planes of frames: OpenCL's, Vulkan's, OpenCV's.
import { assertEquals, assertRejects } from "@std/assert";
import {
  type Frame,
  type FrameInfo,
  host,
  type HostTensor,
  type ImageFormat,
  type ImageInfo,
  imageInfo,
  type Target,
} from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext, type OpenCVTensor } from "@samepage/interop/opencv";
import { VulkanContext } from "@samepage/interop/vulkan";
import { copy, kernel, operation, pipeline, Sink, StageError, Transform } from "@samepage/interop/pipeline";
import { HERE } from "../opencl/help.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { missing as missingVulkan } from "../vulkan/help.ts";
import { numbered } from "./help.ts";

const lacking = HERE.includes("pocl") ? undefined : "PoCL";

/** Copies a plane, its number added. */
const COPY =
  `kernel void copied(global const uchar *from, int stride, global uchar *to, int toStride, int w, int h, int plane) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) to[y * toStride + x] = from[y * stride + x] + plane;
}`;
const TWICE = `kernel void twice(global uchar *plane, int stride) {
  plane[get_global_id(1) * stride + get_global_id(0)] *= 2;
}`;

const same = (info: FrameInfo) => info;

function test(name: string, missing: string | undefined, run: () => Promise<void>): void {
  Deno.test({
    name: `pipeline: ${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    fn: withEmptyLedger(run),
  });
}

/** Frames of ones, and what stages made of them: the planes' first and last pixels. */
async function seen(stages: readonly Transform[], format: ImageFormat = "I420", count = 6): Promise<number[][]> {
  const ones = async function* () {
    for (let i = 0; i < count; i++) {
      const frame = await Promise.resolve(host.allocateFrame(imageInfo({ format, width: 64, height: 16 })));
      for (const plane of frame.planes) plane.bytes().fill(1 + i);
      yield frame;
    }
  };
  const all: number[][] = [];
  for await (using frame of pipeline(ones(), ...stages as readonly Transform[])) all.push(ends(frame));
  return all;
}

function ends({ planes }: Frame): number[] {
  return planes.flatMap((plane) => {
    const bytes = (plane as HostTensor).bytes({ access: "read" });
    return [bytes[0], bytes[bytes.length - 1]];
  });
}

const numbers = (of: (i: number) => number[], count = 6) => Array.from({ length: count }, (_, i) => of(i));

test("kernel() of OpenCL's writes each plane of another frame", lacking, async () => {
  using cl = OpenCLContext.open();
  using program = cl.program(COPY);
  using copied = program.kernel("copied");
  const stage = kernel(copied, { gives: (info) => info });
  assertEquals(await seen([stage]), numbers((i) => [1 + i, 1 + i, 2 + i, 2 + i, 3 + i, 3 + i]));
});

test("kernel() of OpenCL's works on each plane of frames of any size that stages have allocated", lacking, async () => {
  using cl = OpenCLContext.open();
  using program = cl.program(COPY);
  using copied = program.kernel("copied");
  for (const size of [{ width: 640, height: 362 }, { width: 2, height: 2 }]) { // U and V lie 320 × 181 bytes apart
    const stages = [kernel(copied, { gives: same }), kernel(copied, { name: "again", gives: same })];
    const { frames } = await pipeline(numbered(2, "I420", size), copy(), ...stages).run();
    assertEquals(frames, 2);
  }
});

test("kernel() of OpenCL's works in place, and one behind another waits for it", lacking, async () => {
  using cl = OpenCLContext.open();
  using program = cl.program(TWICE);
  using twice = program.kernel("twice");
  assertEquals(
    await seen([kernel(twice), kernel(twice, { name: "again" })], "GRAY8"),
    numbers((i) => Array(2).fill(4 * (1 + i))),
  );
});

test("kernel() takes the arguments and the range that a program says", lacking, async () => {
  using cl = OpenCLContext.open();
  using program = cl.program(`kernel void set(global uchar *bytes, uchar value) { bytes[get_global_id(0)] = value; }`);
  using set = program.kernel("set");
  const stage = kernel(set, {
    arguments: (_, to, plane) => [to, 7 + plane],
    range: () => ({ items: [1] }),
  });
  assertEquals(await seen([stage], "GRAY8", 1), [[7, 1]]);
});

test("kernel() gives what it makes: of three planes, one", lacking, async () => {
  using cl = OpenCLContext.open();
  using program = cl.program(COPY);
  using copied = program.kernel("copied");
  const grey = kernel(copied, {
    gives: (info) =>
      imageInfo({ format: "GRAY8", width: (info as ImageInfo).width, height: (info as ImageInfo).height }),
  });
  assertEquals(await seen([grey]), numbers((i) => [1 + i, 1 + i]));
});

test("a stage of the program's own uses the context that its neighbour brings, by run.graph", lacking, async () => {
  using cl = OpenCLContext.open();
  using program = cl.program("kernel void place(global uchar *to, int stride) { to[get_global_id(0)] += 1; }");
  using place = program.kernel("place");
  const kinds: unknown[] = [];
  const own = new Transform({
    name: "own",
    process: (frame, _, run) => {
      using map = run.graph.map(frame, cl, { access: "read" });
      kinds.push(map.target.kind);
    },
  });
  await pipeline(numbered(2), own, kernel(place, { range: () => ({ items: [8] }) })).run();
  assertEquals(kinds, [cl.kind, cl.kind]);
  await assertRejects(() => pipeline(numbered(2), own).run(), StageError, "own: "); // no stage brings it
});

test("kernel() that fails is named", lacking, async () => {
  using cl = OpenCLContext.open();
  using program = cl.program(TWICE);
  using twice = program.kernel("twice");
  const stage = kernel(twice, { name: "wrong", range: () => ({ items: [0] }) });
  const error = await assertRejects(() => seen([stage]), StageError, "wrong: ");
  assertEquals(error.stage, "wrong");
});

// glslangValidator -V copied.comp -o copied.spv
test("kernel() of Vulkan's has the buffers first, and runs in whole groups", missingVulkan(), async () => {
  using vulkan = VulkanContext.open();
  using program = vulkan.program(Deno.readFileSync(new URL("copied.spv", import.meta.url)));
  using copied = program.kernel();
  assertEquals(copied.groupSize, [16, 4, 1]);
  const stage = kernel(copied, { gives: same });
  assertEquals(await seen([stage]), numbers((i) => [1 + i, 1 + i, 2 + i, 2 + i, 3 + i, 3 + i]));
});

test("a frame between two kernels of Vulkan's stays in its memory", missingVulkan(), async () => {
  using vulkan = VulkanContext.open();
  using program = vulkan.program(Deno.readFileSync(new URL("copied.spv", import.meta.url)));
  using copied = program.kernel();
  const stages = [kernel(copied, { gives: same }), kernel(copied, { name: "again", gives: same })];
  await using whole = pipeline(numbered(1, "I420"), ...stages);
  const { handOvers: [, first, second] } = await whole.explain();
  assertEquals([first, second].map(({ gives }) => gives?.memory.split(" ")[0]), ["vulkan", "host"]);
  assertEquals(await seen(stages), numbers((i) => [1 + i, 1 + i, 3 + i, 3 + i, 5 + i, 5 + i]));
});

test("what stages of Vulkan's share on its way to the host is the host's", missingVulkan(), async () => {
  using vulkan = VulkanContext.open();
  using program = vulkan.program(Deno.readFileSync(new URL("copied.spv", import.meta.url)));
  using copied = program.kernel();
  const look = () => new Transform({ name: "look", takes: { memory: vulkan }, process: () => {} });
  const sink = new Sink({ name: "host", takes: { memory: host }, write: () => {} });
  await using whole = pipeline(numbered(1, "I420"), kernel(copied, { gives: same }), look(), look(), sink);
  assertEquals((await whole.explain()).handOvers[1].gives?.memory, "host"); // it is mapped once for all three
});

const CV: Readonly<Record<string, (cv: OpenCVContext) => Target<OpenCVTensor>>> = {
  mat: (cv) => cv.mat,
  umat: (cv) => cv.umat,
};

for (const [kind, target] of Object.entries(CV)) {
  test(`operation() of OpenCV's works in cv.${kind}, plane by plane`, hasOpenCV ? lacking : "OpenCV", async () => {
    using cl = OpenCLContext.open();
    using cv = OpenCVContext.open();
    const options = { name: "blur", gives: same, contexts: [cl] };
    const blur = operation(target(cv), (from, to) => cv.GaussianBlur(from, to, [5, 5]), options);
    const inPlace = operation(target(cv), (plane) => cv.GaussianBlur(plane, plane, [3, 3]), { name: "again" });
    assertEquals(await seen([blur, inPlace]), numbers((i) => Array(6).fill(1 + i)));
  });
}
