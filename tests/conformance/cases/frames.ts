import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, DisposedError, InteropError } from "../../../src/core/errors.ts";
import { Frame } from "../../../src/core/tensors/frame.ts";
import { type ImageInfo, planeLayouts } from "../../../src/core/layout/frame_info.ts";
import { ledger } from "../../../src/core/life/ledger.ts";
import { host, type HostTensor } from "../../../src/host/mod.ts";
import {
  across,
  assertFrames,
  assertFree,
  type Case,
  failure,
  infoOf,
  needsParts,
  needsPlanes,
  NotHere,
} from "../case.ts";
import { assertSame, random, until } from "../bytes.ts";
import { gate } from "../../gate.ts";
import type { End, Subject } from "../subject.ts";

const SIZE = { width: 64, height: 48 } as const;

/** Law 4 for frames: work on a frame is work on each of its planes, wherever they lie. */
export const FRAMES: readonly Case[] = [
  {
    name: "frame-used-by",
    run: (subject) =>
      withFrames(subject, async (source, bytes) => {
        using opening = gate();
        const mapped = across(subject, source);
        mapped.usedBy(opening.fence);
        const disposed = mapped[Symbol.asyncDispose]();
        await assertWaits(disposed, "the unmap of a frame");
        assertHeld(source);
        await opening.complete();
        await disposed;
        await assertBack(subject, source, bytes);
      }),
  },
  {
    name: "frame-of-its-own-used-by",
    async run(subject) {
      needsPlanes(subject);
      for (const end of endsOf(subject)) {
        for (const how of ["usedBy", "disposeAfter"] as const) {
          const before = ledger.alive;
          const frame = separate(end, infoOf(subject, SIZE));
          const made = ledger.alive;
          using opening = gate();
          frame[how](opening.fence);
          const ended = how === "usedBy" ? frame[Symbol.asyncDispose]() : until(() => isFreed(frame));
          await assertWaits(ended, `the memory of a frame, with ${how}`);
          for (const [kind, count] of Object.entries(made)) {
            if (count === before[kind]) continue;
            assert((ledger.alive[kind] ?? 0) >= count, `${kind} was given back under the work, with ${how}`);
          }
          await opening.complete();
          await ended;
          assert(isFreed(frame), `the planes were never given back, with ${how}`);
        }
      }
    },
  },
  {
    name: "frame-dispose-after",
    run: (subject) =>
      withFrames(subject, async (source, bytes) => {
        using opening = gate();
        const first = across(subject, source);
        first.disposeAfter(opening.fence);
        assertEquals(first.grants.map((grant) => grant.state), first.grants.map(() => "returning"));
        assertHeld(source);
        assertThrows(() => first.planes[0].handle, DisposedError);
        const second = acrossIfNoHostWait(subject, source);
        await opening.complete();
        if (second !== undefined) {
          await assertPlanes(subject.target, second, bytes, "the bytes that were on their way back");
          await second[Symbol.asyncDispose]();
        }
        assert(await until(() => isFreed(first) && isFree(source)), "the bytes never came back");
        await assertBack(subject, source, bytes);
      }),
  },
  {
    name: "frame-map-waits-for-work",
    run: (subject) =>
      withFrames(subject, async (source, bytes) => {
        using opening = gate();
        source.usedBy(opening.fence);
        const early = acrossIfNoHostWait(subject, source);
        await opening.complete();
        await using mapped = early ?? across(subject, source);
        await assertPlanes(subject.target, mapped, bytes, "the bytes behind the work on the source");
      }),
  },
  {
    name: "frame-finished",
    run: (subject) =>
      withFrames(subject, async (source, bytes) => {
        await using mapped = across(subject, source);
        for (const declared of [source, mapped, mapped.planes[1]]) {
          using opening = gate();
          declared.usedBy(opening.fence);
          const finished = (declared === source ? source : mapped).finished();
          await assertWaits(finished, "finished()");
          await opening.complete();
          await finished;
        }
        await assertPlanes(subject.target, mapped, bytes, "the frame, which stays mapped");
      }),
  },
  {
    name: "frame-unmap-waits-for-its-planes",
    run(subject) {
      const { submit } = subject.target;
      if (submit === undefined) throw new NotHere("the target's work takes no time");
      return withFrames(subject, async (source) => {
        const bytes = randomOf(source);
        const mapped = across(subject, source);
        for (const [i, plane] of mapped.planes.entries()) submit.call(subject.target, plane, bytes[i]);
        mapped[Symbol.dispose]();
        await assertBack(subject, source, bytes);
      });
    },
  },
  {
    name: "frame-lent",
    run(subject) {
      needsParts(subject.target);
      return withFrames(subject, async (source, bytes) => {
        const mapped = across(subject, source);
        const lent = mapped.borrow("read");
        for (const plane of mapped.planes) assertThrows(() => plane.assertUsable("write"), AccessError);
        await assertPlanes(subject.target, lent, bytes, "what was lent of the mapped frame");
        using opening = gate();
        lent.usedBy(opening.fence);
        // The frame ends what it has lent first, and that waits for its work.
        const disposed = mapped[Symbol.asyncDispose]();
        await assertWaits(disposed, "the unmap of a frame that is lent");
        assertThrows(() => lent.planes[0].handle, DisposedError);
        assertHeld(source);
        await opening.complete();
        await disposed;
        assert(isFreed(lent));
        await assertBack(subject, source, bytes);
      });
    },
  },
  {
    name: "frame-lent-to-a-promise",
    run(subject) {
      needsHost(subject.target);
      return withFrames(subject, async (source, bytes) => {
        const mapped = across(subject, source);
        const plane = mapped.planes[1] as HostTensor;
        const { promise, resolve } = Promise.withResolvers<void>();
        const lend = plane.lend(() => promise);
        const disposed = mapped[Symbol.asyncDispose]();
        await assertWaits(disposed, "the unmap of a frame");
        assertThrows(() => source.planes[1].handle, AccessError);
        resolve();
        await Promise.all([lend, disposed]);
        await assertBack(subject, source, bytes);
      });
    },
  },
  {
    name: "frame-lent-to-a-promise-before",
    run(subject) {
      needsHost(subject.source);
      return withFrames(subject, async (source, bytes) => {
        const plane = source.planes[1] as HostTensor;
        const { promise, resolve } = Promise.withResolvers<void>();
        const lend = plane.lend(() => promise);
        assertThrows(() => across(subject, source), AccessError);
        assertFree(source.planes[0]);
        resolve();
        await lend;
        await using mapped = across(subject, source);
        await assertPlanes(subject.target, mapped, bytes, "the frame");
      });
    },
  },
  {
    name: "frame-failed-fence",
    run: (subject) =>
      withFrames(subject, async (source) => {
        using after = gate();
        const mapped = across(subject, source);
        mapped.disposeAfter(after.fence);
        await after.fail(failure());
        assert(await until(() => isFreed(mapped) && isFree(source)), "the bytes never came back");
        assertThrows(() => across(subject, source), InteropError); // for all of its planes at once
        using used = gate();
        const again = across(subject, source);
        again.usedBy(used.fence);
        await used.fail(failure());
        await again[Symbol.asyncDispose]().then(
          () => assert(false, "the failure of the work is not thrown"),
          (error) => assert(error instanceof InteropError, `${error}`),
        );
        assertFrameFree(source);
      }),
  },
  {
    name: "frame-all-planes-or-none",
    run(subject) {
      needsParts(subject.source);
      return withFrames(subject, async (source, bytes) => {
        const taken = source.planes[1].borrow("read-write");
        assertThrows(() => across(subject, source), AccessError);
        assertFree(source.planes[0]);
        taken[Symbol.dispose]();
        await using mapped = across(subject, source);
        await assertPlanes(subject.target, mapped, bytes, "the frame");
      });
    },
  },
];

