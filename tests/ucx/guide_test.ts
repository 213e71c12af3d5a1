// The two files that the guide begins with.

import { assertEquals } from "@std/assert";
import { ucxTest } from "./help.ts";

const GUIDE = new URL("../../docs/guides/between-machines.md", import.meta.url);

function run(file: string, socket: string): Deno.ChildProcess {
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const args = ["run", "-A", "--no-check", `--config=${config}`, file, socket];
  return new Deno.Command(Deno.execPath(), { args, stdout: "piped", env: { NO_COLOR: "1" } }).spawn();
}

ucxTest("the guide's two files share a picture, and read it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const blocks = [...(await Deno.readTextFile(GUIDE)).matchAll(/```ts ignore\n\/\/ (\w+\.ts)\n([^]*?)```/g)];
    for (const [, name, text] of blocks) await Deno.writeTextFile(`${folder}/${name}`, text);
    const socket = `${folder}/picture`;
    const share = run(`${folder}/share.ts`, socket);
    while (!await Deno.stat(socket).then(() => true, () => false)) await new Promise((done) => setTimeout(done, 20));
    const read = await run(`${folder}/read.ts`, socket).output();
    assertEquals(new TextDecoder().decode(read.stdout), "7 [ 1080, 1920, 4 ]\n");
    assertEquals([read.code, (await share.output()).code], [0, 0]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
