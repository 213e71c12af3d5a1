import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { ConstantGroup, FunctionEntry, Library } from "../../ffi/generate/library.ts";
import { readModel } from "../../ffi/generate/read/mod.ts";
import { write } from "../../ffi/generate/write/mod.ts";
import { deno } from "../process.ts";
import { abiTest } from "./tools.ts";

/** A list over fixture.h. */
function fixture(parts: Partial<Library>): Library {
  return {
    name: "fixture",
    interface: "Fixture",
    headers: [new URL("fixture.h", import.meta.url).pathname],
    defines: {},
    functions: [],
    constants: [],
    errors: { type: "int", names: ["E_FIRST", "E_ALIAS"] },
    structs: [],
    ...parts,
  };
}

/** The lines of a generated file that hold `text`. */
async function lines(library: Library, file: string, text: string): Promise<string[]> {
  const written = (await write(library, await readModel(library))).get(file) ?? "";
  return written.split("\n").filter((line) => line.includes(text)).map((line) => line.trim());
}

abiTest("a function becomes a symbol with its prototype, and a typed method", async () => {
  const library = fixture({
    functions: [
      "widget_open",
      { name: "widget_open", as: "widget_open_later", nonblocking: true, optional: true },
      { name: "widget_paint", address: ["pixels"] },
      { name: "widget_log", variadic: { level: "int" } },
    ],
  });
  assertEquals(await lines(library, "symbols.ts", "widget_"), [
    "// Widget widget_open(const char *title, size_t count, const size_t *sizes, Colour colour)",
    'widget_open: { parameters: ["buffer", "usize", "buffer", "u32"], result: "u64" },',
    "// Widget widget_open(const char *title, size_t count, const size_t *sizes, Colour colour)",
    "widget_open_later: {",
    'name: "widget_open",',
    "// enum status widget_paint(Widget widget, void *pixels, void (*done)(Widget, void *), long long when)",
    'widget_paint: { parameters: ["u64", "u64", "u64", "i64"], result: "i32" },',
    "// void widget_log(Widget widget, const char *format, ...)",
    'widget_log: { parameters: ["u64", "buffer", "i32"], result: "void" },',
  ]);
  const methods = (await lines(library, "functions.ts", "widget_")).filter((line) => !line.startsWith("/**"));
  assertEquals(methods, [
    "widget_open(title: BufferSource | null, count: bigint, sizes: BufferSource | null, colour: number): Widget;",
    "readonly widget_open_later:",
    "widget_paint(widget: Widget, pixels: Address, done: Address, when: bigint): number;",
    "widget_log(widget: Widget, format: BufferSource | null, level: number): void;",
  ]);
  assertEquals(await lines(library, "handles.ts", "export"), ['export type Widget = Branded<"Widget">;']);
});

abiTest("a packed enum crosses as what stores it, for the rest of a register is open", async () => {
  assertEquals(await lines(fixture({ functions: ["widget_pace"] }), "symbols.ts", "widget_pace:"), [
    'widget_pace: { parameters: ["u64", "u16"], result: "i8" },',
  ]);
});

abiTest(
  "functions that no library exports get the same table, which says how it is taken; no error codes, no file",
  async () => {
    const { errors: _, ...withoutErrors } = fixture({ functions: ["widget_open"], byPointer: true });
    assertEquals(await lines(withoutErrors, "symbols.ts", "UnsafeFnPointer"), [
      "/** The functions, each as `new Deno.UnsafeFnPointer` takes it. */",
    ]);
    assertEquals(await lines(withoutErrors, "symbols.ts", "widget_open:"), [
      'widget_open: { parameters: ["buffer", "usize", "buffer", "u32"], result: "u64" },',
    ]);
    const files = await write(withoutErrors, await readModel(withoutErrors));
    assertEquals([...files.keys()].sort(), ["functions.ts", "handles.ts", "mod.ts", "symbols.ts"]);
  },
);

abiTest(
  "functions that a struct points to are read with the names of their parameters, and where they lie",
  async () => {
    const library = fixture({
      byPointer: true,
      table: "table",
      functions: [{ name: "paint", address: ["pixels"] }, "title", "close"],
      structs: [{ type: "struct table", fields: ["paint", "close"] }],
    });
    const methods = (await lines(library, "functions.ts", "):")).filter((line) => !line.startsWith("/**"));
    assertEquals(methods, [
      "paint(widget: Widget, pixels: Address, done: Address): number;",
      "title(arg0: Widget): Address;",
      "close(input: Widget): void;",
    ]);
    assertEquals(await lines(library, "structs.ts", "{ offset:"), [
      'paint: { offset: 8, type: "u64" },',
      'close: { offset: 24, type: "u64" },',
    ]);
  },
);

