import { isolated } from "./process.ts";

isolated(
  "a frame of sound with fifty million planes is refused",
  {},
  `
for (const channels of [50_000_000, 2 ** 32, 2 ** 53 - 1]) {
  fails(String(channels), () => host.allocateFrame({ type: "audio", format: "u8", sampleRate: 1, channels, samples: 1, layout: "planar" }), "LayoutError");
}
`,
);

isolated(
  "a shape of four thousand million dimensions is refused",
  {},
  `
fails("sparse", () => layout({ shape: new Array(2 ** 32 - 1), dtype: "u8" }), "LayoutError");
`,
);

isolated(
  "a mapper that never arrives does not hang the search",
  { opencl: true },
  `
using cl = open();
const h = host.allocate({ shape: [64], dtype: "u8" });
const target = () => ({ kind: "host", context: host, is: () => true });
const probe = (source) => ({ edge: "x", transfer: "alias", hostWait: false, bytesMoved: 0, result: { ...source, target: target() } });
using graph = new MapperGraph([host, cl], [{ from: "host", to: "opencl", probe, map: () => h }]);
fails("map", () => graph.map(h, cl));
`,
);

isolated(
  "a mapper that answers rubbish leaves nothing lent",
  { opencl: true },
  `
using cl = open();
const plan = (source, target, access) => ({ edge: "x", transfer: "alias", hostWait: false, bytesMoved: 0, result: { ...source, target, access } });
const mapper = (probe, map) => ({ from: "host", to: "opencl", probe, map });
for (const rubbish of [undefined, null, 5, {}]) {
  for (const bad of [mapper(plan, () => rubbish), mapper(() => rubbish, () => rubbish), mapper(() => ({ result: rubbish }), () => rubbish)]) {
    const h = host.allocate({ shape: [64], dtype: "u8" });
    using graph = new MapperGraph([host, cl], [bad]);
    fails("map " + rubbish, () => graph.map(h, cl));
    h.view()[0] = 1;
    h[Symbol.dispose]();
  }
}
`,
);

isolated(
  "a chain that leads elsewhere is refused",
  { opencl: true },
  `
using cl = open();
fails("chain", () => chain([hostToOpenCL, host]), "ArgumentError");
using other = open();
using graph = new MapperGraph([host, cl], [chain([hostToOpenCL, other])]);
const h = host.allocate({ shape: [64], dtype: "u8" });
fails("map", () => graph.map(h, cl), "NoRouteError");
h.view()[0] = 1;
`,
);
