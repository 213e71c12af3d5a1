// The programs of the guide, as they are written there.

import { assertEquals, assertNotEquals } from "@std/assert";
import { certifiedTest, GUIDE } from "./certificate.ts";
import { ucxTest } from "./help.ts";
import { SECRET, unusedPort } from "./ring_help.ts";

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

/** Shows what the camera has filmed. */
async function film(folder: string, address: string): Promise<void> {
  const camera = run(`${folder}/camera.ts`, address);
  let shown = "";
  while (shown === "") { // it may come before the camera listens
    shown = new TextDecoder().decode((await run(`${folder}/screen.ts`, address).output()).stdout);
  }
  assertEquals(shown, "1 1\n2 2\n3 3\n");
  assertEquals((await camera.output()).code, 0);
}

ucxTest("the guide's camera and screen hand frames on", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await writeFiles(folder);
    await film(folder, unusedPort());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

certifiedTest("the guide's camera and screen meet by TLS", async (folder) => {
  await writeFiles(folder);
  for (const name of ["camera.ts", "screen.ts"]) {
    const text = await Deno.readTextFile(`${folder}/${name}`);
    const changed = text.replace("ucx.rings({ secret })", "tlsRings(ucx, secret)");
    assertNotEquals(changed, text);
    await Deno.writeTextFile(`${folder}/${name}`, `import { tlsRings } from "./tls.ts";\n${changed}`);
  }
  await film(folder, `localhost:${unusedPort()}`);
});
