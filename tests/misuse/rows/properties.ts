import {
  ArgumentError,
  DisposedError,
  host,
  imageInfo,
  InteropError,
  ledger,
  type Mapped,
  MapperGraph,
  Metadata,
  traceForgotten,
} from "@samepage/interop";
import { LocalMemory, openclDevices } from "@samepage/interop/opencl";
import { doctor, svgOf, textOf } from "@samepage/interop/doctor";
import { any, collect, fails, open, safe, say } from "../kit.ts";
import { table } from "../row.ts";

/** Everything that can be asked of a tensor or frame. */
function ask(mapped: Mapped): void {
  for (let at: object = mapped; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at)) safe(String(key), () => Reflect.get(at, key, mapped));
  }
  const { route } = mapped;
  say(mapped.name, mapped.access, mapped.grants.length, mapped.work.length, route.bytesMoved, String(route) !== "x");
  Deno.inspect(route);
}

export default table(import.meta, {
  "of tensors and frames that were disposed": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      const source = host.allocate({ shape: [4], dtype: "u8" });
      const tensor = graph.map(source, cl);
      const frame = host.allocateFrame({
        type: "audio",
        format: "u8",
        sampleRate: 1,
        channels: 1,
        samples: 4,
        layout: "planar",
      });
      for (const each of [tensor, frame, source]) {
        each[Symbol.dispose]();
        fails("use", () => each.resource.assertLive(), DisposedError);
      }
      say(tensor.context === cl, tensor.rootOffset);
      ask(source);
      ask(frame);
      say(tensor.access, tensor.grants.length);
    },
    says: [
      "true 0",
      "host tensor [4] u8 read-write 1 0 0 true",
      "host frame u8 1 channels of 4 samples read-write 1 0 0 true",
      "read-write 1",
    ],
  },
  "of a context that was disposed": {
    opencl: true,
    run() {
      const cl = open();
      cl[Symbol.dispose]();
      const rule = cl.subBufferRule();
      say(cl.name === cl.device.name, rule.address > 0, cl.bytesCopied);
      fails("handle", () => cl.handle, DisposedError);
    },
    says: ["true true 0"],
  },
  "of the ledger": {
    run() {
      const { alive } = ledger;
      Object.assign(alive, { "host.block": 5 }); // a copy
      say(JSON.stringify(ledger.alive), ledger.quarantinedBytes);
    },
    says: ["{} 0"],
  },
  "of devices, changed": {
    opencl: true,
    run() {
      const [device] = openclDevices();
      safe("change", () => {
        try {
          Object.assign(device, { handle: 4096n, localMemory: NaN });
        } catch { /* frozen */ }
      });
      using cl = open();
      using t = cl.allocate({ shape: [64], dtype: "u8" });
      cl.queue.write(t, new Uint8Array(64));
    },
  },
  "printed, of what was disposed": {
    opencl: true,
    run() {
      const cl = open();
      const graph = new MapperGraph([host, cl]);
      const source = host.allocate({ shape: [4], dtype: "u8" });
      const program = cl.program("kernel void k(global uchar* x) { x[0] = 1; }");
      const all = [graph.map(source, cl), source, program.kernel("k"), program, cl.queue, cl];
      for (const each of all) each[Symbol.dispose]();
      // deno-lint-ignore no-explicit-any -- a symbol's method, as console.log calls it
      for (const each of all as any[]) say(each[Symbol.for("Deno.customInspect")]().split(" ")[0]);
    },
    says: ["opencl", "host", "opencl", "opencl", "opencl", "opencl"],
  },
  "printed and as JSON, before and after its end": {
    opencl: true,
    run() {
      const cl = open();
      const graph = new MapperGraph([host, cl]);
      const source = host.allocate({ shape: [4], dtype: "u8" });
      const mapped = graph.map(source, cl);
      const frame = host.allocateFrame(imageInfo({ format: "GRAY8", width: 2, height: 2 }));
      const metadata = new Metadata({ source: { stream: "\n\0".repeat(1000) } });
      const others = [host, ledger, metadata, mapped.route, cl.queue.fence(), cl.svm, new LocalMemory(4)];
      for (const made of [...others, mapped.base]) {
        say(made.toString() === Deno.inspect(made), made.toString().includes("\n"));
      }
      const ending = [mapped, source, frame, graph, cl.queue, cl];
      for (const each of ending) say(each.toString().includes("disposed"));
      for (const each of ending) each[Symbol.dispose]();
      for (const each of ending) say(each.toString().endsWith("disposed)"));
      say(JSON.stringify(source.toJSON()), frame.toJSON().byteLength);
      say(mapped.route.toJSON().steps[0].edge, new InteropError("wrong").toJSON().message);
    },
    says: [
      ...Array(8).fill("true false"),
      ...Array(6).fill("false"),
      ...Array(6).fill("true"),
      '{"kind":"host","shape":[4],"dtype":"u8","byteLength":4} 4',
      "host→opencl wrong",
    ],
  },
  "of where it was made, of what is forgotten": {
    async run() {
      fails("trace", () => traceForgotten(any("yes")), ArgumentError);
      traceForgotten();
      (function forgets() {
        host.allocate({ shape: [4], dtype: "u8" });
      })();
      await collect();
      traceForgotten(false);
    },
    warns: /was never disposed.* It was made here:\n[^]* {4}at forgets \(/,
  },
  "of the doctor's report, where nothing is permitted": {
    flags: [],
    run() {
      const report = doctor();
      say(textOf(report).length > 0, svgOf(report).startsWith("<svg"));
    },
    says: ["true true"],
  },
});
