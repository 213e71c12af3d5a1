// The arrows of ARCHITECTURE.md: mod.ts → src/<api> → src/core → ffi.

import { assert, assertEquals } from "@std/assert";
import { basename } from "@std/path";
import { circlesOf } from "./circles.ts";
import { filesUnder, type Import, importsOf, loadedBy } from "./modules.ts";

/** Rooms of src/ that are not an API; `src/host` is an API, the only one that mod.ts loads. */
const SHARED = [
  "src/core",
  "src/gl",
  "src/inference",
  "src/media",
  "src/spirv",
  "src/guard",
  "src/envelope",
  "src/advisor",
  "src/doctor",
  "src/pipeline",
];

const files = (await filesUnder("mod.ts", "backend.ts", "src", "ffi")).filter((file) =>
  !file.startsWith("ffi/generate/")
);
const apis = new Set(
  files.filter((file) => file.startsWith("src/")).map(folderOf).filter((it) => !SHARED.includes(it)),
);
const imports = await importsOf(files);

function folderOf(file: string): string {
  return file.split("/").slice(0, 2).join("/");
}

/** A file's room. What ffi/ says of one API (`ffi/opencl.ts`, `ffi/opencl/…`) is a room of its own, `ffi:src/opencl`. */
function roomOf(file: string): string {
  if (!file.startsWith("ffi/")) return folderOf(file);
  const api = `src/${file.split("/")[1].replace(/\.ts$/, "")}`;
  return apis.has(api) ? `ffi:${api}` : "ffi";
}

/** The rooms that a room may load code from. */
function codeFor(room: string): string[] {
  if (room.startsWith("ffi")) return ["ffi"];
  if (room === "src/core") return ["ffi"];
  if (room === "src/channel") return ["src/core", "ffi", "ffi:src/channel"];
  if (room === "src/envelope") return ["src/core"];
  if (room === "src/guard") return ["src/core", "src/envelope", "ffi"];
  if (room === "src/advisor") return ["src/core"];
  // deno.json says which version of samepage it is.
  if (room === "src/doctor") {
    return ["deno.json", ...dataOf(apis), "src/core", "src/guard", "src/advisor", ...apis];
  }
  if (room === "src/pipeline") return ["src/core", "src/host"];
  if (room === "src/python") return [...codeForApi(room), "src/dlpack", "ffi:src/dlpack"]; // its arrays cross by DLPack
  if (room === "src/ucx") return [...codeForApi(room), "src/channel"]; // its rings stand on the channel's
  if (room === "mod.ts") return ["src/core", "src/host", "ffi"];
  if (room === "backend.ts") return ["src/core", "src/host", "ffi"];
  if (room === "src/gl" || room === "src/spirv") return ["src/core"];
  if (room === "src/inference" || room === "src/media") return ["src/core", "ffi"];
  return codeForApi(room);
}

function codeForApi(room: string): string[] {
  const shared = ["src/core", "src/gl", "src/inference", "src/media", "src/spirv", "src/guard", "src/envelope"];
  return [...shared, "ffi", `ffi:${room}`];
}

/** What ffi/ says: of all, and of each API. */
function dataOf(of: ReadonlySet<string>): string[] {
  return ["ffi", ...[...of].map((api) => `ffi:${api}`)];
}

/** The rooms that a room may know as types besides. */
function typesFor(room: string): string[] {
  if (room === "src/advisor") return ["src/cuda"];
  if (room === "src/pipeline") return ["src/inference", ...apis]; // its stages work through the contexts they are given
  if (room === "src/opencv") return ["src/host", "src/opencl"]; // a UMat is OpenCL's memory
  return apis.has(room) && room !== "src/host" ? ["src/host"] : []; // an API's edges lead to the host and back
}

/** The only file of pipelines that loads APIs: those that it was asked for, when it runs. */
const COMMAND = "src/pipeline/command.ts";

function isAllowed({ from, to, typeOnly }: Import): boolean {
  const [room, other] = [roomOf(from), roomOf(to)];
  if (from === COMMAND && apis.has(other)) return true;
  return room === other || codeFor(room).includes(other) || (typeOnly && typesFor(room).includes(other));
}

Deno.test("rooms: every import follows the arrows", () => {
  const wrong = imports.filter((it) => !isAllowed(it));
  const lines = wrong.map((it) => `${it.from} imports ${it.typeOnly ? "the types of" : "the code of"} ${it.to}`);
  assertEquals(lines, []);
});

Deno.test("rooms: no two rooms import each other, directly or in a ring", () => {
  const arrows = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    const [room, other] = [roomOf(from), roomOf(to)];
    if (room !== other) arrows.set(room, (arrows.get(room) ?? new Set()).add(other));
  }
  const visit = (room: string, path: string[]): void => {
    assert(!path.includes(room), `a ring of rooms: ${[...path, room].join(" → ")}`);
    for (const next of arrows.get(room) ?? []) visit(next, [...path, room]);
  };
  for (const room of arrows.keys()) visit(room, []);
});

Deno.test("rooms: no files load each other in a circle", () => {
  assertEquals(circlesOf(imports.filter((it) => !it.typeOnly)), []);
});

/** The most files in a circle of imports, types included. */
const MAX_IN_A_CIRCLE = 12;

Deno.test("rooms: no circle of imports, types included, is larger than it may be", () => {
  // An edge sees its whole context, which loads it: no part of the context knows an edge. The contract has no code, and
  // names every part of the core as a type.
  const counted = imports.filter(({ from, typeOnly }) => !typeOnly || !/\/edges\/|\/contract\.ts$/.test(from));
  assertEquals(circlesOf(counted).filter((files) => files.length > MAX_IN_A_CIRCLE), []);
});

Deno.test("rooms: in an API's room, only its mod.ts loads the class of its context", () => {
  const wrong = imports.filter(({ from, to, typeOnly }) =>
    !typeOnly && basename(to) === "context.ts" && roomOf(from) === roomOf(to) && apis.has(roomOf(to)) &&
    from !== `${roomOf(to)}/mod.ts`
  );
  assertEquals(wrong.map(({ from, to }) => `${from} loads ${to}`), []);
});

for (const entry of ["mod.ts", "backend.ts"]) {
  Deno.test(`rooms: ${entry} loads the code of no API but host`, () => {
    const rooms = new Set([...loadedBy(entry, imports)].map(roomOf));
    const foreign = [...rooms].filter((room) => apis.has(room.replace(/^ffi:/, "")) && !room.endsWith("src/host"));
    assertEquals(foreign, []);
  });
}

/** The files that each have one edge. */
const edges = files.filter((file) => /^src\/\w+\/edges\/\w+_to_\w+\.ts$/.test(file));

Deno.test("rooms: every edge that is written by hand is in the table of its API", () => {
  const tables = imports.filter((it) => /^src\/\w+\/edges\/mod\.ts$/.test(it.from) && !it.typeOnly);
  const listed = new Set(tables.map((it) => it.to));
  assertEquals(edges.filter((edge) => !listed.has(edge)), []);
});

Deno.test("rooms: the ends in an edge's name are folders of src/, or kinds of memory in one", () => {
  const ends = new Set(edges.flatMap((edge) => basename(edge, ".ts").split("_to_")));
  const isKnown = (end: string) => [...apis].some((api) => `src/${end}` === api || `src/${end}`.startsWith(`${api}_`));
  assertEquals([...ends].filter((end) => !isKnown(end)), []);
});
