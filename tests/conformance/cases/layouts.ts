import { assert, assertEquals } from "@std/assert";
import { Frame } from "../../../src/core/tensors/frame.ts";
import { imageInfo } from "../../../src/core/layout/frame_info.ts";
import { sizeOf } from "../../../src/core/layout/dtype.ts";
import { type Layout, type LayoutInit, region } from "../../../src/core/layout/layout.ts";
import type { Tensor } from "../../../src/core/tensors/tensor.ts";
import { across, assertFrames, type Case, frameOf, infoOf, needsParts, NotHere } from "../case.ts";
import { assertSame, elementsOf, placesOf, random, withElements } from "../bytes.ts";
import type { End, Subject, Variant, Variants } from "../subject.ts";

const IMAGE: LayoutInit = { shape: [48, 61, 3], dtype: "u8", rowAlign: 64 };

const CONTIGUOUS: readonly Variant[] = [
  { name: "one byte", whole: { shape: [1], dtype: "u8" } },
  { name: "contiguous", whole: { shape: [7, 13], dtype: "f32" } },
  { name: "wide elements", whole: { shape: [3, 5, 2], dtype: "f64" } },
  { name: "a page exactly", whole: { shape: [4096], dtype: "u8" } },
];

const PADDED: readonly Variant[] = [
  { name: "padded rows", whole: IMAGE },
  { name: "padded rows of u16", whole: { shape: [9, 31], dtype: "u16", rowAlign: 128 } },
  { name: "columns before rows", whole: { shape: [16, 8], dtype: "f32", strides: [4, 64] } },
];

const PARTS: readonly Variant[] = [
  { name: "an offset from the handle", whole: { shape: [100], dtype: "f32", byteOffset: 192 } },
  { name: "a region of an image", whole: IMAGE, part: (whole) => region(whole, [3, 5, 1], [11, 17, 2]) },
  { name: "from byte 1", whole: { shape: [500], dtype: "u8" }, part: (whole) => region(whole, [1], [499]) },
  { name: "from byte 4097", whole: { shape: [9000], dtype: "u8" }, part: (whole) => region(whole, [4097], [4099]) },
  { name: "the last byte", whole: { shape: [8192], dtype: "u8" }, part: (whole) => region(whole, [8191], [1]) },
];

/** A cut along each dimension, and along all of them: what lies between its elements is not the map's. */
const CUTS: readonly Variant[] = [
  { name: "slices", whole: { shape: [4, 5, 6], dtype: "u8" }, part: (whole) => region(whole, [1, 0, 0], [2, 5, 6]) },
  { name: "rows", whole: { shape: [4, 5, 6], dtype: "u8" }, part: (whole) => region(whole, [0, 1, 0], [4, 3, 6]) },
  { name: "columns", whole: { shape: [4, 5, 6], dtype: "u8" }, part: (whole) => region(whole, [0, 0, 2], [4, 5, 3]) },
  { name: "a box", whole: { shape: [4, 5, 6], dtype: "u8" }, part: (whole) => region(whole, [1, 1, 1], [2, 3, 2]) },
  { name: "two columns", whole: { shape: [4, 8], dtype: "f32" }, part: (whole) => region(whole, [0, 3], [4, 2]) },
  { name: "padded rows", whole: { shape: [5, 7], dtype: "u8", rowAlign: 16 } },
];

const ANY: Variants = { contiguous: CONTIGUOUS, padded: PADDED, parts: PARTS };

/** Where the elements lie is the same at both ends. */
export const LAYOUTS: readonly Case[] = [
  { name: "contiguous-layout-kept", run: (subject) => kept(subject, "contiguous") },
  { name: "strides-kept", run: (subject) => kept(subject, "padded") },
  { name: "offsets-kept", run: (subject) => kept(subject, "parts") },
  {
    name: "gaps-kept",
    async run(subject) {
      const { source: { ownPitches, wholeOnly }, variants } = subject;
      if (ownPitches) throw new NotHere("the gaps between the source's elements cannot be read");
      const given = variants === undefined ? CUTS : [...variants.padded, ...variants.parts];
      const asked = given.filter(({ part }) => part === undefined || !wholeOnly);
      if (asked.length === 0) throw new NotHere("the edge takes no layout with gaps");
      for (const variant of asked) await assertGapsKept(subject, variant);
    },
  },
  {
    name: "planes-kept",
    async run(subject) {
      // UV begins at 1080 × 1920 = 506 × 4096 + 1024: in the middle of a page, as no smaller power of two would show.
      const info = infoOf(subject, { width: 1920, height: 1080, modifier: 0n, colour: { matrix: "bt709" } });
      using source = frameOf(subject, info);
      source.metadata.set("source", { sequence: 7 });
      await assertFrame(subject, source);
    },
  },
  {
    name: "separate-planes-kept",
    async run(subject) {
      const { source: from, target: to } = subject;
      assertFrames(subject);
      if (from.ownPitches || to.ownPitches) {
        throw new NotHere("planes of a driver's picture are not memory of their own");
      }
      const info = imageInfo({ format: "NV12", width: 64, height: 48 });
      const planes = [
        from.allocate({ shape: [48, 64], dtype: "u8" }),
        from.allocate({ shape: [24, 32, 2], dtype: "u8", rowAlign: 128 }),
      ];
      using source = Frame.of(planes, info);
      source.metadata.set("source", { stream: "two blocks" });
      await assertFrame(subject, source);
    },
  },
];

