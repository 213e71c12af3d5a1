import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError } from "@samepage/interop";
import { IMAGE_FORMATS, type ImageFormat } from "../../src/core/layout/frame_info.ts";
import { formats } from "../../src/gstreamer/formats.ts";
import { test } from "./open.ts";

test("formats.at() has the planes of each format of samepage's", () => {
  for (const format of Object.keys(IMAGE_FORMATS) as ImageFormat[]) {
    const found = formats.at(formats.numberOf(formats.nameOf(format)!)!, "format");
    assertEquals(formats.imageFormatOf(found, 16, 16), format);
    const planes = IMAGE_FORMATS[format].planes.map(({ dtype, elements, step, rows = step }) => (
      { dtype, elements, step, rows }
    ));
    assertEquals(found.planes.map(({ step, rows = step, ...rest }) => ({ ...rest, step, rows })), planes, format);
  }
});

test("formats.at() describes formats that samepage has no name for", () => {
  const planes = (name: string) =>
    formats.at(formats.numberOf(name)!, "format").planes.map((
      { dtype, elements, step, rows },
    ) => [dtype, elements, step, rows]);
  assertEquals(planes("I420_10LE"), [["u16", 1, 1, 1], ["u16", 1, 2, 2], ["u16", 1, 2, 2]]);
  assertEquals(planes("NV16"), [["u8", 1, 1, 1], ["u8", 2, 2, 1]]);
  assertEquals(planes("RGB16"), [["u16", 1, 1, 1]]);
  assertEquals(planes("v216"), [["u16", 4, 2, 1]]);
  assertEquals(planes("Y210"), [["u64", 1, 2, 1]], "GStreamer does not say where its values lie");
});

test("formats.at() refuses anything but an element in memory, with the reason", () => {
  const refused = (name: string, says: string) => {
    const error = assertThrows(() => formats.at(formats.numberOf(name)!, "format"), ArgumentError, says);
    assertEquals(error.argument, "format");
  };
  refused("NV12_64Z32", "its pixels lie in tiles");
  refused("v210", "its pixels are parts of words");
  refused("RGB8P", "colours of a palette");
  refused("GRAY16_BE", "big-endian");
  assertThrows(() => formats.at(9999, "format"), ArgumentError, "no pixel format 9999");
});
