import { assert, assertEquals } from "@std/assert";
import { Frame } from "../../../src/core/frame.ts";
import { imageInfo } from "../../../src/core/frame_info.ts";
import { type Layout, type LayoutInit, region } from "../../../src/core/layout.ts";
import type { Tensor } from "../../../src/core/tensor.ts";
import { across, type Case } from "../case.ts";
import { assertSame, elementsOf, random } from "../bytes.ts";
import type { Subject } from "../subject.ts";

/** What lies where: the whole memory, and the part of it that is mapped. */
interface Variant {
  readonly name: string;
  readonly whole: LayoutInit;
  readonly part?: (whole: Layout) => Layout;
}

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

/** Where the elements lie is the same at both ends. */
export const LAYOUTS: readonly Case[] = [
  { name: "contiguous-layout-kept", run: (subject) => kept(subject, CONTIGUOUS) },
  { name: "strides-kept", run: (subject) => kept(subject, PADDED) },
  { name: "offsets-kept", run: (subject) => kept(subject, PARTS) },
  {
    name: "planes-kept",
    async run(subject) {
      // UV begins at 1080 × 1920 = 506 × 4096 + 1024: in the middle of a page, as no smaller power of two would show.
      const info = imageInfo({ format: "NV12", width: 1920, height: 1080, modifier: 0n, colour: { matrix: "bt709" } });
      using source = subject.source.allocateFrame(info);
      source.metadata.set("sequence", 7);
      await assertFrame(subject, source);
    },
  },
  {
    name: "separate-planes-kept",
    async run(subject) {
      const { source: from } = subject;
      const info = imageInfo({ format: "NV12", width: 64, height: 48 });
      const planes = [
        from.allocate({ shape: [48, 64], dtype: "u8" }),
        from.allocate({ shape: [24, 32, 2], dtype: "u8", rowAlign: 128 }),
      ];
      using source = Frame.of(planes, info);
      source.metadata.set("stream", "two blocks");
      await assertFrame(subject, source);
    },
  },
];

async function kept(subject: Subject, variants: readonly Variant[]): Promise<void> {
  for (const { name, whole, part } of variants) {
    using memory = subject.source.allocate(whole);
    using source = part === undefined ? memory.borrow("read-write") : memory.slice(part(memory.layout));
    await assertKept(subject, source, name);
  }
}

async function assertKept(subject: Subject, source: Tensor, name: string): Promise<void> {
  const { source: from, target: to } = subject;
  const there = random(source.layout.byteLength);
  const back = random(source.layout.byteLength);
  await from.write(source, there);
  {
    await using mapped = across(subject, source);
    assertSameLayout(mapped.layout, source.layout, name);
    assertElements(await to.read(mapped), there, source.layout, `${name}, at the target`);
    await to.write(mapped, back);
  }
  assertElements(await from.read(source), back, source.layout, `${name}, back at the source`);
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
