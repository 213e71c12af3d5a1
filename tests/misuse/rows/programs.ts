import { ArgumentError, DisposedError } from "@samepage/interop";
import { BuildError } from "@samepage/interop/opencl";
import { any, fails, open, safe } from "../kit.ts";
import { type Rows, table } from "../row.ts";

const OPTIONS = [
  ...["-I", "-D", "-DA -I", "x", "-", "'", '"', "\0", "-W", "-cl-std=CL9.9", "-Xclang -ast-dump", "-include /nope"],
  ...["-mllvm -bogus", " -DA\t-DB "],
];

const options: Rows = Object.fromEntries(OPTIONS.map((options) => [
  `build options ${JSON.stringify(options)}`,
  {
    opencl: true,
    run() {
      using cl = open();
      safe("program", () => cl.program("kernel void k() {}", { options })[Symbol.dispose]());
    },
    warns: /^/, // compilers print what they like
  },
]));

const built = {
  api: "opencl",
  fn: "clBuildProgram",
  code: -11,
  codeName: "CL_BUILD_PROGRAM_FAILURE",
  error: BuildError,
} as const;

export default table(import.meta, {
  "an option with a quote that is never closed": {
    opencl: "rusticl",
    run() {
      using cl = open();
      for (const options of ['-DQQ="', '-Dx="a', "-DQ='"]) {
        fails(options, () => cl.program("kernel void k() {}", { options }), ArgumentError);
      }
    },
  },
  ...options,
  "a source that does not compile": {
    opencl: true,
    run() {
      using cl = open();
      cl.program("kernel void k( { nonsense }");
    },
    fails: {
      ...built,
      message: /clBuildProgram failed with CL_BUILD_PROGRAM_FAILURE \(-11\).* says: /,
      has: { log: /error/ },
    },
    warns: /^/,
  },
  "a source that is not a text": {
    opencl: true,
    run() {
      using cl = open();
      cl.program(any(5));
    },
    fails: { error: ArgumentError, api: "opencl", argument: "source", message: /expected a string, got a number/ },
  },
  "an empty source": {
    opencl: true,
    run() {
      using cl = open();
      safe("program", () => cl.program(""));
    },
    warns: /^/,
  },
  "options of the compiler's own": {
    opencl: "rusticl",
    run() {
      using cl = open();
      cl.program("kernel void k() {}", { options: "-D X=1 -I/tmp -O3 -w -Werror -cl-mad-enable" })[Symbol.dispose]();
      for (const options of ["-triple=nvptx64", "-fsanitize=address"]) {
        fails(options, () => cl.program("kernel void k() {}", { options }), ArgumentError);
      }
      cl.program("kernel void k() {}", { options: "-DX -fprofile-instrument=clang" });
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clBuildProgram", argument: "options" },
      message: /"-fprofile-instrument=clang" is not a compiler option/,
      hint: /rusticl takes those of OpenCL/,
    },
  },
  "a kernel that the program does not have": {
    opencl: true,
    run() {
      using cl = open();
      using program = cl.program("kernel void blur() {}");
      program.kernel("sharpen");
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", fn: "clCreateKernel", argument: "name" },
      message: /name: there is no kernel "sharpen"\./,
      hint: /^It has blur\.$/,
    },
  },
  "a kernel's name with more behind a zero": {
    opencl: true,
    run() {
      using cl = open();
      using program = cl.program("kernel void blur() {}");
      program.kernel("blur\0sharpen");
    },
    fails: {
      error: ArgumentError,
      ...{ api: "opencl", argument: "name" },
      message: /has a zero inside/,
    },
  },
  "a kernel of a program that was disposed": {
    opencl: true,
    run() {
      using cl = open();
      const program = cl.program("kernel void blur() {}");
      const blur = program.kernel("blur");
      program[Symbol.dispose]();
      fails("handle", () => blur.handle, DisposedError);
      fails("run", () => blur.run({ items: [1] }, []), DisposedError);
      fails("names", () => program.kernelNames, DisposedError);
      fails("program", () => program.handle, DisposedError);
      program.kernel("blur");
    },
    fails: { error: DisposedError, api: "core", message: /opencl program .* was disposed/ },
  },
  "a program in a context that was disposed": {
    opencl: true,
    run() {
      const cl = open();
      cl[Symbol.dispose]();
      cl.program("kernel void k() {}");
    },
    fails: { error: DisposedError, api: "core", message: /opencl context .* was disposed/ },
  },
});
