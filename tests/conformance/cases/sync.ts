import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, InteropError } from "../../../src/core/errors.ts";
import type { MapOptions } from "../../../src/core/graph/graph.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { across, assertFree, type Case, filled, NotHere, SIZE } from "../case.ts";
import { assertSame, random, until } from "../bytes.ts";
import type { Subject } from "../subject.ts";

/** Work in flight, and bytes on their way back. */
export const SYNC: readonly Case[] = [
  {
    name: "unmap-waits-for-work",
    async run(subject) {
      const { source: from, target: to } = subject;
      if (to.submit === undefined) throw new NotHere("the target's work takes no time");
      for (const access of ["read-write", "write"] as const) {
        const { source } = await filled(from);
        using _ = source;
        const bytes = random(SIZE);
        const mapped = across(subject, source, { access });
        using _fence = to.submit(mapped, bytes);
        mapped[Symbol.dispose]();
        assertSame(await from.read(source), bytes, "what the target was still writing when it was disposed");
      }
    },
  },
  {
    name: "map-waits-for-work",
    async run(subject) {
      const { source: from, target: to } = subject;
      if (from.submit === undefined) throw new NotHere("the source's work takes no time");
      const { source } = await filled(from);
      using _ = source;
      const bytes = random(SIZE);
      using _fence = from.submit(source, bytes);
      await using mapped = across(subject, source);
      assertSame(await to.read(mapped), bytes, "what the source was still writing when it was mapped");
    },
  },
  {
    name: "map-after-a-fence",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      using gate = subject.gate();
      const mapped = acrossIfNoHostWait(subject, source, { after: gate.fence });
      gate.open();
      await using open = mapped ?? across(subject, source, { after: gate.fence });
      assertSame(await subject.target.read(open), bytes, "the bytes behind the fence");
    },
  },
  {
    name: "used-by",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      using gate = subject.gate();
      const mapped = across(subject, source);
      mapped.usedBy(gate.fence);
      let over = false;
      const disposed = mapped[Symbol.asyncDispose]().then(() => over = true);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert(!over, "the unmap did not wait for the work that uses the memory");
      assertThrows(() => source.handle, AccessError);
      gate.open();
      await disposed;
      assertSame(await subject.source.read(source), bytes, "the source's bytes");
      assertFree(source);
    },
  },
  {
    name: "blocking-on-an-unset-event",
    async run(subject) {
      const { source } = await filled(subject.source);
      using _ = source;
      using gate = subject.gate();
      const mapped = across(subject, source);
      mapped.usedBy(gate.fence);
      assertThrows(() => mapped[Symbol.dispose](), AccessError);
      gate.open();
      await mapped[Symbol.asyncDispose]();
      assertFree(source);
    },
  },
  {
    name: "returning-then-mapped-again",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      using gate = subject.gate();
      const first = across(subject, source);
      first.disposeAfter(gate.fence);
      assertEquals(first.grant.state, "returning");
      assertThrows(() => source.handle, AccessError);
      const second = acrossIfNoHostWait(subject, source);
      gate.open();
      if (second === undefined) {
        await until(() => first.grant.state === "ended");
      } else {
        assertSame(await subject.target.read(second), bytes, "the bytes that were on their way back");
        await second[Symbol.asyncDispose]();
      }
      assert(await until(() => source.grant.state === "live"), "the bytes never came back");
      assertSame(await subject.source.read(source), bytes, "the source's bytes");
    },
  },
  {
    name: "failed-fence-after-dispose-after",
    async run(subject) {
      const { source } = await filled(subject.source);
      using _ = source;
      using gate = subject.gate();
      const mapped = across(subject, source);
      mapped.disposeAfter(gate.fence);
      gate.fail();
      assert(await until(() => source.grant.state === "live"), "the bytes never came back");
      assertThrows(() => across(subject, source), InteropError);
      await using again = across(subject, source);
      await subject.target.read(again);
    },
  },
  {
    name: "failed-fence-at-dispose",
    async run(subject) {
      const { source } = await filled(subject.source);
      using _ = source;
      for (const ends of ["dispose", "asyncDispose"] as const) {
        using gate = subject.gate();
        const mapped = across(subject, source);
        mapped.usedBy(gate.fence);
        gate.fail();
        const error = await endOf(mapped, ends);
        assert(error instanceof InteropError, `the failure of the work is not thrown: ${error}`);
        assertFree(source);
      }
    },
  },
];

/** Maps where that does not make the host wait for what no event has let begin; else that has to be refused. */
function acrossIfNoHostWait(subject: Subject, source: Tensor, options: MapOptions = {}): Tensor | undefined {
  const { steps } = subject.graph.explain(source, subject.target.target, { copy: "allow", ...options });
  if (!steps.some(({ hostWait }) => hostWait)) return across(subject, source, options);
  assertThrows(() => across(subject, source, options), AccessError);
  return undefined;
}

async function endOf(mapped: Tensor, by: "dispose" | "asyncDispose"): Promise<unknown> {
  try {
    if (by === "dispose") mapped[Symbol.dispose]();
    else await mapped[Symbol.asyncDispose]();
  } catch (error) {
    return error;
  }
}
