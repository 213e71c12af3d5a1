// Whatever maps are in flight, and in which order they end: what the host sees is over, kernels that share bytes run in
// order, whether they use a map or what it was made of, and what ends leaves nothing.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Memory, StepSide } from "../../src/core/contract.ts";
import { offerSemaphores } from "../../src/core/device/line_sync.ts";
import type { Line } from "../../src/core/device/line.ts";
import type { Access } from "../../src/core/memory/access.ts";
import type { Context, Target } from "../../src/core/graph/context.ts";
import { Graph } from "../../src/core/graph/graph.ts";
import { portMappers } from "../../src/core/graph/port_mapper.ts";
import { AccessError, DisposedError } from "../../src/core/errors.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { Tensor, type TensorInit } from "../../src/core/tensors/tensor.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";
import { FakeDriver, type FakeLane, FakeMaker, type FakeSync, misuses } from "./fakes.ts";
import { withEmptyLedger } from "./ledger.ts";

const BYTES = 64;
const PART = 16;
const KERNEL = "kernel";

/** A tensor of a kind that is made up here. */
class Made extends Tensor<bigint> {
  protected override derive(): never {
    throw new Error("it has no parts");
  }
}

/** One command on some of the bytes. */
interface Ran {
  readonly start: number;
  readonly end: number;
  readonly writes: boolean;
  readonly what: string;
  isOver: boolean;
}

const anyOp = fc.record({
  what: fc.constantFrom(
    "map",
    "map",
    "map",
    "use",
    "use",
    "use",
    "own",
    "own",
    "after",
    "after",
    "end",
    "view",
    "view",
    "step",
    "part",
  ),
  which: fc.nat(3),
  line: fc.nat(1),
  access: fc.constantFrom<Access>("read", "read", "write", "read-write", "read-write"),
});

/** How the devices wait for each other, and which commands hand their memory over and take the bytes back. */
const anySides = fc.record({
  sync: fc.constantFrom<FakeSync | undefined>(undefined, "timeline-fd", "sync-fd", "binary-fd", "shared timeline-fd"),
  begins: fc.boolean(),
  ends: fc.boolean(),
  takesBack: fc.nat(2),
});

type Op = typeof anyOp extends fc.Arbitrary<infer T> ? T : never;
type Sides = typeof anySides extends fc.Arbitrary<infer T> ? T : never;

/** A view that the host has, until it is revoked. */
interface View {
  readonly array: Uint8Array;
  readonly access: Access;
  readonly start: number;
  readonly end: number;
}

/** All commands, all views, and the commands that ran while the host had a view that they must not see. */
interface Seen {
  readonly commands: Ran[];
  readonly views: View[];
  readonly wrong: string[];
}

function excludes({ array, access, start, end }: View, ran: Ran): boolean {
  return array.length > 0 && ran.start < end && start < ran.end && (ran.writes || access !== "read");
}

/** A program's command that has to be over before another of its commands begins. */
function precedes(one: Ran, other: Ran): boolean {
  return !one.isOver && [one, other].every(({ what }) => what === KERNEL) && (one.writes || other.writes) &&
    one.start < other.end && other.start < one.end;
}

function call({ commands, views, wrong }: Seen, one: Omit<Ran, "isOver">) {
  const ran = { ...one, isOver: false };
  return {
    fn: one.what,
    call(lane: FakeLane) {
      const before = commands.filter((earlier) => precedes(earlier, ran));
      commands.push(ran);
      lane.next = () => {
        if (before.some(({ isOver }) => !isOver)) {
          wrong.push("a kernel ran before one that its bytes had been given to");
        }
        ran.isOver = true;
        if (views.some((view) => excludes(view, ran))) wrong.push(`"${ran.what}" ran while the host had a view`);
      };
      return 0;
    },
  };
}

