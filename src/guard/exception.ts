import { type Address, NULL } from "../../ffi/address.ts";
import type { CxxAbi } from "../../ffi/cxxabi/functions.ts";
import { SYMBOLS } from "../../ffi/cxxabi/symbols.ts";
import { NativeCallError } from "../core/errors.ts";
import { libc } from "../core/native/libc.ts";
import { lazyLibrary } from "../core/native/library.ts";
import { textAt } from "../core/native/text.ts";
import { CAUGHT, type Taken } from "./record.ts";

/** Exception handling of the C++ runtime that the guard's images link to. It opens on the first call. */
const cxxabi = lazyLibrary<CxxAbi>({
  api: "cxxabi",
  candidates: ["libstdc++.so.6"],
  symbols: SYMBOLS,
  hint: "Install it: apt install libstdc++6.",
});

/** The most characters of an exception's text that an error has. */
const LONGEST_TEXT = 65536;

/** The offset of the name in `std::type_info`, after the pointer to its virtual table. */
const NAME_OF_TYPE = 8n;

/** The first character of the name of a type that is local to its library: `*`. */
const ASTERISK = 42;

/** Offsets in a virtual table: the distance to the start of the whole object; `what`, after two destructors. */
const OFFSET_TO_TOP = -16;
const WHAT = 16;

/** A caught exception. Its object lives only until the {@link ErrorOf} that gets it returns. */
export interface Thrown {
  readonly api: string;
  readonly fn: string;
  readonly type: string;
  /** Its text, if it is a std::exception. */
  readonly what?: string;
  readonly object: Address;
}

/** Turns an exception into an error. An API can read more from its own exceptions. */
export type ErrorOf = (thrown: Thrown) => Error;

export const nativeCallErrorOf: ErrorOf = ({ api, fn, type, what }) =>
  new NativeCallError(what ? `${fn} threw ${type}: ${what}` : `${fn} threw ${type}.`, {
    api,
    fn,
    codeName: type,
  });

/** Catches an exception as C++ does, which destroys it. Returns the error made of it. */
export function caught({ clause, exception }: Taken, api: string, fn: string, errorOf: ErrorOf): Error {
  const { __cxa_begin_catch, __cxa_end_catch } = cxxabi();
  const part = __cxa_begin_catch(exception);
  try {
    const type = typeName();
    if (clause !== CAUGHT.STD_EXCEPTION) return errorOf({ api, fn, type, object: part });
    const { object, what } = readStdException(part);
    return errorOf({ api, fn, type, what, object });
  } finally {
    __cxa_end_catch();
  }
}

function typeName(): string {
  const type = cxxabi().__cxa_current_exception_type();
  if (type === NULL) return "an exception of another language";
  const written = viewOf(type + NAME_OF_TYPE as Address).getBigUint64();
  const name = written + (viewOf(written as Address).getUint8() === ASTERISK ? 1n : 0n) as Address;
  const demangled = cxxabi().__cxa_demangle(name, NULL, null, null);
  if (demangled === NULL) return textAt(name)!;
  try {
    return textAt(demangled)!;
  } finally {
    libc().free(demangled);
  }
}

/** `what()` of a std::exception, which is a base of the thrown object, and usually its first. */
function readStdException(part: Address): { object: Address; what: string } {
  const table = viewOf(viewOf(part).getBigUint64() as Address);
  const what = new Deno.UnsafeFnPointer(
    Deno.UnsafePointer.create<typeof WHAT_TYPE>(table.getBigUint64(WHAT))!,
    WHAT_TYPE,
  );
  return {
    object: part + table.getBigInt64(OFFSET_TO_TOP) as Address,
    what: textAt(what.call(part) as Address)?.slice(0, LONGEST_TEXT) ?? "",
  };
}

/** `virtual const char *what() const noexcept` */
const WHAT_TYPE = { parameters: ["u64"], result: "u64" } as const;

function viewOf(address: Address): Deno.UnsafePointerView {
  return new Deno.UnsafePointerView(Deno.UnsafePointer.create(address)!);
}
