// Random chains of maps and slices over one block of memory, through every API of this machine that needs no GPU. Each
// byte is compared with plain arithmetic over an array. A failure prints its seed, and the shortest chain that fails.
// SAMEPAGE_CHAIN_SECONDS=600 tries longer; SAMEPAGE_CHAIN_SEED=… runs one seed again.

import { assert, assertEquals, AssertionError } from "@std/assert";
import fc from "fast-check";
import {
  type Access,
  AccessError,
  host,
  HostTensor,
  ledger,
  MapperGraph,
  NoRouteError,
  region,
  type Target,
  type Tensor,
} from "@samepage/interop";
import { OpenCLContext, type OpenCLKernel, OpenCLTensor } from "@samepage/interop/opencl";
import { OpenCVContext, OpenCVMat, OpenCVUMat } from "@samepage/interop/opencv";
import { VulkanContext, VulkanTensor } from "@samepage/interop/vulkan";
import { CL_MEM_CONTEXT } from "../../ffi/opencl/constants.ts";
import { raw } from "../opencl/raw.ts";
import { hasDevice } from "../opencl/present.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { missing as noVulkan } from "../vulkan/help.ts";

/** Where a chain can lead, and whether that is here. */
const HERE = {
  PoCL: hasDevice("Portable Computing Language"),
  rusticl: hasDevice("rusticl"),
  Vulkan: noVulkan() === undefined,
  OpenCV: hasOpenCV,
};
const MISSING = Object.entries(HERE).filter(([, here]) => !here).map(([name]) => `no ${name}`);

/** How long chains are tried, in seconds. */
const SECONDS = Number(Deno.env.get("SAMEPAGE_CHAIN_SECONDS") ?? 15);
/** One seed to run again, as a failure prints it. */
const SEED = Deno.env.get("SAMEPAGE_CHAIN_SEED");

const INVERT = `
kernel void invert(global uchar* bytes, ulong base, ulong pitch, ulong step) {
  size_t at = base + get_global_id(1) * pitch + get_global_id(0) * step;
  bytes[at] = ~bytes[at];
}`;

/** What is here: kinds of memory to map to, and those to begin with. */
interface World extends Disposable {
  readonly graph: MapperGraph;
  readonly targets: { readonly [name: string]: Target };
  readonly sources: { readonly [name: string]: (init: Init) => Tensor };
  readonly cv: OpenCVContext | undefined;
  readonly kernels: ReadonlyMap<OpenCLContext, OpenCLKernel>;
}

interface Init {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly dtype: "u8";
}

/** A tensor, and which bytes of the block its elements are, row by row. */
interface Held {
  readonly tensor: Tensor;
  readonly columns: number;
  readonly places: readonly number[];
}

/** Numbers from 0 to 1, which choose rows and columns. */
type Part = readonly [top: number, height: number, left: number, width: number];

/** One link of a chain. */
interface Link {
  /** How many links before the newest it begins at. */
  readonly back: number;
  readonly slice: Part | undefined;
  readonly target: string;
  readonly access: Access;
}

interface Chain {
  readonly source: string;
  readonly rows: number;
  readonly columns: number;
  readonly padding: number;
  readonly links: readonly Link[];
  /** The order in which tensors end: each number chooses one of those that are left. */
  readonly ends: readonly number[];
}

function openWorld(): World {
  const closing = new DisposableStack();
  const open = (platform: string) => hasDevice(platform) ? closing.use(OpenCLContext.open({ platform })) : undefined;
  const [first, second, rusticl] = ["Portable Computing Language", "Portable Computing Language", "rusticl"].map(open);
  const again = first && closing.use(OpenCLContext.attach(first.handle));
  const vulkan = HERE.Vulkan ? closing.use(VulkanContext.open()) : undefined;
  const cv = HERE.OpenCV ? closing.use(OpenCVContext.open()) : undefined;
  const cls = { pocl: first, "pocl, attached": again, "pocl 2": second, rusticl };
  const targets = Object.entries({ host, ...cls, vulkan, mat: cv?.mat, umat: cv?.umat })
    .filter((entry): entry is [string, NonNullable<(typeof entry)[1]>] => entry[1] !== undefined);
  const contexts = new Set(targets.map(([, target]) => target.context));
  const contextsCL = Object.values(cls).filter((cl) => cl !== undefined);
  return {
    graph: closing.use(new MapperGraph([...contexts] as ConstructorParameters<typeof MapperGraph>[0])),
    targets: Object.fromEntries(targets),
    sources: {
      host: (init) => host.allocate(init),
      memfd: (init) => host.allocate({ ...init, sharable: true }),
      ...Object.fromEntries(
        Object.entries(cls).flatMap(([name, cl]) =>
          cl === undefined ? [] : [[name, (init: Init) => cl.allocate(init)] as const]
        ),
      ),
      ...(vulkan && { vulkan: (init: Init) => vulkan.allocate({ ...init, memory: "host" }) }),
    },
    cv,
    kernels: new Map(contextsCL.map((cl) => [cl, cl.program(INVERT).kernel("invert")])),
    [Symbol.dispose]: () => closing.dispose(),
  };
}

