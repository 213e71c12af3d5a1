import { markAsUntransferable } from "node:worker_threads";
import { AccessError, DisposedError, host, LayoutError, MapperGraph } from "@samepage/interop";
import { any, collect, fails, open, safe, safely, same, say } from "../kit.ts";
import { table } from "../row.ts";

const MiB = { shape: [1 << 20], dtype: "u8" } as const;

export default table(import.meta, {
  "a forgotten slice's view, moved away before its buffer is released": {
    warns: /^/,
    leaves: true,
    async run() {
      const t = host.wrap(new Uint8Array(1 << 20));
      const moved = (() => t.slice(t.layout).view().buffer.transfer())();
      await collect();
      const back = t.release();
      new Uint8Array(back).fill(9);
      say(new Uint8Array(moved)[0]);
    },
    says: ["0"],
  },
  "a view after the dispose": {
    run() {
      const t = host.allocate(MiB);
      const view = t.view();
      t[Symbol.dispose]();
      view[1000] = 1;
      say(view.length, view[1000]);
      t.view();
    },
    says: ["0 "],
    fails: { error: DisposedError, api: "core", message: /host tensor \[1048576\] u8 was disposed/ },
  },
  "a view after the unmap": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = cl.allocate(MiB);
      const mapped = graph.map(t, host);
      const view = mapped.view({ dtype: "u8" });
      mapped[Symbol.dispose]();
      view[1000] = 2;
      say(view.length);
      mapped.view();
    },
    says: ["0"],
    fails: { error: DisposedError, api: "core", message: /host map of opencl tensor .* was disposed/ },
  },
  "a view of bytes that are mapped for writing": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate(MiB);
      const view = t.view();
      using _ = graph.map(t, cl);
      say(view.length);
      t.view();
    },
    says: ["0"],
    fails: {
      error: AccessError,
      api: "core",
      message: /are lent to its opencl .* map for "read-write"/,
      hint: /Dispose/,
    },
  },
  "a view for writing of bytes that are mapped for reading": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate(MiB);
      using _ = graph.map(t, cl, { access: "read" });
      say(t.view({ access: "read" }).length);
      t.bytes();
    },
    says: ["1048576"],
    fails: { error: AccessError, api: "core", message: /cannot be used for "read-write"/, hint: /Dispose/ },
  },
  "a view of another dtype": {
    run() {
      using t = host.allocate(MiB);
      t.view({ dtype: any("f32") });
    },
    fails: { error: LayoutError, api: "host", argument: "dtype", message: /expected .*, got "f32"/, hint: /bytes\(\)/ },
  },
  "a view whose address is not a multiple of the element": {
    run() {
      const bytes = new Uint8Array(64);
      using t = host.wrap(bytes.subarray(1, 41), { shape: [4], dtype: "f64" });
      t.view();
    },
    fails: { error: LayoutError, api: "core", argument: "byteOffset", message: /1 is not a multiple of f64's 8 bytes/ },
  },
  "a view for reading only, written through": { // JavaScript cannot keep anybody from it
    run() {
      using t = host.allocate(MiB);
      t.view({ access: "read" })[0] = 1;
      say(t.view()[0]);
    },
    says: ["1"],
  },
  "a view moved away with transfer()": {
    run() {
      const t = host.allocate(MiB);
      const away = new Uint8Array(t.view().buffer.transfer());
      t[Symbol.dispose]();
      away[1000] = 1;
      say(away.length);
    },
    says: ["1048576"],
    warns: /moved away with transfer\(\) or postMessage; its memory is kept for good/,
  },
  "a view that cannot be detached": {
    async run() {
      const t = host.allocate(MiB);
      const view = t.view();
      markAsUntransferable(view.buffer);
      safe("dispose", () => t[Symbol.dispose]());
      await safely("asyncDispose", t[Symbol.asyncDispose]());
      view[1000] = 1; // memory that is there, or a view of length 0
      same("state", t.resource.state, "freed");
    },
    warns: /cannot be detached; its memory is kept for good/,
  },
  "a view that cannot be detached, and the parent's dispose": {
    async run() {
      const t = host.allocate(MiB);
      const view = t.slice(t.layout).view();
      markAsUntransferable(view.buffer);
      safe("dispose", () => t[Symbol.dispose]());
      await safely("asyncDispose", t[Symbol.asyncDispose]());
      view[1000] = 1;
      same("state", t.resource.state, "freed");
    },
    warns: /cannot be detached/,
  },
  "a view that cannot be detached, and a map for writing": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      const t = host.allocate(MiB);
      markAsUntransferable(t.view().buffer);
      fails("map", () => graph.map(t, cl), AccessError);
      t.view(); // nothing stayed lent
      fails("dispose", () => t[Symbol.dispose](), AccessError);
    },
    warns: /cannot be detached/,
  },
});
