import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  host,
  MapperGraph,
  NoRouteError,
  region,
} from "@samepage/interop";
import { any, fails, grey, open, outcome, say } from "../kit.ts";
import { type Failure, table } from "../row.ts";

const bytes = { shape: [4096], dtype: "u8" } as const;
const lent: Failure = { error: AccessError, api: "core", message: /are lent to/, hint: /Dispose/ };

export default table(import.meta, {
  "the same bytes mapped twice for writing": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate(bytes);
      using _ = graph.map(t, cl);
      graph.map(t, cl);
    },
    fails: lent,
  },
  "a map for writing beside one for reading": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate(bytes);
      using _ = graph.map(t, cl, { access: "read" });
      using _again = graph.map(t, cl, { access: "read" });
      graph.map(t, cl, { access: "write" });
    },
    fails: lent,
  },
  "slices that overlap": {
    run() {
      using t = host.allocate(bytes);
      t.slice(region(t.layout, [0], [100]));
      t.slice(region(t.layout, [99], [100]));
    },
    fails: lent,
  },
  "planes that overlap": {
    run() {
      using t = host.allocate({ shape: [8, 8], dtype: "u8" });
      const info = {
        type: "audio",
        format: "u8",
        sampleRate: 8000,
        channels: 2,
        samples: 8,
        layout: "planar",
      } as const;
      const row = (i: number, length: number) =>
        t.slice({ ...region(t.layout, [i, 0], [1, length]), shape: [length], strides: [1] });
      Frame.of([row(0, 8), t.slice({ ...row(1, 8).layout, byteOffset: 4 })], info);
    },
    fails: lent,
  },
  "a plane of a frame while the frame is mapped": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using frame = host.allocateFrame(grey(8, 8));
      using _ = graph.map(frame, cl);
      graph.map(frame.planes[0], cl);
    },
    fails: lent,
  },
  "more access than was granted": {
    run() {
      using t = host.allocate(bytes);
      t.slice(t.layout, { access: "read" }).view({ access: "write" });
    },
    fails: { error: AccessError, api: "core", argument: "access", message: /was lent for "read"/, hint: /read-write/ },
  },
  "a parent written while a child reads": {
    run() {
      using t = host.allocate(bytes);
      t.slice(t.layout, { access: "read" });
      say(outcome(() => t.view({ access: "read" })), outcome(() => t.view()), outcome(() => t.handle));
    },
    says: ["ok AccessError ok"],
  },
  "the handle of a tensor that is mapped for writing": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = cl.allocate(bytes);
      using _ = graph.map(t, host);
      return t.handle;
    },
    fails: lent,
  },
  "a dead tensor, mapped": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      const t = host.allocate(bytes);
      t[Symbol.dispose]();
      graph.map(t, cl);
    },
    fails: { error: DisposedError, api: "core", message: /host tensor \[4096\] u8 was disposed/ },
  },
  "a child of a dead tensor": {
    run() {
      const t = host.allocate(bytes);
      const part = t.slice(region(t.layout, [0], [4]));
      t[Symbol.dispose]();
      return part.handle;
    },
    fails: { error: DisposedError, api: "core", message: /slice \[4\] u8 .* was disposed with host tensor/ },
  },
  "an access that does not exist": {
    run() {
      using t = host.allocate(bytes);
      t.view({ access: any("readwrite") });
    },
    fails: { error: ArgumentError, api: "core", argument: "access", message: /or "read-write", got "readwrite"/ },
  },
  "an explanation of bytes that are lent": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate(bytes);
      using _lent = graph.map(t, cl);
      const { open: isOpen, refused: [{ edge, reason, remedy }] } = graph.explain(t, cl);
      say(isOpen, edge, reason.includes("are lent to its opencl"), remedy);
    },
    says: ["false host→opencl true Dispose that first."],
  },
  "a context that the graph does not know": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host]);
      using t = host.allocate(bytes);
      graph.map(t, cl);
    },
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "target",
      message: /^opencl \(.+\) is not in this graph/,
      hint: /MapperGraph/,
    },
  },
  "a graph without edges": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl], []);
      using t = host.allocate(bytes);
      say(graph.explain(t, cl).open);
      graph.map(t, cl);
    },
    says: ["false"],
    fails: {
      error: NoRouteError,
      api: "core",
      argument: "target",
      message: /nothing in this graph maps to /,
      hint: /Allocate memory of that kind/,
    },
  },
  "overlapping ranges of host memory in one context": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate(bytes);
      using _ = graph.map(t.slice(region(t.layout, [0], [2048]), { access: "read" }), cl);
      graph.map(t.slice(region(t.layout, [1024], [2048]), { access: "read" }), cl);
    },
    fails: {
      error: NoRouteError,
      ...{ api: "core", argument: "target" },
      message: /closed/,
      hint: /./,
      has: { refused: /host→opencl/ },
    },
  },
  "anything but a tensor, mapped": {
    run() {
      using graph = new MapperGraph([host]);
      for (const source of [undefined, null, 5, "x", {}]) {
        fails(String(source), () => graph.map(any(source), host), ArgumentError);
      }
    },
  },
});
