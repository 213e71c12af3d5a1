import {
  ArgumentError,
  DisposedError,
  Frame,
  Graph,
  host,
  imageInfo,
  LayoutError,
  MapperGraph,
  Metadata,
} from "@samepage/interop";
import type { Mapper } from "@samepage/interop/backend";
import { any, fails, open, say } from "../kit.ts";
import { table } from "../row.ts";

const GREY = imageInfo({ format: "GRAY8", width: 1024, height: 1024 });
const plane = () => host.allocate({ shape: [1024, 1024], dtype: "u8" });

export default table(import.meta, {
  "a frame's only plane, disposed while the frame is mapped": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using program = cl.program("kernel void k(global uchar* o) { o[get_global_id(0)] = 7; }");
      using k = program.kernel("k");
      const only = plane();
      using frame = Frame.of([only], GREY);
      using mapped = graph.map(frame, cl);
      only[Symbol.dispose]();
      k.run({ items: [1 << 20] }, any([mapped.planes[0]]));
    },
    fails: {
      error: DisposedError,
      api: "core",
      argument: "o",
      message: /was disposed with host tensor \[1024,1024\] u8/,
    },
  },
  "colours, facts and places of planes that a frame has not": {
    run() {
      const circle: Record<string, unknown> = {};
      for (const colour of [{ matrix: 5n }, { range: "whole" }, { primaries: 1 }, circle.self = circle, null, "red"]) {
        fails("its colour", () => host.allocateFrame({ ...GREY, colour: any(colour) }), ArgumentError);
      }
      fails("its color", () => host.allocateFrame(any({ ...GREY, color: {} })), ArgumentError);
      for (const planeAlign of [0, 48, 1.5, "512", NaN]) {
        fails("its planes", () => host.allocateFrame(GREY, { planeAlign: any(planeAlign) }), LayoutError);
      }
    },
  },
  "invalid metadata": {
    run() {
      using only = plane();
      for (const metadata of [5, null, "front door", { timestamp: 1n }, Object.create(new Metadata())]) {
        const errors = [
          fails("a frame of planes", () => Frame.of([only], GREY, any(metadata)), ArgumentError),
          fails("a frame allocated", () => host.allocateFrame(GREY, { metadata: any(metadata) }), ArgumentError),
        ];
        if (errors.some(({ argument }) => argument !== "metadata")) throw new Error("another argument");
        if (metadata === null || typeof metadata !== "object") {
          fails("metadata of it", () => new Metadata(any(metadata)), ArgumentError);
        }
      }
      using frame = Frame.of([only], GREY, new Metadata({ source: { sequence: 7 } }));
      say(frame.metadata.get("source")?.sequence);
    },
    says: ["7"],
  },
  "a dictionary's name that no message takes": {
    run() {
      const metadata = new Metadata().set("n".repeat(256), { fits: true });
      for (
        const [what, set] of Object.entries({
          "new Metadata": () => new Metadata({ ["n".repeat(257)]: { fits: false } }),
          "add": () => metadata.add("n".repeat(257), { fits: false }),
          "set": () => metadata.set("n".repeat(257), { fits: false }),
        })
      ) {
        const error = fails(what, set, ArgumentError);
        if (!error.message.startsWith("name: expected at most 256 characters")) throw error;
      }
      say([...metadata.entries()].length);
    },
    says: ["1"],
  },
  "metadata that is not plain data": {
    run() {
      const itself: unknown[] = [];
      itself.push(itself);
      const metadata = new Metadata({ objectId: { id: 1 } });
      const stale = new Uint8Array(8);
      stale.buffer.transfer(0);
      const values = [
        stale,
        NaN,
        1 / 0,
        2n ** 63n,
        "\ud800",
        null,
        new Date(),
        () => 1,
        Symbol("s"),
        {},
        [[[[1]]]],
        itself,
      ];
      for (const value of values) {
        fails("a value", () => metadata.add("mine", { value }), ArgumentError);
        fails("a value in a list", () => metadata.set("mine", { value: [1, value] }), ArgumentError);
      }
      for (const fields of [5, null, "text", [], new Map(), any(undefined)]) {
        fails("fields", () => metadata.add("mine", any(fields)), ArgumentError);
      }
      for (const name of [5, null, Symbol("s"), "\ud800"]) {
        fails("a name", () => metadata.add(any(name), {}), ArgumentError);
      }
      fails("a key", () => metadata.add("mine", { "\ud800": 1 }), ArgumentError);
      fails("a known key", () => metadata.set("timestamp", { pts: any(5) }), ArgumentError);
      fails(
        "a key that is missing",
        () => metadata.set("objectId", { id: undefined }).add("objectId", any({})),
        ArgumentError,
      );
      say(metadata.toString(), metadata.delete("mine"), metadata.all("objectId").length);
    },
    says: ["metadata { nothing is set } false 0"],
  },
  "more channels of sound than there can be planes": {
    run() {
      using only = host.allocate({ shape: [1], dtype: "u8" });
      for (const channels of [65, 1e8, 2 ** 32 - 1, NaN, -1]) {
        const info = { type: "audio", layout: "planar", channels, samples: 1, format: "u8", sampleRate: 1 } as const;
        fails(String(channels), () => Frame.of([only], info), LayoutError);
      }
    },
  },
  "a frame of one plane, mapped to where it is": {
    run() {
      using only = plane();
      using frame = Frame.of([only], GREY);
      using graph = new Graph([host], [] as Mapper[]);
      using again = graph.map(frame, host);
      say(again.planes.length);
    },
    says: ["1"],
  },
});