/** A kind of memory with a line, over the host's bytes from `base` on. */
function context(line: Line<FakeLane>, { begins, ends, takesBack }: Sides, seen: Seen, base: bigint): Context {
  const made: Context & { readonly targets: Target[] } = {
    ...{ api: line.name, name: line.name, id: {}, targets: [], resource: undefined },
    [Symbol.dispose]() {},
  };
  const ports: Memory<Made, bigint> = {
    ...{ line, exports: [], imports: [{ kind: "host-pointer" }] },
    tensor: (init: TensorInit<bigint>) => new Made(init),
    import({ value, byteLength }) {
      const start = Number(value - base);
      const on = (what: string, writes = false) => call(seen, { start, end: start + byteLength, writes, what });
      const side: StepSide = {
        ...(begins ? { begin: () => on("begin") } : {}),
        ...(ends ? { end: () => on("end") } : {}),
        ...(takesBack === 0 ? {} : { takeBack: (step) => step < takesBack ? on("take back", true) : undefined }),
      };
      return { handle: value, ...side };
    },
  };
  made.targets.push({ kind: line.name, context: made, is: (_): _ is Made => true, ports } as Target<Made>);
  return made;
}

/** What `action` returns; undefined where it is refused. */
function unlessRefused<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (error instanceof AccessError || error instanceof DisposedError) return undefined;
    throw error;
  }
}

function run(ops: readonly Op[], sides: Sides): void {
  const drivers = [0, 1].map((i) => new FakeDriver(`device ${i}`, sides.sync));
  const lines = drivers.map((driver, i) => driver.line(`line ${i}`));
  const source = host.allocate({ shape: [BYTES], dtype: "u8" });
  const base = source.address;
  const seen: Seen = { commands: [], views: [], wrong: [] };
  const contexts = lines.map((line) => context(line, sides, seen, base));
  const graph = new Graph([host, ...contexts], portMappers);
  const hosts: HostTensor[] = [source];
  const maps: { readonly tensor: Made; readonly line: Line<FakeLane>; readonly of: HostTensor }[] = [];
  const bytesOf = ({ address, layout: { byteLength } }: HostTensor) => {
    const start = Number(address - base);
    return { start, end: start + byteLength };
  };
  const submit = (line: Line<FakeLane>, tensor: Made | HostTensor, access: Access, of: HostTensor) => {
    const used = call(seen, { ...bytesOf(of), writes: access !== "read", what: KERNEL });
    unlessRefused(() => line.submit([{ tensor, access, argument: "t" }], used));
  };
  for (const { what, which, line: i, access } of ops) {
    const [at, of, line] = [maps[which % maps.length], hosts[which % hosts.length], lines[i]];
    if (what === "step") line.lane.step();
    else if (what === "map") {
      const tensor = unlessRefused(() => graph.map(of, contexts[i].targets[0], { access })) as Made | undefined;
      if (tensor !== undefined) maps.push({ tensor, line, of });
    } else if (what === "part") {
      const byteOffset = PART * (which % (BYTES / PART));
      const part = unlessRefused(() => source.slice(layout({ shape: [PART], dtype: "u8", byteOffset })));
      if (part !== undefined) hosts.push(part);
    } else if (what === "view") {
      const array = unlessRefused(() => of.view({ access }));
      if (array === undefined) continue;
      const view: View = { array: array as Uint8Array, access, ...bytesOf(of) };
      seen.views.push(view);
      const late = seen.commands.find((ran) => !ran.isOver && excludes(view, ran));
      assert(late === undefined, `the host has a view for "${access}" while "${late?.what}" is in flight`);
    } else if (what === "own") submit(line, of, access, of);
    else if (at === undefined) continue;
    else if (what === "use") submit(at.line, at.tensor, at.tensor.access, at.of);
    else if (what === "after") unlessRefused(() => at.tensor.disposeAfter(line.fence()));
    else at.tensor[Symbol.dispose]();
  }
  for (const resource of [graph, source]) resource[Symbol.dispose]();
  for (const { resource } of lines) resource.dispose();
  for (const { what, isOver } of seen.commands) assert(isOver, what);
  for (const { imports, releases } of drivers) assertEquals(imports, releases);
  assertEquals([seen.wrong, misuses], [[], []]);
}

Deno.test(
  "maps in flight: what the host has a view of is over, in whatever order they end",
  withEmptyLedger(() => {
    using _open = { [Symbol.dispose]: offerSemaphores(new FakeMaker()) };
    fc.assert(fc.property(fc.array(anyOp, { maxLength: 30, size: "max" }), anySides, run), {
      numRuns: Number(Deno.env.get("SAMEPAGE_RUNS") ?? 2000),
    });
  }),
);
