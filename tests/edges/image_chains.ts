/**
 * Random chains of maps, slices and lends that begin at an image. Each pixel is held against a model, those beside a slice too.
 *
 * @module
 */
import { assertEquals, AssertionError, assertThrows } from "@std/assert";
import {
  type Access,
  AccessError,
  Frame,
  host,
  HostTensor,
  type ImageInfo,
  imageInfo,
  MapperGraph,
  NoRouteError,
  region,
  type Target,
  type Tensor,
} from "@samepage/interop";
import { type EglContext, EglTensor } from "@samepage/interop/egl";
import { type OpenCLContext, OpenCLImage, OpenCLTensor } from "@samepage/interop/opencl";
import { type VaapiContext, VaapiTensor } from "@samepage/interop/vaapi";
import { type VulkanContext, VulkanImage } from "@samepage/interop/vulkan";
import { planeLayouts } from "../../src/core/layout/frame_info.ts";
import { assertSame, random } from "../conformance/bytes.ts";
import type { LateQueue } from "../conformance/opencl_late.ts";
import { numbers } from "../random.ts";

/** What chains may go through. */
export interface World {
  readonly cl: readonly { readonly context: OpenCLContext; readonly late: LateQueue }[];
  readonly egl?: EglContext | undefined;
  readonly va?: readonly VaapiContext[];
  readonly vulkan?: readonly VulkanContext[];
}

/** A rectangle of pixels that have to be so, row by row without padding; all of a model at first. */
class Area {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #pitch: number;
  readonly #first: number;
  readonly width: number;
  readonly height: number;
  readonly channels: number;

  constructor([height, width, channels = 1]: readonly number[], of?: Area, x = 0, y = 0) {
    [this.height, this.width, this.channels] = [height, width, channels];
    this.#pitch = of === undefined ? width * channels : of.#pitch;
    this.#first = of === undefined ? 0 : of.#first + y * of.#pitch + x * channels;
    this.#bytes = of === undefined ? random(height * width * channels) : of.#bytes;
  }

  get shape(): number[] {
    return [this.height, this.width, this.channels];
  }

  get byteLength(): number {
    return this.height * this.width * this.channels;
  }

  /** A rectangle of this one. */
  part(x: number, y: number, width: number, height: number): Area {
    return new Area([height, width, this.channels], this, x, y);
  }

  get pixels(): Uint8Array<ArrayBuffer> {
    const pixels = new Uint8Array(this.byteLength);
    this.#rows((row, at) => pixels.set(row, at));
    return pixels;
  }

  set pixels(pixels: Uint8Array) {
    this.#rows((row, at) => row.set(pixels.subarray(at, at + row.length)));
  }

  #rows(use: (row: Uint8Array, at: number) => void): void {
    const length = this.width * this.channels;
    for (let y = 0; y < this.height; y++) {
      const first = this.#first + y * this.#pitch;
      use(this.#bytes.subarray(first, first + length), y * length);
    }
  }
}

/** An image or a part of one, and the pixels of each of its planes. */
interface Node {
  readonly mapped: Tensor | Frame;
  readonly areas: readonly Area[];
  /** True for a map or a slice: it may end before what was made of it. */
  readonly ends?: true;
}

const ORDERS = { 1: "R", 2: "RG", 4: "RGBA" } as const;
const VULKAN_FORMATS = { 1: "R8_UINT", 2: "R8G8_UINT", 4: "R8G8B8A8_UNORM" } as const;
type Channels = keyof typeof ORDERS;

type ImageTarget = ReturnType<OpenCLContext["image"]>;

const MAX_DEPTH = 4;

/** What chains have done. */
export interface Counts {
  /** How often each edge was taken, by any step and by each kind of step: `"vaapi→host"`, `"vaapi→host copy"`. */
  readonly edges: readonly (readonly [edge: string, times: number])[];
  /** How often a promise held a plane. */
  readonly lends: number;
  /** How often there was no route. */
  readonly refused: number;
}

/** The same while it grows. */
interface Counting {
  readonly edges: Map<string, number>;
  lends: number;
  refused: number;
}

