import { assert, assertEquals, AssertionError } from "@std/assert";
import {
  AccessError,
  DisposedError,
  Frame,
  host,
  HostTensor,
  imageInfo,
  InteropError,
  LayoutError,
  ledger,
  type Mapped,
  MapperGraph,
  NoRouteError,
  region,
  type Target,
  type Tensor,
} from "@samepage/interop";
import { OpenCLTensor } from "@samepage/interop/opencl";
import { collect } from "../gc.ts";
import { numbers } from "../random.ts";
import { bench, type Platform, sleep, warningsOf } from "./help.ts";

const STEPS = 50;
const FORMATS = ["NV12", "I420", "GRAY8", "RGBA"] as const;

/** A part of a plane of the picture: rows, and bytes of each. */
interface Box {
  readonly plane: number;
  readonly y: number;
  readonly height: number;
  readonly x: number;
  readonly width: number;
}

/** What a program has, and which parts of the picture lie in its planes. */
interface Held {
  readonly mapped: Mapped;
  readonly boxes: readonly Box[];
}

/** A view that the program keeps, until it is detached. */
interface Kept {
  readonly bytes: Uint8Array;
  readonly stride: number;
  readonly box: Box;
}

/**
 * Programs of random maps, borrows, slices, crops, kernels, transfers, looks and ends of a frame and of its planes, in one
 * block or several, in two contexts and the host. What is not refused has to leave the bytes that plain arithmetic gives, a
 * view that is not detached shows just those, and nothing is left.
 */
