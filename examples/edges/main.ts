/**
 * Edges of a photograph: decoded into host memory, found by OpenCL in that same memory, written as a PNG.
 *
 * Run it as `deno task demo`; `--help` says the rest.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { fromFileUrl, relative, resolve } from "@std/path";
import { host, InteropError } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { ByCopying } from "./by_copying.ts";
import { ByMapping } from "./by_mapping.ts";
import { compare } from "./compare.ts";
import { detectEdges } from "./host.ts";
import { EdgeKernels } from "./opencl.ts";
import { PhotoError, readPhoto, writePng } from "./photo.ts";
import { milliseconds, print, Times } from "./report.ts";
import { verdict } from "./verdict.ts";

const HELP = `Finds the edges of a photograph with OpenCL, over host memory, without a copy.

Usage: deno task demo [photo] [--out file]

  photo       a JPEG or a PNG; a bundled one by default
  --out file  where the edges go, as a PNG; out/edges.png by default
  --help      this

SAMEPAGE_OPENCL_DEVICE=platform:device chooses the device, by parts of the two names.
SAMEPAGE_LIB_OPENCL=path chooses the OpenCL library.`;

async function demo(photoPath: string, outPath: string): Promise<void> {
  const start = performance.now();
  const { rgba, width, height, decoder, decoderCopy } = await readPhoto(photoPath);
  const decoded = milliseconds(performance.now() - start);
  print("photo", `${photoPath}, ${width} × ${height}, decoded by ${decoder} in ${decoded}`, decoderCopy);

  using pixels = host.wrap(rgba, { shape: [height, width, 4], dtype: "u8" });
  const hostTimes = new Times();
  const expected = hostTimes.measure(() => detectEdges(pixels.bytes({ access: "read" }), width, height));

  const opened = openDevice();
  if (opened instanceof InteropError) {
    print("device", `none. ${opened.message}`);
    print("time", `${milliseconds(hostTimes.total)} on the host, in TypeScript`);
    await writePng(outPath, expected, width, height);
  } else {
    using cl = opened;
    using kernels = new EdgeKernels(cl);
    using byMapping = new ByMapping(cl, kernels, pixels);
    using byCopying = new ByCopying(cl, kernels, pixels);
    const inPlace = compare(cl, byMapping, byCopying);
    print("", `${milliseconds(hostTimes.total)} for the same on the host, in TypeScript, once`);
    print(
      "result",
      verdict(byMapping.edges.view({ access: "read" }), expected),
      `by copying: ${verdict(byCopying.edges, expected)}`,
    );
    print(
      "in short",
      inPlace
        ? "zero-copy: OpenCL worked in the photo's own memory, and wrote into the edges' own"
        : "not zero-copy on this device: its driver moves the bytes at each map, behind the scenes",
    );
    await byMapping.edges.lend((edges) => writePng(outPath, edges, width, height), { access: "read" });
  }
  print("wrote", outPath);
}

/** The device, or what is missing. */
function openDevice(): OpenCLContext | InteropError {
  try {
    return OpenCLContext.open();
  } catch (error) {
    // A device that was asked for by name has to be that one.
    if (error instanceof InteropError && !Deno.env.has("SAMEPAGE_OPENCL_DEVICE")) return error;
    throw error;
  }
}

/** The photograph's path and the output's, or undefined where help was asked for. */
function parse(args: string[]): { photo: string; out: string } | undefined {
  const options = { out: { type: "string" }, help: { type: "boolean", short: "h" } } as const;
  const { values, positionals } = understood(() => parseArgs({ args, options, allowPositionals: true }));
  if (values.help) return undefined;
  if (positionals.length > 1) throw new UsageError(`One photo at a time, not ${positionals.length}.`);
  const photo = positionals[0] === undefined ? bundled("photo.jpg") : given(positionals[0]);
  return { photo, out: values.out === undefined ? bundled("../../out/edges.png") : given(values.out) };
}

/** A path as the user means it: `deno task` runs here, and says in INIT_CWD where it was called. */
function given(path: string): string {
  return resolve(Deno.env.get("INIT_CWD") ?? Deno.cwd(), path);
}

/** The path of a file beside this one, as one would type it. */
function bundled(path: string): string {
  return relative(Deno.cwd(), fromFileUrl(new URL(path, import.meta.url)));
}

/** The command line cannot be understood. */
class UsageError extends Error {}

function understood<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message.split(". ")[0] + "." : String(error));
  }
}

/** The errors that are printed as their own sentence; anything else is a bug, and shows its stack. */
const EXPECTED = [UsageError, PhotoError, InteropError];

try {
  const asked = parse(Deno.args);
  if (asked === undefined) console.log(HELP);
  else await demo(asked.photo, asked.out);
} catch (error) {
  if (!EXPECTED.some((kind) => error instanceof kind)) throw error;
  console.error((error as Error).message.split("\n")[0]);
  Deno.exitCode = 1;
}
