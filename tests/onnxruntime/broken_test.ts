/** Models with wrong bytes: `BROKEN_MODELS=200` tries as many; CI a few. */
import { assert, assertEquals } from "@std/assert";
import { deno } from "../process.ts";
import { test } from "./open.ts";

const COUNT = Number(Deno.env.get("BROKEN_MODELS") ?? 20);

test(`compile() and run() of ${COUNT} broken models run, or fail with typed errors`, async () => {
  const program = new URL("broken.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await deno(["run", "-A", "--no-check", "-q", program, "0", `${COUNT}`]);
  assertEquals(code, 0, `${stdout.slice(-200)}\n${stderr}`);
  const outcomes = stdout.split("\n").filter((line) => /^\d+ \w+$/.test(line) && !line.endsWith("begins"));
  assertEquals(outcomes.length, COUNT);
  assert(outcomes.some((line) => line.endsWith("ran")) && outcomes.some((line) => line.endsWith("NativeCallError")));
});
