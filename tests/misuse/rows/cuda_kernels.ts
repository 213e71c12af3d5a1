import { AccessError, ArgumentError, DisposedError, host, MapperGraph } from "@samepage/interop";
import { CudaBuildError } from "@samepage/interop/cuda";
import { BYTES, device, kernels, ONE } from "../cuda.ts";
import { any, fails, outcome, safe, same, say } from "../kit.ts";
import { table } from "../row.ts";

const PTX = `
.version 6.0
.target sm_50
.address_size 64
.visible .entry nothing() { ret; }
`;

export default table(import.meta, {
  "arguments that do not fit": {
    gpus: 1,
    run() {
      using cuda = device();
      using k = kernels(cuda);
      using x = cuda.allocate(BYTES);
      using floats = cuda.allocate({ shape: [64], dtype: "f32" });
      using onHost = host.allocate(BYTES);
      const run = (...args: unknown[]) => outcome(() => k.add.run(ONE, any(args)));
      say(run(), run(x), run(x, 1, 2), outcome(() => k.add.run(ONE, any("args"))));
      for (const value of [256, -1, 1.5, NaN, "1", null, undefined, x, 2n ** 64n, {}]) {
        same(`${value}`, run(x, value), "ArgumentError args[1]");
      }
      for (const value of [5, 5n, "x", {}, onHost, undefined, new Uint8Array(64)]) {
        same(`${value}`, run(value, 1), "ArgumentError args[0]");
      }
      same("floats", run(floats, 1), "ArgumentError args[0]");
      using vectors = k.program.kernel("vectors", ["float4", "int2", "float*"]);
      for (const v of [[1, 2, 3], [1, 2, 3, 4, 5], 1, "xyzw", [1, 2, 3, "4"]]) {
        fails(`${v}`, () => vectors.run(ONE, any([v, [1, 2], floats])), ArgumentError);
      }
      using odd = floats.slice({ shape: [4], dtype: "u8", strides: [1], byteOffset: 1, byteLength: 4 });
      fails(
        "unaligned",
        () => k.program.kernel("vectors", ["float4", "int2", "float*"]).run(ONE, [[1, 2, 3, 4], [1, 2], odd]),
      );
      cuda.stream.finish();
    },
    says: ["ArgumentError args ArgumentError args ArgumentError args ArgumentError args"],
  },
  "a parameter's size or count that the kernel does not have": {
    gpus: 1,
    run() {
      using cuda = device();
      using k = kernels(cuda);
      const { program } = k;
      say(outcome(() => program.kernel("add", ["unsigned char*"])));
      say(outcome(() => program.kernel("add", ["unsigned char*", "unsigned char", "int"])));
      say(outcome(() => program.kernel("add", ["unsigned char*", "double"])));
      say(outcome(() => program.kernel("add", ["unsigned char*", { bytes: 16 }])));
      say(outcome(() => program.kernel("add", ["image2d_t", "int"])));
      say(outcome(() => program.kernel("add", any("int"))));
      say(outcome(() => program.kernel("add", any([5, 6]))));
      say(outcome(() => program.kernel("add", ["unsigned char*", { bytes: 2 ** 40 }])));
      say(k.add.parameters.length, k.add.handle > 0n);
    },
    says: [
      "ArgumentError parameters",
      "ArgumentError parameters",
      "ArgumentError parameters[1]",
      "ArgumentError parameters[1]",
      "ArgumentError parameters[0]",
      "ArgumentError parameters",
      "ArgumentError parameters[0]",
      "ArgumentError parameters[1].bytes",
      "2 true",
    ],
  },
  "a kernel's name that there is not": {
    gpus: 1,
    run() {
      using cuda = device();
      using k = kernels(cuda);
      for (const name of ["ad", "add\0", "", "add ", "__proto__"]) {
        say(outcome(() => k.program.kernel(name, ["unsigned char*", "unsigned char"])));
      }
      fails("no text", () => k.program.kernel(any(5), []), ArgumentError);
      say(k.program.kernelNames.includes("add"), k.program.handle > 0n);
    },
    says: [...Array(5).fill("ArgumentError name"), "true true"],
  },
  "launches that no device can do": {
    gpus: 1,
    run() {
      using cuda = device();
      using k = kernels(cuda);
      using x = cuda.allocate(BYTES);
      const run = (launch: unknown) => outcome(() => k.add.run(any(launch), [x, 1]));
      say(
        run({ groups: [0], groupSize: [256] }),
        run({ groups: [1], groupSize: [0] }),
        run({ groups: [], groupSize: [1] }),
      );
      say(
        run({ groups: [1], groupSize: [1, 1, 1, 1] }),
        run({ groups: [1], groupSize: [1 << 20] }),
        run({ groups: [1], groupSize: [1024, 2] }),
      );
      say(
        run({ groups: [2 ** 40], groupSize: [1] }),
        run({ groups: [NaN], groupSize: [1] }),
        run({ groups: [-1], groupSize: [1] }),
      );
      say(run({ groups: 16, groupSize: [1] }), run({ groupSize: [1] }), run({ ...ONE, sharedBytes: 1 << 30 }));
      say(run({ ...ONE, sharedBytes: -1 }), run({ ...ONE, grid: [1] }), run([1]), run(null));
      cuda.stream.finish(); // nothing was launched
    },
    says: [
      "ArgumentError groups[0] ArgumentError groupSize[0] ArgumentError groups",
      "ArgumentError groupSize ArgumentError groupSize[0] ArgumentError groupSize",
      "ArgumentError groups[0] ArgumentError groups[0] ArgumentError groups[0]",
      "ArgumentError groups ArgumentError groups ArgumentError sharedBytes",
      "ArgumentError sharedBytes ArgumentError range ArgumentError range ArgumentError range",
    ],
  },
  "a tensor that may only be read, written": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using k = kernels(cuda);
      using source = host.allocate(BYTES);
      using mapped = graph.map(source, cuda, { access: "read" });
      fails("run", () => k.add.run(ONE, [mapped, 1]), AccessError);
      fails("fill", () => cuda.stream.fill(mapped, 1), AccessError);
      using part = mapped.slice(mapped.layout);
      fails("its part", () => k.add.run(ONE, [part, 1]), AccessError);
    },
  },
  "a source that does not compile": {
    gpus: 1,
    run() {
      using cuda = device();
      for (const source of ["", " ", "a\0b", any<string>(5), any<string>(null)]) {
        fails("no source", () => cuda.program(source), ArgumentError);
      }
      for (const options of [{ options: ["x"] }, { options: ["-I"] }, { names: [5] }, { defines: { "a b": 1 } }, 5]) {
        safe("options", () => cuda.program('extern "C" __global__ void k() {}', any(options))[Symbol.dispose]());
      }
      fails("an option", () => cuda.program("int x;", { options: ["--no-such-option"] }));
      cuda.program("__global__ void k( {");
    },
    fails: {
      error: CudaBuildError,
      ...{ api: "nvrtc", fn: "nvrtcCompileProgram", code: 6, codeName: "NVRTC_ERROR_COMPILATION" },
      message: /does not compile/,
      has: { log: /error/ },
    },
  },
  "PTX that is none": {
    gpus: 1,
    run() {
      using cuda = device();
      for (const text of ["", "not PTX", "\0", "// nothing", any<string>(5), `${PTX}\0${PTX}`]) {
        fails("no PTX", () => cuda.programFromPtx(text), ArgumentError);
      }
      fails("of the future", () => cuda.programFromPtx(PTX.replace("6.0", "99.9")));
      fails("of another device", () => cuda.programFromPtx(PTX.replace("sm_50", "sm_999")));
      fails("garbage", () => cuda.programFromPtx(`${PTX} garbage`), CudaBuildError);
      let seed = 1;
      const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n;
      for (let i = 0; i < 50; i++) {
        const at = 15 + random(PTX.length - 15);
        const text = PTX.slice(0, at) + String.fromCharCode(33 + random(94)) + PTX.slice(at + 1);
        safe(text, () => cuda.programFromPtx(text)[Symbol.dispose]());
      }
      using program = cuda.programFromPtx(PTX);
      program.kernel("nothing", []).run({ groups: [1], groupSize: [1] }, []);
      cuda.stream.finish();
    },
  },
  "cubins that are damaged": {
    gpus: 1,
    run() {
      using cuda = device();
      const elf = new Uint8Array(4096);
      elf.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
      new DataView(elf.buffer).setUint16(18, 190, true);
      const fatbin = new Uint8Array(64);
      new DataView(fatbin.buffer).setUint32(0, 0xba55ed50, true);
      for (
        const bytes of [new Uint8Array(0), new Uint8Array(10), fatbin, elf.subarray(0, 40), any<Uint8Array>("cubin")]
      ) {
        fails("no cubin", () => cuda.programFromCubin(bytes), ArgumentError);
      }
      safe("an empty one", () => cuda.programFromCubin(elf)[Symbol.dispose]());
      using x = cuda.allocate(BYTES);
      cuda.stream.fill(x, 1);
      cuda.stream.finish();
    },
  },
  "programs and kernels that were disposed": {
    gpus: 1,
    async run() {
      using cuda = device();
      using x = cuda.allocate(BYTES);
      const k = kernels(cuda);
      k.wait.run({ groups: [1], groupSize: [256] }, [x, 20]);
      k.add[Symbol.dispose]();
      k.add[Symbol.dispose]();
      fails("a kernel", () => k.add.run(ONE, [x, 1]), DisposedError);
      fails("its handle", () => k.add.handle, DisposedError);
      await k.program[Symbol.asyncDispose](); // while one of its kernels runs
      k.program[Symbol.dispose]();
      fails("another", () => k.wait.run(ONE, [x, 1]), DisposedError);
      fails("one more", () => k.program.kernel("add", []), DisposedError);
      fails("names", () => k.program.kernelNames, DisposedError);
      fails("handle", () => k.program.handle, DisposedError);
      Deno.inspect([k.program, k.add]);
    },
  },
});
