// A process in which so many tensors are alive: half of them host memory, half of them maps of it.
// `live.ts COUNT`; bench/harness/serve.ts says how it is asked.

import { host } from "@samepage/interop";
import { device } from "../harness/device.ts";
import { serve } from "../harness/serve.ts";

const PAGE = { shape: [4096], dtype: "u8" } as const;

const { cl, graph } = device();
const page = host.allocate(PAGE);
const map = (count: number) => {
  for (let i = 0; i < count; i++) graph.map(page, cl)[Symbol.dispose]();
};

map(50_000); // V8 compiles it by what it has seen: the same in every such process
const alive: unknown[] = [];
while (alive.length < Number(Deno.args[0]) - 1) {
  const tensor = host.allocate(PAGE);
  alive.push(tensor, graph.map(tensor, cl));
}
alive.push(page);
await serve({ map: () => ({ run: map }) });
Deno.exit(alive.length > 0 ? 0 : 1); // all of them are alive until here