abiTest("a constant is a number or a bigint by the size of its C type", async () => {
  const library = fixture({
    constants: [
      { type: "unsigned int", names: ["LIMIT"] },
      { type: "unsigned long long", names: ["MASK"] },
      { type: "long", names: ["BOTTOM"] },
      { type: "Colour", names: ["COLOUR_*"] },
    ],
  });
  assertEquals(await lines(library, "constants.ts", "export"), [
    "export const LIMIT = 0xFFFFFFFF;",
    "export const MASK = 18446744073709551615n;",
    "export const BOTTOM: bigint = -5n;",
    "export const COLOUR_RED = 3;",
    "export const COLOUR_BLUE = 4;",
  ]);
  assertEquals(await lines(library, "errors.ts", "[E_"), ['[E_FIRST, "E_FIRST"],']);
});

abiTest("a struct gets its offsets, a reader and a writer", async () => {
  const library = fixture({ structs: ["Record"] });
  assertEquals(await lines(library, "structs.ts", "offset:"), [
    'owner: { offset: 0, type: "u64" },',
    'label: { offset: 8, type: "u64" },',
    'colour: { offset: 16, type: "u32" },',
    'tag: { offset: 20, type: "u8" },',
    'weight: { offset: 24, type: "f32" },',
    'on_close: { offset: 32, type: "u64" },',
    "export function readRecord(view: DataView, offset: number): Record {",
    "export function writeRecord(view: DataView, offset: number, value: Record): void {",
  ]);
  assertEquals(await lines(library, "structs.ts", "view.set"), [
    "view.setBigUint64(offset, value.owner, true);",
    "view.setBigUint64(offset + 8, value.label, true);",
    "view.setUint32(offset + 16, value.colour, true);",
    "view.setUint8(offset + 20, value.tag);",
    "view.setFloat32(offset + 24, value.weight, true);",
    "view.setBigUint64(offset + 32, value.on_close, true);",
  ]);
});

abiTest("a struct by value becomes Deno's, and a buffer for TypeScript; a long one is written in short", async () => {
  const library = fixture({
    functions: ["widget_move", "widget_stamp", "widget_turn"],
    byValue: ["Point", "Stamp", "struct matrix"],
  });
  assertEquals(await lines(library, "symbols.ts", "struct:"), [
    'const Point = { struct: ["i32", "f64"] } as const;',
    'const Stamp = { struct: Array<"u8">(16).fill("u8") } as const;',
    'const matrix = { struct: ["i32", "i32", "i32", "i32"] } as const;',
  ]);
  assertEquals(await lines(library, "symbols.ts", ": { parameters"), [
    'widget_move: { parameters: ["u64", Point], result: "void" },',
    'widget_stamp: { parameters: [Stamp], result: "void" },',
    'widget_turn: { parameters: [matrix], result: "void" },',
  ]);
  assertEquals(await lines(library, "functions.ts", "): void"), [
    "widget_move(widget: Widget, to: BufferSource): void;",
    "widget_stamp(stamp: BufferSource): void;",
    "widget_turn(by: BufferSource): void;",
  ]);
});

abiTest("a pointer to a const opaque struct is the same handle", async () => {
  const library = fixture({ functions: ["widget_close"] });
  assertEquals(await lines(library, "functions.ts", "):"), ["widget_close(widget: Widget): void;"]);
});

abiTest("of a struct that holds others the listed fields are measured: handles, pointers, numbers, bytes", async () => {
  const fields = [
    ["at_y", "at.y"],
    ["widget", "what.widget"],
    ["pixels", "what.plain.pixels"],
    ["pitch", "what.plain.pitch"],
    "all",
    ["turn_2", "turn.cells[2]"],
    ["name", "name[0]"],
  ] as const;
  const library = fixture({ structs: [{ type: "struct drawing", fields }] });
  assertEquals(await lines(library, "structs.ts", "{ offset:"), [
    'at_y: { offset: 8, type: "f64" },',
    'widget: { offset: 16, type: "u64" },',
    'pixels: { offset: 16, type: "u64" },',
    'pitch: { offset: 24, type: "i64" },',
    'all: { offset: 32, type: "u64" },',
    'turn_2: { offset: 48, type: "i32" },',
    'name: { offset: 56, type: "u8" },',
  ]);
  const typed = await lines(library, "structs.ts", ";");
  assertEquals(typed.filter((line) => /^\w+: [A-Z]/.test(line)), [
    "widget: Widget;",
    "pixels: Address;",
    "all: Address;",
  ]);
  assertEquals(await lines(library, "structs.ts", "size:"), ["size: 64,"]);
});

