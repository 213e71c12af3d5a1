import { assert, assertEquals, assertInstanceOf, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, InteropError, NativeCallError } from "../../src/core/errors.ts";
import { CudaContext } from "../../src/cuda/mod.ts";
import type { CudaBlock } from "../../src/cuda/memory/block.ts";
import {
  assertAllowed,
  CUDA_MEMORY,
  refusalOf,
  type RuledDevice,
  warnWriteCombined,
} from "../../src/cuda/memory/rules.ts";
import type { CudaOperation, CudaRule, CudaRuleKind } from "../../src/cuda/memory/rules/rule.ts";
import * as runtime from "../../ffi/cuda_runtime/mod.ts";
import * as driver from "../../ffi/cuda_driver/mod.ts";
import * as libc from "../../ffi/libc/mod.ts";
import * as opencl from "../../ffi/opencl/mod.ts";
import { warningsOf } from "../warnings.ts";
import { OPERATIONS } from "./cells/operations.ts";
import { Specimen, SPECIMENS } from "./cells/specimens.ts";
import { gpuTest, withCuda } from "./help.ts";

const KINDS = Object.keys(CUDA_MEMORY) as CudaRuleKind[];
const NAMES = Object.keys(OPERATIONS) as CudaOperation[];

/** The functions that rules name, by the libraries that have them. */
const FUNCTIONS: readonly string[] = [runtime, driver, libc, opencl].flatMap(({ SYMBOLS }) => Object.keys(SYMBOLS));

function isFunction(name: string): boolean {
  return FUNCTIONS.includes(name) || FUNCTIONS.includes(`${name}_v2`);
}

/** A device that has exactly what a rule asks for, or whose every attribute is something else. */
function device(rule: CudaRule, fits: boolean): RuledDevice {
  const needed = rule.allowed === "if" ? rule.attributes : {};
  const attributes = Object.entries(needed).map(([name, value]) => [name, fits ? value : 1 - value]);
  return { name: "a device", attributes: Object.fromEntries(attributes) };
}

Deno.test("cuda rules: each kind has a rule for each operation", () => {
  assertEquals(KINDS.length, 10);
  for (const kind of KINDS) assertEquals(Object.keys(CUDA_MEMORY[kind]).sort(), [...NAMES].sort());
});

for (const kind of KINDS) {
  for (const operation of NAMES) {
    Deno.test(`cuda rules: ${kind} × ${operation}`, () => {
      const rule = CUDA_MEMORY[kind][operation];
      assert(/^00[23](\/[\w./-]+)?$/.test(rule.source) || isFunction(rule.source), rule.source);
      const judge = (fits: boolean) => () => assertAllowed(kind, operation, device(rule, fits));
      if (rule.allowed !== false) judge(true)();
      if (rule.allowed === true) return;
      const error = assertThrows(judge(false), InteropError);
      assertInstanceOf(error, operation.startsWith("host-") ? AccessError : ArgumentError);
      assertEquals([error.api, error.argument, error.hint], ["cuda", "tensor", rule.remedy]);
      assertStringIncludes(error.message, rule.reason);
      if (rule.allowed === "if") {
        for (const name of Object.keys(rule.attributes)) assertStringIncludes(error.message, `${name} is `);
      }
    });
  }
}

Deno.test("cuda rules: what frees each kind of memory", () => {
  const freedBy = (kind: CudaRuleKind) => {
    const rule = CUDA_MEMORY[kind].free;
    return rule.allowed === false ? [] : [...rule.by ?? []];
  };
  assertEquals(Object.fromEntries(KINDS.map((kind) => [kind, freedBy(kind)])), {
    device: ["cudaFree", "cudaFreeAsync"],
    pinned: ["cudaFreeHost"],
    registered: ["cudaHostUnregister", "munmap"],
    managed: ["cudaFree"],
    virtual: ["cuMemUnmap", "cuMemRelease", "cuMemAddressFree"],
    pageable: ["munmap"],
    imported: ["cudaIpcCloseMemHandle"],
    external: ["cudaFree", "cudaDestroyExternalMemory"],
    peer: [],
    array: ["cudaFreeArray"],
  });
  for (const kind of KINDS) for (const fn of freedBy(kind)) assert(isFunction(fn), fn);
});

Deno.test("cuda rules: reading write-combined memory warns, once a block", async () => {
  const block = { byteLength: 64, flags: ["cudaHostAllocWriteCombined"] } as unknown as CudaBlock;
  const plain = { byteLength: 64, flags: ["cudaHostAllocMapped"] } as unknown as CudaBlock;
  const warnings = await warningsOf(() => [block, block, plain].forEach(warnWriteCombined));
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0], "write-combined");
});

for (const kind of KINDS) {
  for (const operation of NAMES) {
    const across = operation === "kernel-on-another-device" && kind !== "array";
    const gpus = across ? 2 : SPECIMENS[kind].gpus ?? 1;
    gpuTest(`cells: ${kind} × ${operation}`, () =>
      withCuda(async (cuda) => {
        using other = across ? CudaContext.open({ ordinal: 1 }) : undefined;
        await using specimen = new Specimen(kind, cuda);
        await SPECIMENS[kind].make(specimen, other);
        const done = async () => await OPERATIONS[operation](specimen, other);
        if (refusalOf(kind, operation, cuda.device) === undefined) return await done();
        const error = await assertRejects(done, InteropError);
        assert(!(error instanceof NativeCallError), `refused by the driver only: ${error.message}`);
      }), gpus);
  }
}
