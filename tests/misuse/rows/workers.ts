import { host } from "@samepage/interop";
import { busy } from "../busy.ts";
import { open, say, sleep } from "../kit.ts";
import { table } from "../row.ts";

/** What a Worker says first, or what ended it. */
function answer(worker: Worker): Promise<string> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      resolve(event.message);
    };
  });
}

/** Starts a program of `workers/` on this row's driver. */
function start(name: "busy" | "whole" | "throws"): Worker {
  const worker = new Worker(new URL(`../workers/${name}.ts`, import.meta.url), { type: "module" });
  worker.postMessage(Deno.args[1]);
  return worker;
}

const flags = ["--allow-ffi", "--allow-read"]; // a Worker's module is read

export default table(import.meta, {
  "terminated with live maps, pending events and a lend": {
    alone: true,
    opencl: true,
    flags,
    async run() {
      for (let i = 0; i < 2; i++) {
        const worker = start("busy");
        say(await answer(worker));
        worker.terminate();
      }
      const { cl, source, mapped } = busy(open());
      await sleep(300);
      await mapped[Symbol.asyncDispose]();
      say(source.view().every((byte) => byte === 8));
      source[Symbol.dispose]();
      cl[Symbol.dispose]();
    },
    says: ["running", "running", "true"],
  },
  "three at once, each with a context of its own": {
    opencl: true,
    flags,
    async run() {
      const answers = [0, 1, 2].map(() => answer(start("whole")));
      for (const each of answers) say(await each);
    },
    says: ["true {}", "true {}", "true {}"],
  },
  "terminated in the middle of waits, where nothing else has opened the library": {
    opencl: true,
    faultsAtExit: "Portable", // rows/exits.ts has the evidence: where the machine is busy, the kernel may be at work still
    flags: ["--allow-all"], // Deno wants it for /proc
    async run() {
      const worker = start("busy");
      say(await answer(worker));
      worker.terminate();
      await sleep(500); // by then Deno has closed what the Worker had open
      say(/libOpenCL/.test(Deno.readTextFileSync("/proc/self/maps"))); // its waits are in there
    },
    says: ["running", "true"],
  },
  "an error in the middle of a Worker's work": {
    alone: true,
    opencl: true,
    flags,
    async run() {
      say(/the Worker's own/.test(await answer(start("throws"))));
      const { cl, source, mapped } = busy(open());
      await mapped[Symbol.asyncDispose]();
      source[Symbol.dispose]();
      cl[Symbol.dispose]();
    },
    says: ["true"],
    warns: /the Worker's own/,
  },
  "the process's end while a Worker is at work": {
    opencl: true,
    flags,
    faultsAtExit: true, // either driver: rows/exits.ts has the evidence
    async run() {
      say(await answer(start("busy")));
      Deno.exit(0);
    },
    says: ["running"],
  },
  "a view moved to a Worker": {
    flags,
    async run() {
      const t = host.allocate({ shape: [4096], dtype: "u8" });
      const text = "onmessage = ({ data }) => { data[0] = 1; postMessage(data.length); };";
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })), { type: "module" });
      const view = t.view();
      worker.postMessage(view, [view.buffer]);
      t[Symbol.dispose]();
      say(await answer(worker));
      worker.terminate();
    },
    says: ["4096"],
    warns: /moved away with transfer\(\) or postMessage; its memory is kept for good/,
  },
  "a tensor, posted": {
    run() {
      using t = host.allocate({ shape: [64], dtype: "u8" });
      try {
        structuredClone(t);
      } catch (error) {
        return say((error as Error).name); // JavaScript's own: it has a private life
      }
      say("a copy");
    },
    says: ["DataCloneError"],
  },
});
