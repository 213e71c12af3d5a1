/** The suite on OpenCL's edges to and from dma-bufs, by the simulated driver: no software driver has them. */
import { dmaBufOf } from "../opencl/external/dma_bufs.ts"; // first: it taps the libraries
import { assert } from "@std/assert";
import { MapperGraph } from "../../mod.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { OpenCLContext } from "../../src/opencl/mod.ts";
import { hasDevice } from "../opencl/present.ts";
import { casesOf } from "./cases/mod.ts";
import { dmaBufEnd } from "./dmabuf.ts";
import { buffersOf, objectsIn, OpenCLEnd } from "./opencl_end.ts";
import { EdgeRun } from "./rows.ts";
import type { Candidate, End, Subject } from "./subject.ts";

/** Other code's dma-bufs. */
const shared: End = dmaBufEnd((init) => {
  const { byteOffset, byteLength } = layout(init);
  const fd = dmaBufOf(Math.ceil((byteOffset + byteLength) / 4096) * 4096);
  try {
    return dmabuf.attach(fd, init);
  } finally {
    closeFd(fd);
  }
});

function open(edge: string): Subject {
  const contexts = [OpenCLContext.open(), OpenCLContext.open()];
  const [end, other] = contexts.map((context) => new OpenCLEnd(context, buffersOf(context)));
  const graph = new MapperGraph([dmabuf, ...contexts]);
  return {
    ...{ graph, expected: "migrate" },
    ...(edge === "dmabuf→opencl" ? { source: shared, target: end, elsewhere: other } : { source: end, target: shared }),
    silent: ["opencl.clGetMemObjectInfo", "libc.open", "libc.read", "libc.close", "libc.fcntl"],
    silentAtAllocating: ["libc.open", "libc.read", "libc.close", "libc.fcntl"],
    alive: () => objectsIn(...contexts),
    openContext: () => OpenCLContext.open(),
    silentAtOpening: ["opencl.clGetDeviceInfo"],
    quiet: () => [end, other].forEach((each) => each.quiet()),
    [Symbol.dispose]() {
      using all = new DisposableStack();
      for (const one of [...contexts, end, other, graph]) all.use(one);
    },
  };
}

for (const edge of ["dmabuf→opencl", "opencl→dmabuf"]) {
  const here = hasDevice("Portable");
  Deno.test({
    name: `conformance: ${edge} on a simulated driver${here ? "" : " (not here: PoCL)"}`,
    ignore: !here,
    async fn(test) {
      const candidate: Candidate = { edge, everyLaw: true, openedElsewhere: true, open: () => open(edge) };
      using run = new EdgeRun(candidate, "bare");
      let passed = 0;
      // Calls that fail would be the simulated driver's own too, which makes them by the same libc.
      for (const one of casesOf(candidate, "bare").filter(({ name }) => !name.startsWith("fault-"))) {
        const { result, reason } = await run.row(one);
        passed += Number(result === "pass");
        const name = result === "not-here" ? `${one.name} (not here: ${reason})` : one.name;
        await test.step({ name, ignore: result === "not-here", fn: () => assert(result === "pass", reason) });
      }
      assert(passed > 30, `${passed} rows`);
    },
  });
}
