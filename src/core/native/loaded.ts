import type { Address } from "../../../ffi/address.ts";
import { Dl_info, readDlInfo } from "../../../ffi/libc/structs.ts";
import { libc } from "./libc.ts";
import { textAt } from "./text.ts";

/** The file of the library that an address lies in, as the loader found it (dladdr); undefined where it lies in none. */
export function fileAt(address: Address): string | undefined {
  const info = new DataView(new ArrayBuffer(Dl_info.size));
  const { dladdr } = libc();
  if (dladdr === null || dladdr(address, info) === 0) return undefined;
  return textAt(readDlInfo(info, 0).dli_fname);
}

/** `name` is what it was opened by, `symbol` a function that it has. */
export function fileOf(name: string, symbol: string): string | undefined {
  // Opened once more, and closed again: it stays loaded, for what opened it first never closes it.
  const library = Deno.dlopen(name, { address: { name: symbol, type: "pointer" } });
  try {
    return fileAt(BigInt(Deno.UnsafePointer.value(library.symbols.address)) as Address);
  } finally {
    library.close();
  }
}
