// How guests boot, and what becomes of one that hangs.

import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { GuestError, noGuest, readInit, runInGuest } from "../guest/guest.ts";
import { inOrder } from "../guest/initrd.ts";

const missing = await noGuest();

function guestTask(name: string, fn: (folder: string) => Promise<void>): void {
  Deno.test({
    name: `guest task: ${name}${missing === undefined ? "" : ` (skipped: needs ${missing})`}`,
    ignore: missing !== undefined,
    fn: async () => {
      const folder = await Deno.makeTempDir({ prefix: "samepage-guest-" });
      try {
        await fn(folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

/** An init with a line of shell before it says that it is up, or before all else. */
async function planted(line: string, before = 'echo "guest: up"'): Promise<string> {
  return (await readInit()).replace(before, (found) => `${line}\n${found}`);
}

guestTask("a command has this machine's files, a folder to write to and its exit code", async (folder) => {
  let output = "";
  const command = `test -f ${import.meta.filename} && echo "$WORD" && touch gone && pwd | tee ${folder}/kept; exit 7`;
  const code = await runInGuest(command, folder, { env: { WORD: "it's here" }, print: (text) => output += text });
  assertEquals(code, 7);
  assertStringIncludes(output, `it's here\n${Deno.cwd()}\n`);
  assertEquals(await Deno.readTextFile(`${folder}/kept`), `${Deno.cwd()}\n`);
  await assertRejects(() => Deno.stat("gone"), Deno.errors.NotFound);
});

guestTask("a boot that hangs is killed and named, and tried once more", async (folder) => {
  let output = "";
  const init = await planted('[ -e "/root$folder/again" ] || sleep 1000');
  const print = (text: string) => {
    if (text.startsWith("guest: boot 1 of 2")) Deno.writeTextFileSync(`${folder}/again`, "");
    output += text;
  };
  const code = await runInGuest("true", folder, { init, bootLimits: [2, 240], print });
  assertEquals(code, 0);
  assertStringIncludes(output, "guest: boot 1 of 2 hung: killed after 2 s; it said:\n");
});

guestTask("a guest that hangs twice, or ends before it is up, is an error", async (folder) => {
  const faults = [
    { line: "sleep 1000", bootLimits: [1, 1], how: "hung: killed after 1 s" },
    { line: "exit 1", bootLimits: [240, 240], how: "ended before it was up" },
  ];
  for (const { line, bootLimits, how } of faults) {
    let output = "";
    const init = await planted(line, "set -e\n");
    const options = { init, bootLimits, print: (text: string) => output += text };
    await assertRejects(() => runInGuest("true", folder, options), GuestError, "the guest did not come up in 2 boots");
    assertStringIncludes(output, `guest: boot 1 of 2 ${how}`);
    assertStringIncludes(output, `guest: boot 2 of 2 ${how}`);
  }
});

guestTask("a command that does not end is killed with its guest", async (folder) => {
  const options = { limit: 2, print: () => {} };
  await assertRejects(
    () => runInGuest("sleep 1000", folder, options),
    GuestError,
    "the guest's command did not end within 2 s: killed",
  );
});

Deno.test("guest task: a module loads after those that it needs, once", () => {
  const dependencies = `kernel/a.ko.xz:
kernel/sub/b-b.ko.xz: kernel/a.ko.xz
kernel/sub/c.ko.xz: kernel/sub/b-b.ko.xz kernel/a.ko.xz
`;
  assertEquals(inOrder(dependencies, ["b_b", "c"]), ["kernel/a.ko.xz", "kernel/sub/b-b.ko.xz", "kernel/sub/c.ko.xz"]);
  assertThrows(() => inOrder(dependencies, ["b"]), Error, 'expected a module of the guest\'s kernel, got "b"');
});