export async function runFrames(platforms: readonly [Platform, Platform], seeds: Iterable<number>): Promise<void> {
  await using a = bench(platforms[0]);
  await using b = bench(platforms[1]);
  const benches = [a, b];
  const queues = benches.map(({ cl }) => [cl.queue, cl.createQueue()]);
  using graph = new MapperGraph([host, a.cl, b.cl]);
  const counts = { done: 0, refused: 0, programs: 0 };
  for (const seed of seeds) {
    const log: string[] = [];
    const before = ledger.alive;
    try {
      await warningsOf(() => run(numbers(seed * 7919), log));
      for (const queue of queues.flat()) await queue.fence().wait(); // and forgets its events
      assertEquals(ledger.alive, before);
    } catch (error) {
      throw new AssertionError(`seed ${seed}: ${error instanceof Error ? error.stack : error}\n${log.join("\n")}`);
    }
    counts.programs++;
  }
  assert(counts.done > counts.programs * STEPS / 10, `${counts.done} steps done, ${counts.refused} refused`);

  async function run(random: (below: number) => number, log: string[]): Promise<void> {
    const pick = <T>(from: readonly T[]) => from[random(from.length)];
    const info = imageInfo({ format: pick(FORMATS), width: 2 * (4 + random(12)), height: 2 * (2 + random(8)) });
    const whole = host.allocateFrame(info);
    const inOne = random(2) === 0;
    const source = inOne
      ? whole
      : Frame.of(whole.planes.map(({ shape }) => host.allocate({ shape, dtype: "u8" })), info) as typeof whole;
    if (!inOne) whole[Symbol.dispose]();
    log.push(`${info.format} ${info.width} × ${info.height} in ${inOne ? "one block" : "several blocks"}`);
    const widths = source.planes.map(({ shape: [, ...rest] }) => rest.reduce((product, n) => product * n, 1));
    const model = source.planes.map(({ shape: [height] }, i) => new Uint8Array(height * widths[i]));
    const all = source.planes.map(({ shape: [height] }, plane): Box => ({
      plane,
      y: 0,
      height,
      x: 0,
      width: widths[plane],
    }));
    const held: Held[] = [{ mapped: source, boxes: all }];
    const kept: Kept[] = [];
    let hasForgotten = false;
    const rowsOf = ({ plane, y, height, x, width }: Box) =>
      Array.from({ length: height }, (_, row) => {
        const at = (y + row) * widths[plane] + x;
        return model[plane].subarray(at, at + width);
      });
    const plane = (): { readonly tensor: Tensor; readonly box: Box; readonly name: string } => {
      const { mapped, boxes } = pick(held);
      const i = random(boxes.length);
      const tensor = mapped instanceof Frame ? mapped.planes[i] : mapped as Tensor;
      return { tensor, box: boxes[i], name: mapped.name };
    };
    const queueOf = (tensor: Tensor) => pick(queues[tensor.target.context === a.cl ? 0 : 1]);
    const compare = (what: string, rows: readonly Uint8Array[], box: Box) => {
      for (const [row, expected] of rowsOf(box).entries()) {
        if (rows[row].length !== expected.length || rows[row].some((byte, i) => byte !== expected[i])) {
          throw new AssertionError(`${what}: plane ${box.plane}, row ${row} is ${rows[row]}, not ${expected}`);
        }
      }
    };
    const rowsIn = (bytes: Uint8Array, stride: number, { height, width }: Box) =>
      Array.from({ length: height }, (_, row) => bytes.subarray(row * stride, row * stride + width));
    const checkViews = () => {
      for (const { bytes, stride, box } of kept) {
        if (bytes.length > 0) compare("a view that is not detached", rowsIn(bytes, stride, box), box);
      }
    };
    const steps: Record<string, () => void | Promise<void>> = {
      map() {
        const from = pick(held);
        const asPlane = random(3) === 0 ? random(from.boxes.length) : undefined;
        const target: Target = pick([host, a.cl, b.cl]);
        const access = pick(["read", "read-write", undefined] as const);
        log.push(
          `map ${
            asPlane === undefined ? "" : `plane ${asPlane} of `
          }${from.mapped.name} to ${target.context.name} ${access}`,
        );
        const mapped = asPlane === undefined || !(from.mapped instanceof Frame)
          ? from.mapped
          : from.mapped.planes[asPlane];
        const boxes = mapped === from.mapped ? from.boxes : [from.boxes[asPlane!]];
        held.push({ mapped: graph.map(mapped, target, access === undefined ? {} : { access }) as Mapped, boxes });
      },
      borrow() {
        const from = pick(held);
        log.push(`borrow ${from.mapped.name}`);
        held.push({ ...from, mapped: from.mapped.borrow(pick(["read", from.mapped.access])) });
      },
      crop() {
        const { tensor, box, name } = plane();
        const { layout } = tensor;
        const [height, width, ...rest] = layout.shape;
        const y = random(height);
        const x = random(3) === 0 ? random(width) : 0;
        const [rows, columns] = [1 + random(height - y), x === 0 && random(2) === 0 ? width : 1 + random(width - x)];
        const size = rest[0] ?? 1;
        log.push(`crop ${name}, plane ${box.plane}: ${y} ${x} ${rows} ${columns}`);
        const at = region(layout, [y, x, ...rest.map(() => 0)], [rows, columns, ...rest]);
        const boxes = [{ plane: box.plane, y: box.y + y, height: rows, x: box.x + x * size, width: columns * size }];
        const access = pick(["read", undefined] as const);
        held.push({ mapped: tensor.slice(at, access === undefined ? {} : { access }), boxes });
      },
      kernel() {
        const { tensor, box, name } = plane();
        if (!(tensor instanceof OpenCLTensor) || box.width !== widths[box.plane]) return;
        const [n, queue] = [random(256), queueOf(tensor)];
        const { kernels } = benches[tensor.target.context === a.cl ? 0 : 1];
        const length = box.width * box.height;
        log.push(`kernel on ${name}, plane ${box.plane}: + ${n}`);
        const offset = tensor.layout.byteOffset;
        if (random(4) === 0 && offset === 0) kernels.slow.run({ items: [length] }, [tensor, n, 2000], { queue });
        else kernels.addAt.run({ items: [length] }, [tensor.base, BigInt(offset), n], { queue });
        for (const row of rowsOf(box)) for (let i = 0; i < row.length; i++) row[i] += n;
      },
      fill() {
        const { tensor, box, name } = plane();
        if (!(tensor instanceof OpenCLTensor) || box.width !== widths[box.plane]) return;
        const n = random(256);
        log.push(`fill ${name}, plane ${box.plane} with ${n}`);
        queueOf(tensor).fill(tensor, n);
        for (const row of rowsOf(box)) row.fill(n);
      },
      read() {
        const { tensor, box, name } = plane();
        if (!(tensor instanceof OpenCLTensor)) return;
        log.push(`read ${name}, plane ${box.plane}`);
        const got = new Uint8Array(box.width * box.height);
        queueOf(tensor).read(tensor, got, { at: "dense" });
        compare("other bytes were read", rowsIn(got, box.width, box), box);
      },
      put() {
        const { tensor, box, name } = plane();
        if (!(tensor instanceof OpenCLTensor)) return;
        const n = random(256);
        log.push(`put ${n} to ${name}, plane ${box.plane}`);
        queueOf(tensor).write(tensor, new Uint8Array(box.width * box.height).fill(n), { at: "dense" });
        for (const row of rowsOf(box)) row.fill(n);
      },
      look() {
        const { tensor, box, name } = plane();
        if (!(tensor instanceof HostTensor)) return;
        log.push(`look at ${name}, plane ${box.plane}`);
        const [bytes, stride] = [tensor.bytes({ access: "read" }) as Uint8Array, tensor.layout.strides[0]];
        compare("a look", rowsIn(bytes, stride, box), box);
        kept.push({ bytes, stride, box });
      },
      write() {
        const { tensor, box, name } = plane();
        if (!(tensor instanceof HostTensor)) return;
        const n = random(256);
        log.push(`write ${n} to ${name}, plane ${box.plane}`);
        const [bytes, stride] = [tensor.bytes({ access: "read-write" }) as Uint8Array, tensor.layout.strides[0]];
        for (const row of rowsIn(bytes, stride, box)) row.fill(n);
        for (const row of rowsOf(box)) row.fill(n);
        kept.push({ bytes, stride, box });
      },
      async end() {
        const at = 1 + random(held.length);
        if (at >= held.length) return;
        const [{ mapped }] = held.splice(at, 1);
        const how = pick(["dispose", "asyncDispose", "later", "after", "after", "gate", "forget"] as const);
        log.push(`end ${mapped.name}, ${how}`);
        if (how === "dispose") mapped[Symbol.dispose](); // refused behind a gate: the end goes on in the background
        else if (how === "asyncDispose") await mapped[Symbol.asyncDispose]();
        else if (how === "later") void mapped[Symbol.asyncDispose]();
        else if (how === "after") mapped.disposeAfter(pick(queues.flat()).fence());
        else if (how === "forget") hasForgotten = true;
        else {
          mapped.disposeAfter(host.signal(new Promise<void>((resolve) => setTimeout(resolve, random(3)))));
        }
      },
      async finished() {
        const { mapped } = pick(held);
        log.push(`await ${mapped.name}.finished()`);
        await mapped.finished();
      },
      async rest() {
        log.push("rest");
        await sleep(random(2));
      },
    };
    const names = Object.keys(steps);
    const often = [...names, "map", "map", "map", "kernel", "kernel", "kernel", "fill", "end", "end", "end", "look"];
    for (let step = 0; step < STEPS; step++) {
      try {
        await steps[pick(often)]();
        counts.done++;
      } catch (error) {
        if (error instanceof AssertionError || !(error instanceof InteropError)) throw error;
        const allowed = [AccessError, NoRouteError, DisposedError, LayoutError].some((kind) => error instanceof kind);
        if (!allowed) throw error;
        log.push(`  refused: ${error.message}`);
        counts.refused++;
      }
      checkViews();
      checkPlaces(held);
    }
    await endAll(held);
    kept.length = 0; // a view keeps its tensor
    for (let tries = 0; source.grants.some((grant) => grant.state !== "live"); tries++) {
      assert(tries < 5000, `still ${source.grants.map(({ state }) => state)}`);
      await (hasForgotten ? collect(1) : sleep(1));
    }
    log.push("the last look");
    for (const [i, box] of all.entries()) {
      compare(
        "the last look",
        rowsIn(source.planes[i].bytes({ access: "read" }) as Uint8Array, source.planes[i].layout.strides[0], box),
        box,
      );
    }
    source[Symbol.dispose]();
  }
}

/** A range has an address where its first plane has one: then so has each plane of it, at its own distance. */
function checkPlaces(held: readonly Held[]): void {
  for (const { mapped: { resource, described: { parts, planes, range } } } of held) {
    if (!resource.isLive || parts !== undefined) continue;
    for (const { address, start } of planes) {
      const expected = range.address === undefined ? undefined : range.address + BigInt(start - range.start);
      assertEquals(address, expected);
    }
  }
}

/** A function of its own: one that goes on would keep what it has seen from being collected. */
async function endAll(held: Held[]): Promise<void> {
  await Promise.all(held.splice(1).reverse().map(({ mapped }) => mapped[Symbol.asyncDispose]()));
}

if (import.meta.main) {
  const [first, last, one, other] = Deno.args;
  for (let seed = Number(first); seed < Number(last); seed += 20) {
    try {
      await runFrames([one, other], Array.from({ length: 20 }, (_, i) => seed + i));
    } catch (error) {
      let first: unknown = error;
      while (first instanceof SuppressedError) first = first.suppressed;
      console.log(first instanceof Error ? first.stack : first);
      Deno.exit(1);
    }
  }
  console.log("ran to", last);
}
