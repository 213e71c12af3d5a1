import type { Address } from "../../ffi/address.ts";
import { shown } from "../core/argument.ts";
import { InteropError } from "../core/errors.ts";
import type { Context } from "../core/graph/context.ts";
import { thenUndo } from "../core/life/undo.ts";
import { pinned, viewAt } from "../core/native/pin.ts";
import { cString, textAt } from "../core/native/text.ts";
import { call, check, checks, ort, resultOf } from "./library.ts";

const [CPU, CUDA] = ["CPUExecutionProvider", "CUDAExecutionProvider"];

/** The names of the library's providers, the best first. */
export function providersHere(): readonly string[] {
  const [lists, counts] = [new BigUint64Array(1), new Int32Array(1)];
  call("GetAvailableProviders", lists, counts);
  const [list, count] = [lists[0] as Address, counts[0]];
  return thenUndo("reading providers", () => {
    const names = new BigUint64Array(viewAt(list, 8 * count, "onnxruntime").buffer);
    return Array.from(names, (name) => textAt(name as Address)!);
  }, [() => call("ReleaseAvailableProviders", list, count)]);
}

/** Throws if the library cannot run models on the GPU of this context. */
export function assertCuda(on: Context, version: string): void {
  if (on.api !== "cuda") {
    throw checks.wrong("on", `ONNX Runtime runs nothing on ${on.name} (${on.api}).`, "Pass a CudaContext.");
  }
  const all = providersHere();
  if (all.includes(CUDA)) return;
  throw new InteropError(`ONNX Runtime ${version} has no ${CUDA}: it has ${all.join(", ")}.`, {
    ...{ api: "onnxruntime", fn: "GetAvailableProviders", hint: "Install one with CUDA: pip install onnxruntime-gpu." },
  });
}

/**
 * Checks the providers that a program names. On a GPU, CUDA's is put first unless it is named; the CPU's is left out, because
 * every session has it.
 */
export function providersIn(given: readonly string[] | undefined, on: Context | undefined): readonly string[] {
  const named = checks.itemsIn(given ?? [], "providers", "a list of names");
  const all = providersHere();
  for (const [i, name] of named.entries()) {
    checks.assertText(name, `providers[${i}]`);
    if (!all.includes(name)) {
      throw checks.wrong(`providers[${i}]`, `there is no ${shown(name)}.`, `This library has ${all.join(", ")}.`);
    }
    if (name === CUDA && on === undefined) {
      const hint = "Open ONNX Runtime on it: OnnxRuntimeContext.open({ on: cuda }).";
      throw checks.wrong(`providers[${i}]`, `${CUDA} needs the memory and the stream of a CudaContext.`, hint);
    }
  }
  const others = named.filter((name) => name !== CPU);
  return on === undefined || others.includes(CUDA) ? others : [CUDA, ...others];
}

/** Appends them to the options of a session. */
export function appendProviders(settings: Address, names: readonly string[], on: Context | undefined): void {
  for (const name of names) {
    if (name === CUDA) appendCuda(settings, on!);
    else appendByName(settings, name);
  }
}

/** Appends a provider that needs none of the program's objects. */
function appendByName(settings: Address, name: string): void {
  const fn = "SessionOptionsAppendExecutionProvider";
  const status = ort()[fn](settings, cString(name), null, null, 0n);
  check(status, fn, { hint: `${name} may need options, or a library, that it does not have here.` });
}

/** Appends CUDA's provider, for the context's GPU and its stream. */
function appendCuda(settings: Address, { arrays, natives }: Context): void {
  const options = resultOf("CreateCUDAProviderOptions");
  thenUndo("appending CUDA's provider", () => {
    const [keys, given] = [["device_id", "user_compute_stream"], [arrays!.ordinal, natives!.handles().stream]];
    const texts = [...keys, ...given].map((text) => `${text}\0`);
    pinned(new TextEncoder().encode(texts.join("")), "onnxruntime", (start) => {
      let at = start;
      const places = BigUint64Array.from(texts, ({ length }) => (at = at + BigInt(length) as Address) - BigInt(length));
      const [of, to] = [places.subarray(0, keys.length), places.subarray(keys.length)];
      call("UpdateCUDAProviderOptions", options, of, to, BigInt(keys.length));
    });
    call("SessionOptionsAppendExecutionProvider_CUDA_V2", settings, options);
  }, [() => ort().ReleaseCUDAProviderOptions(options)]);
}
