// Regular files: written whole or not at all, read up to a limit; anything but a regular file is refused, and never
// waited for.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { isMissing, readRegularFile, writeRegularFile } from "../../src/core/files.ts";
import { noSmallDisk, onSmallDisk } from "../full_disk.ts";

function diskTest(name: string, byteLength: number, run: (folder: string) => void): void {
  Deno.test({
    name: noSmallDisk === undefined ? name : `${name} (skipped: needs ${noSmallDisk})`,
    ignore: noSmallDisk !== undefined,
    fn: () => onSmallDisk(byteLength, run),
  });
}

async function inFolder(run: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function namesIn(folder: string): string[] {
  return Deno.readDirSync(folder).map(({ name }) => name).toArray().sort();
}

function bytes(length: number, value: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).fill(value);
}

Deno.test("files: what was written is read, whatever was there before", () =>
  inFolder((folder) => {
    const path = `${folder}/file`;
    const lengths = [0, 1, 70_000, 3, 0, 5000, 5000];
    for (const [i, length] of lengths.entries()) {
      writeRegularFile(path, bytes(length, i));
      assertEquals(readRegularFile(path, length), bytes(length, i));
      if (length > 0) assertThrows(() => readRegularFile(path, length - 1), Error, `more than ${length - 1} bytes`);
    }
  }));

Deno.test("files: a symbolic link is followed, and stays", () =>
  inFolder((folder) => {
    Deno.writeFileSync(`${folder}/file`, bytes(10, 1));
    Deno.symlinkSync("file", `${folder}/link`);
    writeRegularFile(`${folder}/link`, bytes(3, 2));
    assertEquals(Deno.lstatSync(`${folder}/link`).isSymlink, true);
    assertEquals(Deno.readFileSync(`${folder}/file`), bytes(3, 2));
    assertEquals(readRegularFile(`${folder}/link`, 3), bytes(3, 2));
  }));

Deno.test("files: a file in /proc is read to its end, though its size is 0", () => {
  assertStringIncludes(new TextDecoder().decode(readRegularFile("/proc/self/status", 2 ** 20)), "\nVmRSS:");
  assertThrows(() => readRegularFile("/proc/self/status", 100), Error, "more than 100 bytes");
});

Deno.test("files: a FIFO, a device, a folder and nothing are refused at once, and nothing is made", () =>
  inFolder(async (folder) => {
    const fifo = `${folder}/fifo`;
    await new Deno.Command("mkfifo", { args: [fifo] }).output();
    for (const path of [fifo, "/dev/zero", "/dev/full", "/dev/null"]) {
      assertThrows(() => readRegularFile(path, 10), Error, "it is not a regular file");
      assertThrows(() => writeRegularFile(path, bytes(10, 1)), Error, "it is not a regular file");
    }
    // With somebody at its other end, a FIFO can be opened at once.
    using _both = Deno.openSync(fifo, { read: true, write: true });
    assertThrows(() => readRegularFile(fifo, 10), Error, "it is not a regular file");
    assertThrows(() => writeRegularFile(fifo, bytes(10, 1)), Error, "it is not a regular file");
    assertThrows(() => readRegularFile(folder, 10), Error, "it is not a regular file");
    assertThrows(() => writeRegularFile(folder, bytes(10, 1)), Error, "directory");
    const none = assertThrows(() => readRegularFile(`${folder}/none`, 10));
    assertEquals(isMissing(none), true);
    assertThrows(() => writeRegularFile(`${folder}/none/none`, bytes(10, 1)), Error, "no such file");
    assertEquals(namesIn(folder), ["fifo"]);
  }));

diskTest("files: on a full disk a new file is not left, and an old one is as it was", 16 * 4096, (folder) => {
  const [old, other] = [`${folder}/old`, `${folder}/new`];
  Deno.writeFileSync(old, bytes(5 * 4096, 1));
  const failed = assertThrows(() => writeRegularFile(other, bytes(14 * 4096, 2)), Error);
  assertStringIncludes(failed.message, "No space left on device");
  assertStringIncludes(failed.message, "no file is left");
  assertEquals(namesIn(folder), ["old"]);
  const again = assertThrows(() => writeRegularFile(old, bytes(20 * 4096, 2)), Error);
  assertStringIncludes(again.message, "the file is as it was");
  assertEquals(Deno.readFileSync(old), bytes(5 * 4096, 1));
  writeRegularFile(other, bytes(11 * 4096, 3)); // now it is full to the last byte
  writeRegularFile(old, bytes(5 * 4096, 4));
  assertEquals(Deno.readFileSync(old), bytes(5 * 4096, 4), "what has its bytes already needs no room");
});

diskTest(
  "files: where even the old bytes cannot be written over, the file is empty, and the error says so",
  8 * 4096,
  (folder) => {
    const sparse = `${folder}/sparse`;
    Deno.createSync(sparse).close();
    Deno.truncateSync(sparse, 32 * 4096); // a hole, which takes no room
    const failed = assertThrows(() => writeRegularFile(sparse, bytes(32 * 4096, 1)), Error);
    assertStringIncludes(failed.message, "the file is empty now");
    assertEquals(Deno.statSync(sparse).size, 0);
  },
);

Deno.test("files: permission to write one file is enough, and is needed", () =>
  inFolder(async (folder) => {
    const program = `
      import { writeRegularFile } from ${JSON.stringify(new URL("../../src/core/files.ts", import.meta.url).href)};
      for (const path of Deno.args) {
        for (const length of [5, 3]) {
          try {
            writeRegularFile(path, new Uint8Array(length));
            console.log("written");
          } catch (error) {
            console.log(error.name);
          }
        }
      }`;
    Deno.writeTextFileSync(`${folder}/main.ts`, program);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--no-prompt", "--no-check", "--no-lock", `--allow-write=${folder}/a`, `${folder}/main.ts`],
        ...[`${folder}/a`, `${folder}/b`],
      ],
    }).output();
    assertEquals(new TextDecoder().decode(stdout).trim().split("\n"), [
      ...["written", "written", "NotCapable", "NotCapable"],
    ]);
    assertEquals(namesIn(folder), ["a", "main.ts"]);
  }));
