import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  LayoutError,
  MapperGraph,
  NativeCallError,
  NoRouteError,
} from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { SyclContext, syclDevices, type SyclKernel, type SyclTensor } from "@samepage/interop/sycl";
import { behave, STAND_IN, useStandIn } from "../../sycl/open.ts";
import { any, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const FLOATS = { kind: "shared", shape: [64], dtype: "f32" } as const;

/** A row on the stand-in of the tests, which behaves so. */
function row(run: () => unknown, fails?: Failure, words: readonly string[] = []): Row {
  return {
    async run() {
      useStandIn();
      behave(...words);
      await run();
    },
    nodes: [STAND_IN],
    ...(fails === undefined ? {} : { fails }),
  };
}

/** The same with a context. */
function withSycl(use: (sycl: SyclContext) => unknown, fails?: Failure, words?: readonly string[]): Row {
  return row(
    async () => {
      using sycl = SyclContext.open();
      await use(sycl);
    },
    fails,
    words,
  );
}

/** The same with a kernel `scale(global float* x, float by)`, and a tensor for it. */
function withKernel(
  use: (there: { sycl: SyclContext; scale: SyclKernel; x: SyclTensor }) => unknown,
  fails?: Failure,
): Row {
  return withSycl(async (sycl) => {
    using program = sycl.program("kernel void scale(global float* x, float by) { x[get_global_id(0)] *= by; }");
    using scale = program.kernel("scale", ["global float*", "float"]);
    using x = sycl.usm.allocate(FLOATS);
    await use({ sycl, scale, x });
    sycl.queue.finish();
  }, fails);
}

const wrong = (argument: string, message: RegExp, more: Partial<Failure> = {}): Failure => ({
  error: ArgumentError,
  api: "sycl",
  argument,
  message,
  ...more,
});

const LAUNCH = { fn: "DPCTLQueue_SubmitRange" };

export default table(import.meta, {
  "a device that there is not": row(
    () => SyclContext.open({ device: "voodoo" }),
    wrong("choice", /no SYCL device fits/, { fn: "DPCTLDeviceMgr_GetDevices", hint: /stand-in \(cpu\)/ }),
  ),
  "no device at all": row(
    () => SyclContext.open(),
    wrong("choice", /SYCL has no device/, { fn: "DPCTLDeviceMgr_GetDevices", hint: /TBB/ }),
    ["no-device"],
  ),
  "a choice that is not a string": row(
    () => SyclContext.open({ device: any(1) }),
    wrong("choice.device", /expected a string/),
  ),
  "a place in the list at which there is no device": row(
    () => SyclContext.open({ index: 9 }),
    wrong("choice", /no SYCL device fits \{"index":9\}/, { fn: "DPCTLDeviceMgr_GetDevices", hint: /stand-in/ }),
  ),
  "a place in the list that is not a number": row(
    () => SyclContext.open({ index: any("1") }),
    wrong("choice.index", /expected/),
  ),
  "a context that is none, to open on": row(
    () => SyclContext.open({ on: any({}) }),
    wrong("on", /an open context/, { hint: /Pass the context/ }),
  ),
  "a context of the host's, to open on": row(
    () => SyclContext.open({ on: host }),
    wrong("on", /host \(host\) has no cl_context/, { fn: "make_context", hint: /OpenCL/ }),
  ),
  "a context that is gone, to open on": row(() => {
    const cl = OpenCLContext.open();
    cl[Symbol.dispose]();
    SyclContext.open({ on: cl });
  }, { error: DisposedError, api: "core", message: /opencl context/i }),
  "devices without a driver": {
    ...row(() => say(syclDevices().length), undefined, ["no-device"]),
    says: ["0"],
  },
  "memory of a device that has none": row(() => {
    using sycl = SyclContext.open({ device: "bare" });
    sycl.usm.allocate(FLOATS);
  }, wrong("kind", /bare stand-in has no shared memory/, { hint: /device\.usm/ })),
  "a pointer on a device that has no unified memory": row(() => {
    using sycl = SyclContext.open({ device: "bare" });
    sycl.usm.attach(4096n, { shape: [1], dtype: "u8" });
  }, wrong("pointer", /it is not unified memory/, { fn: "DPCTLUSM_GetPointerType" })),
  "the host's memory on a device that does not reach it": row(() => {
    using sycl = SyclContext.open({ device: "bare" });
    using graph = new MapperGraph([host, sycl]);
    using numbers = host.allocate({ shape: [4], dtype: "f32" });
    graph.map(numbers, sycl.usm);
  }, {
    error: NoRouteError,
    argument: "target",
    api: "core",
    message: /usm_system_allocations/,
    hint: /usm\.allocate/,
    has: { refused: /./ },
  }),
  "a kind that there is not": withSycl(
    (sycl) => sycl.usm.allocate({ ...FLOATS, kind: any("managed") }),
    wrong("kind", /expected one of "host", "device", "shared"/),
  ),
  "more than the device takes in one piece": withSycl(
    (sycl) => sycl.usm.allocate({ ...FLOATS, shape: [2 ** 40] }),
    {
      error: LayoutError,
      api: "sycl",
      fn: "DPCTLaligned_alloc_shared",
      argument: "shape",
      message: /more than the 4294967296/,
      hint: /in parts/,
    },
  ),
  "an alignment that is not a power of two": withSycl(
    (sycl) => sycl.usm.allocate({ ...FLOATS, align: 100 }),
    { error: LayoutError, api: "core", argument: "align", message: /expected a power of two, got 100/ },
  ),
  "memory of a context that is gone": row(() => {
    const sycl = SyclContext.open();
    sycl[Symbol.dispose]();
    sycl.usm.allocate(FLOATS);
  }, { error: DisposedError, api: "core", message: /sycl context/ }),
  "a pointer that is none": withSycl(
    (sycl) => sycl.usm.attach(any("0x1000"), { shape: [1], dtype: "u8" }),
    wrong("pointer", /expected a bigint, got a string/),
  ),
  "a pointer of the host's": withSycl((sycl) => {
    using numbers = host.allocate({ shape: [4], dtype: "f32" });
    sycl.usm.attach(numbers.handle, { shape: [4], dtype: "f32" });
  }, wrong("pointer", /it is not unified memory/, { fn: "DPCTLUSM_GetPointerType" })),
  "a pointer of another context": withSycl((sycl) => {
    using other = SyclContext.open();
    using memory = other.usm.allocate(FLOATS);
    sycl.usm.attach(memory.address, { shape: [64], dtype: "f32" });
  }, wrong("pointer", /it is not unified memory/, { fn: "DPCTLUSM_GetPointerType" })),
  "more than there is behind a pointer": withSycl((sycl) => {
    using memory = sycl.usm.allocate({ kind: "device", shape: [4096], dtype: "u8" });
    sycl.usm.attach(memory.address, { shape: [2 ** 30], dtype: "u8" });
  }, {
    error: LayoutError,
    api: "sycl",
    fn: "DPCTLUSM_GetPointerType",
    argument: "init",
    message: /the allocation ends before/,
  }),
  "freed memory": withSycl((sycl) => {
    const memory = sycl.usm.allocate(FLOATS);
    const { address } = memory;
    memory[Symbol.dispose]();
    sycl.usm.attach(address, { shape: [64], dtype: "f32" });
  }, wrong("pointer", /it is not unified memory/, { fn: "DPCTLUSM_GetPointerType" })),
  "a view of memory of the device": withSycl((sycl) => {
    using graph = new MapperGraph([host, sycl]);
    using memory = sycl.usm.allocate({ ...FLOATS, kind: "device" });
    graph.map(memory, host);
  }, {
    error: NoRouteError,
    api: "core",
    argument: "target",
    message: /copy/,
    hint: /copy: "allow"/,
    has: { refused: /./ },
  }),
  "a fill of memory of another context": withSycl((sycl) => {
    using other = SyclContext.open();
    using memory = other.usm.allocate(FLOATS);
    sycl.queue.fill(memory, 1);
  }, wrong("to", /belongs to another context/)),
  "a fill of the host's memory": withSycl((sycl) => {
    using numbers = host.allocate({ shape: [4], dtype: "f32" });
    sycl.queue.fill(any(numbers), 1);
  }, wrong("to", /expected a SyclTensor/, { hint: /graph\.map\(tensor, sycl\.usm\)/ })),
  "a fill with more bytes than SYCL takes": withSycl((sycl) => {
    using memory = sycl.usm.allocate(FLOATS);
    sycl.queue.fill(memory, [1, 2, 3, 4, 5, 6, 7, 8]);
  }, wrong("value", /SYCL fills with 1, 2, 4, 8 or 16 bytes, got 32/)),
  "a fill that begins between two patterns": withSycl((sycl) => {
    using memory = sycl.usm.allocate({ ...FLOATS, shape: [65] });
    using part = memory.slice({ shape: [4], dtype: "f32", byteOffset: 4 });
    sycl.queue.fill(part, [1, 2]);
  }, { error: LayoutError, api: "sycl", fn: "DPCTLQueue_Fill64", argument: "to", message: /multiple of the pattern/ }),
  "a copy to memory that is lent": withSycl((sycl) => {
    using graph = new MapperGraph([host, sycl]);
    using from = sycl.usm.allocate(FLOATS);
    using to = sycl.usm.allocate(FLOATS);
    using _seen = graph.map(to, host);
    sycl.queue.copy(from, to);
  }, { error: AccessError, api: "core", argument: "to", message: /lent/, hint: /Dispose that first/ }),
  "a queue of a context that is gone": row(() => {
    const sycl = SyclContext.open();
    const queue = sycl.createQueue();
    sycl[Symbol.dispose]();
    queue.fence();
  }, { error: DisposedError, api: "core", message: /sycl queue/ }),
  "another queue of a context that is gone": row(() => {
    const sycl = SyclContext.open();
    sycl[Symbol.dispose]();
    sycl.createQueue();
  }, { error: DisposedError, api: "core", message: /sycl context/ }),
  "a source that does not compile": withSycl(
    (sycl) => sycl.program("kernel void"),
    {
      error: NativeCallError,
      api: "sycl",
      fn: "DPCTLKernelBundle_CreateFromOCLSource",
      message: /failed/,
      hint: /DPCTL_VERBOSITY/,
    },
  ),
  "SPIR-V that is none": withSycl(
    (sycl) => sycl.program(new Uint8Array(64)),
    wrong("code", /it is not SPIR-V/, { hint: /Compile the kernels/ }),
  ),
  "code that is neither": withSycl(
    (sycl) => sycl.program(any(7)),
    wrong("code", /expected OpenCL C as a string, or SPIR-V as bytes, got a number/),
  ),
  "a kernel that there is not": withSycl((sycl) => {
    using program = sycl.program("kernel void scale(global float* x) {}");
    program.kernel("scal", []);
  }, wrong("name", /there is no kernel "scal"/, { fn: "DPCTLKernelBundle_GetKernel", hint: /does not list/ })),
  "a kernel declared with fewer parameters": withSycl((sycl) => {
    using program = sycl.program("kernel void scale(global float* x, float by) {}");
    program.kernel("scale", ["global float*"]);
  }, wrong("parameters", /the kernel has 2, and 1 were declared/, { fn: "DPCTLKernel_GetNumArgs" })),
  "a parameter that DPCTL does not pass": withSycl((sycl) => {
    using program = sycl.program("kernel void scale(global float* x, float4 by) {}");
    program.kernel("scale", ["global float*", "float4"]);
  }, wrong("parameters[1]", /"float4" is not a type that DPCTL passes/, { hint: /in memory/ })),
  "a parameter that is misspelt": withSycl((sycl) => {
    using program = sycl.program("kernel void scale(global float* x, float by) {}");
    program.kernel("scale", ["global flaot*", "float"]);
  }, wrong("parameters[0]", /does not point to a number/, { hint: /void\*/ })),
  "too few arguments": withKernel(
    ({ scale, x }) => scale.run({ items: [64] }, [x]),
    wrong("args", /expected 2 arguments \(global float\*, float\), got 1/, LAUNCH),
  ),
  "a tensor for a number": withKernel(
    ({ scale, x }) => scale.run({ items: [64] }, [x, x]),
    wrong("args[1]", /expected a number/, LAUNCH),
  ),
  "a number for a pointer": withKernel(
    ({ scale }) => scale.run({ items: [64] }, [7, 2]),
    wrong("args[0]", /expected a tensor/, { ...LAUNCH, hint: /sycl\.usm/ }),
  ),
  "elements of another type": withKernel(({ sycl, scale }) => {
    using bytes = sycl.usm.allocate({ ...FLOATS, dtype: "i32" });
    scale.run({ items: [64] }, [bytes, 2]);
  }, wrong("args[0]", /it points to f32/, { ...LAUNCH, hint: /void\*/ })),
  "an argument of another context": withKernel(
    ({ scale }) => {
      using other = SyclContext.open();
      using memory = other.usm.allocate(FLOATS);
      scale.run({ items: [64] }, [memory, 2]);
    },
    wrong("args[0]", /argument 0 \(global float\*\): .* belongs to another context/, { ...LAUNCH, hint: /sycl\.usm/ }),
  ),
  "no work-items": withKernel(
    ({ scale, x }) => scale.run({ items: [0] }, [x, 2]),
    wrong("items[0]", /expected a whole number from 1/, LAUNCH),
  ),
  "groups that do not divide the items": withKernel(
    ({ scale, x }) => scale.run({ items: [64], groupSize: [48] }, [x, 2]),
    wrong("groupSize[0]", /48 does not divide the 64 work-items/, { ...LAUNCH, hint: /Round/ }),
  ),
  "groups beyond the kernel's": withKernel(
    ({ scale, x }) => scale.run({ items: [1024, 1], groupSize: [256, 2] }, [x, 2]),
    wrong("groupSize", /512 work-items are more than the 256/, LAUNCH),
  ),
  "a queue of another context": withKernel(({ scale, x }) => {
    using other = SyclContext.open();
    scale.run({ items: [64] }, [x, 2], { queue: other.queue });
  }, wrong("queue", /it is of another context/, LAUNCH)),
  "memory that the host holds": withKernel(({ sycl, scale, x }) => {
    using graph = new MapperGraph([host, sycl]);
    using _seen = graph.map(x, host);
    scale.run({ items: [64] }, [x, 2]);
  }, { error: AccessError, api: "core", argument: "args[0]", message: /lent/, hint: /Dispose that first/ }),
  "a kernel of a program that is gone": withKernel(({ sycl, x }) => {
    const program = sycl.program("kernel void scale(global float* x, float by) {}");
    const scale = program.kernel("scale", ["float*", "float"]);
    program[Symbol.dispose]();
    scale.run({ items: [64] }, [x, 2]);
  }, { error: DisposedError, api: "core", message: /sycl kernel/ }),
  "the handle of a context that is gone": row(() => {
    const sycl = SyclContext.open();
    sycl[Symbol.dispose]();
    void sycl.handle;
  }, { error: DisposedError, api: "core", message: /sycl context/ }),
  "the handle of a queue that is gone": row(() => {
    const sycl = SyclContext.open();
    const { queue } = sycl;
    sycl[Symbol.dispose]();
    void queue.handle;
  }, { error: DisposedError, api: "core", message: /sycl queue/ }),
  "a tensor of another target, asked for its kind": {
    ...withSycl((sycl) => {
      using other = SyclContext.open();
      using memory = other.usm.allocate(FLOATS);
      say(memory.usm, sycl.usm.is(memory), other.usm.is(memory));
    }),
    says: ["shared false true"],
  },
  "work that fails": {
    ...withSycl(async (sycl) => {
      const memory = sycl.usm.allocate(FLOATS);
      sycl.queue.fill(memory, 1);
      const error = await sycl.queue.fence().wait().catch((error) => error);
      say(error.constructor.name, error.fn);
      memory[Symbol.dispose]();
    }, {
      error: NativeCallError,
      api: "sycl",
      fn: "DPCTLEvent_GetCommandExecutionStatus",
      message: /Work submitted by DPCTLQueue_Fill32 failed/,
      hint: /gives no reason/,
    }, ["work-fails"]),
    says: ["NativeCallError DPCTLEvent_GetCommandExecutionStatus"],
  },
});