/** Not fc.double, of whose values nearly all are almost 0. */
const unit = fc.nat(127).map((nth) => nth / 128);

/** Where a part's columns begin: often where its source's do, so that drivers find them aligned. */
const edge = fc.oneof({ arbitrary: fc.constant(0), weight: 4 }, unit);

/** Chains in a world. */
function chains({ targets, sources }: World): fc.Arbitrary<Chain> {
  return fc.record({
    source: fc.constantFrom(...Object.keys(sources)),
    rows: fc.constantFrom(1, 64),
    columns: fc.constantFrom(1, 48, 64, 128),
    padding: fc.constantFrom(0, 0, 0, 1, 16),
    links: fc.array(
      fc.record({
        back: fc.constantFrom(0, 0, 0, 0, 1, 2),
        slice: fc.option(fc.tuple(unit, unit, edge, unit), { nil: undefined, freq: 2 }),
        target: fc.constantFrom(...Object.keys(targets), "host", "umat"),
        access: fc.constantFrom<Access>("read-write", "read-write", "read-write", "read"),
      }),
      { minLength: 2, maxLength: 8 },
    ),
    ends: fc.array(unit, { minLength: 17, maxLength: 17 }),
  });
}

/** Builds a chain, changes bytes by each of its tensors, and ends it; the bytes have to be those of the model. */
function run(world: World, chain: Chain, log: string[]): void {
  const { rows, columns, padding } = chain;
  const pitch = columns + padding;
  const source = world.sources[chain.source]({ shape: [rows, columns], strides: [pitch, 1], dtype: "u8" });
  const all = Array.from({ length: rows * columns }, (_, i) => Math.floor(i / columns) * pitch + i % columns);
  const live: Held[] = [{ tensor: source, columns, places: all }];
  using _ = { [Symbol.dispose]: () => live.toReversed().forEach(({ tensor }) => tensor[Symbol.dispose]()) };
  const model = Uint8Array.from({ length: source.layout.byteLength }, (_, i) => i * 31 + (i >> 8));
  log.push(`${chain.source}: ${source.name}`);
  writeAll(source, model);
  for (const { back, slice, target, access } of chain.links) {
    let from = live[Math.max(0, live.length - 1 - back)];
    if (slice !== undefined) from = allowed(log, () => partOf(from, slice, log)) ?? from;
    if (!live.includes(from)) live.push(from);
    const tensor = allowed(log, () => world.graph.map(from.tensor, world.targets[target], { access }));
    if (tensor === undefined) continue;
    log.push(`→ ${target} ("${access}"): ${tensor.name}, by ${tensor.route.steps.map(({ edge }) => edge).join(", ")}`);
    const held = { ...from, tensor };
    live.push(held);
    use(world, held, model, log);
  }
  for (let i = 0; live.length > 1; i++) {
    const at = 1 + Math.floor(chain.ends[i] * (live.length - 1));
    log.push(`ends: ${live[at].tensor.name}`);
    live[at].tensor[Symbol.dispose]();
    live.splice(0, Infinity, ...live.filter(({ tensor }) => tensor.resource.state === "live"));
    use(world, live[live.length - 1], model, log);
  }
  compare(readAll(source), model, "all of it at the end");
}

/** What an action returns; undefined where law 3 forbids it, or there is no route. */
function allowed<T>(log: string[], action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof AccessError || error instanceof NoRouteError)) throw error;
    log.push(`  refused: ${error.name}`);
    return undefined;
  }
}

function partOf({ tensor, columns, places }: Held, [top, height, left, width]: Part, log: string[]): Held {
  const rows = places.length / columns;
  const [y, x] = [Math.floor(top * rows), Math.floor(left * columns)];
  const [h, w] = [below(height, rows - y), below(width, columns - x)];
  const part = tensor.slice(region(tensor.layout, [y, x], [h, w]));
  log.push(`  rows ${y} to ${y + h}, columns ${x} to ${x + w}: ${part.name}`);
  return { tensor: part, columns: w, places: places.filter((_, i) => isIn(i, columns, [y, x], [h, w])) };
}

/** A power of two up to `most`: PoCL compiles OpenCV's kernels once for each size. */
function below(number: number, most: number): number {
  return 2 ** Math.floor(number * (1 + Math.floor(Math.log2(most))));
}

function isIn(i: number, columns: number, [y, x]: number[], [h, w]: number[]): boolean {
  const [row, column] = [Math.floor(i / columns) - y, i % columns - x];
  return row >= 0 && row < h && column >= 0 && column < w;
}

