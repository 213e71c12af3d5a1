import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  LayoutError,
  MapperGraph,
  NoRouteError,
} from "@samepage/interop";
import { LevelZeroBuildError, LevelZeroContext, levelZeroDevices } from "@samepage/interop/levelzero";
import { DEVICE, LIBRARY, SECOND, setDrivers } from "../../levelzero/drivers.ts";
import { spirvOf } from "../../levelzero/spirv.ts";
import { any, fails, say } from "../kit.ts";
import { type Row, table } from "../row.ts";

const BYTES = { shape: [64], dtype: "u8" } as const;
const NUMBERS = { shape: [16], dtype: "u32" } as const;
const SHARED = { kind: "shared", ...NUMBERS } as const;

const open = () => LevelZeroContext.open({ device: DEVICE });

/** A row on the driver of the tests. */
function row(run: () => unknown, says: readonly string[] = []): Row {
  return {
    async run() {
      setDrivers();
      await run();
    },
    nodes: [LIBRARY],
    says,
  };
}

export default table(import.meta, {
  "devices and choices": row(() => {
    say(levelZeroDevices().length >= 2);
    fails("device", () => LevelZeroContext.open({ device: "elsewhere" }), ArgumentError);
    fails("device kind", () => LevelZeroContext.open({ device: any(3) }), ArgumentError);
    fails("uuid", () => LevelZeroContext.open({ uuid: "0".repeat(32) }), ArgumentError);
    fails("index", () => LevelZeroContext.open({ index: 99 }), ArgumentError);
    fails("index kind", () => LevelZeroContext.open({ index: any("0") }), ArgumentError);
    fails("on", () => LevelZeroContext.open({ on: any({}) }), ArgumentError);
    fails("unknown option", () => LevelZeroContext.open(any({ name: DEVICE })), ArgumentError);
  }, ["true"]),
  "a context that was disposed": row(() => {
    const context = open();
    const queue = context.createQueue();
    const tensor = context.usm.allocate(SHARED);
    const program = context.program(spirvOf());
    const kernel = program.kernel("add");
    context[Symbol.dispose]();
    fails("handle", () => context.handle, DisposedError);
    fails("createQueue", () => context.createQueue(), DisposedError);
    fails("program", () => context.program(spirvOf()), DisposedError);
    fails("kernel", () => program.kernel("add"), DisposedError);
    fails("run", () => kernel.run({ groups: [16] }, [tensor, 1]), DisposedError);
    fails("allocate", () => context.usm.allocate(SHARED), DisposedError);
    fails("fill", () => queue.fill(tensor, 1), DisposedError);
    fails("queue handle", () => queue.handle, DisposedError);
  }),
  "memory": row(() => {
    using context = open();
    using second = LevelZeroContext.open({ device: SECOND });
    const { usm } = context;
    fails("init", () => usm.allocate(any(null)), ArgumentError);
    fails("no kind", () => usm.allocate(any(BYTES)), ArgumentError);
    fails("kind", () => usm.allocate({ ...BYTES, kind: any("fast") }), ArgumentError);
    fails("kind that the device lacks", () => second.usm.allocate({ ...BYTES, kind: "shared" }), ArgumentError);
    fails("align", () => usm.allocate({ ...BYTES, kind: "host", align: 3 }), LayoutError);
    fails("shape", () => usm.allocate({ kind: "host", shape: [2 ** 31], dtype: "u8" }), LayoutError);
    using tensor = usm.allocate({ ...BYTES, kind: "device" });
    using onHost = host.allocate(BYTES);
    fails("pointer", () => usm.attach(onHost.handle, BYTES), ArgumentError);
    fails("null", () => usm.attach(0n, BYTES), ArgumentError);
    fails("pointer kind", () => usm.attach(any(64), BYTES), ArgumentError);
    fails("beyond", () => usm.attach(tensor.handle, { shape: [65], dtype: "u8" }), LayoutError);
    fails("of another context", () => second.usm.attach(tensor.handle, BYTES), ArgumentError);
    fails("wrapped", () => host.wrap(tensor.handle, BYTES), ArgumentError);
    const freed = usm.allocate({ ...BYTES, kind: "host" });
    const { handle } = freed;
    freed[Symbol.dispose]();
    fails("freed", () => usm.attach(handle, BYTES), ArgumentError);
    say(usm.is(tensor), second.usm.is(tensor), String(usm).startsWith("levelzero.usm"));
  }, ["true false true"]),
  "maps": row(() => {
    using context = open();
    using second = LevelZeroContext.open({ device: SECOND });
    using graph = new MapperGraph([host, context, second]);
    using far = context.usm.allocate({ ...BYTES, kind: "device" });
    using near = context.usm.allocate({ ...BYTES, kind: "host" });
    using onHost = host.allocate(BYTES);
    fails("a copy that was not asked for", () => graph.map(far, host), NoRouteError);
    fails("host memory to a device", () => graph.map(onHost, context.usm), NoRouteError);
    fails("shared memory to another context", () => graph.map(near, second.usm), NoRouteError);
    using held = graph.map(near, host);
    fails("fill while the host holds it", () => context.queue.fill(near, 1), AccessError);
    fails("read while the host holds it", () => context.queue.read(near, new Uint8Array(64)), AccessError);
    say(held.bytes().length);
  }, ["64"]),
  "commands": row(async () => {
    using context = open();
    using other = open();
    using tensor = context.usm.allocate({ ...BYTES, kind: "device" });
    using elsewhere = other.usm.allocate({ ...BYTES, kind: "device" });
    using onHost = host.allocate(BYTES);
    const { queue } = context;
    fails("fill of another context's", () => queue.fill(elsewhere, 1), ArgumentError);
    fails("fill of the host's", () => queue.fill(any(onHost), 1), ArgumentError);
    fails("value", () => queue.fill(tensor, any("1")), ArgumentError);
    fails("long value", () => queue.fill(tensor, new Uint8Array(128)), ArgumentError);
    fails("copy", () => queue.copy(tensor, elsewhere), ArgumentError);
    fails("overlap", () => queue.copy(tensor, tensor), LayoutError);
    fails("short array", () => queue.read(tensor, new Uint8Array(63)), LayoutError);
    fails("after", () => queue.fill(tensor, 1, { after: any(1) }), ArgumentError);
    queue.write(tensor, new Uint8Array(64));
    queue.finish();
    await queue.waitFor(other.queue.fence()).wait();
    say(context.bytesCopied);
  }, ["64"]),
  "programs and kernels": row(() => {
    using context = open();
    using other = open();
    fails("no bytes", () => context.program(any("kernel")), ArgumentError);
    fails("it is not SPIR-V", () => context.program(new Uint8Array(40)), ArgumentError);
    fails("cut off", () => context.program(spirvOf().slice(0, -3)), ArgumentError);
    fails("broken", () => context.program(spirvOf([{ name: "broken", parameters: [] }])), LevelZeroBuildError);
    using program = context.program(spirvOf());
    fails("name", () => program.kernel("sub"), ArgumentError);
    fails("name kind", () => program.kernel(any(1)), ArgumentError);
    using add = program.kernel("add");
    using numbers = context.usm.allocate(SHARED);
    using elsewhere = other.usm.allocate(SHARED);
    using floats = context.usm.allocate({ ...SHARED, dtype: "f32" });
    fails("range", () => add.run(any([16]), [numbers, 1]), ArgumentError);
    fails("no groups", () => add.run({ groups: [0] }, [numbers, 1]), ArgumentError);
    fails("large group", () => add.run({ groups: [1], groupSize: [512] }, [numbers, 1]), ArgumentError);
    fails("few arguments", () => add.run({ groups: [16] }, [numbers]), ArgumentError);
    fails("another context's", () => add.run({ groups: [16] }, [elsewhere, 1]), ArgumentError);
    fails("dtype", () => add.run({ groups: [16] }, [floats, 1]), ArgumentError);
    fails("number", () => add.run({ groups: [16] }, [numbers, any("1")]), ArgumentError);
    fails(
      "another context's queue",
      () => add.run({ groups: [16] }, [numbers, 1], { queue: other.queue }),
      ArgumentError,
    );
    add.run({ groups: [4], groupSize: [4] }, [numbers, 1]);
    say(program.kernelNames.length, add.name, program.handle > 0n, add.handle > 0n);
  }, ["3 add true true"]),
});
