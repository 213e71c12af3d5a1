/**
 * Every route that `graph.explain` finds between the kinds of memory of some contexts, as text, beside what is committed.
 *
 * `deno test -A tests/routes -- --update` writes the files in `expected` anew.
 *
 * @module
 */
import { assert, AssertionError } from "@std/assert";
import {
  type Access,
  Frame,
  host,
  type ImageFormat,
  imageInfo,
  InteropError,
  MapperGraph,
  region,
  type Tensor,
} from "../../mod.ts";
import { fenceOf } from "../../src/core/device/foreign_work.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import type { LayoutInit } from "../../src/core/layout/layout.ts";
import type { Mapped } from "../../src/core/tensors/mapped.ts";
import type { EglContext } from "../../src/egl/mod.ts";
import type { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import type { GStreamerContext } from "../../src/gstreamer/mod.ts";
import type { OpenCLContext } from "../../src/opencl/mod.ts";
import type { VaapiContext } from "../../src/vaapi/mod.ts";
import type { VulkanContext } from "../../src/vulkan/mod.ts";
import { CFrame } from "../ffmpeg/frames.ts";
import { CBuffer, memory } from "../gstreamer/buffers.ts";

/** A kind of memory: a name that is the same on every machine, and memory of it, by what it is. */
export interface Node {
  readonly name: string;
  readonly target: Target;
  readonly sources: Readonly<Record<string, () => Mapped>>;
}

const ACCESSES: readonly Access[] = ["read", "write", "read-write"];

/** Pictures are so many pixels wide and high. */
export const [WIDTH, HEIGHT] = [64, 32];

/** What frames are. */
export const NV12 = imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT });

const ROW: LayoutInit = { shape: [HEIGHT, WIDTH], dtype: "u8" };
const BYTES: Readonly<Record<string, LayoutInit>> = {
  "u8": ROW,
  "u8, rows apart": { ...ROW, strides: [2 * WIDTH, 1] },
  "u8, elements apart": { ...ROW, strides: [4 * WIDTH, 2] },
  "f64": { shape: [WIDTH], dtype: "f64" },
};

/** A kind of memory that has any bytes: rows, gaps, a part that begins at byte 1. */
export function bytesOf(
  name: string,
  target: Target,
  allocate: (init: LayoutInit) => Tensor,
  more: Node["sources"] = {},
): Node {
  const sources = Object.entries(BYTES).map(([what, init]) => [what, () => allocate(init)] as const);
  const part = () => {
    const whole = allocate({ shape: [4096 + 1], dtype: "u8" });
    return whole.slice(region(whole.layout, [1], [4096]));
  };
  return { name, target, sources: { ...Object.fromEntries(sources), "u8 from byte 1": part, ...more } };
}

/** The host's memory, that with an fd too. */
export function hostNode(): Node {
  return bytesOf("host", host, (init) => host.allocate(init), {
    "u8 with an fd": () => host.allocate({ ...ROW, sharable: true }),
    "NV12": () => host.allocateFrame(NV12),
  });
}

/** Pixels of one byte. */
function pixelsOf(name: string, target: Target, allocate: (shape: readonly number[]) => Mapped): Node {
  return { name, target, sources: { "one channel": () => allocate([HEIGHT, WIDTH]) } };
}

/** A `cl_context`: its buffers, its pointers, its images. */
export function openclNodes(name: string, cl: OpenCLContext): Node[] {
  const [buffers, images] = openclObjects(name, cl);
  return [
    buffers,
    bytesOf(`${name}.svm`, cl.svm, (init) => cl.svm.allocate(init)),
    bytesOf(`${name}.usm`, cl.usm, (init) => cl.usm.allocate({ kind: "shared", ...init })),
    images,
  ];
}

/** Its buffers and images alone: what a guest adds is not memory by pointers. */
export function openclObjects(name: string, cl: OpenCLContext): Node[] {
  const image = cl.image({ order: "R", type: "UNSIGNED_INT8" });
  return [
    bytesOf(name, cl, (init) => cl.allocate(init)),
    pixelsOf(`${name}.image`, image, (shape) => image.allocate({ shape })),
  ];
}

