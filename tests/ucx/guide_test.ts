// The programs of the guide, as they are written there.

import { assertEquals, assertNotEquals } from "@std/assert";
import { certifiedTest, GUIDE } from "./certificate.ts";
import { ucxTest } from "./help.ts";
import { networkTest } from "./network.ts";
import { SECRET, unusedPort } from "./ring_help.ts";

/** `before` is what it is started by, such as `ip netns exec NAME`. */
function run(file: string, socket: string, before: readonly string[] = []): Deno.ChildProcess {
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const [command, ...rest] = [...before, Deno.execPath(), "run", "-A", "--no-check", `--config=${config}`];
  const env = { NO_COLOR: "1", CAMERA_SECRET: SECRET };
  return new Deno.Command(command, { args: [...rest, file, socket], stdout: "piped", env }).spawn();
}

async function writeFiles(folder: string): Promise<void> {
  const blocks = (await Deno.readTextFile(GUIDE)).matchAll(/```ts ignore\n\/\/ (\w+\.ts)\n([^]*?)```/g);
  for (const [, name, text] of blocks) await Deno.writeTextFile(`${folder}/${name}`, text);
}

type Befores = readonly [owner: readonly string[], reader: readonly string[]];

/** Reads the picture that another process shares. */
async function readPicture(folder: string, [owner, reader]: Befores = [[], []]): Promise<void> {
  const socket = `${folder}/picture`;
  const share = run(`${folder}/share.ts`, socket, owner);
  while (!await Deno.stat(socket).then(() => true, () => false)) await new Promise((done) => setTimeout(done, 20));
  const read = await run(`${folder}/read.ts`, socket, reader).output();
  assertEquals(new TextDecoder().decode(read.stdout), "7 [ 1080, 1920, 4 ]\n");
  assertEquals([read.code, (await share.output()).code], [0, 0]);
}

ucxTest("the guide's two files share a picture, and read it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await writeFiles(folder);
    await readPicture(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Shows what the camera has filmed. */
async function film(folder: string, address: string, [owner, reader]: Befores = [[], []]): Promise<void> {
  const camera = run(`${folder}/camera.ts`, address, owner);
  let shown = "";
  while (shown === "") { // it may come before the camera listens
    shown = new TextDecoder().decode((await run(`${folder}/screen.ts`, address, reader).output()).stdout);
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

networkTest("the guide's files run on two machines, as their comments say", 2, async (network) => {
  const folder = await Deno.makeTempDir();
  try {
    await writeFiles(folder);
    for (const name of ["share.ts", "read.ts", "camera.ts", "screen.ts"]) {
      const text = await Deno.readTextFile(`${folder}/${name}`);
      const changed = text.replace(/open\(\); \/\/ for another machine: (\{.*\})/, "open($1);");
      assertNotEquals(changed, text);
      await Deno.writeTextFile(`${folder}/${name}`, changed);
    }
    const tcp = ["env", "UCX_TLS=tcp"]; // two machines have no memory in common
    const machines: Befores = [[...network.on(0), ...tcp], [...network.on(1), ...tcp]];
    await readPicture(folder, machines);
    await film(folder, "10.83.7.1:7000", machines);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
