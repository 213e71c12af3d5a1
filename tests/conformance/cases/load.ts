import { assert, assertEquals } from "@std/assert";
import { ledger } from "../../../src/core/life/ledger.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { assertTyped, close, sweep } from "../../faults/sweep.ts";
import { across, assertFree, type Case, filled } from "../case.ts";
import { assertSame, until } from "../bytes.ts";
import { gate } from "../../gate.ts";
import { assertHeld, held } from "../held.ts";
import { collect } from "../../gc.ts";
import { mallocedBytes } from "../../libc.ts";
import type { Subject } from "../subject.ts";

/** Bytes of resident memory; where no round of maps stays below, it is not noise. */
const MAX_RESIDENT = 5_000_000;

/** The same of what is allocated, by JavaScript and by malloc: so many bytes for each map, and what caches may take. */
const [MAX_A_MAP, MAX_CACHED] = [500, 500_000];

/** The collector and the allocator keep more from one round than from another; a leak is there in all of them. */
const ROUNDS = 3;

/** What has to hold after many maps, and after failed ones. */
export const LOAD: readonly Case[] = [
  { name: "two-hundred-maps", run: (subject) => mapsLeaveNothing(subject, 200) },
  { name: "thousand-maps", run: (subject) => mapsLeaveNothing(subject, 1_000) },
  { name: "ten-thousand-maps", run: (subject) => mapsLeaveNothing(subject, 10_000) },
  {
    name: "fault-at-every-native-call",
    alone: true,
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source; // it is ended below; where a fault shows something before that, no later case is to find it
      const mapAndUnmap = (access: "read" | "read-write") => {
        using _mapped = across(subject, source, { access });
      };
      const mapAndUnmapAsync = async () => {
        await using _mapped = across(subject, source);
      };
      // Only bytes that were used have to find their way back.
      const done = gate();
      await done.complete();
      const mapUseAndUnmap = () => {
        using mapped = across(subject, source);
        mapped.usedBy(done.fence);
      };
      const unused = [() => mapAndUnmap("read"), () => mapAndUnmap("read-write"), mapAndUnmapAsync];
      for (const map of [...unused, mapUseAndUnmap]) await map();
      const before = held();
      const alive = () => subject.alive?.() ?? 0;
      let most = Infinity;
      const intact = async (failed?: string) => {
        assertFree(source);
        assertSame(await subject.source.read(source), bytes, "the source's bytes");
        assertEquals(source.work, [], "work that could not be asked about, asked again");
        subject.quiet?.();
        if (failed?.includes("Unmap")) most = Math.max(most, alive()); // what is still mapped is the driver's
        // A driver's own threads may let go later.
        assert(await until(() => alive() <= most), `${alive()} native objects, and ${most} before`);
        await assertHeld(before);
      };
      await intact();
      most = alive();
      for (const map of unused) {
        const faults = await sweep(map, intact, subject.silent);
        if (subject.withoutCalls) assertEquals(faults.map(({ call }) => call), [], "native calls of a map without any");
        else {assert(
            faults.length > 0,
            "a map makes no native call; where it needs none, its subject says withoutCalls",
          );}
      }
      await sweep(mapUseAndUnmap, intact, subject.silent);
      try {
        source[Symbol.dispose](); // on work that had to be forgotten then and there
      } catch (error) {
        assertTyped(error, "the end of the source");
      }
      close(subject);
    },
  },
];

/** After a tenth more, by which pools and caches have their size, so many maps leave no memory, no fd and no object. */
async function mapsLeaveNothing(subject: Subject, count: number): Promise<void> {
  const { source, bytes } = await filled(subject.source);
  using _ = source;
  await maps(subject, source, count / 10);
  const most = Math.max(MAX_CACHED, MAX_A_MAP * count);
  let grown: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = await measure(subject, most);
    await maps(subject, source, count);
    grown = growth(before, await measure(subject, most));
    if (grown.length === 0) break;
  }
  assertEquals(grown, [], `${count} maps leave something, again and again`);
  assertSame(await subject.source.read(source), bytes, "the source's bytes");
}

/** Every tenth is left to the event loop, so that what is done later is measured too. */
async function maps(subject: Subject, source: Tensor, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const mapped = across(subject, source, { access: i % 2 === 0 ? "read" : "read-write" });
    if (i % 10 === 0) await mapped[Symbol.asyncDispose]();
    else mapped[Symbol.dispose]();
  }
}

/** What is counted, in units of which one round may leave less than one. */
interface Measures {
  readonly [what: string]: number;
}

async function measure(subject: Subject, mostAllocated: number): Promise<Measures> {
  subject.quiet?.();
  await collect();
  const { rss, heapUsed } = Deno.memoryUsage();
  return {
    "times 5 MB of resident memory": rss / MAX_RESIDENT,
    [`times ${mostAllocated} bytes of allocated memory`]: (heapUsed + mallocedBytes()) / mostAllocated,
    ...held(),
    "native objects": subject.alive?.() ?? 0,
    ...ledger.alive,
  };
}

function growth(before: Measures, after: Measures): string[] {
  const grown = Object.keys(after).filter((what) => after[what] - (before[what] ?? 0) >= 1);
  return grown.map((what) => `${after[what] - (before[what] ?? 0)} ${what}`);
}