/** Only the CPU's memory can be lent to a promise. */
function needsHost({ target }: End): void {
  if (target !== host) throw new NotHere("only the CPU's memory is lent to a promise");
}

/** A frame of planes in blocks of their own. */
function separate(end: End, info: ImageInfo): Frame {
  return Frame.of(planeLayouts(info).map(({ shape, dtype }) => end.allocate({ shape, dtype })), info);
}

function endsOf(subject: Subject): readonly End[] {
  assertFrames(subject);
  return [subject.source, subject.target];
}

/** Asks a frame of several blocks, and one that the source itself allocates, each with random bytes. */
async function withFrames(
  subject: Subject,
  ask: (source: Frame, bytes: readonly Uint8Array[]) => Promise<void>,
): Promise<void> {
  const [from] = endsOf(subject);
  const whole = () => from.allocateFrame!(infoOf(subject, SIZE));
  for (const make of from.picturesOnly ? [whole] : [() => separate(from, infoOf(subject, SIZE)), whole]) {
    using source = make();
    const bytes = randomOf(source);
    for (const [i, plane] of source.planes.entries()) await from.write(plane, bytes[i]);
    subject.graph.explain(source, subject.target.target); // proofs first: a device that is held up proves nothing
    await ask(source, bytes);
  }
}

function randomOf({ planes }: Frame): Uint8Array<ArrayBuffer>[] {
  return planes.map((plane) => random(plane.layout.byteLength));
}

/** The work has not begun, so this cannot be over. */
async function assertWaits(promise: Promise<unknown>, what: string): Promise<void> {
  let over = false;
  promise.then(() => over = true, () => over = true);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert(!over, `${what} did not wait for the work`);
}

async function assertPlanes(end: End, { planes }: Frame, bytes: readonly Uint8Array[], what: string): Promise<void> {
  for (const [i, plane] of planes.entries()) assertSame(await end.read(plane), bytes[i], `${what}, plane ${i}`);
}

/** Its bytes are not its own yet. */
function assertHeld(source: Frame): void {
  for (const plane of source.planes) assertThrows(() => plane.handle, AccessError);
}

/** Its bytes are its own again, and these. */
async function assertBack(subject: Subject, source: Frame, bytes: readonly Uint8Array[]): Promise<void> {
  assertFrameFree(source);
  await assertPlanes(subject.source, source, bytes, "back at the source");
}

function assertFrameFree({ planes }: Frame): void {
  for (const plane of planes) assertFree(plane);
}

/** Where a map took several steps, the end of the last is not yet the source's return. */
function isFree({ planes }: Frame): boolean {
  return planes.every(({ grant: { state } }) => state === "live");
}

function isFreed(frame: Frame): boolean {
  return [frame, ...frame.planes].every(({ resource }) => resource.state === "freed");
}

/** Maps where that makes the host wait for nothing that has not begun; else that has to be refused. */
function acrossIfNoHostWait(subject: Subject, source: Frame): Frame | undefined {
  const { steps } = subject.graph.explain(source, subject.target.target, { copy: "allow" });
  if (!steps.some(({ hostWait }) => hostWait)) return across(subject, source);
  assertThrows(() => across(subject, source), AccessError);
  return undefined;
}
