import { assertEquals } from "@std/assert";
import { ledger } from "../../../src/core/life/ledger.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { assertTyped, sweep } from "../../faults/sweep.ts";
import { across, assertFree, type Case, filled } from "../case.ts";
import { assertSame } from "../bytes.ts";
import { collect } from "../../gc.ts";
import type { Subject } from "../subject.ts";

const MAPS = 10_000;

/** Maps before the first look at memory: pools and caches have their size by then. */
const WARM_UP = 1_000;

/** Bytes; where no round of maps stays below, it is no noise: it is half a KiB a map. */
const MOST_GROWTH = 5_000_000;

/** The collector and the allocator keep more from one round than from another; a leak is there in all of them. */
const ROUNDS = 3;

/** What has to hold after many maps, and after failed ones. */
export const LOAD: readonly Case[] = [
  {
    name: "ten-thousand-maps",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      await maps(subject, source, WARM_UP);
      let grown: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const before = await measure(subject);
        await maps(subject, source, MAPS);
        grown = growth(before, await measure(subject));
        if (grown.length === 0) break;
      }
      assertEquals(grown, [], `${MAPS} maps leave something, again and again`);
      assertSame(await subject.source.read(source), bytes, "the source's bytes");
    },
  },
  {
    name: "fault-at-every-native-call",
    alone: true,
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      const mapAndUnmap = (access: "read" | "read-write") => {
        using _ = across(subject, source, { access });
      };
      const mapAndUnmapAsync = async () => {
        await using _ = across(subject, source);
      };
      const intact = async () => {
        assertFree(source);
        assertSame(await subject.source.read(source), bytes, "the source's bytes");
        assertEquals(source.work, [], "work that could not be asked about, asked again");
        subject.quiet?.();
      };
      mapAndUnmap("read-write");
      for (const map of [() => mapAndUnmap("read"), () => mapAndUnmap("read-write"), mapAndUnmapAsync]) {
        const faults = await sweep(map, intact);
        assertEquals(faults.length === 0, subject.withoutCalls ?? false, "a map without a native call");
      }
      disposeAfterFaults(source);
    },
  },
];

/** What failed on the way, on work that had to be forgotten then and there, is thrown by the dispose at the latest. */
function disposeAfterFaults(source: Tensor): void {
  try {
    source[Symbol.dispose]();
  } catch (error) {
    assertTyped(error, "disposing the source");
  }
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

async function measure(subject: Subject): Promise<Measures> {
  subject.quiet?.();
  await collect();
  return {
    "times 5 MB of resident memory": Deno.memoryUsage().rss / MOST_GROWTH,
    "open fds": [...Deno.readDirSync("/proc/self/fd")].length,
    "native objects": subject.alive?.() ?? 0,
    ...ledger.alive,
  };
}

function growth(before: Measures, after: Measures): string[] {
  const grown = Object.keys(after).filter((what) => after[what] - (before[what] ?? 0) >= 1);
  return grown.map((what) => `${after[what] - (before[what] ?? 0)} ${what}`);
}
