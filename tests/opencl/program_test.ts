import { assert, assertEquals } from "@std/assert";
import { ArgumentError, DisposedError, InteropError, NativeCallError } from "@samepage/interop";
import { BuildError } from "@samepage/interop/opencl";
import { open, testEach, thrown } from "./help.ts";

testEach("a build error carries the compiler's log", (platform) => {
  using cl = open(platform);
  const error = thrown(BuildError, () => cl.program("kernel void k(global uchar* x) { x[0] = no_such_thing; }"));
  assert(error instanceof NativeCallError);
  assertEquals([error.name, error.fn, error.code, error.codeName], [
    "BuildError",
    "clBuildProgram",
    -11,
    "CL_BUILD_PROGRAM_FAILURE",
  ]);
  assert(error.log.includes("no_such_thing"), error.log);
  assert(error.message.includes(cl.device.name), error.message);
});

testEach("a wrong compiler option is an error", (platform) => {
  using cl = open(platform);
  // rusticl passes what it does not know on to clang, which may end the process: such words do not reach it.
  const refused = platform === "rusticl" ? ArgumentError : NativeCallError;
  thrown<Error>(refused, () => cl.program("kernel void k(global uchar* x) {}", { options: "-no-such-option" }));
});

testEach("options reach the compiler", (platform) => {
  using cl = open(platform);
  const source = "#ifdef EXTRA\nkernel void extra(global uchar* x) {}\n#endif\nkernel void k(global uchar* x) {}";
  using plain = cl.program(source);
  using more = cl.program(source, { options: "-DEXTRA" });
  assertEquals(plain.kernelNames, ["k"]);
  assertEquals(more.kernelNames.toSorted(), ["extra", "k"]);
});

testEach("an unknown kernel's error lists those that are there", (platform) => {
  using cl = open(platform);
  using program = cl.program("kernel void one(global uchar* x) {} kernel void two(global uchar* x) {}");
  for (const name of ["three", "", "ONE", "ünï"]) {
    const error = thrown(ArgumentError, () => program.kernel(name));
    assertEquals(error.argument, "name");
    assert(error.message.includes("one") && error.message.includes("two"), error.message);
  }
});

testEach("an empty source is refused", (platform) => {
  using cl = open(platform);
  assertEquals(thrown(ArgumentError, () => cl.program("")).argument, "source");
});

testEach("a source of blanks, or without a kernel, ends nothing", (platform) => {
  using cl = open(platform);
  for (const source of [" ", "\n", "// only words", "float f(float x) { return x; }"]) {
    try {
      using program = cl.program(source);
      assertEquals(program.kernelNames, []);
      thrown(InteropError, () => program.kernel("f"));
    } catch (error) {
      if (!(error instanceof NativeCallError)) throw error;
    }
  }
});

testEach("a program's kernels end with it", (platform) => {
  using cl = open(platform);
  using program = cl.program("kernel void k(global uchar* x) {}");
  const kernel = program.kernel("k");
  program[Symbol.dispose]();
  thrown(DisposedError, () => kernel.handle);
  thrown(DisposedError, () => program.handle);
  thrown(DisposedError, () => program.kernel("k"));
});