/** Compares a tensor's elements, and inverts them there and in the model; nothing where they are lent. */
function use(world: World, { tensor, columns, places }: Held, model: Uint8Array, log: string[]): void {
  allowed(log, () => {
    if (tensor instanceof OpenCLTensor) compareContext(tensor);
    const seen = tensor instanceof OpenCVUMat ? readByOpenCV(world, tensor) : elementsOf(tensor, readAll(tensor));
    compare(seen, Uint8Array.from(places, (place) => model[place]), `elements of ${tensor.name}`);
    if (tensor.access === "read") return;
    invert(world, tensor, columns);
    for (const place of places) model[place] ^= 255;
  });
}

/** A `cl_mem` works in its own `cl_context` alone; drivers need not check that. */
function compareContext({ handle, context }: OpenCLTensor): void {
  const of = new BigUint64Array(1);
  raw().clGetMemObjectInfo(handle, CL_MEM_CONTEXT, 8n, of, null);
  if (of[0] !== context.handle) throw new AssertionError(`the cl_mem is of another cl_context than ${context.name}'s`);
}

function compare(seen: Uint8Array, expected: Uint8Array, what: string): void {
  const at = seen.findIndex((byte, i) => byte !== expected[i]);
  if (at >= 0) throw new AssertionError(`${what}: at ${at} there is ${seen[at]}, not ${expected[at]}`);
}

function elementsOf({ layout: { shape: [rows, columns], strides: [pitch, step] } }: Tensor, bytes: Uint8Array) {
  return Uint8Array.from(
    { length: rows * columns },
    (_, i) => bytes[Math.floor(i / columns) * pitch + i % columns * step],
  );
}

/** The elements of a UMat, as one of OpenCV's operations reads them. */
function readByOpenCV({ cv }: World, umat: OpenCVUMat): Uint8Array {
  using read = cv!.mat.create({ shape: umat.layout.shape, dtype: "u8" });
  cv!.bitwise_not(umat, read);
  return elementsOf(read, readAll(read)).map((byte) => ~byte);
}

/** All bytes from a tensor's first element to its last. */
function readAll(tensor: Tensor): Uint8Array {
  const { byteLength } = tensor.layout;
  if (tensor instanceof HostTensor) return new Uint8Array(tensor.bytes({ access: "read" }));
  const bytes = new Uint8Array(byteLength);
  if (tensor instanceof OpenCVMat) {
    void tensor.handle; // asserts that it may be used
    new Deno.UnsafePointerView(Deno.UnsafePointer.create(tensor.data)!).copyInto(bytes);
  } else {
    queueOf(tensor).read(tensor as never, bytes);
  }
  return bytes;
}

function writeAll(tensor: Tensor, bytes: Uint8Array<ArrayBuffer>): void {
  if (tensor instanceof HostTensor) return tensor.bytes().set(bytes);
  queueOf(tensor).write(tensor as never, bytes);
}

function queueOf(tensor: Tensor) {
  if (tensor instanceof OpenCLTensor) return tensor.context.queue;
  assert(tensor instanceof VulkanTensor);
  return (tensor.target as VulkanContext).queue;
}

function invert({ cv, kernels }: World, tensor: Tensor, columns: number): void {
  const { shape: [rows], strides: [pitch, step], byteOffset } = tensor.layout;
  if (tensor instanceof OpenCVMat || tensor instanceof OpenCVUMat) {
    cv!.bitwise_not(tensor, tensor as never);
  } else if (tensor instanceof OpenCLTensor) {
    const { context } = tensor;
    kernels.get(context)!.run({ items: [columns, rows], groupSize: [1, 1] }, [
      tensor.base,
      byteOffset,
      pitch,
      step,
    ]);
  } else {
    const bytes = readAll(tensor);
    for (let y = 0; y < rows; y++) for (let x = 0; x < columns; x++) bytes[y * pitch + x * step] ^= 255;
    writeAll(tensor, bytes as Uint8Array<ArrayBuffer>);
  }
}

const NAME = "graph.map(), slice() and dispose in random chains leave the bytes that arithmetic gives";

Deno.test(MISSING.length === 0 ? NAME : `${NAME} (without all APIs: ${MISSING.join(", ")})`, () => {
  const before = ledger.alive;
  {
    using world = openWorld();
    fc.assert(
      fc.property(chains(world), (chain) => {
        const log: string[] = [];
        try {
          run(world, chain, log);
        } catch (error) {
          throw new AssertionError(`${error instanceof Error ? error.stack : error}\n${log.join("\n")}`);
        }
      }),
      {
        numRuns: 1_000_000,
        interruptAfterTimeLimit: SECONDS * 1000,
        markInterruptAsFailure: false,
        ...(SEED === undefined ? {} : { seed: Number(SEED) }),
      },
    );
  }
  assertEquals(ledger.alive, before, "alive after the test, and before it");
});
