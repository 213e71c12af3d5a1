import { assert, assertEquals } from "@std/assert";
import { host, layout, MapperGraph } from "@samepage/interop";
import type { ImageType, OpenCLContext } from "@samepage/interop/opencl";
import { type ImagePlace, traitsOf } from "../../src/opencl/images/classes.ts";
import { type ImageShape, isProblem } from "../../src/opencl/images/shape.ts";
import { LAYER_MODES, layerEnv } from "../layer/mod.ts";
import { open, test, testEach, warningsOf } from "./help.ts";
import { testLayered } from "./layered.ts";
import { linesOf } from "./subprocess.ts";

/** A picture of 61 × 7 pixels of RGBA at an address, as a proof is asked about it. */
function placeAt(cl: OpenCLContext, address: bigint | undefined, pitch: number, type: ImageType = "2D"): ImagePlace {
  const target = cl.image({ order: "RGBA", type: "UNORM_INT8" }, { type });
  const image = target.fit(layout({ shape: [7, 61, 4], dtype: "u8", strides: [pitch, 4, 1] }));
  assert(!isProblem(image));
  return { format: target.format, image, address };
}

test("a class is the kind, the format, and what divides address and pitch", ["pocl"], () => {
  using cl = open("pocl");
  const { host, type, format } = traitsOf(placeAt(cl, 0x1040n, 768));
  assertEquals([type, format.name], ["2D", "RGBA UNORM_INT8"]);
  assertEquals(host, { address: 64, row: { divisor: 256, padded: true }, paddedSlices: false });
  assertEquals(traitsOf(placeAt(cl, 0x1000n, 244)).host?.row, { divisor: 4, padded: false });
  assertEquals(traitsOf(placeAt(cl, undefined, 244)).host, undefined);
});

test("PoCL has images in host memory of every class in place that keeps pixels whole", ["pocl"], () => {
  using cl = open("pocl");
  for (const address of [0x1000n, 0x1040n, 0x1004n]) {
    for (const pitch of [244, 256, 248]) {
      const { aliases, evidence } = cl.proofs.prove(cl.images.classOf(placeAt(cl, address, pitch)));
      assert(aliases, evidence);
    }
  }
  assert(cl.proofs.prove(cl.images.classOf(placeAt(cl, undefined, 244))).aliases);
});

test("rusticl copies images of host memory, and is asked but once", ["rusticl"], () => {
  using cl = open("rusticl");
  assertEquals(cl.proofs.prove(cl.images.classOf(placeAt(cl, 0x1000n, 4096))).aliases, false);
  for (const address of [0x1040n, 0x1004n]) {
    const { aliases, evidence } = cl.proofs.prove(cl.images.classOf(placeAt(cl, address, 244)));
    assert(!aliases && evidence.includes("as well aligned as can be"), evidence);
  }
});

testEach("no proof is tried where a pixel would not lie at a multiple of its size", (platform) => {
  using cl = open(platform);
  for (const address of [0x1001n, 0x1002n]) {
    const { aliases, evidence } = cl.proofs.prove(cl.images.classOf(placeAt(cl, address, 244)));
    assert(!aliases && evidence.includes("none is tried"), evidence);
  }
});

testEach("what is not proven is not an alias, and a proof leaves nothing behind", (platform) => {
  using cl = open(platform);
  const { format } = cl.image({ order: "R", type: "SIGNED_INT32" });
  const image: ImageShape = { type: "2D", extent: [8, 2, 1], pitch: { row: 32, slice: 64 } };
  assertEquals(cl.proofs.judge(cl.images.classOf({ format, image, address: 0x2000n })), {
    aliases: false,
    evidence: "not proven",
  });
});

/** What a program does with images on a device that may or may not use host memory in place. */
const JOB = `
import { region } from "@samepage/interop";
const cl = help.open("pocl");
const graph = new MapperGraph([host, cl]);
const program = cl.program(\`
  kernel void add(read_only image2d_t from, write_only image2d_t to, uint n) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imageui(to, at, (read_imageui(from, at) + n) & 255);
  }\`);
const add = program.kernel("add");
const target = cl.image({ order: "R", type: "UNSIGNED_INT8" });
const bytes = help.random(40 * 128);
const [one, other] = [0, 1].map(() => host.allocate({ shape: [40, 128], dtype: "u8" }));
for (const wide of [one, other]) wide.view().set(bytes);
let wrong = 0;
const [from, to] = [one, other].map((wide) => wide.slice(region(wide.layout, [3, 64], [31, 61])));
{
  using a = graph.map(from, target, { access: "read" });
  using b = graph.map(to, target);
  console.log(a.route.steps[0].transfer, b.route.steps[0].bytesMoved);
  add.run({ items: [61, 31] }, [a, b, 1]);
  {
    using seen = graph.map(b, host);
    for (let y = 0; y < 31; y++) for (let x = 0; x < 61; x++) {
      if (seen.view()[y * 128 + x] !== (bytes[(y + 3) * 128 + x + 64] + 1) % 256) wrong++;
    }
    seen.view()[0] = 5;
  }
}
from[Symbol.dispose]();
to[Symbol.dispose]();
const after = other.view();
for (let y = 0; y < 40; y++) for (let x = 0; x < 128; x++) {
  const inside = y >= 3 && y < 34 && x >= 64 && x < 125;
  const expected = !inside ? bytes[y * 128 + x] : y === 3 && x === 64 ? 5 : (bytes[y * 128 + x] + 1) % 256;
  if (after[y * 128 + x] !== expected) wrong++;
}
for (const wide of [one, other]) wide[Symbol.dispose]();
cl[Symbol.dispose]();
console.log("wrong", wrong, JSON.stringify(ledger.alive));
`;

test("the job with images on the device as it is", ["pocl"], async () => {
  assertEquals(await linesOf(JOB), ["alias 0", "wrong 0 {}"]);
});

for (const mode of LAYER_MODES) {
  testLayered(`images on a device that hides its copies, mode ${mode}: found out, every pixel right`, async () => {
    const moved = 2 * (30 * 128 + 61);
    assertEquals(await linesOf(JOB, { env: layerEnv(mode) }), [`migrate ${moved}`, "wrong 0 {}"]);
  });
}

testEach(
  "a 3D image of one byte a pixel is proven, whose rows may not be as long as the best alignment",
  async (platform) => {
    using cl = open(platform);
    using graph = new MapperGraph([host, cl]);
    const target = cl.image({ order: "R", type: "UNORM_INT8" });
    const warnings = await warningsOf(() => {
      for (const rowAlign of [1, 4096]) {
        using memory = host.allocate({ shape: [2, 3, 64], dtype: "u8", rowAlign });
        if (!graph.explain(memory, target).open) continue; // a device without 3D images of this format
        using _image = graph.map(memory, target);
      }
    });
    assertEquals(warnings, []);
  },
);
