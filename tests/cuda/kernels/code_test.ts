import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError } from "../../../mod.ts";
import { cubinIn, ptxIn } from "../../../src/cuda/kernels/code.ts";
import { compile } from "../../../src/cuda/kernels/compile.ts";
import { parametersIn } from "../../../src/cuda/kernels/declared.ts";
import { sourceIn } from "../../../src/cuda/kernels/source.ts";
import { staleViews } from "../../stale_views.ts";
import { compilerTest } from "./compiler.ts";

Deno.test("ptx: it begins with .version, after comments, and is passed as C ends a text", () => {
  for (const before of ["", "\n \t", "// a comment\n", "/* one\n, * another */ // third\n"]) {
    const { isPtx, bytes } = ptxIn(`${before}.version 8.0\n.target sm_90\n`);
    assert(isPtx);
    assertEquals(bytes.at(-1), 0);
  }
  const none = [
    "",
    "version 8.0",
    ".target sm_90\n.version 8.0",
    "// .version 8.0",
    "/* .version 8.0 */",
    ".versions 8",
  ];
  for (const text of [...none, ".version 8.0\0\n", 7 as never, new Uint8Array(9) as never]) {
    assertEquals(assertThrows(() => ptxIn(text), ArgumentError).argument, "text");
  }
});

function cubin(): Uint8Array<ArrayBuffer> {
  const source = sourceIn(`extern "C" __global__ void k(float* x) { x[0] = 1; }`, {});
  return compile(source, { name: "H200", computeCapability: { major: 9, minor: 0 } }).code.bytes;
}

Deno.test("source, options and types: of a long text a message shows the beginning", () => {
  const long = `-${"x".repeat(1 << 20)}`;
  const wrong: readonly (() => unknown)[] = [
    () => ptxIn(long),
    () => sourceIn("x", { options: [long] }),
    () => sourceIn("x", { options: [long.slice(1)] }),
    () => sourceIn("x", { options: [`--option=0123456789${"9".repeat(4000)}`] }),
    () => sourceIn("x", { defines: { [long]: 1 } }),
    () => sourceIn("x", { names: [`${long}\0`] }),
    () => sourceIn("x", { [long]: 1 } as never),
    () => parametersIn([long], "k"),
    () => parametersIn([`${long}*`], "k"),
    () => parametersIn([`float ${long.slice(1)}`], "k"),
  ];
  for (const call of wrong) {
    const { message } = assertThrows(call, ArgumentError);
    assert(message.length < 600, `${message.length} characters: ${message.slice(0, 300)}`);
  }
});

Deno.test("cubin: a view whose bytes are gone is refused", () => {
  for (const view of staleViews()) {
    assertEquals(assertThrows(() => cubinIn(view as Uint8Array), ArgumentError, "the view is stale").argument, "bytes");
  }
});

compilerTest("cubin: what is cut off or damaged is refused before the driver sees it", () => {
  const whole = cubin();
  const code = cubinIn(whole);
  assertEquals([code.isPtx, code.bytes], [false, whole]);
  assert(code.bytes.buffer !== whole.buffer, "a copy");
  for (const length of [0, 1, 3, 4, 20, 63, 64, 100, whole.length >> 1, whole.length - 1]) {
    assertEquals(assertThrows(() => cubinIn(whole.subarray(0, length)), ArgumentError).argument, "bytes", `${length}`);
  }
  const damages: [at: number, value: number, size: 1 | 2 | 4 | 8][] = [
    [0, 0, 1], // the magic
    [4, 1, 1], // 32 bits
    [5, 2, 1], // big-endian
    [18, 62, 2], // x86-64
    [32, 2 ** 31, 8], // the segments lie elsewhere
    [40, 2 ** 31, 8], // the sections do
    [56, 60_000, 2], // so many segments
    [58, 1, 2], // short sections
    [60, 60_000, 2], // so many sections
  ];
  for (const [at, value, size] of damages) {
    const bytes = whole.slice();
    const view = new DataView(bytes.buffer);
    if (size === 1) view.setUint8(at, value);
    else if (size === 2) view.setUint16(at, value, true);
    else view.setBigUint64(at, BigInt(value), true);
    assertEquals(assertThrows(() => cubinIn(bytes), ArgumentError).argument, "bytes", `at ${at}`);
  }
});

compilerTest("cubin: a section that reaches out of the file is refused", () => {
  const bytes = cubin();
  const view = new DataView(bytes.buffer);
  const sections = Number(view.getBigUint64(40, true));
  view.setBigUint64(sections + view.getUint16(58, true) + 32, 2n ** 40n, true);
  assertThrows(() => cubinIn(bytes), ArgumentError);
});

Deno.test("fatbin: its header says how long it is", () => {
  const bytes = new Uint8Array(64);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0xba55ed50, true);
  view.setUint16(4, 1, true);
  view.setUint16(6, 16, true);
  view.setBigUint64(8, 48n, true);
  assertEquals(cubinIn(bytes).bytes, bytes);
  for (const length of [4, 15, 63]) assertThrows(() => cubinIn(bytes.subarray(0, length)), ArgumentError);
  view.setUint16(6, 8, true);
  assertThrows(() => cubinIn(bytes), ArgumentError);
});

Deno.test("cubin: it is bytes", () => {
  for (const bytes of [null, 7, "cubin", [1, 2], new ArrayBuffer(64), {}]) {
    assertEquals(assertThrows(() => cubinIn(bytes as never), ArgumentError).argument, "bytes");
  }
});
