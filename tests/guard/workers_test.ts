/** Exceptions in several threads at a time, and in one that is ended meanwhile. */
import { assertEquals } from "@std/assert";
import { runModule } from "../process.ts";
import { guardTest, throwing } from "./cxx.ts";

const OPEN = (path: string) => `
  import { lazyLibrary } from "./src/core/native/library.ts";
  import { guarded } from "./src/guard/guard.ts";
  const symbols = {
    throwAs: { parameters: ["i32"], result: "i32" },
    countAlive: { parameters: [], result: "i32" },
  };
  const link = guarded();
  const lib = lazyLibrary({ api: "workers", candidates: [${JSON.stringify(path)}], symbols, hint: "", link })();
  const images = () => new Set(
    Deno.readTextFileSync("/proc/self/maps").split("\\n").filter((line) => line.includes("samepage-guard-"))
      .map((line) => line.split(/\\s+/)[4]),
  ).size;
  const names = { 1: "int", 2: "it broke", 6: "hidden" };
  function throwMany(how, count) {
    for (let i = 0; i < count; i++) {
      try {
        lib.throwAs(how);
      } catch (error) {
        if (error.name === "NativeCallError" && error.message.includes(names[how])) continue;
        throw error;
      }
      throw new Error("nothing was thrown");
    }
    return count;
  }
`;

guardTest("two Workers and the main thread throw at a time, each its own, through one image", async () => {
  const { stdout, stderr, code } = await runModule(`
    ${OPEN(await throwing())}
    if (self.name !== "") {
      self.onmessage = ({ data }) => self.postMessage(throwMany(data, 20_000));
    } else {
      const workers = [1, 2].map((how) => new Worker(import.meta.url, { type: "module", name: "w" + how }));
      const done = workers.map((worker, i) => new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = reject;
        worker.postMessage(i + 1);
      }));
      const mine = throwMany(6, 20_000);
      console.log(mine, ...await Promise.all(done), images());
      workers.forEach((worker) => worker.terminate());
      console.log(throwMany(2, 100));
    }
  `);
  assertEquals([stdout, stderr, code], ["20000 20000 20000 1\n100\n", "", 0]);
});

guardTest("a Worker that is terminated while it throws does no harm, and its image serves the next", async () => {
  const { stdout, stderr, code } = await runModule(
    `
    ${OPEN(await throwing())}
    if (self.name !== "") {
      throwMany(2, 100);
      self.postMessage("throwing");
      // Now and then it lets go: Deno ends no Worker that is in a loop of its own.
      for (;;) await new Promise((resolve) => setTimeout(resolve, 0, throwMany(2, 50)));
    } else {
      for (let i = 0; i < 8; i++) {
        const worker = new Worker(import.meta.url, { type: "module", name: "w" + i });
        await new Promise((resolve, reject) => {
          worker.onmessage = resolve;
          worker.onerror = reject;
        });
        throwMany(6, 500 + 100 * i);
        worker.terminate();
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
      console.log(throwMany(1, 1000), images());
    }
  `,
  );
  assertEquals([stdout, stderr, code], ["1000 1\n", "", 0]);
});

guardTest("the image outlives the Worker that has made it", async () => {
  const { stdout, stderr, code } = await runModule(`
    if (self.name !== "") {
      ${OPEN(await throwing()).replaceAll(/import \{ (.*) \} from (".*");/g, "const { $1 } = await import($2);")}
      self.postMessage([throwMany(2, 100), images()].join());
    } else {
      for (let i = 0; i < 3; i++) {
        const worker = new Worker(import.meta.url, { type: "module", name: "w" + i });
        console.log(await new Promise((resolve, reject) => {
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = reject;
        }));
        worker.terminate();
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  `);
  assertEquals([stdout, stderr, code], ["100,1\n100,1\n100,1\n", "", 0]);
});
