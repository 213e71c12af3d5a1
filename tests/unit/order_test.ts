// Whatever lines of whichever drivers do: what conflicts runs in the order in which it was submitted.

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { Fence } from "../../src/core/device/fence.ts";
import type { Line } from "../../src/core/device/line.ts";
import { offerSemaphores } from "../../src/core/device/line_sync.ts";
import type { Access } from "../../src/core/memory/access.ts";
import { host } from "../../src/host/mod.ts";
import { command, FakeDriver, type FakeLane, FakeMaker, misuses } from "./fakes.ts";
import { withEmptyLedger } from "./ledger.ts";

const TENSORS = 3;
const LINES = 6;

/** One command, or a call that is refused, and how far the devices get afterwards. */
interface Op {
  readonly line: number;
  readonly uses: readonly { readonly tensor: number; readonly access: Access }[];
  /** The fence of which earlier command it is to run after. */
  readonly after: number | undefined;
  readonly isRefused: boolean;
  /** The lines that run one command then, and those that are asked. */
  readonly steps: readonly number[];
  readonly asks: readonly number[];
  /** The line that ends then; its device opens another. */
  readonly ends: number | undefined;
}

const anyOp: fc.Arbitrary<Op> = fc.record({
  line: fc.nat(LINES - 1),
  uses: fc.array(
    fc.record({ tensor: fc.nat(TENSORS - 1), access: fc.constantFrom<Access>("read", "read", "write", "read-write") }),
    { maxLength: 3 },
  ),
  after: fc.option(fc.nat(), { nil: undefined, freq: 4 }),
  isRefused: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
  steps: fc.array(fc.nat(LINES - 1), { maxLength: 3 }),
  asks: fc.array(fc.nat(LINES - 1), { maxLength: 1 }),
  ends: fc.option(fc.nat(LINES - 1), { nil: undefined, freq: 6 }),
});

/**
 * Three devices with two lines each: two of them share a kind of semaphore, or all three, or none; or a maker makes
 * semaphores for two, or for all.
 */
function devices(which: number): Line<FakeLane>[] {
  const kinds = ([
    ["timeline-fd", "timeline-fd", undefined],
    ["sync-fd", "sync-fd", "sync-fd"],
    ["timeline-fd", "sync-fd", undefined],
    ["binary-fd", "binary-fd", "timeline-fd"],
    ["binary-fd", "binary-fd", "binary-fd"],
    ["shared timeline-fd", "shared timeline-fd", "shared timeline-fd"],
  ] as const)[which];
  return kinds.flatMap((kind, i) => {
    const driver = new FakeDriver(`device ${i}`, kind);
    return [driver.line(`line ${2 * i}`), driver.line(`line ${2 * i + 1}`)];
  });
}

function run(ops: readonly Op[], lines: Line<FakeLane>[]): void {
  const tensors = Array.from({ length: TENSORS }, () => host.allocate({ shape: [4], dtype: "u8" }));
  const accepted: (Op & { readonly mark: number; readonly by: Line })[] = [];
  const drivers = lines.map(({ driver }) => driver as FakeDriver);
  const ran: Op[] = [];
  for (const op of ops) {
    const line = lines[op.line];
    const after = op.after === undefined ? undefined : accepted[op.after % accepted.length];
    const uses = op.uses.map(({ tensor, access }, i) => ({ tensor: tensors[tensor], access, argument: `t${i}` }));
    const entry = {
      ...op,
      after: after === undefined ? undefined : accepted.indexOf(after),
      mark: 0,
      by: line as Line,
    };
    const fences = after === undefined ? [] : [new Fence(after.by, after.mark)];
    if (op.isRefused) {
      try {
        line.submit(uses, { fn: "fakeRefused", call: () => 7 }, fences);
      } catch { /* nothing was submitted */ }
    } else accepted.push({ ...entry, mark: line.submit(uses, command(() => ran.push(op)), fences) });
    for (const each of op.steps) lines[each].lane.step();
    for (const each of op.asks) lines[each].fence().reached();
    if (op.ends === undefined) continue;
    lines[op.ends].resource.dispose();
    lines[op.ends] = drivers[op.ends].line(`${lines[op.ends].name}, anew`);
  }
  for (const { lane } of lines) lane.driveTo(lane.submitted);
  const at = accepted.map((op) => ran.findIndex((each) => each.uses === op.uses));
  assert(at.every((place) => place >= 0), "every command ran");
  accepted.forEach((op, i) => {
    if (op.after !== undefined) assert(at[op.after] < at[i], `${i} ran before ${op.after}, its fence`);
    for (let j = 0; j < i; j++) {
      const conflict = op.uses.find(({ tensor, access }) =>
        accepted[j].uses.some((its) => its.tensor === tensor && (access !== "read" || its.access !== "read"))
      );
      assert(conflict === undefined || at[j] < at[i], `${i} ran before ${j}, which uses tensor ${conflict?.tensor}`);
    }
  });
  for (const tensor of tensors) tensor[Symbol.dispose]();
  for (const { resource } of lines) resource.dispose();
  for (const { imports, releases } of drivers) assertEquals(imports, releases);
}

Deno.test({
  name: "what conflicts runs in the order in which it was submitted, and every semaphore is released",
  fn: withEmptyLedger(() => {
    misuses.length = 0;
    fc.assert(
      fc.property(fc.array(anyOp, { maxLength: 60 }), fc.nat(5), (ops, which) => {
        const maker = new FakeMaker();
        using _open = { [Symbol.dispose]: offerSemaphores(maker) };
        run(ops, devices(which));
        assertEquals(misuses, []);
        assertEquals(maker.made, maker.released);
      }),
      { numRuns: Number(Deno.env.get("SAMEPAGE_RUNS") ?? 500) },
    );
  }),
});