/** A `VkDevice`: buffers, images. */
export function vulkanNodes(name: string, vulkan: VulkanContext): Node[] {
  const image = vulkan.image("R8_UINT");
  return [
    bytesOf(name, vulkan, (init) => vulkan.allocate(init), {
      "u8 that the host sees": () => vulkan.allocate({ ...ROW, memory: "host" }),
      "NV12": () => vulkan.allocateFrame(NV12),
    }),
    pixelsOf(`${name}.image`, image, (shape) => image.allocate({ shape })),
  ];
}

/** A context of OpenGL's: pictures, buffers. */
export function eglNodes(egl: EglContext): Node[] {
  const picture = (format: ImageFormat) => () => egl.image.allocate({ format, width: WIDTH, height: HEIGHT });
  return [
    { name: "egl.image", target: egl.image, sources: { "GRAY8": picture("GRAY8"), "NV12": picture("NV12") } },
    bytesOf("egl.buffer", egl.buffer, (init) => egl.buffer.allocate(init)),
  ];
}

/** Surfaces. */
export function vaapiNodes(va: VaapiContext): Node[] {
  return [{ name: "vaapi", target: va, sources: { "NV12": () => va.allocateFrame(NV12) } }];
}

/** AVFrames: pictures of FFmpeg's own. */
export function ffmpegNodes(ffmpeg: FFmpegContext): Node[] {
  const picture = (format: string) => () => {
    using made = CFrame.picture(format, WIDTH, HEIGHT);
    return ffmpeg.attach(made.pointer, { access: "read-write" });
  };
  const sources = { "NV12": picture("nv12"), "yuv422p10le": picture("yuv422p10le"), "GRAY8": picture("gray") };
  return [{ name: "avframe", target: ffmpeg, sources }];
}

/** GstBuffers: pictures of GStreamer's own. */
export function gstreamerNodes(gst: GStreamerContext): Node[] {
  const picture = (format: string) => () => {
    using made = new CBuffer(memory(4 * WIDTH * HEIGHT));
    return gst.attach(made.address, { caps: `video/x-raw,format=${format},width=${WIDTH},height=${HEIGHT}` });
  };
  const sources = { "NV12": picture("NV12"), "Y42B": picture("Y42B"), "GRAY8": picture("GRAY8") };
  return [{ name: "gstbuffer", target: gst, sources }];
}

/**
 * Routes from each node to each, in a graph of their two contexts; where that has none, also in a graph of all. The memory
 * is idle, but for the first of each node once more, while other code works on it.
 */
export async function routesOf(nodes: readonly Node[]): Promise<string> {
  const names = namesOf(nodes);
  using all = new MapperGraph(contextsOf(nodes));
  const sections: string[] = [];
  for (const from of nodes) {
    for (const to of nodes) {
      using pair = new MapperGraph(contextsOf([from, to]));
      const asked = { to: to.target, pair, all };
      const lines: string[] = [];
      for (const [i, [what, make]] of Object.entries(from.sources).entries()) {
        lines.push(...await linesOf({ ...asked, what, make }));
        if (i === 0) lines.push(...await linesOf({ ...asked, what: `${what} in use`, make, isUsed: true }));
      }
      const plain = folded(lines).map((line) => normalised(line, names));
      sections.push([`# ${from.name} → ${to.name}`, ...plain, ""].join("\n"));
    }
  }
  return sections.join("\n");
}

interface Asked {
  readonly what: string;
  readonly make: () => Mapped;
  /** Has other code work on the memory meanwhile. */
  readonly isUsed?: true;
  readonly to: Target;
  /** A graph of the two contexts alone. */
  readonly pair: MapperGraph;
  /** One of all. */
  readonly all: MapperGraph;
}

/** One line for each access, or one for all of them. */
async function linesOf({ what, make, isUsed, to, pair, all }: Asked): Promise<string[]> {
  using source = made(make);
  const { mapped } = source;
  if (typeof mapped === "string") return [`${what}: no such memory: ${mapped}`];
  await mapped.finished(); // some drivers zero it
  using _work = isUsed && inUse(mapped);
  const said = ACCESSES.map((access) => {
    const route = pair.explain(mapped, to, { access });
    return `${route}`.replaceAll("\n", " | ") + (route.open ? "" : otherwise(mapped, access, { to, pair, all }));
  });
  if (new Set(said).size === 1) return [`${what}: ${said[0]}`];
  return ACCESSES.map((access, i) => `${what} (${access}): ${said[i]}`);
}

