import { fromFileUrl } from "@std/path";
import type { Address } from "../../ffi/address.ts";
import { compile } from "../guard/cxx.ts";

const path = (name: string) => fromFileUrl(new URL(name, import.meta.url));

/** Another library of this process, compiled against DLPack's own header. */
export const peer = Deno.dlopen(
  await compile(path("peer.cpp"), `-I${path("../../.dlpack/tvm_ffi/include")}`, "-lpthread"),
  {
    add_versioned: { parameters: ["u64", "f32", "i32"], result: "void" },
    add_unversioned: { parameters: ["u64", "f32", "i32"], result: "void" },
    produce: { parameters: ["u64"], result: "u64" },
    counting: { name: "count_deletion", type: "pointer" },
    deleted: { parameters: [], result: "i32" },
    lend_and_release: { parameters: ["u64"], result: "void" },
  },
).symbols;

/** The address of a deleter that only counts. */
export const COUNTING = BigInt(Deno.UnsafePointer.value(peer.counting)) as Address;