const refusedFunctions: [string | FunctionEntry, string][] = [
  ["widget_place", "widget_place: no FFI type for Point"],
  ["widget_move", "widget_move(to): no FFI type for Point"],
  ["widget_letter", "plain char by value"],
  ["widget_lost", "no header declares widget_lost"],
  ["widget_log", "which arguments follow"],
  [{ name: "widget_open", variadic: { level: "int" } }, "which arguments follow"],
  [{ name: "widget_open", address: ["titel"] }, "widget_open has no parameter titel"],
];
const refusedConstants: [ConstantGroup, string][] = [
  [{ type: "int", names: ["DIFFERS"] }, "DIFFERS differs between x86_64-linux-gnu and aarch64-linux-gnu"],
  [{ type: "int", names: ["LIMITS*"] }, 'no constant matches "LIMITS*"'],
  [{ type: "int", names: ["REMOVED"] }, 'no constant matches "REMOVED"'],
  [{ type: "int", names: ["VERSION"] }, 'no constant matches "VERSION"'],
  [{ type: "int", names: ["TITLE"] }, "TITLE"],
];
/** A list of one field of a struct. */
function drawing(field: string): Partial<Library> {
  return { structs: [{ type: "struct drawing", fields: [field] }] };
}

const refusals: [string, Partial<Library>, string][] = [
  ...refusedFunctions.map(([entry, message]) => (
    [JSON.stringify(entry), { functions: [entry] }, message] satisfies [string, Partial<Library>, string]
  )),
  ...refusedConstants.map(([group, message]) => (
    [group.names.join(), { constants: [group] }, message] satisfies [string, Partial<Library>, string]
  )),
  ["two errors with one code", { errors: { type: "int", names: ["E_*"] } }, "has the code of another error"],
  ["struct flags", { structs: ["struct flags"] }, "struct flags.on: bit-fields are not supported"],
  ["struct matrix", { structs: ["struct matrix"] }, "struct matrix.cells: no FFI type for int[4]"],
  ["a struct by value with bits", { functions: ["widget_flag"], byValue: ["struct flags"] }, "bit-fields are not"],
  ["a struct by value that holds another", { functions: ["widget_draw"], byValue: ["struct drawing"] }, "for Point"],
  ["an array as a field", drawing("name"), "struct drawing.name is neither a number nor a pointer"],
  ["a struct as a field", drawing("at"), "struct drawing.at is neither a number nor a pointer"],
  ["struct widget", { structs: ["struct widget"] }, "no header declares the fields of struct widget"],
  ["a table that there is not", { table: "widget" }, "no header declares the fields of struct widget"],
  ["a function that its table lacks", { table: "table", functions: ["version"] }, "no header declares version"],
];

for (const [what, parts, message] of refusals) {
  abiTest(`the generator refuses ${what}`, async () => {
    const error = await assertRejects(() => readModel(fixture(parts)), Error);
    assertStringIncludes(error.message, message);
  });
}

abiTest("a missing header is an error that says what installs it", async () => {
  const lacking = fixture({ headers: ["samepage/no-such-header.h"] });
  const error = await assertRejects(() => readModel(lacking), Error, "'samepage/no-such-header.h' file not found");
  assertStringIncludes(error.message, "A header is missing. Run `deno task setup` first.");
  const broken = fixture({ defines: { "int": "!" } });
  const other = await assertRejects(() => readModel(broken), Error, "clang refused the headers.");
  assertEquals(other.message.includes("setup"), false);
});

Deno.test("clang that is missing is named with what installs it", async () => {
  const main = new URL("../../ffi/generate/main.ts", import.meta.url).pathname;
  const { code, stderr } = await deno(["run", "-A", "-q", main, "--check", "libc"], { env: { PATH: "/nonexistent" } });
  assertEquals([code, stderr], [1, "libc: clang is not installed. Run `deno task setup` first.\n"]);
});

abiTest(
  "of structs that lie differently in each version only layouts are written, which say what is an address",
  async () => {
    const library = fixture({ structs: ["Record"], layoutsOnly: true });
    assertEquals(await lines(library, "structs.ts", "offset:"), [
      'owner: { offset: 0, type: "pointer" },',
      'label: { offset: 8, type: "pointer" },',
      'colour: { offset: 16, type: "u32" },',
      'tag: { offset: 20, type: "u8" },',
      'weight: { offset: 24, type: "f32" },',
      'on_close: { offset: 32, type: "pointer" },',
    ]);
    assertEquals(await lines(library, "structs.ts", "function"), []);
    assertEquals((await write(library, await readModel(library))).has("handles.ts"), false);
  },
);
