// Structs that lie differently in each version of a library, and frames that come one after the other.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, imageInfo } from "@samepage/interop";
import type { Address } from "../../ffi/address.ts";
import { Checks } from "../../src/core/checks.ts";
import { assertSameKind, Timeline } from "../../src/core/layout/sequence.ts";
import { mapPages, PAGE, unmapPages } from "../../src/core/native/blocks.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { StructTypes } from "../../src/core/native/struct_type.ts";

const checks = new Checks("test");

const LAYOUTS = {
  Outer: { size: 48, align: 8, fields: { count: { offset: 0, type: "u8" }, inner: { offset: 16, type: "i32" } } },
  Inner: {
    size: 16,
    align: 8,
    fields: {
      id: { offset: 0, type: "i32" },
      flags: { offset: 4, type: "u32" },
      at: { offset: 8, type: "pointer" },
    },
  },
} as const;

Deno.test("StructTypes read and write fields where they lie, and the structs of a list within another", () => {
  const page = mapPages(0n as Address, PAGE);
  const struct = new StructTypes<typeof LAYOUTS>(() => LAYOUTS, "test");
  struct.change("Outer", page, { count: 2 });
  const inner = struct.within("Inner", struct.at("Outer", page).count, ["Outer", page, "inner"]);
  assertEquals(inner.map(({ address }) => Number(address - page)), [16, 32]);
  Object.assign(inner[1], { id: -1, flags: 0xffff_ffff, at: page });
  const view = viewAt(page, 48, "test");
  assertEquals([view.getUint8(0), view.getInt32(32, true), view.getUint32(36, true)], [2, -1, 0xffff_ffff]);
  assertEquals(view.getBigUint64(40, true), page);
  const copy = struct.type("Inner").copyOf(inner[1].address);
  inner[1].id = 7;
  assertEquals([copy.id, struct.type("Inner").copyOf(inner[1].address).id], [-1, 7]);
  assertEquals([struct.type("Outer").byteLength, struct.type("Inner").byteLength], [20, 16]);
  assertEquals(struct.type("Inner").in(new DataView(new ArrayBuffer(16))).at, 0n as Address);
  unmapPages(page, PAGE);
});

Deno.test("a Timeline has each frame later than the one before, in its own time", () => {
  const times = new Timeline(checks, [1, 25]);
  assertEquals(times.add({}, 1n), 0n);
  assertEquals(times.add({}, 2n), 1n);
  assertEquals(times.add({}, 1n), 3n);
  assertEquals(times.add({ pts: 9000n, timeBase: [1, 9000] }, 1n), 25n);
  assertEquals(times.add({ pts: 5n }, 1n), 26n); // without a time base it says nothing
  const error = assertThrows(() => times.add({ pts: 104n, timeBase: [1, 100] }, 1n), ArgumentError);
  const what = "frame: the frame is shown at 26, and the one before at 26, of 1/25 seconds.";
  assertStringIncludes(error.message, what);
  assertEquals(times.add({}, 1n), 27n);
});

Deno.test("assertSameKind() compares formats and sizes, and not what a frame says besides", () => {
  const [first, other] = [64, 32].map((width) => imageInfo({ format: "GRAY8", width, height: 8 }));
  assertSameKind(checks, { ...first, media: { pts: 3n } }, first);
  const error = assertThrows(() => assertSameKind(checks, other, first), ArgumentError);
  assertStringIncludes(error.message, "frame: expected GRAY8 64 × 8, as the first frame was, got GRAY8 32 × 8.");
  const sound = {
    type: "audio",
    format: "f32",
    layout: "planar",
    channels: 2,
    samples: 10,
    sampleRate: 48000,
  } as const;
  assertSameKind(checks, { ...sound, samples: 20 }, sound);
  assertThrows(() => assertSameKind(checks, { ...sound, channels: 1 }, sound), ArgumentError, "of 2 channels");
});
