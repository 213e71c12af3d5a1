import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError } from "../../src/core/errors.ts";
import { MappingCount } from "../../src/core/native/mappings.ts";
import { runModule } from "../process.ts";

/** A count of mappings where the kernel allows 1,600 and `others` are somebody else's; and how often it was asked. */
function counted(others: () => number = () => 0) {
  const asked = { limit: 0, inUse: 0 };
  const count = new MappingCount({
    limit: () => (asked.limit++, 1600),
    inUse: () => (asked.inUse++, others()),
  });
  return { count, asked };
}

Deno.test("mappings: half of those that the kernel allows are samepage's, and the error says what to do", () => {
  const { count, asked } = counted();
  for (let i = 0; i < 799; i++) count.take(1);
  assertThrows(() => count.take(2), ArgumentError);
  count.take(1); // what was refused was not counted
  const error = assertThrows(
    () => count.take(1),
    ArgumentError,
    "this program's memory takes up to 801 mappings, of the 1600",
  );
  assertEquals([error.api, error.fn], ["host", "mmap"]);
  assert(error.hint!.includes("vm.max_map_count"));
  count.giveBack(2);
  count.take(2);
  assertThrows(() => count.take(1), ArgumentError);
  assertEquals(asked.limit, 1);
  assert(asked.inUse <= 8, `the kernel was asked ${asked.inUse} times`);
});

Deno.test("take() reads no limit for the first 64 mappings", () => {
  const { count, asked } = counted();
  for (let i = 0; i < 64; i++) count.take(1);
  assertEquals(asked, { limit: 0, inUse: 0 });
  count.take(1);
  assertEquals(asked.limit, 1);
});

Deno.test("mappings: those of Workers and drivers count once the kernel is asked, which it is now and then", () => {
  let others = 1201;
  const { count, asked } = counted(() => others);
  for (let i = 0; i < 100; i++) count.take(1);
  assertEquals(asked.inUse, 0);
  assertThrows(() => count.take(1), ArgumentError, "the process has 1201 mappings, of the 1600");
  assertThrows(() => count.take(1), ArgumentError, "the process has 1201 mappings");
  others = 1000;
  for (let i = 0; i < 100; i++) count.take(1);
  assertEquals(asked.inUse, 3);
  others = 1300;
  count.giveBack(150);
  for (let i = 0; i < 100; i++) count.take(1);
  assertThrows(() => count.take(1), ArgumentError, "the process has 1300 mappings");
});

/** Where the kernel allows many more, it takes a long time to have them all. */
const limit = Number(Deno.readTextFileSync("/proc/sys/vm/max_map_count"));
const few = limit <= 131_072;

for (
  const [what, init] of Object.entries({
    "aligned beyond a page": { align: 8192 },
    "of a mapping each, side by side": { shape: [300_000] },
    "guarded": { guard: true },
  })
) {
  Deno.test({
    name: `mappings: blocks ${what}, until there are too many: a typed error, every second disposed, and all` +
      (few ? "" : " (skipped: needs vm.max_map_count of at most 131,072)"),
    ignore: !few,
    async fn() {
      const source = `
        import { host } from "./src/host/mod.ts";
        import { ledger } from "./src/core/life/ledger.ts";
        const kept = [];
        let error;
        try {
          for (let i = 0; i < 150_000; i++) kept.push(host.allocate({ shape: [64], dtype: "u8", ...${
        JSON.stringify(init)
      } }));
        } catch (thrown) {
          error = thrown;
        }
        for (let i = 0; i < kept.length; i += 2) kept[i][Symbol.dispose]();
        // V8 needs mappings, too.
        const objects = Array.from({ length: 100 }, (_, i) => new Array(10_000).fill(i).map((x) => ({ x })));
        for (let i = 1; i < kept.length; i += 2) kept[i][Symbol.dispose]();
        host.allocate({ shape: [64], dtype: "u8", align: 8192 })[Symbol.dispose]();
        console.log(error?.name, error?.fn, kept.length >= ${limit} / 5, objects.length);
        console.log(JSON.stringify(ledger.alive), ledger.quarantinedBytes);
      `;
      const { stdout, stderr } = await runModule(source);
      assertEquals(stdout, "ArgumentError mmap true 100\n{} 0\n", stderr.slice(0, 2000));
    },
  });
}

Deno.test("mappings: 140,000 small blocks live together; every second disposed, and all", async () => {
  const source = `
    import { host } from "./src/host/mod.ts";
    import { ledger } from "./src/core/life/ledger.ts";
    const kept = Array.from({ length: 140_000 }, () => host.allocate({ shape: [64], dtype: "u8" }));
    for (let i = 0; i < kept.length; i += 2) kept[i][Symbol.dispose]();
    const objects = Array.from({ length: 100 }, (_, i) => new Array(10_000).fill(i).map((x) => ({ x })));
    for (let i = 1; i < kept.length; i += 2) kept[i][Symbol.dispose]();
    console.log(objects.length, JSON.stringify(ledger.alive), ledger.quarantinedBytes);
  `;
  const { stdout, stderr } = await runModule(source);
  assertEquals(stdout, "100 {} 0\n", stderr.slice(0, 2000));
});

Deno.test({
  name: "mappings: three Workers at it at once get typed errors" +
    (few ? "" : " (skipped: needs vm.max_map_count of at most 131,072)"),
  ignore: !few,
  async fn() {
    const source = `
      import { host } from "./src/host/mod.ts";
      if ("postMessage" in self) {
        const kept = [];
        try {
          for (;;) kept.push(host.allocate({ shape: [64], dtype: "u8", align: 8192 }));
        } catch (error) {
          postMessage(error.name);
        }
        onmessage = () => {
          for (const tensor of kept) tensor[Symbol.dispose]();
          postMessage("disposed");
        };
      } else {
        const workers = [1, 2, 3].map(() => new Worker(import.meta.url, { type: "module" }));
        const all = () => Promise.all(workers.map((worker) => new Promise((resolve) => {
          worker.onmessage = ({ data }) => resolve(data);
        })));
        console.log((await all()).join());
        const ended = all();
        for (const worker of workers) worker.postMessage("end");
        console.log((await ended).join());
        for (const worker of workers) worker.terminate();
      }
    `;
    const { stdout, stderr } = await runModule(source);
    const errors = "ArgumentError,ArgumentError,ArgumentError";
    assertEquals(stdout, `${errors}\ndisposed,disposed,disposed\n`, stderr.slice(0, 2000));
  },
});
