// SYCL beside DPCTL, its C API, in C: unified shared memory, and a kernel that is waited for. On a real DPCTL where
// SAMEPAGE_LIB_SYCL names one, else on the stand-in of the tests.

import { host, MapperGraph } from "@samepage/interop";
import { SyclContext, type SyclDevice, syclDevices } from "@samepage/interop/sycl";
import { isStandIn, openSycl, STAND_IN } from "../tests/sycl/open.ts";
import { syclC } from "./harness/c.ts";
import { figure } from "./harness/figure.ts";
import { atMostMore } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { Missing } from "./harness/program.ts";
import { here, type Way } from "./harness/way.ts";

const HOST = { kind: "host", shape: [1024], dtype: "f32" } as const;
const SHARED = { ...HOST, kind: "shared" } as const;
const SOURCE = "kernel void twice(global float* x) { x[get_global_id(0)] *= 2; }";

const missing = await openSycl();

/** The first device that has the memory. */
const index = missing === undefined ? syclDevices().findIndex(({ usm }: SyclDevice) => usm.host && usm.shared) : -1;
const lacks = missing ?? (index < 0 ? "SYCL has no device with unified shared memory" : undefined);
const program = [isStandIn() ? STAND_IN : Deno.env.get("SAMEPAGE_LIB_SYCL")!, String(index)];

interface Opened {
  readonly sycl: SyclContext;
  readonly graph: MapperGraph;
}

let opened: Opened | undefined;

function samepage(name: string, make: (there: Opened) => Operation["run"]): Way {
  return here(name, () => {
    if (lacks !== undefined) throw new Missing(lacks);
    if (opened === undefined) {
      const sycl = SyclContext.open({ index });
      opened = { sycl, graph: new MapperGraph([host, sycl]) };
    }
    return { run: make(opened) };
  });
}

figure({
  id: "sycl-allocate",
  title: "4 KiB of host memory, and its end",
  goal: atMostMore(1),
  ignore: lacks !== undefined,
  ways: [
    syclC(program, "allocate"),
    samepage("samepage", ({ sycl }) => (count) => {
      for (let i = 0; i < count; i++) sycl.usm.allocate(HOST)[Symbol.dispose]();
    }),
  ],
});

figure({
  id: "sycl-map",
  title: "shared memory to the host, and its end",
  goal: atMostMore(0.8),
  ignore: lacks !== undefined,
  ways: [
    syclC(program, "read"),
    samepage("samepage", ({ sycl, graph }) => {
      const numbers = sycl.usm.allocate(SHARED);
      return (count) => {
        for (let i = 0; i < count; i++) graph.map(numbers, host)[Symbol.dispose]();
      };
    }),
  ],
});

for (
  const { id, items, title, operation } of [
    { id: "sycl-run", items: 1, title: "a kernel of one work-item, waited for", operation: "run" },
    { id: "sycl-run-many", items: 1 << 16, title: "a kernel of 65,536 work-items, waited for", operation: "run_many" },
  ] as const
) {
  const running = (name: string, make: (run: () => void, sycl: SyclContext) => Operation["run"]) =>
    samepage(name, ({ sycl }) => {
      const twice = sycl.program(SOURCE).kernel("twice", ["global float*"]);
      const numbers = sycl.usm.allocate({ ...SHARED, shape: [items] });
      sycl.queue.fill(numbers, 0);
      return make(() => twice.run({ items: [items] }, [numbers]), sycl);
    });
  figure({
    id,
    title,
    goal: atMostMore(4),
    ignore: lacks !== undefined,
    ways: [
      syclC(program, operation),
      running("samepage", (run, { queue }) => async (count) => {
        for (let i = 0; i < count; i++) {
          run();
          await queue.fence().wait();
        }
      }),
      running("samepage, blocking", (run, { queue }) => (count) => {
        for (let i = 0; i < count; i++) {
          run();
          queue.fence().waitSync();
        }
      }),
      syclC(program, `${operation}_polled`, "C, polling"),
    ],
  });
}
