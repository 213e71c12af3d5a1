import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, InteropError } from "../../../src/core/errors.ts";
import type { Fence } from "../../../src/core/device/fence.ts";
import type { MapOptions } from "../../../src/core/graph/graph.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { across, assertFree, type Case, failure, filled, NotHere, SIZE } from "../case.ts";
import { assertSame, random, until } from "../bytes.ts";
import { gate } from "../../gate.ts";
import type { End, Subject } from "../subject.ts";

/** Work in flight, and bytes on their way back. */
export const SYNC: readonly Case[] = [
  {
    name: "unmap-waits-for-work",
    async run(subject) {
      const { source: from, target: to } = subject;
      if (to.submit === undefined) throw new NotHere("the target's work takes no time");
      for (const access of ["read-write", "write"] as const) {
        for (const ends of ENDS) {
          const { source } = await filled(from);
          using _source = source;
          const bytes = random(SIZE);
          const mapped = across(subject, source, { access });
          const fence = to.submit(mapped, bytes);
          await using _ = seenOut(fence);
          assertRecorded(mapped, fence);
          assertEquals(await endOf(mapped, ends), undefined);
          assertSame(await from.read(source), bytes, `what the target was still writing at its ${ends}`);
        }
      }
    },
  },
  {
    name: "map-waits-for-work",
    async run(subject) {
      const { source: from, target: to } = subject;
      if (from.submit === undefined) throw new NotHere("the source's work takes no time");
      const { source } = await filled(from);
      using _source = source;
      across(subject, source)[Symbol.dispose](); // the first map may take longer than the work, to prove something
      const bytes = random(SIZE);
      const fence = from.submit(source, bytes);
      await using _ = seenOut(fence);
      assertRecorded(source, fence);
      await using mapped = across(subject, source);
      assertSame(await to.read(mapped), bytes, "what the source was still writing when it was mapped");
    },
  },
  {
    name: "map-after-a-fence",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      using opening = gate();
      const mapped = acrossIfNoHostWait(subject, source, { after: opening.fence });
      const written = mapped && await assertHeldBack(subject.target, mapped);
      await opening.complete();
      await using open = mapped ?? across(subject, source, { after: opening.fence });
      assertSame(await subject.target.read(open), written ?? bytes, "the bytes behind the fence");
    },
  },
  {
    name: "used-by",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      using opening = gate();
      const mapped = across(subject, source);
      mapped.usedBy(opening.fence);
      let over = false;
      const disposed = mapped[Symbol.asyncDispose]().then(() => over = true);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert(!over, "the unmap did not wait for the work that uses the memory");
      assertThrows(() => source.handle, AccessError);
      await opening.complete();
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
      using opening = gate();
      const mapped = across(subject, source);
      mapped.usedBy(opening.fence);
      assertThrows(() => mapped[Symbol.dispose](), AccessError);
      await opening.complete();
      await mapped[Symbol.asyncDispose]();
      assertFree(source);
    },
  },
  {
    name: "returning-then-mapped-again",
    async run(subject) {
      const { source, bytes } = await filled(subject.source);
      using _ = source;
      using opening = gate();
      const first = across(subject, source);
      const written = submitted(subject.target, first);
      first.disposeAfter(opening.fence);
      assertEquals(first.grant.state, "returning");
      assertThrows(() => source.handle, AccessError);
      const second = acrossIfNoHostWait(subject, source);
      await opening.complete();
      if (second === undefined) {
        await until(() => first.grant.state === "ended");
      } else {
        assertSame(await subject.target.read(second), written ?? bytes, "the bytes that were on their way back");
        await second[Symbol.asyncDispose]();
      }
      assert(await until(() => source.grant.state === "live"), "the bytes never came back");
      assertSame(await subject.source.read(source), written ?? bytes, "the source's bytes");
    },
  },
  {
    name: "returning-then-used",
    async run(subject) {
      const { source: from, target: to } = subject;
      if (from.submit === undefined) throw new NotHere("the source's work takes no time");
      if (to.submit === undefined) throw new NotHere("the target's work takes no time");
      const { source } = await filled(from);
      using _source = source;
      across(subject, source)[Symbol.dispose](); // the first map may take longer than the work, to prove something
      const mapped = across(subject, source);
      mapped.disposeAfter(to.submit(mapped, random(SIZE)));
      const bytes = random(SIZE);
      await using _ = seenOut(from.submit(source, bytes));
      await source.finished();
      assertSame(await from.read(source), bytes, "what the source wrote behind the work of a map on its way back");
    },
  },
  {
    name: "failed-fence-after-dispose-after",
    async run(subject) {
      const { source } = await filled(subject.source);
      using _ = source;
      using opening = gate();
      const mapped = across(subject, source);
      mapped.disposeAfter(opening.fence);
      await opening.fail(failure());
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
      for (const ends of ENDS) {
        using opening = gate();
        const mapped = across(subject, source);
        mapped.usedBy(opening.fence);
        await opening.fail(failure());
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

/** The bytes that the target is going to write, where its work takes time. */
function submitted(target: End, mapped: Tensor): Uint8Array | undefined {
  if (target.submit === undefined) return undefined;
  const bytes = random(SIZE);
  target.submit(mapped, bytes);
  return bytes;
}

/**
 * Work in flight is recorded on the tensor that it uses. Where a driver orders all work on the same memory by itself, the
 * bytes would not tell. (rusticl's flush may come back only when the work is done: then there is nothing to record.)
 */
function assertRecorded({ work }: Tensor, fence: Fence): void {
  assert(work.length > 0 || fence.reached(), "no fence of the work in flight is recorded");
}

/** Waits, at the end of its scope, for work: where nothing else has waited, memory must not go before it is done. */
function seenOut(fence: Fence): AsyncDisposable {
  return {
    [Symbol.asyncDispose]: () => fence.wait(),
  };
}

/** How long work has to stay undone to count as held back: far longer than it takes where nothing holds it. */
const HELD_MS = 300;

/**
 * The target does nothing with a tensor while the gate in front of it is shut. Either its work waits: then this answers
 * the bytes that it is going to write. Or the target's calls block: then they are refused, since they could never end.
 */
async function assertHeldBack(target: End, mapped: Tensor): Promise<Uint8Array | undefined> {
  const bytes = random(SIZE);
  try {
    if (target.submit === undefined) await target.read(mapped);
    const fence = target.submit?.(mapped, bytes);
    const early = fence === undefined || await until(() => fence.reached(), HELD_MS);
    assert(!early, "the target's work did not wait for the fence");
    return bytes;
  } catch (error) {
    if (error instanceof AccessError) return undefined;
    throw error;
  }
}

const ENDS = ["dispose", "asyncDispose"] as const;

async function endOf(mapped: Tensor, by: typeof ENDS[number]): Promise<unknown> {
  try {
    if (by === "dispose") mapped[Symbol.dispose]();
    else await mapped[Symbol.asyncDispose]();
  } catch (error) {
    return error;
  }
}
