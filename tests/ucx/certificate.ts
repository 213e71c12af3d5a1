/**
 * A certificate of localhost, made as the guide says.
 *
 * @module
 */
import { assert } from "@std/assert";
import { missing } from "./help.ts";

export const GUIDE = new URL("../../docs/guides/between-machines.md", import.meta.url);

const absent = missing ?? await (async () => {
  try {
    await new Deno.Command("openssl", { args: ["version"], stdout: "null" }).output();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "no openssl";
    throw error;
  }
})();

/** A test with a folder of its own, in which ring.crt and ring.key lie. */
export function certifiedTest(name: string, use: (folder: string) => Promise<void>): void {
  Deno.test({
    name: `${name}${absent === undefined ? "" : ` (not here: ${absent})`}`,
    ignore: absent !== undefined,
    async fn() {
      const folder = await Deno.makeTempDir();
      try {
        const [, line] = /```sh\n(openssl req .*)\n```/.exec(await Deno.readTextFile(GUIDE))!;
        const [program, ...args] = line.split(" ");
        const { success } = await new Deno.Command(program, { args, cwd: folder, stderr: "null" }).output();
        assert(success);
        await use(folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}
