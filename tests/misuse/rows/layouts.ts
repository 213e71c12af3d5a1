import { checkAlignment, host, layout, LayoutError, MapperGraph, region } from "@samepage/interop";
import { any, fails, open, safe, same, say } from "../kit.ts";
import { type Failure, type Rows, table } from "../row.ts";

const refused = (argument: string, message: RegExp, more: Partial<Failure> = {}): Failure => ({
  error: LayoutError,
  api: "core",
  argument,
  message,
  ...more,
});
const u8 = { dtype: "u8" } as const;

/** A size that no allocation can have, and what is said of it. */
const SIZES: readonly [size: unknown, message: RegExp][] = [
  [NaN, /expected a whole number below 2\^53, got NaN/],
  [Infinity, /a whole number below 2\^53, got Infinity/],
  [-1, /expected at least 1, got -1/],
  [0, /expected at least 1, got 0/],
  [1.5, /got 1\.5/],
  [2 ** 53, /got 9007199254740992/],
  [2 ** 64, /got 18446744073709552000/],
  ["16", /got "16"/],
  [16n, /got 16/],
];

const sizes: Rows = Object.fromEntries(SIZES.map(([size, message]) => [
  `a size of ${typeof size} ${size}`,
  { run: () => host.allocate({ shape: [4, any(size)], ...u8 }), fails: refused("shape[1]", message) },
]));

export default table(import.meta, {
  "layouts of a list, made by map() with its indices": {
    run() {
      const inits = [{ shape: [2], dtype: "u8" }, { shape: [3], dtype: "f32" }] as const;
      say(...inits.map(layout).map(({ byteLength }) => byteLength));
    },
    says: ["2 12"],
  },
  "a shape and a dtype, not named": {
    run: () => any<(...given: unknown[]) => void>(host.allocate.bind(host))([4], "u8"),
    fails: refused("init", /init: expected \{ shape, dtype \}, got an Array\.$/),
  },
  ...sizes,
  "strides of which one step does not cover the next dimension": {
    run: () => host.allocate({ shape: [4, 4], strides: [2, 1], ...u8 }),
    fails: refused("strides[0]", /2 is less than the 4 bytes that one step has to cover/, {
      hint: /Strides are in bytes/,
    }),
  },
  "a stride that is not a multiple of the element": {
    run: () => host.allocate({ shape: [4], strides: [6], dtype: "f32" }),
    fails: refused("strides[0]", /6 is not a multiple of the element's 4 bytes/, { hint: /Strides are in bytes/ }),
  },
  "fewer strides than dimensions": {
    run: () => host.allocate({ shape: [4, 4], strides: [4], ...u8 }),
    fails: refused("strides", /expected 2 strides/),
  },
  "negative strides": {
    run: () => host.allocate({ shape: [4], strides: [-1], ...u8 }),
    fails: refused("strides[0]", /expected at least 0, got -1/),
  },
  "strides and rowAlign at once": {
    run: () => host.allocate({ shape: [4], strides: [1], rowAlign: 64, ...u8 }),
    fails: refused("rowAlign", /not both/),
  },
  "a dtype that does not exist": {
    run: () => host.allocate({ shape: [4], dtype: any("u7") }),
    fails: refused("dtype", /expected a dtype, got "u7"/, { hint: /Use one of u8/ }),
  },
  "an offset within an element": {
    run: () => host.allocate({ shape: [4], dtype: "f64", byteOffset: 4 }),
    fails: refused("byteOffset", /4 is not a multiple of f64's 8 bytes/),
  },
  "sizes whose product passes 2^53": {
    run: () => layout({ shape: [2 ** 30, 2 ** 30], ...u8 }),
    fails: refused("shape[0]", /past 2\^53 bytes/),
  },
  "a region that reaches outside": {
    run: () => region(layout({ shape: [8, 8], ...u8 }), [4, 4], [4, 5]),
    fails: refused("shape[1]", /4 \+ 5 elements reach past the 8 of dimension 1/),
  },
  "a shape of four thousand million dimensions": {
    run: () => layout({ shape: new Array(2 ** 32 - 1), ...u8 }),
    fails: refused("shape", /at most 32 dimensions/),
  },
  "planes of sound by the fifty million": {
    run() {
      const sound = { type: "audio", format: "u8", sampleRate: 1, samples: 1, layout: "planar" } as const;
      for (const channels of [50_000_000, 2 ** 32, 2 ** 53 - 1]) {
        fails(String(channels), () => host.allocateFrame({ ...sound, channels }), LayoutError);
      }
    },
  },
  "an alignment that is not a power of two": {
    run: () => host.allocate({ shape: [4], ...u8, align: 48 }),
    fails: refused("align", /expected a power of two, got 48/),
  },
  "an alignment just beside a power of two": {
    run: () => host.allocate({ shape: [4], ...u8, align: 2 ** 49 + 1 }),
    fails: refused("align", /expected a power of two, got 562949953421313/),
  },
  "an alignment of 2^60": {
    run: () => safe("align", () => host.allocate({ shape: [4], ...u8, align: 2 ** 52 })),
  },
  "a rule of alignment that divides by zero": {
    run: () => checkAlignment(4096n, 64, { name: "x", address: 0, length: 64, advice: true, source: "" }),
    fails: refused("rule.address", /expected at least 1, got 0/),
  },
  "a tensor's layout, changed": {
    run() {
      using t = host.allocate({ shape: [64], ...u8 });
      const at = any(t.layout) as { byteOffset: number; strides: number[]; shape: number[] };
      for (const change of [() => at.byteOffset = 2 ** 30, () => at.strides[0] = 5, () => at.shape[0] = 1e9]) {
        try {
          change();
        } catch { /* frozen */ }
      }
      same("offset", t.layout.byteOffset, 0);
      t.view()[0] = 1;
    },
  },
  "a tensor's layout, changed before a device reads it": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate({ shape: [64], ...u8 });
      try {
        Object.assign(t.layout, { byteLength: 2 ** 30 });
      } catch { /* frozen */ }
      cl.queue.read(graph.map(t, cl), new Uint8Array(2 ** 30));
    },
    fails: {
      error: LayoutError,
      ...{ api: "opencl", argument: "into" },
      message: /expected the 64 bytes of .*, got 1073741824\./,
    },
  },
  "a forged layout": {
    run() {
      const forged: Readonly<Record<string, object>> = {
        "byteLength NaN": { byteLength: NaN },
        "byteLength negative": { byteLength: -8 },
        "byteLength 0": { byteLength: 0 },
        "byteLength short": { byteLength: 8 },
        "byteLength infinite": { byteLength: Infinity },
        "byteLength text": { byteLength: "8" },
        "byteOffset NaN": { byteOffset: NaN },
        "byteOffset fraction": { byteOffset: 0.5, shape: [4], byteLength: 4 },
        "byteOffset text": { byteOffset: "4", shape: [4], byteLength: 4 },
        "byteOffset bigint": { byteOffset: 4n },
        "dtype unknown": { dtype: "constructor" },
        "dtype wider": { dtype: "f64", byteLength: 7 },
        "strides negative": { strides: [-1] },
        "strides too many": { strides: [1, 1] },
        "shape none": { shape: undefined },
        "shape NaN": { shape: [NaN] },
        "outside": { byteOffset: 1 },
      };
      for (const [what, change] of Object.entries(forged)) {
        using t = host.allocate({ shape: [64], ...u8 });
        fails(what, () => t.slice({ ...t.layout, ...change }), LayoutError);
        t.slice(t.layout); // nothing stayed lent
      }
    },
  },
});
