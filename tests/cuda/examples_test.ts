// The examples as users run them, each in a process of its own: with a GPU and without.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { host, type HostTensor, MapperGraph } from "@samepage/interop";
import { OpenCVContext } from "@samepage/interop/opencv";
import { CudaEdges } from "../../examples/cuda-edges/kernels.ts";
import { byOpenCL, byOpenCV } from "../../examples/cuda-edges/peers.ts";
import { stripes } from "../../examples/cuda-edges/picture.ts";
import { detectEdgesInGrey, grey, HIGH, LOW } from "../../examples/edges/host.ts";
import { hasDevice } from "../opencl/present.ts";
import { present as hasOpenCV, testMat } from "../opencv/help.ts";
import { meander, noise } from "../edges/pictures.ts";
import { deno } from "../process.ts";
import { gpuTest, unless, withCuda } from "./help.ts";
import { pythonLacks } from "./python.ts";

const PROGRAM = new URL("examples/counted.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

/** The examples. */
const EXAMPLES = ["cuda-edges", "cuda-register", "cuda-image-chain", "cuda-matrix-mul", "cuda-ipc"];

/** What an example has said under each heading, and what was counted. */
interface Said {
  readonly sections: ReadonlyMap<string, readonly string[]>;
  readonly counted: { readonly copies: number; readonly launches: number };
  readonly text: string;
}

/** Runs an example; it has to end well, warn of nothing, and leave nothing. */
async function run(example: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<Said> {
  const ended = await deno(["run", "-A", "--no-check", "-q", "--config", CONFIG, PROGRAM, ...args], {
    env: { ...env, SAMEPAGE_EXAMPLE: example },
  });
  const { code, stdout: text, stderr } = ended;
  assertEquals([code, stderr], [0, ""], text);
  assert(!text.includes("WRONG") && !text.includes("DIFFERENT"), text);
  const sections = new Map<string, string[]>();
  let heading = "";
  for (const line of text.trimEnd().split("\n")) {
    heading = line.slice(0, 9).trim() || heading;
    sections.set(heading, [...sections.get(heading) ?? [], line.slice(9)]);
  }
  return { sections, counted: JSON.parse(sections.get("counted")!.join("")), text };
}

/** The same on a GPU. */
async function runOnGpu(example: string, args: readonly string[] = []): Promise<Said> {
  const said = await run(example, args);
  assertEquals(said.sections.get("left"), ["nothing: every native object was given back"], said.text);
  assert(said.counted.launches > 0, said.text);
  return said;
}

for (const example of EXAMPLES) {
  Deno.test(`examples: ${example} without CUDA says what is missing, and ends well`, async () => {
    const { sections, counted } = await run(example, [], { SAMEPAGE_LIB_CUDART: "/nonexistent" });
    assertMatch(
      sections.get("device")!.join(),
      /^none\. No cudart library could be opened; tried \/nonexistent: cannot open /,
    );
    assertEquals(counted, { copies: 0, launches: 0 });
  });
}

Deno.test("examples: the seed's stripes, and their edges on the host", () => {
  const { width, height, grey: pixels } = stripes();
  assertEquals([width, height], [640, 480]);
  for (let y = 0; y < height; y += 479) {
    for (let x = 0; x < width; x++) {
      const expected = Math.floor(x / 8) % 2 !== 0 ? 220 : 35;
      assertEquals(pixels[y * width + x], expected);
    }
  }
  const edges = detectEdgesInGrey(pixels, width, height);
  const bright = Array.from({ length: width }, (_, x) => x).filter((x) => edges[x] === 255);
  assertEquals(bright.length, 79); // one column at each of the borders between 80 stripes
  assertEquals(edges.subarray(width), edges.subarray(0, width * (height - 1)));
});

Deno.test({
  name: `examples: OpenCL finds the host's edges of the stripes${isThere() ? "" : " (not here: PoCL)"}`,
  ignore: !isThere(),
  fn() {
    const found = byOpenCL(stripes());
    if (found instanceof Error) throw found;
    assertEquals(found.edges, edgesOfStripes());
  },
});

testMat("examples: OpenCV finds the host's edges of the stripes, whatever lies beyond the border", () => {
  const found = byOpenCV(stripes());
  if (found instanceof Error) throw found;
  assertEquals(found.edges, edgesOfStripes());
  // The seed's program has BORDER_DEFAULT.
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using pixels = host.wrap(stripes().grey.slice(), { shape: [480, 640], dtype: "u8" });
  using mat = graph.map(pixels, cv.mat);
  cv.GaussianBlur(mat, mat, [5, 5], { sigmaX: 1.2, sigmaY: 1.2, border: "reflect-101" });
  cv.Canny(mat, mat, LOW, HIGH);
  using seen: HostTensor = graph.map(mat, host, { access: "read" });
  assertEquals(seen.bytes(), edgesOfStripes());
});

function isThere(): boolean {
  return hasDevice("Portable Computing Language");
}

function edgesOfStripes(): Uint8Array {
  const { grey: pixels, width, height } = stripes();
  return detectEdgesInGrey(pixels, width, height);
}

const lacksOpenCV = hasOpenCV ? undefined : "needs OpenCV";

gpuTest("examples: cuda-edges finds the edges of the stripes in mapped memory, without a copy", async () => {
  const { sections, counted, text } = await runOnGpu("cuda-edges");
  assertEquals(counted.copies, 0, text);
  assertEquals(sections.get("CUDA"), ["identical to the host's, 307200 pixels"]);
  assertEquals(sections.get("copied"), ["0 bytes between host and GPU, counted"]);
  assertStringIncludes(sections.get("route")!.join(), "cuda.pinned→host: alias");
  if (!hasOpenCV) assertMatch(sections.get("mats")![0], /^none\. /);
});

gpuTest(
  "examples: cuda-edges has Mats and a GpuMat's header over the mapped memory",
  async () => {
    const { sections } = await runOnGpu("cuda-edges");
    const mats = sections.get("mats")!;
    assertMatch(mats[0], /: their data is the pinned memory$/);
    assertStringIncludes(mats.join(), "host→cuda: alias");
    assertMatch(mats.join("\n"), /^a GpuMat's header: data 0x[0-9a-f]+, step 640, as kernels and the Mat have them$/m);
    assertEquals(mats.slice(-3), [
      "identical to the host's, 307200 pixels",
      "0 bytes between host and GPU, counted",
      "by OpenCV, over the same two Mats: identical to the host's, 307200 pixels",
    ]);
  },
  1,
  lacksOpenCV,
);

gpuTest("examples: the kernels of cuda-edges find the host's edges of other pictures", () =>
  withCuda((cuda) => {
    for (const { rgba, width, height } of [noise(1, 1), noise(3, 2), noise(641, 481), meander(513, 401)]) {
      const pixels = grey(rgba, width, height);
      using edges = new CudaEdges(cuda, width, height);
      using graph = new MapperGraph([host, cuda]);
      using input = cuda.pinned.allocate({ shape: [height, width], dtype: "u8" });
      using output = cuda.pinned.allocate({ shape: [height, width], dtype: "u8" });
      {
        using seen = graph.map(input, host);
        seen.bytes().set(pixels);
      }
      edges.run(input, output);
      using found = graph.map(output, host, { access: "read" });
      assertEquals(found.bytes(), detectEdgesInGrey(pixels, width, height));
    }
  }));

gpuTest("examples: cuda-register changes the pixels where they are, and unregisters them", async () => {
  const { counted, sections, text } = await runOnGpu("cuda-register");
  assertEquals(counted.copies, 0, text);
  const shown = [...sections.values()].flat().filter((line) => line.endsWith("0 bytes were copied"));
  assertEquals(shown.length, hasOpenCV && !text.includes("opencv_imgcodecs") ? 2 : 1, text);
});

gpuTest("examples: cuda-image-chain has one result by every way, and follows the advisor", async () => {
  const { sections, text } = await runOnGpu("cuda-image-chain");
  assertEquals(sections.get("pinned"), ["equal to the CPU's result; 0 bytes copied a run"]);
  assertEquals(sections.get("device")!.at(-1), "equal to the CPU's result; 8388608 bytes copied a run"); // after its name
  assertMatch(sections.get("managed")![0], /^(?:equal to the CPU's result; 0 bytes copied a run|the device has no)/);
  assertMatch(sections.get("chosen")![0], /^(?:pinned|managed|device), by [\w.-]+\/\S+$/, text);
});

gpuTest(
  "examples: cuda-matrix-mul has the CPU's product, with hints to every stream and to one",
  async () => {
    const { sections, counted, text } = await runOnGpu("cuda-matrix-mul");
    assertEquals(counted.copies, 0, text);
    for (const heading of ["global", "single"]) {
      const lines = sections.get(heading)!;
      assertMatch(lines[0], /^p, q: host → (?:global|single), a prefetch to the GPU \(003\/table-2\//);
      assertEquals(lines.at(-1), "equal to the CPU's product, 49601 values");
    }
  },
  1,
  unless("managedMemory", 1),
);

gpuTest(
  "examples: cuda-ipc has Python see and change the same bytes",
  async () => {
    const ended = await run("cuda-ipc");
    const { sections, text } = ended;
    assertEquals(sections.get("left"), ["nothing: every native object was given back"], text);
    assertMatch(sections.get("peer")![0], /^(?:CuPy|torch) \S+, in process \d+/);
    assertEquals(sections.get("there"), ["it sees what we have written", "it sees what we have written since"], text);
    assertEquals(sections.get("here"), ["we see what it has changed, every byte"], text);
  },
  1,
  pythonLacks("cupy", "torch"),
);
