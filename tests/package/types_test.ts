// What the compiler says of a program that is wrong: the first thing it says is what is wrong.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { exec, ROOT, temporaryFolder } from "./project.ts";

const RIGHT = `
import { type Frame, host, type HostTensor, MapperGraph } from "@samepage/interop";
declare const tensor: HostTensor;
declare const frame: Frame<HostTensor>;
declare const either: HostTensor | Frame<HostTensor>;
using graph = new MapperGraph([host]);
const mapped: HostTensor = graph.map(tensor, host);
const planes: readonly HostTensor[] = graph.map(frame, host).planes;
const one: HostTensor | Frame<HostTensor> = graph.map(either, host, { access: "read" });
const nothing: void = await host.signal(Promise.resolve());
console.log(mapped, planes, one, nothing);
`;

/** Wrong lines, and how the compiler's messages begin. */
const WRONG = [
  [
    `graph.map(tensor, host, { acces: "read" });`,
    "Object literal may only specify known properties, but 'acces' does not exist in type 'MapOptions'. Did you mean",
  ],
  [
    `graph.map(frame, host, { kopy: "allow" });`,
    "Object literal may only specify known properties, and 'kopy' does not exist in type 'MapOptions'.",
  ],
  [
    `graph.map(new Uint8Array(4), host);`,
    "Argument of type 'Uint8Array<ArrayBuffer>' is not assignable to parameter of type 'Tensor<unknown> | Frame<",
  ],
  [
    `host.allocate({ shape: [4], dtype: "float32" });`,
    `Type '"float32"' is not assignable to type '"u8" | "i8" | "u16" | `,
  ],
] as const;

Deno.test("deno check of a wrong program says first what is wrong", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "program.ts");
  await Deno.writeTextFile(file, RIGHT + WRONG.map(([line]) => `${line}\n`).join(""));
  const { stderr } = await exec(Deno.execPath(), ["check", "--config", join(ROOT, "deno.json"), "--no-lock", file]);
  const said = stderr.split(/^TS\d+ \[ERROR\]: /m).slice(1);
  assertEquals(said.length, WRONG.length, stderr);
  for (const [i, [, message]] of WRONG.entries()) assertStringIncludes(said[i].split("\n")[0], message);
});