async function kept(subject: Subject, which: keyof Variants): Promise<void> {
  const variants = (subject.variants ?? ANY)[which];
  if (variants.length === 0) throw new NotHere("the edge takes no such layout");
  if (variants.some(({ part }) => part !== undefined)) needsParts(subject.source);
  for (const { name, whole, part } of variants) {
    using memory = subject.source.allocate(whole);
    using source = part === undefined ? memory.borrow("read-write") : memory.slice(part(memory.layout));
    await assertKept(subject, source, name);
  }
}

async function assertKept(subject: Subject, source: Tensor, name: string): Promise<void> {
  const { source: from, target: to } = subject;
  const there = random(source.layout.byteLength);
  await from.write(source, there);
  let back: Uint8Array;
  {
    await using mapped = across(subject, source);
    const { layout } = mapped;
    if (!from.ownPitches && !to.noGaps) assertSameLayout(layout, source.layout, name);
    else assertEquals([layout.shape, layout.dtype], [source.layout.shape, source.layout.dtype], name);
    assertSame(elementsOf(layout, await to.read(mapped)), elementsOf(source.layout, there), `${name}, at the target`);
    const bytes = random(layout.byteLength);
    await to.write(mapped, bytes);
    back = elementsOf(layout, bytes);
  }
  assertSame(elementsOf(source.layout, await from.read(source)), back, `${name}, back at the source`);
}

/** A map for writing writes the tensor's elements alone: what lies between them is as it was, at the source's end. */
async function assertGapsKept(subject: Subject, { name, whole, part }: Variant): Promise<void> {
  const { source: from, target: to } = subject;
  using memory = from.allocate(whole);
  for (const access of ["write", "read-write"] as const) {
    const there = random(memory.layout.byteLength);
    await from.write(memory, there);
    let expected: Uint8Array;
    {
      using source = part === undefined ? memory.borrow("read-write") : memory.slice(part(memory.layout));
      await using mapped = across(subject, source, { access });
      const written = await writeElements(to, mapped);
      const begin = source.grant.start - memory.grant.start;
      const range = there.subarray(begin, begin + source.layout.byteLength);
      expected = there.slice();
      expected.set(withElements(source.layout, range, written), begin);
    }
    assertSame(await from.read(memory), expected, `${name}, mapped for "${access}"`);
  }
}

/** Has an end write random elements, run by run; where it has no parts of tensors, it writes nothing but elements anyway. */
async function writeElements(end: End, tensor: Tensor): Promise<Uint8Array> {
  const { layout } = tensor;
  const bytes = random(layout.byteLength);
  if (end.wholeOnly) await end.write(tensor, bytes);
  else {
    for (const [begin, length] of runsIn(layout)) {
      const byteOffset = layout.byteOffset + begin;
      await using run = tensor.slice({ shape: [length], dtype: "u8", byteOffset }, { access: "write" });
      await end.write(run, bytes.subarray(begin, begin + length));
    }
  }
  return elementsOf(layout, bytes);
}

/** The elements of a layout that lie side by side: where they begin, and how many bytes they are. */
function runsIn(layout: Layout): [begin: number, length: number][] {
  const size = sizeOf(layout.dtype);
  const runs: [number, number][] = [];
  for (const at of placesOf(layout).sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && last[0] + last[1] === at) last[1] += size;
    else runs.push([at, size]);
  }
  return runs;
}

async function assertFrame(subject: Subject, source: Frame): Promise<void> {
  const { source: from, target: to } = subject;
  const there = source.planes.map((plane) => random(plane.layout.byteLength));
  const back = source.planes.map((plane) => random(plane.layout.byteLength));
  for (const [i, plane] of source.planes.entries()) await from.write(plane, there[i]);
  {
    await using mapped = across(subject, source);
    assertEquals(mapped.info, source.info);
    assert(mapped.metadata === source.metadata, "the metadata did not travel along");
    assertEquals(mapped.planes.length, source.planes.length);
    for (const [i, plane] of mapped.planes.entries()) {
      assertSameLayout(plane.layout, source.planes[i].layout, `plane ${i}`);
      assertElements(await to.read(plane), there[i], plane.layout, `plane ${i}, at the target`);
      await to.write(plane, back[i]);
    }
  }
  for (const [i, plane] of source.planes.entries()) {
    assertElements(await from.read(plane), back[i], plane.layout, `plane ${i}, back at the source`);
  }
}

/** The offset is counted from the handle, which is another one at the other end. */
function assertSameLayout(actual: Layout, expected: Layout, name: string): void {
  const { byteOffset: _, ...same } = expected;
  assertEquals({ ...actual, byteOffset: undefined }, { ...same, byteOffset: undefined }, name);
}

function assertElements(actual: Uint8Array, expected: Uint8Array, layout: Layout, what: string): void {
  assertSame(elementsOf(layout, actual), elementsOf(layout, expected), what);
}