/** The route in place of a closed one, where copies or other contexts open it. */
function otherwise(mapped: Mapped, access: Access, { to, pair, all }: Pick<Asked, "to" | "pair" | "all">): string {
  const copied = pair.explain(mapped, to, { access, copy: "allow" });
  if (copied.open) return `; with copies: ${stepsOf(copied)}`;
  const beyond = all.explain(mapped, to, { access, copy: "allow" });
  return beyond.open ? `; by way of others: ${stepsOf(beyond)}` : "";
}

/** Work of other code, which ends with its block. */
function inUse(mapped: Mapped): Disposable {
  let isOver = false;
  const wait = () => Promise.resolve();
  const error = () => new Error("it never fails");
  mapped.usedBy(
    fenceOf({ api: "other", name: "other code", fn: "work", error, isOver: () => isOver, block() {}, wait }),
  );
  return { [Symbol.dispose]: () => void (isOver = true) };
}

/** Memory that ends with its block; or why there is none. */
function made(make: () => Mapped): { readonly mapped: Mapped | string } & Disposable {
  try {
    const mapped = make();
    const parent = mapped instanceof Frame ? undefined : (mapped as Tensor).parent;
    return { mapped, [Symbol.dispose]: () => [mapped, parent].forEach((one) => one?.[Symbol.dispose]()) };
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return { mapped: error.message, [Symbol.dispose]() {} };
  }
}

function stepsOf({ steps }: ReturnType<MapperGraph["explain"]>): string {
  return steps.map(({ edge, transfer }) => `${edge} ${transfer}`).join(", ");
}

function contextsOf(nodes: readonly Node[]): Context[] {
  return [...new Set(nodes.map(({ target }) => target.context))];
}

/** The names of the devices, the longest first: one may be a part of another. */
function namesOf(nodes: readonly Node[]): string[] {
  const contexts = contextsOf(nodes).filter(({ api, name }) => api !== name);
  return contexts.map(({ name }) => name).sort((a, b) => b.length - a.length);
}

/** Without what differs from machine to machine, and from run to run. */
function normalised(text: string, names: readonly string[]): string {
  return names.reduce((said, name) => said.replaceAll(name, "<device>"), text)
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uuid>")
    .replaceAll(/\b0x[0-9a-f]{6,}\b/g, "<address>");
}

/** Lines that say the same, as one. */
function folded(lines: readonly string[]): string[] {
  const bySaid = Map.groupBy(lines, (line) => line.slice(line.indexOf(": ")));
  return Array.from(
    bySaid,
    ([said, each]) => `${each.map((line) => line.slice(0, line.indexOf(": "))).join("; ")}${said}`,
  );
}

/**
 * Fails if a route is not as the file of this name says, and prints those that differ; writes the file where the run asks
 * for that. A guest cannot write it: there the new one is left in `folder`, to be copied by hand.
 */
export async function assertRoutes(name: string, routes: string, folder?: string): Promise<void> {
  assert(routes.length > 0, `${name}: no routes`);
  const path = new URL(`expected/${name}.txt`, import.meta.url).pathname;
  if (folder === undefined && Deno.args.includes("--update")) return await Deno.writeTextFile(path, routes);
  const expected = await Deno.readTextFile(path).catch(() => "");
  const [was, is] = [expected, routes].map((text) => new Set(sectionedLines(text)));
  const gone = [...was.difference(is)].map((line) => `- ${line}`);
  const come = [...is.difference(was)].map((line) => `+ ${line}`);
  if (gone.length + come.length === 0) return;
  if (folder !== undefined) await Deno.writeTextFile(`${folder}/${name}.txt`, routes);
  const how = folder === undefined ? "-- --update writes them" : `they are in ${folder}/${name}.txt`;
  const both = [...gone, ...come].sort((a, b) => a.slice(2) < b.slice(2) ? -1 : 1);
  throw new AssertionError(`routes that differ from ${path} (${how}):\n${both.join("\n")}`);
}

/** Each line, with the heading that it stands under. */
function sectionedLines(text: string): string[] {
  let heading = "";
  return text.split("\n").flatMap((line) => {
    if (line.startsWith("# ")) heading = line.slice(2);
    return line === "" || line.startsWith("# ") ? [] : [`${heading}: ${line}`];
  });
}
