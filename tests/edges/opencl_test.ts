// The kernels against host.ts, pixel by pixel, on every OpenCL that Debian brings, by mapping and by copying.

import { assert, assertEquals } from "@std/assert";
import { host } from "@samepage/interop";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { ByCopying } from "../../examples/edges/by_copying.ts";
import { ByMapping } from "../../examples/edges/by_mapping.ts";
import { detectEdges } from "../../examples/edges/host.ts";
import { EdgeKernels } from "../../examples/edges/opencl.ts";
import { readPhoto } from "../../examples/edges/photo.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { meander, noise, type Picture } from "./pictures.ts";

const PICTURES: Readonly<Record<string, () => Picture | Promise<Picture>>> = {
  "1 × 1": () => noise(1, 1),
  "3 × 2": () => noise(3, 2),
  "17 × 31": () => noise(17, 31),
  "640 × 481": () => noise(640, 481),
  "a meander of 513 × 401": () => meander(513, 401),
  "the photograph": () => readPhoto(new URL("../../examples/edges/photo.jpg", import.meta.url)),
};

/** Platforms, and how to get them. */
const PLATFORMS = {
  "Portable Computing Language": "PoCL: apt install pocl-opencl-icd",
  "rusticl": "rusticl: apt install mesa-opencl-icd, RUSTICL_ENABLE=llvmpipe",
};

function isThere(platform: string): boolean {
  try {
    return openclDevices().some((device) => device.platform === platform);
  } catch {
    return false;
  }
}

/** Edges by mapping and by copying, and what was counted; everything is given back. */
function detectOn(platform: string, { rgba, width, height }: Picture) {
  using cl = OpenCLContext.open({ platform });
  using kernels = new EdgeKernels(cl);
  using pixels = host.wrap(rgba, { shape: [height, width, 4], dtype: "u8" });
  using byMapping = new ByMapping(cl, kernels, pixels);
  using byCopying = new ByCopying(cl, kernels, pixels);
  const passage = byMapping.run(() => {});
  const bytesCopied = cl.bytesCopied;
  byCopying.run(() => {});
  return { passage, bytesCopied, mapped: byMapping.edges.view().slice(), copied: byCopying.edges };
}

Deno.test("edges of the meander are found from its bright end to its beginning", () => {
  const { rgba, width, height } = meander(513, 401);
  const edges = detectEdges(rgba, width, height);
  assert(edges.subarray(0, 40 * width).includes(255), "the first turn is not an edge");
});

for (const [platform, remedy] of Object.entries(PLATFORMS)) {
  const missing = !isThere(platform);
  const test = (name: string, fn: () => void | Promise<void>) =>
    Deno.test({
      name: missing ? `${name} (skipped: needs ${remedy})` : name,
      ignore: missing,
      fn: withEmptyLedger(fn),
    });

  for (const [name, make] of Object.entries(PICTURES)) {
    test(`edges on ${platform} are the host's: ${name}`, async () => {
      const picture = await make();
      const expected = detectEdges(picture.rgba, picture.width, picture.height);
      const { mapped, copied, bytesCopied } = detectOn(platform, picture);
      assertEquals(mapped, expected);
      assertEquals(copied, expected);
      assertEquals(bytesCopied, 0);
    });
  }

  // That these devices alias is for tests/opencl to show: on a busy machine a proof may not be had.
  test(`edges on ${platform}: what the routes say was moved is what the run says`, () => {
    const { passage } = detectOn(platform, noise(64, 64));
    const { pixels, edges, changed } = Object.fromEntries(passage.routes);
    assertEquals([pixels, edges, changed].map((route) => route.steps.map((step) => step.edge)), [
      ["host→opencl"],
      ["host→opencl"],
      ["host→opencl"],
    ]);
    const moved = pixels.bytesMoved + edges.bytesMoved + passage.launches * changed.bytesMoved;
    assertEquals(passage.bytesMoved, moved);
  });
}
