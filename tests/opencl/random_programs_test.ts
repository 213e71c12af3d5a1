import { assertEquals } from "@std/assert";
import { layerEnv } from "../layer/mod.ts";
import { testEach, testPairs } from "./help.ts";
import { testLayered } from "./layered.ts";
import { runPrograms } from "./random_programs.ts";
import { linesOf } from "./subprocess.ts";

testPairs("random programs over two platforms leave the bytes that arithmetic gives", async (one, other) => {
  await runPrograms([one, other], 60);
});

testEach("random programs over one platform twice", async (platform) => {
  await runPrograms([platform, platform], 30);
});

testLayered("random programs on a device that has copies of its own", async () => {
  const lines = await linesOf(
    `
    const { runPrograms } = await import("${new URL("./random_programs.ts", import.meta.url)}");
    await runPrograms(["pocl", "pocl"], 70);
    console.log(JSON.stringify(ledger.alive));
  `,
    { env: layerEnv("map") },
  );
  assertEquals(lines, ["{}"]);
});
