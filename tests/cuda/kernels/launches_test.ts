// compute-sanitizer: not here, its own memory grows with every launch, and this test measures the process's
import { assert, assertEquals } from "@std/assert";
import { ledger } from "../../../mod.ts";
import { gpuTest, withCuda } from "../help.ts";

gpuTest("kernels: 100,000 launches leave memory as it was", () =>
  withCuda((cuda) => {
    using program = cuda.program(`extern "C" __global__ void count(int* x, int by) { *x += by; }`);
    using kernel = program.kernel("count", ["int*", "int"]);
    using tensor = cuda.allocate({ shape: [1], dtype: "i32" });
    cuda.stream.fill(tensor, 0);
    const run = (times: number) => {
      for (let i = 0; i < times; i++) kernel.run({ groups: [1], groupSize: [1] }, [tensor, 1]);
      cuda.stream.finish();
    };
    run(20_000); // what is made once is made
    const before = { alive: ledger.alive, rss: Deno.memoryUsage().rss };
    run(100_000);
    const grown = Deno.memoryUsage().rss - before.rss;
    assertEquals(ledger.alive, before.alive);
    assert(grown < 32 * 2 ** 20, `${grown} bytes more`);
    const found = new Int32Array(1);
    cuda.stream.read(tensor, found);
    assertEquals(found[0], 120_000);
  }));
