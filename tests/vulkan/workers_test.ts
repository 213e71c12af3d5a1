/** Workers that are terminated while the driver waits for them on other threads. */
import { assertEquals } from "@std/assert";
import { deno } from "../process.ts";
import { test } from "./help.ts";

test("a Worker may be terminated in the middle of its waits", async () => {
  const program = new URL("waits/main.ts", import.meta.url).pathname;
  const { code, stderr } = await deno(["run", "-A", "--no-check", program]);
  assertEquals([code, stderr], [0, ""]);
});
