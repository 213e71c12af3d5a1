import { assertThrows } from "@std/assert";
import { AccessError } from "../../../src/core/errors.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import {
  across,
  assertFree,
  type Case,
  filled,
  frameOf,
  infoOf,
  needsParts,
  needsPlanes,
  partOf,
  SIZE,
  unitOf,
} from "../case.ts";
import { assertSame, random } from "../bytes.ts";

/** Parts of one memory, mapped each for itself. All of them begin and end in the middle of a page. */
export const RANGES: readonly Case[] = [
  {
    name: "overlapping-maps",
    async run(subject) {
      needsParts(subject.source);
      const { source } = await filled(subject.source);
      using _ = source;
      const { unit, middle, end } = cutsOf(source);
      {
        using left = partOf(source, 0, middle + 1);
        await using _ = across(subject, left);
        assertThrows(() => partOf(source, middle, end), AccessError);
        assertThrows(() => partOf(source, middle, end, "read"), AccessError);
        assertThrows(() => across(subject, source, { access: "read" }), AccessError);
      }
      using left = partOf(source, 0, middle + 1, "read");
      using right = partOf(source, middle, end, "read");
      const other = subject.elsewhere ?? subject.target;
      await using first = across(subject, left);
      await using second = across(subject, right, {}, other);
      const [a, b] = [await subject.target.read(first), await other.read(second)];
      assertSame(a.subarray(unit * middle), b.subarray(0, unit), "what two readers share");
    },
  },
  {
    name: "disjoint-maps",
    async run(subject) {
      const { source: from, target: to } = subject;
      needsParts(from);
      const other = subject.elsewhere ?? to;
      const { source } = await filled(from);
      using _ = source;
      const { unit, middle, end } = cutsOf(source);
      const bytes = random(SIZE);
      {
        using left = partOf(source, 0, middle);
        using right = partOf(source, middle, end);
        await using first = across(subject, left);
        await using second = across(subject, right, {}, other);
        await to.write(first, bytes.subarray(0, unit * middle));
        await other.write(second, bytes.subarray(unit * middle));
      }
      assertSame(await from.read(source), bytes, "the two halves together");
      assertFree(source);
    },
  },
  {
    name: "planes-in-two-contexts",
    async run(subject) {
      needsPlanes(subject);
      const { source: from, target: to } = subject;
      const ends = [to, subject.elsewhere ?? to];
      using source = frameOf(subject, infoOf(subject, { width: 1920, height: 1080 }));
      const bytes = source.planes.map((plane) => random(plane.layout.byteLength));
      {
        await using luma = across(subject, source.planes[0], {}, ends[0]);
        await using chroma = across(subject, source.planes[1], {}, ends[1]);
        assertThrows(() => across(subject, source), AccessError);
        for (const [i, plane] of [luma, chroma].entries()) await ends[i].write(plane, bytes[i]);
      }
      for (const [i, plane] of source.planes.slice(0, 2).entries()) {
        assertSame(await from.read(plane), bytes[i], `plane ${i}`);
      }
    },
  },
  {
    name: "neighbours-untouched",
    async run(subject) {
      const { source: from, target: to } = subject;
      needsParts(from);
      const { source } = await filled(from);
      using _ = source;
      const { unit, quarter, middle, end } = cutsOf(source);
      const bytes = random(SIZE);
      const cuts = [0, quarter, middle, end];
      const part = (i: number) => bytes.subarray(unit * cuts[i], unit * cuts[i + 1]);
      {
        const [left, mid, right] = cuts.slice(1).map((end, i) => partOf(source, cuts[i], end));
        using _left = left, _mid = mid, _right = right;
        {
          await using mapped = across(subject, mid);
          // While the middle is the target's, its neighbours get newer bytes, which no unmap may overwrite.
          await from.write(left, part(0));
          await to.write(mapped, part(1));
          await from.write(right, part(2));
        }
      }
      assertSame(await from.read(source), bytes, "the target's bytes between newer ones of the source's");
    },
  },
  {
    name: "neighbours-of-a-write-untouched",
    async run(subject) {
      const { source: from, target: to } = subject;
      needsParts(from);
      const { source, bytes } = await filled(from);
      using _ = source;
      const { unit, end } = cutsOf(source);
      const [first, last] = [3 * unit, (end - 3) * unit];
      {
        using middle = partOf(source, 3, end - 3);
        await using mapped = across(subject, middle, { access: "write" });
        await to.write(mapped, bytes.fill(7, first, last).subarray(first, last));
      }
      assertSame(await from.read(source), bytes, "the bytes before and after what was mapped for writing");
    },
  },
];

/** Where a tensor is cut, counted in what it can be cut into: a quarter and a half of the way, and a bit. */
function cutsOf(source: Tensor): { unit: number; quarter: number; middle: number; end: number } {
  const unit = unitOf(source);
  return { unit, quarter: Math.ceil(5_001 / unit), middle: Math.ceil(10_001 / unit), end: SIZE / unit };
}
