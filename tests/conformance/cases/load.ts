import { assert, assertEquals } from "@std/assert";
import { ledger } from "../../../src/core/ledger.ts";
import type { Tensor } from "../../../src/core/tensor.ts";
import { sweep } from "../../faults/sweep.ts";
import { across, assertFree, type Case, filled } from "../case.ts";
import { assertSame } from "../bytes.ts";
import { collect } from "../gc.ts";
import type { Subject } from "../subject.ts";

const MAPS = 10_000;

/** Maps before the first look at memory: pools and caches have their size by then. */
const WARM_UP = 1_000;

/** More than this is no noise: it would be half a KiB a map. */
const MOST_GROWTH = 5_000_000;

/** What has to hold after many maps, and after failed ones. */
export const LOAD: readonly Case[] = [
  {
    name: "ten-thousand-maps",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      await maps(subject, source, WARM_UP);
      const before = await measure(subject);
      await maps(subject, source, MAPS);
      const after = await measure(subject);
      assertEquals(after.counts, before.counts, "objects, fds and events");
      const growth = after.rss - before.rss;
      assert(growth < MOST_GROWTH, `${MAPS} maps have left ${growth} bytes`);
      assertSame(await subject.source.read(source), bytes, "the source's bytes");
    },
  },
  {
    name: "fault-at-every-native-call",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      const mapAndUnmap = (access: "read" | "read-write") => {
        using _ = across(subject, source, { access });
      };
      const mapAndUnmapAsync = async () => {
        await using _ = across(subject, source);
      };
      const intact = async () => {
        assertFree(source);
        assertSame(await subject.source.read(source), bytes, "the source's bytes");
      };
      mapAndUnmap("read-write");
      for (const map of [() => mapAndUnmap("read"), () => mapAndUnmap("read-write"), mapAndUnmapAsync]) {
        const faults = await sweep(map, intact);
        assert(faults.length > 0, "a map without a native call");
      }
    },
  },
];

/** Every tenth is left to the event loop, so that what is done later is measured too. */
async function maps(subject: Subject, source: Tensor, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const mapped = across(subject, source, { access: i % 2 === 0 ? "read" : "read-write" });
    if (i % 10 === 0) await mapped[Symbol.asyncDispose]();
    else mapped[Symbol.dispose]();
  }
}

async function measure(subject: Subject) {
  await collect();
  const fds = [...Deno.readDirSync("/proc/self/fd")].length;
  return { rss: Deno.memoryUsage().rss, counts: { fds, alive: subject.alive?.(), ledger: ledger.alive } };
}
