import { assert, assertEquals } from "@std/assert";
import { ArgumentError } from "@samepage/interop";
import type { OpenCLImageFormat } from "@samepage/interop/opencl";
import { sizeOf } from "../../src/core/layout/dtype.ts";
import { formatOf, formatOfCodes, PIXEL_FORMATS } from "../../src/opencl/images/format.ts";
import { open, test, testEach, thrown } from "./help.ts";

test("every format: a pixel of a power of two, known by its codes, one object", [], () => {
  assert(PIXEL_FORMATS.size > 80);
  for (const [name, format] of PIXEL_FORMATS) {
    const { order, type, elements, dtype, bytesPerPixel, orderCode, typeCode } = format;
    assertEquals(name, `${order} ${type}`);
    assertEquals(bytesPerPixel, elements * sizeOf(dtype));
    assert([1, 2, 4, 8, 16].includes(bytesPerPixel), `${name}: ${bytesPerPixel} bytes`);
    assert(formatOfCodes(orderCode, typeCode) === format && formatOf({ order, type }) === format);
  }
});

test("what some formats are", [], () => {
  const known: readonly (readonly [OpenCLImageFormat["order"], OpenCLImageFormat["type"], string, number, string])[] = [
    ["RGBA", "UNORM_INT8", "u8", 4, "f"],
    ["RGBA", "SNORM_INT16", "i16", 4, "f"],
    ["BGRA", "UNSIGNED_INT8", "u8", 4, "ui"],
    ["RG", "SIGNED_INT32", "i32", 2, "i"],
    ["R", "HALF_FLOAT", "f16", 1, "f"],
    ["LUMINANCE", "FLOAT", "f32", 1, "f"],
    ["RGB", "UNORM_SHORT_565", "u16", 1, "f"],
    ["RGBx", "UNORM_SHORT_555", "u16", 1, "f"],
    ["RGB", "UNORM_INT_101010", "u32", 1, "f"],
    ["RGBA", "UNORM_INT_101010_2", "u32", 1, "f"],
    ["DEPTH", "UNORM_INT16", "u16", 1, "f"],
    ["sBGRA", "UNORM_INT8", "u8", 4, "f"],
  ];
  for (const [order, type, ...expected] of known) {
    const { dtype, elements, access } = formatOf({ order, type });
    assertEquals([dtype, elements, access], expected, `${order} ${type}`);
  }
});

test("orders and types that do not go together, and anything but a format, are refused", [], () => {
  const pairs = [["RGB", "UNORM_INT8"], ["BGRA", "FLOAT"], ["DEPTH", "SIGNED_INT8"], ["RGBA", "UNORM_SHORT_565"]];
  for (const [order, type] of pairs) {
    const error = thrown(ArgumentError, () => formatOf({ order, type } as OpenCLImageFormat));
    assertEquals(error.argument, "format.type");
    assert(error.hint?.includes("takes"), error.hint);
  }
  for (const given of [{}, { order: "RGBA" }, { order: "toString", type: "FLOAT" }, { order: 5, type: null }]) {
    thrown(ArgumentError, () => formatOf(given as OpenCLImageFormat));
  }
  for (const given of [null, undefined, 5, "RGBA"]) thrown(ArgumentError, () => formatOf(given as never));
});

testEach("the device's formats are in the table; what it lacks is refused with what is near", (platform) => {
  using cl = open(platform);
  for (const type of ["1D", "2D", "3D", "1D array", "2D array"] as const) assert(cl.imageFormats(type).length > 10);
  thrown(ArgumentError, () => cl.imageFormats("4D" as never));
  const target = cl.image({ order: "RGB", type: "UNORM_SHORT_565" });
  const error = thrown(ArgumentError, () => target.allocate({ shape: [4, 4] }));
  assertEquals(error.argument, "format");
  assert(error.hint?.includes("R UNORM_INT16"), error.hint);
});

testEach("a target is one object for its format and kind", (platform) => {
  using cl = open(platform);
  const format = { order: "RGBA", type: "FLOAT" } as const;
  assert(cl.image(format) === cl.image({ ...format }));
  assert(cl.image(format) !== cl.image(format, { type: "2D" }));
  assert(cl.image(format, { type: "2D array" }) === cl.image(format, { type: "2D array" }));
  thrown(ArgumentError, () => cl.image(format, { type: "cube" as never }));
});
