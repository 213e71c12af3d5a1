/** The line of long work, in terminals of the `script` program. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { runModule } from "../process.ts";

const WORK = `
  import { Progress } from "./src/core/progress.ts";
  import { undoAll } from "./src/core/life/undo.ts";
  const [undo, second] = [[], []];
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
`;

/** What a module shows in a terminal, drawing by drawing. */
async function shownIn(columns: number, text: string): Promise<string[]> {
  const { code, stdout } = await runModule(WORK + text, { columns });
  assertEquals(code, 0, stdout);
  return stdout.split("\r\x1b[K");
}

Deno.test("Progress draws one line, ten times a second at most, and ends it", async () => {
  const [first, ...drawn] = await shownIn(
    80,
    `
    const progress = Progress.of(true, undo);
    const begin = performance.now();
    for (let i = 0; i < 100; i++) {
      progress.add((i + 1) / 200);
      await pause(4);
    }
    undoAll(undo, "ending");
    console.log((performance.now() - begin) / 1000);
  `,
  );
  assertEquals(first, "");
  const [last, seconds] = drawn.pop()!.split("\r\n");
  assertMatch(last, /^█{10}░{10} 50 %, 100 frames, \d+\.\d a second, 0:\d\d left$/);
  const left = Number(last.slice(-7, -5)); // as long again, in whole seconds
  assert(left > 0 && left <= Math.ceil(Number(seconds)) + 1, `${last}, after ${seconds} s`);
  assert(drawn.length >= 3 && drawn.length <= 10 * Number(seconds) + 1, `${drawn.length} in ${seconds} s`);
  for (const line of drawn) assert(!line.includes("\n"), line);
});

Deno.test("Progress shows how many of the frames are done, where the program has said how many come", async () => {
  const drawn = await shownIn(80, `Progress.of({ frames: 4 }, undo).add(); undoAll(undo, "ending");`);
  assertMatch(drawn.at(-1)!, /^█{5}░{15} 25 %, 1 frames, /);
});

Deno.test("Progress shows no part of an unknown whole", async () => {
  const drawn = await shownIn(80, `Progress.of(true, undo).add(); undoAll(undo, "ending");`);
  assertMatch(drawn.at(-1)!, /^1 frames, \d+\.\d a second\r\n$/);
});

Deno.test("Progress draws one line at a time", async () => {
  const drawn = await shownIn(
    80,
    `
    performance.now = () => 5000; // less than a tenth of a second goes by
    const [progress, third] = [[Progress.of(true, undo), Progress.of(true, second)], []];
    Progress.of(true, third);
    for (let i = 0; i < 2; i++) progress[0].add();
    for (let i = 0; i < 40; i++) progress[1].add();
    undoAll(third, "ending");
    undoAll(undo, "ending");
    progress[1].add();
    undoAll(second, "ending");
  `,
  );
  assertEquals(drawn.map((line) => line.split(" ")[0]), ["", "1", "2", "41", "41"]);
});

Deno.test("Progress keeps to one line of a narrow terminal", async () => {
  const drawn = await shownIn(24, `Progress.of(true, undo).add(0.5); undoAll(undo, "ending");`);
  for (const line of drawn) assert(line.trimEnd().length <= 23, line);
});

Deno.test("Progress writes nothing where stderr is not a terminal, nor unless it is asked for", async () => {
  const drawn = await shownIn(
    80,
    `
    if (Deno.args.length === 0) { // stdout is a terminal, and stderr is not
      const args = ["run", "-A", "--no-check", import.meta.filename, "child"];
      const { stderr } = await new Deno.Command(Deno.execPath(), { args, stdout: "inherit", stderr: "piped" }).output();
      console.log(JSON.stringify(new TextDecoder().decode(stderr)));
    } else {
      Progress.of(true, undo)?.add(0.5);
      undoAll(undo, "ending");
    }
    Progress.of(false, undo)?.add(0.5);
  `,
  );
  assertEquals(drawn, ['""\r\n']);
});

Deno.test("Progress goes on where its terminal is gone", async () => {
  const path = await Deno.makeTempFile();
  try {
    await runModule(
      `
      ${WORK}
      Deno.addSignalListener("SIGHUP", () => {});
      const progress = Progress.of(true, undo);
      progress.add(0.5);
      Deno.kill(Deno.ppid, "SIGKILL"); // \`script\`, whose terminal it is
      await pause(200);
      progress.add(0.5);
      undoAll(undo, "ending");
      Deno.writeTextFileSync(${JSON.stringify(path)}, "went on");
      Deno.exit();
    `,
      { columns: 80 },
    );
    for (let i = 0; i < 3000 && await Deno.readTextFile(path) === ""; i++) await new Promise((r) => setTimeout(r, 10));
    assertEquals(await Deno.readTextFile(path), "went on");
  } finally {
    await Deno.remove(path);
  }
});
