// The two files that the guide begins with.

import { assertEquals } from "@std/assert";
import { ucxTest } from "./help.ts";
import { SECRET, unusedPort } from "./ring_help.ts";

const GUIDE = new URL("../../docs/guides/between-machines.md", import.meta.url);

function run(file: string, socket: string): Deno.ChildProcess {
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const args = ["run", "-A", "--no-check", `--config=${config}`, file, socket];
  return new Deno.Command(Deno.execPath(), { args, stdout: "piped", env: { NO_COLOR: "1", CAMERA_SECRET: SECRET } })
    .spawn();
}

async function writeFiles(folder: string): Promise<void> {
  const blocks = (await Deno.readTextFile(GUIDE)).matchAll(/```ts ignore\n\/\/ (\w+\.ts)\n([^]*?)```/g);
  for (const [, name, text] of blocks) await Deno.writeTextFile(`${folder}/${name}`, text);
}

ucxTest("the guide's two files share a picture, and read it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await writeFiles(folder);
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

ucxTest("the guide's camera and screen hand frames on", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await writeFiles(folder);
    const port = unusedPort();
    const camera = run(`${folder}/camera.ts`, port);
    const screen = async () => (await run(`${folder}/screen.ts`, port).output()).stdout;
    let shown = "";
    while (shown === "") shown = new TextDecoder().decode(await screen()); // it may come before the camera listens
    assertEquals(shown, "1 1\n2 2\n3 3\n");
    assertEquals((await camera.output()).code, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
