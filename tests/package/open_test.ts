// What opens a context names its argument as its signature does, and the property that it does not know.

import { assertEquals } from "@std/assert";
import { ArgumentError } from "../../mod.ts";
import { entryPoints } from "../misuse/run.ts";

Deno.test("open() and openSync() name their argument and the unknown property", async () => {
  const opened: string[] = [];
  for (const exports of Object.values(await entryPoints())) {
    for (const [name, value] of Object.entries(exports)) {
      for (const method of ["open", "openSync"]) {
        const open = typeof value === "function" ? Reflect.get(value, method) : undefined;
        const [, parameter] = typeof open === "function" ? /^[^(]*\((\w+) = \{\}/.exec(String(open)) ?? [] : [];
        if (parameter === undefined) continue;
        const error = await Promise.try(() => open.call(value, { nosuch: 1 })).then(() => undefined, (error) => error);
        const { argument, message } = error instanceof ArgumentError ? error : {};
        assertEquals([argument, message?.split(". ")[0]], [parameter, `${parameter}: unknown property nosuch`], name);
        opened.push(name);
      }
    }
  }
  assertEquals(opened.includes("OpenCLContext") && opened.includes("GStreamerContext"), true);
});
