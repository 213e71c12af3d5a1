/** The examples: a photograph that OpenCL and Python's libraries use in turn. */
import { assertEquals, assertMatch } from "@std/assert";
import { HERE } from "../opencl/help.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { deno } from "../process.ts";
import { lacking } from "./help.ts";

const missing = lacking("numpy") ?? (HERE.includes("pocl") ? undefined : "PoCL");

function example(name: string, lacks: string | undefined, args: readonly string[], lines: readonly RegExp[]): void {
  Deno.test({
    name: `example ${name}${lacks === undefined ? "" : ` (not here: ${lacks})`}`,
    ignore: lacks !== undefined,
    async fn() {
      const file = `examples/${name}/main.ts`;
      const { code, stdout, stderr } = await deno(["run", "-A", "--no-check", file, ...args]);
      assertEquals(code, 0, stdout + stderr);
      for (const line of [/^copied +0 bytes; .* where the tensors? lies?$/m, /^left +nothing/m, ...lines]) {
        assertMatch(stdout, line);
      }
    },
  });
}

example("numpy-histogram", missing, [], [/^224 +█{50} /m]);

const folder = Deno.makeTempDirSync();
example("torch-opencl-frame", missing ?? (hasOpenCV ? undefined : "OpenCV"), ["-", folder], [/^picture .*edges\.png/m]);
