import {
  type Access,
  ArgumentError,
  DisposedError,
  Graph,
  host,
  type HostTensor,
  MapperGraph,
  NoRouteError,
  type Target,
  type Tensor,
} from "@samepage/interop";
import {
  chain,
  type Described,
  type MapJob,
  type Mapper,
  messageOf,
  portMapper,
  Resource,
} from "@samepage/interop/backend";
import { hostToOpenCL } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { any, fails, open, say } from "../kit.ts";
import { table } from "../row.ts";

const bytes = { shape: [64], dtype: "u8" } as const;
const square = { shape: [8, 8], dtype: "u8" } as const;

/** A mapper of a program's own. */
function mapper(probe: unknown, map: unknown): Mapper {
  return any({ from: "host", to: "opencl", probe, map });
}

/** A step that seems all right. */
function step(source: Described, target: Target, access: Access): object {
  return { edge: "x", transfer: "alias", hostWait: false, bytesMoved: 0, result: source.as(target, access) };
}

export default table(import.meta, {
  "anything but a context": {
    run: () => new MapperGraph([any({})]),
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "contexts",
      message: /expected only contexts, got an Object/,
    },
  },
  "anything but a list of contexts": {
    run: () => new MapperGraph(any(host)),
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "contexts",
      message: /expected an iterable, such as an array, got a context: pass \[host\]\.$/,
    },
  },
  "a target in place of its context": {
    opencl: true,
    run() {
      using cl = open();
      new MapperGraph([any(cl.svm)]);
    },
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "contexts",
      message: /expected only contexts, got opencl\.svm, a target: pass its context, opencl \(/,
    },
  },
  "anything but a mapper": {
    run: () => new MapperGraph([host], [hostToOpenCL, any({ from: "host", to: "opencl" })]),
    fails: { error: ArgumentError, api: "core", argument: "mappers[1]", message: /expected a mapper, got an Object/ },
  },
  "one that never arrives": {
    opencl: true,
    run() {
      using cl = open();
      using h = host.allocate(bytes);
      const target = () => ({ kind: "host", context: host, is: () => true });
      const probe = (source: Described, _: Target, access: Access) => step(source, any(target()), access);
      using graph = new MapperGraph([host, cl], [mapper(probe, () => h)]);
      graph.map(h, cl);
    },
    fails: {
      error: NoRouteError,
      ...{ api: "core", argument: "target" },
      message: /it leads to a target other than/,
      has: { refused: /host→opencl/ },
    },
  },
  "one that returns rubbish": {
    opencl: true,
    run() {
      using cl = open();
      for (const rubbish of [undefined, null, 5, {}]) {
        const bad = [
          mapper(step, () => rubbish),
          mapper(() => rubbish, () => rubbish),
          mapper(() => ({ result: rubbish }), () => rubbish),
        ];
        for (const each of bad) {
          using h = host.allocate(bytes);
          using graph = new MapperGraph([host, cl], [each]);
          fails(`map ${rubbish}`, () => graph.map(h, cl));
          h.view()[0] = 1; // nothing stayed lent
        }
      }
    },
  },
  "one that throws": {
    opencl: true,
    run() {
      using cl = open();
      const mine = new Error("the mapper's own");
      const boom = () => {
        throw mine;
      };
      for (const each of [mapper(boom, boom), mapper(step, boom), { ...mapper(step, boom), prepare: boom }]) {
        using h = host.allocate(bytes);
        using graph = new MapperGraph([host, cl], [each]);
        try {
          graph.map(h, cl);
        } catch (error) {
          say(error === mine, messageOf(error));
        }
        h.view()[0] = 1;
      }
    },
    says: ["true the mapper's own", "true the mapper's own", "true the mapper's own"],
  },
  "one that forgets what its result depends on": {
    opencl: true,
    run() {
      const map = (source: HostTensor, _: Target, { grants, undo, name }: MapJob) =>
        host.ports.tensor!({
          target: host,
          handle: source.rawHandle,
          layout: source.layout,
          resource: new Resource({ name, grants, undo }),
          parent: source,
        });
      for (const first of ["source", "context"] as const) {
        using cl = open();
        using h = host.allocate(bytes);
        using graph = new MapperGraph([host, cl], [mapper(step, map)]);
        const mapped: Tensor = graph.map(h, cl);
        const view = (mapped as HostTensor).view();
        (first === "source" ? h : cl)[Symbol.dispose]();
        say(view.length, mapped.resource.state);
        fails(`after its ${first}`, () => mapped.handle, DisposedError);
      }
    },
    says: ["0 freed", "0 freed"],
  },
  "a chain that is the last of several steps": {
    opencl: true,
    async run() {
      using cl = open();
      using cv = OpenCVContext.open();
      using graph = new Graph([host, cl, cv], [
        hostToOpenCL,
        chain([portMapper("opencl", "host"), host], portMapper("host", "opencv.mat")),
      ]);
      for (const end of ["result", "source", "async"] as const) {
        const h = host.allocate(square);
        const mat = graph.map(h, cv.mat);
        cv.bitwise_not(mat, mat);
        if (end === "async") await mat[Symbol.asyncDispose]();
        else (end === "source" ? h : mat)[Symbol.dispose]();
        say(mat.resource.state, end === "source" ? "" : h.view()[0]);
        h[Symbol.dispose]();
      }
    },
    says: ["freed 255", "freed ", "freed 255"],
  },
  "a chain of nothing": {
    run: () => chain(),
    fails: { error: ArgumentError, api: "core", argument: "edges", message: /at least one mapper/ },
  },
  "a chain whose edges do not meet": {
    run: () => chain(hostToOpenCL, hostToOpenCL),
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "edges[1]",
      message: /host→opencl cannot follow host→opencl/,
    },
  },
  "a chain whose edge leads elsewhere": {
    opencl: true,
    run() {
      fails("chain", () => chain([hostToOpenCL, host]), ArgumentError);
      using cl = open();
      using other = open();
      using graph = new MapperGraph([host, cl], [chain([hostToOpenCL, other])]);
      using h = host.allocate(bytes);
      try {
        graph.map(h, cl);
      } finally {
        h.view()[0] = 1;
      }
    },
    fails: {
      error: NoRouteError,
      ...{ api: "core", argument: "target" },
      message: /it leads to a target other than/,
      has: { refused: /host→opencl/ },
    },
  },
});
