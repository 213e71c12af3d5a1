import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  host,
  imageInfo,
  LayoutError,
  MapperGraph,
} from "@samepage/interop";
import { ArrowExport, fromArrow, toArrow } from "@samepage/interop/arrow";
import { any, fails, open, say } from "../kit.ts";
import { type Failure, table } from "../row.ts";

const bytes = { shape: [64], dtype: "u8" } as const;
const contexts = [host];

const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => ({
  ...{ error: ArgumentError, api: "arrow", argument, message },
  ...(hint === undefined ? {} : { hint }),
});

export default table(import.meta, {
  "anything but a tensor": {
    run() {
      for (const given of [undefined, null, 1, {}, [], host, Frame, new Uint8Array(4)]) {
        fails(String(given), () => toArrow(any(given)), ArgumentError);
      }
      using tensor = host.allocate(bytes);
      toArrow(any(tensor.view()));
    },
    fails: wrong("given", /expected a tensor or a frame/, /host\.wrap\(\)/),
  },
  "options that are wrong": {
    run() {
      using tensor = host.allocate(bytes);
      for (const options of [null, 1, { as: 1 }, { as: "array" }, { name: "x" }, { names: ["x"] }]) {
        fails(JSON.stringify(options), () => toArrow(tensor, any(options)), ArgumentError);
      }
      toArrow(tensor, { as: any("array") });
    },
    fails: wrong("as", /expected one of "list", "tensor", got "array"/),
  },
  "names that are none": {
    run() {
      using frame = host.allocateFrame(imageInfo({ format: "YUV444", width: 4, height: 4 }));
      for (const names of ["xyz", [], ["a", "b"], ["a", "b", 3], {}]) {
        fails(JSON.stringify(names), () => toArrow(frame, { names: any(names) }), ArgumentError);
      }
      toArrow(frame, { names: ["y"] });
    },
    fails: wrong("names", /expected 3 strings/),
  },
  "a name with a zero inside": {
    run() {
      using frame = host.allocateFrame(imageInfo({ format: "YUV444", width: 4, height: 4 }));
      toArrow(frame, { names: ["y", "u\0", "v"] });
    },
    fails: wrong("names[1]", /has a zero inside/),
  },
  "more columns than a table has": {
    run() {
      using one = host.allocate({ shape: [4], dtype: "u8" });
      const column = { name: "x", dtype: "u8", shape: [] } as const;
      Frame.of([one], { type: "table", format: "mine", rows: 4, columns: new Array(65).fill(column) });
    },
    fails: { error: LayoutError, api: "core", argument: "columns", message: /at most 64, got 65/ },
  },
  "memory that Arrow has no name for": {
    opencl: true,
    run() {
      using cl = open();
      using buffer = cl.allocate(bytes);
      toArrow(buffer);
    },
    fails: wrong("given", /Arrow has no device for memory of opencl/, /graph\.map\(tensor, host\)/),
  },
  "rows with gaps": {
    run() {
      using tensor = host.allocate({ shape: [4, 3], dtype: "u8", rowAlign: 64 });
      toArrow(tensor);
    },
    fails: {
      error: LayoutError,
      api: "arrow",
      argument: "given",
      message: /gaps between/,
      hint: /Copy it to a layout/,
    },
  },
  "planes of several heights": {
    run() {
      using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 4, height: 4 }));
      toArrow(frame);
    },
    fails: {
      ...{ error: LayoutError, api: "arrow", argument: "given", message: /have 4 and 2 rows/ },
      hint: /frame\.planes\[0\]/,
    },
  },
  "a tensor that was disposed": {
    run() {
      const tensor = host.allocate(bytes);
      tensor[Symbol.dispose]();
      toArrow(tensor);
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "a tensor that is mapped for writing": {
    run() {
      using graph = new MapperGraph([host]);
      using tensor = host.allocate(bytes);
      using _mapped = graph.map(tensor, host);
      toArrow(tensor);
    },
    fails: { error: AccessError, api: "core", message: /lent/, hint: /Dispose that first/ },
  },
  "bytes that are written while a consumer has them": {
    run() {
      using tensor = host.allocate(bytes);
      using arrow = toArrow(tensor);
      say(arrow.deviceType, arrow.toString(), JSON.stringify(arrow));
      say(tensor.view({ access: "read" }).length);
      tensor.view();
    },
    says: ['1 host tensor [64] u8 for Arrow "host tensor [64] u8 for Arrow"', "64"],
    fails: { error: AccessError, api: "core", message: /lent/, hint: /Have its consumer release the ArrowArray/ },
  },
  "an export that is disposed twice": {
    run() {
      using tensor = host.allocate(bytes);
      const arrow = toArrow(tensor);
      arrow[Symbol.dispose]();
      arrow[Symbol.dispose]();
      say(arrow instanceof ArrowExport, String(arrow));
      tensor.view();
    },
    says: ["true host tensor [64] u8 for Arrow (disposed)"],
  },
  "addresses that are none": {
    run() {
      using tensor = host.allocate(bytes);
      using arrow = toArrow(tensor);
      for (const address of [undefined, null, 0, 4096, 0n, -1n, 2n ** 64n, {}, "0x1000"]) {
        fails(`${address} as a schema`, () => fromArrow(any(address), arrow.array, { contexts }), ArgumentError);
        fails(`${address} as an array`, () => fromArrow(arrow.schema, any(address), { contexts }), ArgumentError);
      }
      fromArrow(4096n, arrow.array, { contexts });
    },
    fails: {
      ...{ error: ArgumentError, api: "arrow", fn: "process_vm_readv", argument: "schema", message: /cannot be read/ },
      hint: /Is the memory still there/,
    },
  },
  "an array and a schema in each other's place": {
    run() {
      using tensor = host.allocate(bytes);
      using arrow = toArrow(tensor);
      fromArrow(arrow.array, arrow.schema, { contexts });
    },
    fails: wrong("schema", /it was released, or moved/, /export the array again/),
  },
  "structs that were taken before": {
    run() {
      using tensor = host.allocate(bytes);
      using arrow = toArrow(tensor);
      using _taken = fromArrow(arrow.schema, arrow.array, { contexts });
      fromArrow(arrow.schema, arrow.array, { contexts });
    },
    fails: wrong("schema", /it was released, or moved/, /export the array again/),
  },
  "contexts that are none": {
    run() {
      using tensor = host.allocate(bytes);
      using arrow = toArrow(tensor);
      for (const given of [undefined, null, host, "host", [1], [null], [{}]]) {
        fails(String(given), () => fromArrow(arrow.schema, arrow.array, { contexts: any(given) }), ArgumentError);
      }
      fails("no options", () => fromArrow(arrow.schema, arrow.array, any(undefined)), ArgumentError);
      fails("device", () => fromArrow(arrow.schema, arrow.array, { contexts, device: any(1) }), ArgumentError);
      fails("access", () => fromArrow(arrow.schema, arrow.array, { contexts, access: any("all") }), ArgumentError);
      fromArrow(arrow.schema, arrow.array, { contexts: [] });
    },
    fails: wrong("contexts", /memory is of ARROW_DEVICE_CPU, and none of them is for that/, /Pass host/),
  },
  "a tensor of fromArrow() that is written": {
    run() {
      using tensor = host.allocate(bytes);
      using arrow = toArrow(tensor);
      using again = fromArrow(arrow.schema, arrow.array, { contexts });
      if (host.is(again)) again.view({ access: "read-write" });
    },
    fails: {
      ...{ error: AccessError, api: "core", argument: "access", message: /lent for "read"/ },
      hint: /Ask for it when it is made/,
    },
  },
  "a table that others take for a picture": {
    run() {
      using columns = host.allocate({ shape: [4], dtype: "f32" });
      const info = {
        type: "table",
        format: "mine",
        rows: 4,
        columns: [{ name: "x", dtype: "f32", shape: [] }],
      } as const;
      for (
        const other of [
          { ...info, rows: 0 },
          { ...info, rows: 5 },
          { ...info, columns: [] },
          { ...info, columns: [{ name: 1, dtype: "f32", shape: [] }] },
          { ...info, columns: [{ name: "x", dtype: "f33", shape: [] }] },
          { ...info, columns: [{ name: "x", dtype: "f32", shape: [0] }] },
          { ...info, columns: [{ name: "x", dtype: "f32", shape: [], more: 1 }] },
          { ...info, format: 1 },
        ]
      ) fails(JSON.stringify(other), () => Frame.of([columns], any(other)), LayoutError, ArgumentError);
      using frame = Frame.of([columns], info);
      say(JSON.stringify(frame.info), frame.planes.length);
    },
    says: ['{"type":"table","format":"mine","rows":4,"columns":[{"name":"x","dtype":"f32","shape":[]}]} 1'],
  },
});
