import { assert, AssertionError } from "@std/assert";
import {
  AccessError,
  host,
  HostTensor,
  InteropError,
  MapperGraph,
  NoRouteError,
  region,
  type Target,
  type Tensor,
} from "@samepage/interop";
import { OpenCLTensor } from "@samepage/interop/opencl";
import { numbers } from "../random.ts";
import { bench, type Platform } from "./help.ts";

const SIZE = 1024;
const STEPS = 60;

/** A tensor of the program, and which of the source's bytes it has. */
interface Held {
  readonly tensor: Tensor;
  readonly start: number;
  readonly length: number;
}

/**
 * Programs of random maps, slices, kernels and transfers on several queues (one of them out of order, where the device
 * can), markers, barriers, looks and ends over one block of memory, in two contexts and the host. What is refused changes
 * nothing; what is not refused has to leave the bytes that plain arithmetic gives.
 */
export async function runPrograms(platforms: readonly [Platform, Platform], programs: number): Promise<void> {
  await using a = bench(platforms[0]);
  await using b = bench(platforms[1]);
  const benches = [a, b];
  const queues = benches.map(({ cl }) => [cl.queue, cl.createQueue(), cl.createQueue()]);
  const which = queues[0].map((_, i) => i);
  using graph = new MapperGraph([host, a.cl, b.cl]);
  const counts = { done: 0, refused: 0 };
  for (let seed = 1; seed <= programs; seed++) {
    const log: string[] = [];
    try {
      await run(numbers(seed * 7919), log);
    } catch (error) {
      throw new AssertionError(`seed ${seed}: ${error instanceof Error ? error.stack : error}\n${log.join("\n")}`);
    }
  }
  assert(counts.done > programs * STEPS / 10, `${counts.done} steps done, ${counts.refused} refused`);

  async function run(random: (below: number) => number, log: string[]) {
    const pick = <T>(from: readonly T[]) => from[random(from.length)];
    const source = host.allocate({ shape: [SIZE], dtype: "u8" });
    const model = new Uint8Array(SIZE);
    const held: Held[] = [{ tensor: source, start: 0, length: SIZE }];
    const steps: Record<string, () => void | Promise<void>> = {
      map() {
        const from = pick(held);
        const target: Target = pick([host, a.cl, b.cl]);
        const access = pick(["read", "read-write", undefined] as const);
        log.push(`map ${from.tensor.name} to ${target.context.name} ${access}`);
        held.push({ ...from, tensor: graph.map(from.tensor, target, access === undefined ? {} : { access }) });
      },
      slice() {
        const from = pick(held);
        const start = random(from.length);
        const length = 1 + random(from.length - start);
        const access = pick(["read", undefined] as const);
        log.push(`slice ${from.tensor.name} ${start} ${length} ${access}`);
        const at = region(from.tensor.layout, [start], [length]);
        const tensor = from.tensor.slice(at, access === undefined ? {} : { access });
        held.push({ tensor, start: from.start + start, length });
      },
      kernel() {
        const { tensor, start, length } = pick(held);
        if (!(tensor instanceof OpenCLTensor) || tensor.layout.byteOffset !== 0) return;
        const at = tensor.context === a.cl ? 0 : 1;
        const [n, queue, double] = [random(256), pick(which), random(2) === 0];
        log.push(`kernel on ${tensor.name}, queue ${queue}, ${double ? "* 2" : `+ ${n}`}`);
        const { kernels } = benches[at];
        const options = { queue: queues[at][queue] };
        if (double) kernels.doubleIt.run({ items: [length] }, [tensor], options);
        else kernels.add.run({ items: [length] }, [tensor, n], options);
        for (let i = start; i < start + length; i++) model[i] = double ? model[i] * 2 : model[i] + n;
      },
      look() {
        const { tensor, start, length } = pick(held);
        if (!(tensor instanceof HostTensor)) return;
        log.push(`look at ${tensor.name}`);
        const bytes = tensor.bytes({ access: "read" });
        for (let i = 0; i < length; i++) {
          if (bytes[i] !== model[start + i]) {
            throw new AssertionError(`at ${start + i} there is ${bytes[i]}, not ${model[start + i]}`);
          }
        }
      },
      write() {
        const { tensor, start, length } = pick(held);
        if (!(tensor instanceof HostTensor)) return;
        const n = random(256);
        log.push(`write ${n} to ${tensor.name}`);
        tensor.bytes({ access: "read-write" }).fill(n);
        model.fill(n, start, start + length);
      },
      read() {
        const { tensor, start, length } = pick(held);
        if (!(tensor instanceof OpenCLTensor)) return;
        log.push(`read ${tensor.name}`);
        const got = new Uint8Array(length);
        queuesOf(tensor)[pick(which)].read(tensor, got);
        if (got.some((byte, i) => byte !== model[start + i])) throw new AssertionError("other bytes were read");
      },
      fill() {
        const { tensor, start, length } = pick(held);
        if (!(tensor instanceof OpenCLTensor)) return;
        const [n, queue] = [random(256), pick(which)];
        log.push(`fill ${tensor.name} with ${n}, queue ${queue}`);
        queuesOf(tensor)[queue].fill(tensor, n);
        model.fill(n, start, start + length);
      },
      copy() {
        const { tensor, start, length } = pick(held);
        if (!(tensor instanceof OpenCLTensor)) return;
        const [there, elsewhere] = [pick(queuesOf(tensor)), pick(queuesOf(tensor))];
        using scratch = tensor.context.allocate({ shape: [length], dtype: "u8" });
        const bytes = Uint8Array.from({ length }, () => random(256));
        if (random(2) === 0) {
          log.push(`copy ${tensor.name} to another`);
          there.copy(tensor, scratch);
          elsewhere.read(scratch, bytes, { at: "dense" });
          if (bytes.some((byte, i) => byte !== model[start + i])) throw new AssertionError("other bytes were copied");
        } else {
          log.push(`copy another to ${tensor.name}`);
          there.write(scratch, bytes, { at: "dense" });
          elsewhere.copy(scratch, tensor);
          model.set(bytes, start);
        }
      },
      migrate() {
        const { tensor } = pick(held);
        if (!(tensor instanceof OpenCLTensor)) return;
        const to = pick(["device", "host"] as const);
        log.push(`migrate ${tensor.name} to the ${to}`);
        queuesOf(tensor)[pick(which)].migrate([tensor], { to });
      },
      order() {
        const [mine, others] = [pick(queues), pick(queues)];
        const after = random(2) === 0 ? [] : [pick(others).fence(), pick(others).fence()];
        log.push(`wait for ${after.length} fences`);
        pick(mine).waitFor(after);
      },
      async end() {
        const at = 1 + random(held.length);
        if (at >= held.length) return;
        const [{ tensor }] = held.splice(at, 1);
        const how = random(4);
        log.push(`end ${tensor.name}, ${["dispose", "asyncDispose", "later", "after"][how]}`);
        if (how === 0) tensor[Symbol.dispose]();
        else if (how === 1) await tensor[Symbol.asyncDispose]();
        else if (how === 2) void tensor[Symbol.asyncDispose]();
        else {
          const fence = pick(queues.flat()).fence();
          tensor.disposeAfter(fence);
        }
      },
      async rest() {
        log.push("rest");
        await new Promise((resolve) => setTimeout(resolve, random(2)));
      },
    };
    const queuesOf = (tensor: OpenCLTensor) => queues[tensor.context === a.cl ? 0 : 1];
    const names = Object.keys(steps);
    const often = [...names, "map", "map", "kernel", "kernel", "kernel", "kernel", "end", "end"];
    for (let step = 0; step < STEPS; step++) {
      try {
        await steps[pick(often)]();
        counts.done++;
      } catch (error) {
        if (error instanceof AssertionError || !(error instanceof InteropError)) throw error;
        const allowed = error instanceof AccessError || error instanceof NoRouteError ||
          error.name === "DisposedError" || error.name === "LayoutError";
        if (!allowed) throw error;
        log.push(`  refused: ${error.name}`);
        counts.refused++;
      }
    }
    for (const { tensor } of held.splice(1).reverse()) tensor[Symbol.dispose]();
    while (source.grant.state !== "live") await new Promise((resolve) => setTimeout(resolve, 1));
    log.push("the last look");
    held.length = 1;
    await steps.look();
    source[Symbol.dispose]();
  }
}