/** Runs chains, each from a seed of its own, and counts. */
export async function runChains(world: World, chains: number, first = 1): Promise<Counts> {
  const counts: Counting = { edges: new Map(), lends: 0, refused: 0 };
  const contexts = [...world.cl.map(({ context }) => context), ...world.va ?? [], ...world.vulkan ?? []];
  using graph = new MapperGraph([host, ...contexts, ...world.egl ? [world.egl] : []]);
  for (let seed = first; seed < first + chains; seed++) {
    const log: string[] = [];
    try {
      await new Chain(world, graph, numbers(seed * 7919), log, counts).run();
    } catch (error) {
      const cause = error instanceof SuppressedError ? `${error.error}\n${error.suppressed?.stack}` : error;
      throw new AssertionError(`seed ${seed}: ${cause instanceof Error ? cause.stack : cause}\n${log.join("\n")}`);
    }
  }
  return { ...counts, edges: [...counts.edges] };
}

class Chain {
  readonly #world: World;
  readonly #graph: MapperGraph;
  readonly #below: (count: number) => number;
  readonly #log: string[];
  readonly #counts: Counting;

  constructor(world: World, graph: MapperGraph, below: (count: number) => number, log: string[], counts: Counting) {
    [this.#world, this.#graph, this.#below, this.#log, this.#counts] = [world, graph, below, log, counts];
  }

  async run(): Promise<void> {
    const source = this.#source();
    await using _ended = source;
    const areas = planesOf(source).map(({ layout }) => new Area(layout.shape));
    const node = { mapped: source, areas };
    this.#whole(node, "write");
    await this.#visit(node, 0);
    this.#log.push("at last");
    this.#whole(node, "read");
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#below(from.length)];
  }

  /** A new image, or host memory of one. */
  #source(): Tensor | Frame {
    const { cl, egl, va, vulkan } = this.#world;
    const makers: (() => Tensor | Frame)[] = [];
    const [width, height] = [2 * (1 + this.#below(20)), 2 * (1 + this.#below(9))];
    const channels = this.#pick([1, 2, 4] as const);
    const shape = channels === 1 ? [height, width] : [height, width, channels];
    const format = this.#pick(["GRAY8", "RGBA", "NV12", "I420"] as const);
    const info = imageInfo({ format, width, height });
    makers.push(() => host.allocate({ shape, dtype: "u8", rowAlign: this.#pick([1, 4, 64, 256]) }));
    makers.push(() => this.#hostFrame(info));
    for (const { context } of cl) {
      const image = context.image({ order: ORDERS[channels], type: "UNSIGNED_INT8" });
      if (channels !== 2) makers.push(() => image.allocate({ shape })); // PoCL has no images of two channels
    }
    if (egl) makers.push(() => egl.image.allocate({ format, width, height }));
    for (const context of va ?? []) makers.push(() => context.allocateFrame(info));
    for (const context of vulkan ?? []) {
      makers.push(() => context.image(VULKAN_FORMATS[channels]).allocate({ shape }));
    }
    const source = this.#pick(makers)();
    this.#log.push(`${source.name}, ${source instanceof Frame ? "a frame" : source.layout.strides}`);
    return source;
  }

  /** A picture whose planes lie in blocks of their own, with room behind their rows. */
  #hostFrame(info: ImageInfo): Frame {
    const planes = planeLayouts(info).map(({ shape }) => {
      return host.allocate({ shape, dtype: "u8", rowAlign: this.#pick([1, 64, 256]) });
    });
    return Frame.of(planes, info);
  }

  /** Does one to three things with it, and with what is made of it. */
  async #visit(node: Node, depth: number): Promise<void> {
    for (let times = 1 + this.#below(3); times > 0 && node.mapped.resource.isLive; times--) {
      const { mapped } = node;
      const ways = [() => this.#touch(node), () => this.#map(node, depth), () => this.#map(node, depth)];
      if (mapped instanceof Frame && !(mapped.planes[0] instanceof VaapiTensor)) {
        ways.push(() => this.#plane(node, depth));
      }
      if (mapped instanceof HostTensor || mapped instanceof OpenCLTensor) ways.push(() => this.#slices(node, depth));
      if (planesOf(mapped)[0] instanceof HostTensor) ways.push(() => this.#lend(node, depth));
      if (mapped instanceof OpenCLImage || mapped instanceof VulkanImage) {
        ways.push(() => this.#slice(node, mapped, depth));
      }
      await (depth < MAX_DEPTH ? this.#pick(ways)() : ways[0]());
    }
  }

  async #plane({ mapped, areas }: Node, depth: number): Promise<void> {
    const i = this.#below(areas.length);
    this.#log.push(`plane ${i}`);
    await this.#visit({ mapped: planesOf(mapped)[i], areas: [areas[i]] }, depth + 1);
  }

  /** One part, or two that lie above each other and live beside each other. */
  async #slices({ mapped, areas: [area] }: Node, depth: number): Promise<void> {
    const whole = mapped as HostTensor;
    const middle = area.height > 1 && this.#below(2) === 0 ? 1 + this.#below(area.height - 1) : 0;
    const parts = (middle === 0 ? [[0, area.height]] : [[0, middle], [middle, area.height]]).map(([top, end]) => {
      const [y, x] = [top + this.#below(end - top), this.#below(area.width)];
      const [height, width] = [1 + this.#below(end - y), 1 + this.#below(area.width - x)];
      this.#log.push(`slice x ${x} y ${y}, ${width} × ${height}`);
      const { layout } = whole;
      const [from, shape] = layout.shape.length === 2 ? [[y, x], [height, width]] : [
        [y, x, 0],
        [height, width, area.channels],
      ];
      const mapped = whole.slice(region(layout, from, shape));
      return { mapped, areas: [area.part(x, y, width, height)], ends: true } satisfies Node;
    });
    const open = parts.map((part) => ({ part, mapped: this.#tryToMap(part) }));
    for (const { part, mapped } of open) if (part.mapped.resource.isLive) await this.#visit(mapped ?? part, depth + 1);
    if (this.#below(2) === 0) open.reverse();
    for (const { part, mapped } of open) {
      if (mapped !== undefined) await this.#end(mapped.mapped);
      await this.#end(part.mapped);
    }
  }

  async #slice(node: Node, image: Tensor, depth: number): Promise<void> {
    this.#log.push("slice, all of it");
    const mapped = image.slice(image.layout);
    await this.#visit({ ...node, mapped, ends: true }, depth + 1);
    await this.#end(mapped);
  }

  async #map(node: Node, depth: number): Promise<void> {
    const made = this.#tryToMap(node);
    if (made === undefined) return;
    await this.#visit(made, depth + 1);
    if (node.ends && this.#below(4) === 0) return this.#end(node.mapped); // and what was made of it, first
    const [plane] = planesOf(made.mapped);
    if (plane instanceof HostTensor && made.mapped.resource.isLive && this.#below(3) === 0) return this.#endLent(made);
    await this.#end(made.mapped);
  }

  /** Maps it somewhere; undefined if there is no route. */
  #tryToMap({ mapped, areas }: Node): Node | undefined {
    const targets = this.#targetsFor(mapped, areas[0].channels as Channels);
    if (targets.length === 0) return undefined;
    const target = this.#pick(targets);
    const access = this.#accessOf(mapped, target);
    if (access === undefined) return undefined;
    const what = `${mapped.name} → ${target.kind} of ${target.context.name}, "${access}"`;
    let made: Tensor | Frame;
    try {
      made = this.#graph.map(mapped as Tensor, target as Target<Tensor>, { access, copy: "allow" });
    } catch (error) {
      if (!(error instanceof NoRouteError)) throw error;
      this.#counts.refused++;
      this.#log.push(`no ${what}: ${error.refused.map(({ reason }) => reason).join("; ")}`);
      return undefined;
    }
    const { steps } = made.route;
    this.#log.push(`${what}: ${steps.map(({ edge, transfer }) => `${edge} ${transfer}`)}`);
    for (const { edge, transfer } of steps) {
      for (const key of [edge, `${edge} ${transfer}`]) {
        this.#counts.edges.set(key, (this.#counts.edges.get(key) ?? 0) + 1);
      }
    }
    const node: Node = { mapped: made, areas, ends: true };
    if (access === "write") this.#touch(node, "write"); // it shows nothing that was there
    return node;
  }

  /** An access that it allows; undefined for one that a surface, which shows nothing of itself, could not be written by. */
  #accessOf({ access }: Tensor | Frame, { kind }: Target): Access | undefined {
    if (kind === "vaapi") {
      return access === "write" ? undefined : access === "read" ? "read" : this.#pick(ACCESSES.slice(1));
    }
    return access === "read-write" ? this.#pick(ACCESSES) : access;
  }

  #targetsFor(mapped: Tensor | Frame, channels: Channels): readonly Target[] {
    const { cl, va = [], vulkan = [] } = this.#world;
    const [plane] = planesOf(mapped);
    const images = cl.map(({ context }) => context.image({ order: ORDERS[channels], type: "UNSIGNED_INT8" }));
    const isFrame = mapped instanceof Frame;
    if (plane instanceof VulkanImage) return vulkan.map((context) => context.image(VULKAN_FORMATS[channels]));
    if (plane instanceof VaapiTensor) return [host, host, ...va];
    if (plane instanceof OpenCLTensor) return [host, ...cl.map(({ context }) => context), ...isFrame ? [] : images];
    if (!(plane instanceof HostTensor)) return [host];
    if (isFrame) return [...va, ...cl.map(({ context }) => context)];
    return [...cl.map(({ context }) => context), ...images, ...images, ...channels === 2 ? [] : va];
  }

  /** A promise holds a plane: other writers are refused, and the other planes are used meanwhile. */
  async #lend({ mapped, areas }: Node, depth: number): Promise<void> {
    const i = this.#below(areas.length);
    const plane = planesOf(mapped)[i] as HostTensor;
    const { lent, open } = await this.#lendTo(plane, areas[i]);
    const other = (i + 1) % areas.length;
    if (other !== i) await this.#visit({ mapped: planesOf(mapped)[other], areas: [areas[other]] }, depth + 1);
    if (plane.access !== "read") {
      const map = () => this.#graph.map(plane, this.#world.cl[0].context, { access: "write", copy: "allow" });
      assertThrows(map, AccessError, "lent");
    }
    open();
    await lent;
  }

  /** The end of a map waits for a promise that has one of its planes, and what that writes comes back with it. */
  async #endLent({ mapped, areas }: Node): Promise<void> {
    const i = this.#below(areas.length);
    const { lent, open } = await this.#lendTo(planesOf(mapped)[i] as HostTensor, areas[i]);
    this.#log.push(`${mapped.name} ends`);
    const ended = mapped[Symbol.asyncDispose]();
    await Promise.resolve();
    open();
    await Promise.all([lent, ended]);
  }

  /** Has a promise read or write a plane once it is opened. */
  async #lendTo(plane: HostTensor, area: Area): Promise<{ readonly lent: Promise<void>; readonly open: () => void }> {
    const writes = plane.access === "write" || (plane.access === "read-write" && this.#below(2) === 0);
    this.#log.push(`${plane.name} is lent to be ${writes ? "written" : "read"}`);
    const { promise, resolve: open } = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const lent = plane.lend(async (view) => {
      begun.resolve();
      await promise;
      if (writes) putRows(view as Uint8Array, plane, area.pixels = random(area.byteLength));
      else assertSame(rowsOf(view as Uint8Array, plane), area.pixels, "what a promise reads");
    }, { access: writes ? "write" : "read" });
    lent.catch(begun.reject);
    await begun.promise;
    this.#counts.lends++;
    return { lent, open };
  }

  /** Reads its pixels, or writes others, by its own API: at once, or behind a kernel that takes a while. */
  #touch({ mapped, areas }: Node, how?: "read" | "write"): void {
    for (const [i, plane] of planesOf(mapped).entries()) {
      if (plane instanceof VaapiTensor) continue; // the CPU sees it through a map alone
      const { access } = plane;
      const way = how ?? (access === "read-write" ? this.#pick(["read", "write"] as const) : access);
      this.#log.push(`${way} ${plane.name}`);
      if (way === "read") assertSame(this.#read(plane), areas[i].pixels, `${plane.name}, plane ${i}`);
      else this.#write(plane, areas[i].pixels = random(areas[i].byteLength));
    }
  }

  /** All of an image, by its own API, or by the host's where that has no access of its own. */
  #whole(node: Node, way: "read" | "write"): void {
    if (!(planesOf(node.mapped)[0] instanceof VaapiTensor)) return this.#touch(node, way);
    using mapped = this.#graph.map(node.mapped as Tensor, host, { access: way, copy: "allow" }) as Tensor | Frame;
    this.#touch({ ...node, mapped }, way);
  }

  #read(plane: Tensor): Uint8Array {
    const { context } = plane.target;
    if (plane instanceof HostTensor) return rowsOf(plane.bytes({ access: "read" }), plane);
    const pixels = new Uint8Array(plane.layout.shape.reduce((product, side) => product * side));
    if (plane instanceof OpenCLImage) (context as OpenCLContext).queue.read(plane, pixels);
    else if (plane instanceof OpenCLTensor) (context as OpenCLContext).queue.read(plane, pixels, { at: "dense" });
    else if (plane instanceof EglTensor) (context as EglContext).queue.read(plane, pixels);
    else (context as VulkanContext).queue.read(plane as VulkanImage, pixels);
    return pixels;
  }

  #write(plane: Tensor, pixels: Uint8Array<ArrayBuffer>): void {
    const { context } = plane.target;
    if (plane instanceof HostTensor) return putRows(plane.bytes({ access: "write" }), plane, pixels);
    if (plane instanceof EglTensor) return (context as EglContext).queue.write(plane, pixels);
    if (plane instanceof VulkanImage) return (context as VulkanContext).queue.write(plane, pixels);
    const { late } = this.#world.cl.find((one) => one.context === context)!;
    const isLate = this.#below(4) === 0;
    const cl = context as OpenCLContext;
    if (plane instanceof OpenCLImage) {
      if (!isLate) return cl.queue.write(plane, pixels);
      const staging = (plane.target as ImageTarget).allocate({ shape: plane.layout.shape });
      cl.queue.write(staging, pixels);
      const queue = late.busy();
      queue.copy(staging, plane);
      staging.disposeAfter(queue.fence());
      return;
    }
    const tensor = plane as OpenCLTensor;
    if (!isLate) return cl.queue.write(tensor, pixels, { at: "dense" });
    const staging = cl.allocate({ shape: tensor.layout.shape, dtype: "u8" });
    cl.queue.write(staging, pixels);
    const queue = late.busy();
    queue.copy(staging, tensor);
    staging.disposeAfter(queue.fence());
  }

  async #end(mapped: Tensor | Frame): Promise<void> {
    if (this.#below(2) === 0) mapped[Symbol.dispose]();
    else await mapped[Symbol.asyncDispose]();
  }
}

const ACCESSES: readonly Access[] = ["write", "read", "read-write", "read-write"];

function planesOf(mapped: Tensor | Frame): readonly Tensor[] {
  return mapped instanceof Frame ? mapped.planes : [mapped];
}

/** The pixels of a host tensor, from the bytes of its rows. */
function rowsOf(bytes: Uint8Array, { layout }: Tensor): Uint8Array {
  const [height, width, channels = 1] = layout.shape;
  const length = width * channels;
  const pixels = new Uint8Array(height * length);
  for (let y = 0; y < height; y++) {
    const first = y * layout.strides[0];
    pixels.set(bytes.subarray(first, first + length), y * length);
  }
  return pixels;
}

/** Writes them there, and nothing between the rows. */
function putRows(bytes: Uint8Array, { layout }: Tensor, pixels: Uint8Array): void {
  const [height, width, channels = 1] = layout.shape;
  const length = width * channels;
  assertEquals(pixels.length, height * length);
  for (let y = 0; y < height; y++) bytes.set(pixels.subarray(y * length, (y + 1) * length), y * layout.strides[0]);
}
