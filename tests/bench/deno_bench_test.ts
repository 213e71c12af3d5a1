// `deno bench` measures C's calls beside samepage's, in one group. No time is judged.

import { assertEquals } from "@std/assert";
import { hasDevice } from "../opencl/present.ts";
import { exec } from "../package/project.ts";
import { hasCompiler } from "./compiler.ts";

interface Report {
  readonly benches: readonly {
    readonly group: string;
    readonly name: string;
    readonly results: readonly ({ readonly ok: { readonly avg: number } } | { readonly failed: unknown })[];
  }[];
}

const missing = !(await hasCompiler("cc")) ? "cc" : !hasDevice() ? "an OpenCL device" : undefined;

Deno.test({
  name: `bench: deno bench measures C and samepage in one group${missing ? ` (skipped: needs ${missing})` : ""}`,
  ignore: missing !== undefined,
  async fn() {
    const args = ["bench", "-A", "--no-check", "--json", "bench/allocate_bench.ts", "bench/map_bench.ts"];
    const { code, stdout, stderr } = await exec(Deno.execPath(), args);
    assertEquals(code, 0, stderr);
    const { benches }: Report = JSON.parse(stdout.slice(stdout.indexOf("{")));
    const measured = benches.filter(({ results }) => results.every((result) => "ok" in result && result.ok.avg > 0));
    const ways = Map.groupBy(measured, ({ group }) => group);
    const words = (name: string) => name.split(": ").at(-1);
    assertEquals(
      Array.from(ways, ([group, benches]) => [group, benches.map(({ name }) => words(name))]),
      ["allocate-page", "allocate-frame", "map-kernel-unmap", "map", "map-view"].map((id) => [id, ["C", "samepage"]]),
    );
  },
});
