import type { Address } from "../../ffi/address.ts";
import { assertMachine } from "./machine.ts";
import { RTLD_NOLOAD } from "../../ffi/libc/constants.ts";
import { InteropError, messageOf, PermissionError } from "../core/errors.ts";
import type { Link } from "../core/native/library.ts";
import { caught, type ErrorOf, nativeCallErrorOf } from "./exception.ts";
import { guardImage, type GuardTarget, RECORD_FUNCTION } from "./image.ts";
import { addressOfSymbol, loadImage, openLibrary } from "./load.ts";
import { ThrowRecord } from "./record.ts";
import { argumentsOnStack } from "./x86_64.ts";

/** Whether an API's functions are guarded. If not, an exception ends the process. */
export type GuardState =
  | { readonly guarded: true }
  | { readonly guarded: false; /** Why not, in one sentence. */ readonly reason: string };

const states = new Map<string, GuardState>();

/** Whether an API's functions are guarded; undefined if none should be, or its library is not open. */
export function guardOf(api: string): GuardState | undefined {
  return states.get(api);
}

type Symbols = Deno.ForeignLibraryInterface;
type Functions = Record<string, (...args: unknown[]) => unknown>;

/**
 * Opens a C++ library so that exceptions of its functions become typed errors. If it cannot be guarded, the functions
 * are called directly, and {@link guardOf} says why.
 * @param errorOf turns an exception into an error; {@link nativeCallErrorOf} by default
 */
export function guarded(errorOf: ErrorOf = nativeCallErrorOf): Link {
  return (path, symbols, api) => {
    Deno.dlopen(path, {}); // so that Deno checks the permission, and reports why a library does not open
    try {
      const functions = wrapped(imageOf(path, symbols, api), symbols, api, errorOf);
      states.set(api, { guarded: true });
      return functions;
    } catch (error) {
      if (error instanceof PermissionError || error instanceof Deno.errors.NotCapable) throw error;
      const functions = Deno.dlopen(path, symbols).symbols; // throws if a symbol is missing
      states.set(api, { guarded: false, reason: messageOf(error) });
      return functions;
    }
  };
}

/** Loads the image for an open library, unless the process has it; returns its name. @throws {InteropError} */
function imageOf(path: string, symbols: Symbols, api: string): string {
  assertMachine("The guard", { api });
  const targets = targetsIn(path, symbols, api);
  return loadImage(`guard-${api}`, (soname) => guardImage(soname, targets));
}

function targetsIn(path: string, symbols: Symbols, api: string): GuardTarget[] {
  const library = openLibrary(path, RTLD_NOLOAD); // finds the open library, and keeps it loaded
  if (library === undefined) throw new InteropError(`The loader does not find ${path} again.`, { api, fn: "dlopen" });
  const targets = new Map<string, GuardTarget>();
  for (const [key, symbol] of Object.entries(symbols)) {
    const name = symbol.name ?? key;
    const address = addressOfSymbol(library, name);
    if (address === undefined) {
      if (symbol.optional) continue;
      throw new InteropError(`${path} has no ${name}.`, { api, fn: key });
    }
    targets.set(name, { name, address, onStack: argumentsOf(symbol, key, api) });
  }
  return [...targets.values()];
}

function argumentsOf(symbol: Symbols[string], key: string, api: string): number {
  const onStack = "type" in symbol || symbol.nonblocking ? undefined : argumentsOnStack(symbol);
  if (onStack !== undefined) return onStack;
  throw new InteropError(
    `A thunk cannot call ${key}: it runs on another thread, is a variable, or takes or returns a struct by value.`,
    {
      api,
      fn: key,
    },
  );
}

/** The thunks of an image, each in a wrapper that throws what the thunk has caught. */
function wrapped(image: string, symbols: Symbols, api: string, errorOf: ErrorOf): Record<string, unknown> {
  const own = { [RECORD_FUNCTION]: { parameters: [], result: "u64" } } as const;
  const { [RECORD_FUNCTION]: recordAddress, ...thunks } = Deno.dlopen(image, { ...symbols, ...own })
    .symbols as Functions;
  const record = new ThrowRecord(recordAddress() as Address);
  const { clause } = record;
  const wrap = (fn: string, thunk: Functions[string]) => (...args: unknown[]) => {
    const result = thunk(...args);
    if (clause[0] !== 0) throw caught(record.take(), api, fn, errorOf);
    return result;
  };
  // A missing optional function is null.
  return Object.fromEntries(Object.entries(thunks).map(([fn, thunk]) => [fn, thunk && wrap(fn, thunk)]));
}
