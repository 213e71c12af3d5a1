// The page allocator in several isolates: a process has one default allocator.

import { assertEquals } from "@std/assert";
import { runModule } from "../process.ts";
import { cxxTest, library, PRELUDE } from "./allocator_help.ts";

cxxTest("allocator: isolates that switch it on and off at the same time do not take it from each other", async () => {
  const { stdout, stderr, code } = await runModule(
    `
    ${PRELUDE}
    const cv = OpenCVContext.open();
    function turns() {
      let wrong = 0;
      for (let i = 0; i < 2000; i++) {
        using pages = cv.pageAllocator();
        const slot = make([1 + i % 50, 40]);
        if (!paged(slot) || core().Mat_getDefaultAllocator() !== pages.address) wrong++;
        drop(slot);
      }
      return wrong;
    }
    if (self.name !== "") {
      self.onmessage = () => self.postMessage(turns());
    } else {
      const workers = [1, 2, 3].map((i) => new Worker(import.meta.url, { type: "module", name: "w" + i }));
      const done = workers.map((worker) => new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = reject;
        worker.postMessage("go");
      }));
      const mine = turns();
      console.log(mine, ...await Promise.all(done), isDefault());
      workers.forEach((worker) => worker.terminate());
    }
  `,
  );
  assertEquals([stdout, stderr, code], ["0 0 0 0 false\n", "", 0]);
});

cxxTest("allocator: a Worker that is terminated leaves it on, and its Mats and its code stay", async () => {
  const { stdout, stderr, code } = await runModule(
    `
    ${PRELUDE}
    const cv = OpenCVContext.open();
    if (self.name !== "") {
      globalThis.on = [cv, cv.pageAllocator()]; // what is forgotten would warn
      const kept = make([100, 100]);
      self.postMessage(kept.header);
      for (;;) {
        for (let i = 0; i < 100; i++) drop(make([1 + i, 200]));
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
    } else {
      const headers = [];
      for (let i = 0; i < 5; i++) {
        const worker = new Worker(import.meta.url, { type: "module", name: "w" + i });
        headers.push(await new Promise((resolve, reject) => {
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = reject;
        }));
        for (let i = 0; i < 1000; i++) drop(make([1 + i % 70, 200]));
        worker.terminate();
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
      {
        using pages = cv.pageAllocator();
        drop(make([9, 9]));
      }
      const on = isDefault();
      for (const header of headers) core().Mat_destruct(header);
      make([1000, 1000]); // alive when the process ends
      console.log(on, paged(make([7, 7])));
    }
  `,
  );
  assertEquals([stdout, stderr, code], ["true true\n", "", 0]);
});

cxxTest("allocator: it can be switched on and off while OpenCV's threads make Mats and give them up", async () => {
  const { stdout, stderr, code } = await runModule(
    `
    ${PRELUDE}
    const { make_in_parallel, drop_kept } = Deno.dlopen(${JSON.stringify(await library())}, {
      make_in_parallel: { parameters: ["i32", "bool"], result: "i32" },
      drop_kept: { parameters: [], result: "void" },
    }).symbols;
    using cv = OpenCVContext.open();
    if (self.name !== "") {
      self.onmessage = ({ data: switched }) => {
        let wrong = 0;
        for (let i = 0; i < 20 || Atomics.load(switched, 0) <= 10; i++) wrong += make_in_parallel(5000, true);
        self.postMessage(wrong);
      };
      self.postMessage(undefined);
    } else {
      const worker = new Worker(import.meta.url, { type: "module", name: "w" });
      await new Promise((resolve) => worker.onmessage = resolve);
      let lost;
      worker.onmessage = ({ data }) => lost = data;
      const switched = new Int32Array(new SharedArrayBuffer(4));
      worker.postMessage(switched);
      for (; lost === undefined; switched[0]++) {
        for (let i = 0; i < 100; i++) {
          using pages = cv.pageAllocator();
          drop(make([10, 10]));
        }
        if (switched[0] % 10 === 0) drop_kept();
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      drop_kept();
      console.log(lost, switched[0] > 10, isDefault());
      worker.terminate();
    }
  `,
  );
  assertEquals([stdout, stderr, code], ["0 true false\n", "", 0]);
});

cxxTest("allocator: another isolate's, which ended first and out of order, is not restored", async () => {
  const { stdout, stderr, code } = await runModule(
    `
    ${PRELUDE}
    const cv = OpenCVContext.open();
    if (self.name !== "") {
      const symbols = { posix_memalign: { type: "pointer" }, malloc_usable_size: { type: "pointer" } };
      const libc = Deno.dlopen("libc.so.6", symbols).symbols;
      const memory = cv.defaultAllocator({ take: libc.posix_memalign, give: libc.malloc_usable_size });
      self.onmessage = () => {
        memory[Symbol.dispose]();
        cv[Symbol.dispose]();
        self.postMessage("over");
      };
      self.postMessage("begun");
    } else {
      const worker = new Worker(import.meta.url, { type: "module", name: "w" });
      const heard = () => new Promise((resolve) => worker.onmessage = resolve);
      await heard();
      const pages = cv.pageAllocator();
      const over = heard();
      worker.postMessage("end");
      await over;
      const before = isDefault();
      pages[Symbol.dispose]();
      console.log(before, isDefault());
      cv[Symbol.dispose]();
      worker.terminate();
    }
  `,
  );
  assertEquals([stdout, stderr, code], ["true false\n", "", 0]);
});
