import { assertThrows } from "@std/assert";
import { AccessError } from "../../../src/core/errors.ts";
import { imageInfo } from "../../../src/core/frame_info.ts";
import { region } from "../../../src/core/layout.ts";
import type { Tensor } from "../../../src/core/tensor.ts";
import { across, assertFree, type Case, filled, SIZE } from "../case.ts";
import { assertSame, random } from "../bytes.ts";

/** Parts of one memory, mapped each for itself. All of them begin and end in the middle of a page. */
export const RANGES: readonly Case[] = [
  {
    name: "overlapping-maps",
    async run(subject) {
      const { source } = await filled(subject.source);
      using _ = source;
      {
        using left = slice(source, 0, 10_001);
        await using _ = across(subject, left);
        assertThrows(() => slice(source, 10_000, SIZE), AccessError);
        assertThrows(() => slice(source, 10_000, SIZE, "read"), AccessError);
        assertThrows(() => across(subject, source, { access: "read" }), AccessError);
      }
      using left = slice(source, 0, 10_001, "read");
      using right = slice(source, 10_000, SIZE, "read");
      const other = subject.elsewhere ?? subject.target;
      await using first = across(subject, left);
      await using second = across(subject, right, {}, other);
      const [a, b] = [await subject.target.read(first), await other.read(second)];
      assertSame(a.subarray(10_000), b.subarray(0, 1), "the byte that two readers share");
    },
  },
  {
    name: "disjoint-maps",
    async run(subject) {
      const { source: from, target: to } = subject;
      const other = subject.elsewhere ?? to;
      const { source } = await filled(from);
      using _ = source;
      const bytes = random(SIZE);
      {
        using left = slice(source, 0, 10_001);
        using right = slice(source, 10_001, SIZE);
        await using first = across(subject, left);
        await using second = across(subject, right, {}, other);
        await to.write(first, bytes.subarray(0, 10_001));
        await other.write(second, bytes.subarray(10_001));
      }
      assertSame(await from.read(source), bytes, "the two halves together");
      assertFree(source);
    },
  },
  {
    name: "planes-in-two-contexts",
    async run(subject) {
      const { source: from, target: to } = subject;
      const ends = [to, subject.elsewhere ?? to];
      using source = from.allocateFrame(imageInfo({ format: "NV12", width: 1920, height: 1080 }));
      const bytes = source.planes.map((plane) => random(plane.layout.byteLength));
      {
        await using luma = across(subject, source.planes[0], {}, ends[0]);
        await using chroma = across(subject, source.planes[1], {}, ends[1]);
        assertThrows(() => across(subject, source), AccessError);
        for (const [i, plane] of [luma, chroma].entries()) await ends[i].write(plane, bytes[i]);
      }
      for (const [i, plane] of source.planes.entries()) assertSame(await from.read(plane), bytes[i], `plane ${i}`);
    },
  },
  {
    name: "neighbours-untouched",
    async run(subject) {
      const { source: from, target: to } = subject;
      const { source } = await filled(from);
      using _ = source;
      const bytes = random(SIZE);
      const cuts = [0, 5_001, 9_999, SIZE];
      {
        const [left, middle, right] = cuts.slice(1).map((end, i) => slice(source, cuts[i], end));
        using _left = left, _middle = middle, _right = right;
        {
          await using mapped = across(subject, middle);
          // While the middle is the target's, its neighbours get newer bytes, which no unmap may overwrite.
          await from.write(left, bytes.subarray(cuts[0], cuts[1]));
          await to.write(mapped, bytes.subarray(cuts[1], cuts[2]));
          await from.write(right, bytes.subarray(cuts[2], cuts[3]));
        }
      }
      assertSame(await from.read(source), bytes, "the target's bytes between newer ones of the source's");
    },
  },
  {
    name: "neighbours-of-a-write-untouched",
    async run(subject) {
      const { source: from, target: to } = subject;
      const { source, bytes } = await filled(from);
      using _ = source;
      const end = SIZE - 3;
      {
        using middle = slice(source, 3, end);
        await using mapped = across(subject, middle, { access: "write" });
        await to.write(mapped, bytes.fill(7, 3, end).subarray(3, end));
      }
      assertSame(await from.read(source), bytes, "the bytes before and after what was mapped for writing");
    },
  },
];

function slice(source: Tensor, start: number, end: number, access: "read" | "read-write" = "read-write"): Tensor {
  return source.slice(region(source.layout, [start], [end - start]), { access });
}
