import { fromFileUrl } from "@std/path";
import { compile } from "../guard/cxx.ts";

const path = (name: string) => fromFileUrl(new URL(name, import.meta.url));

/** Another library of this process, compiled against DLPack's own header. */
export const peer = Deno.dlopen(
  await compile(path("peer.cpp"), `-I${path("../../.dlpack/tvm_ffi/include")}`, "-lpthread"),
  {
    add_versioned: { parameters: ["u64", "f32", "i32"], result: "void" },
    add_unversioned: { parameters: ["u64", "f32", "i32"], result: "void" },
    produce: { parameters: ["u64"], result: "u64" },
    deleted: { parameters: [], result: "i32" },
    lend_and_release: { parameters: ["u64"], result: "void" },
  },
).symbols;

/** A struct in memory that ends where a page begins that cannot be touched. */
export interface Struct {
  readonly address: bigint;
  readonly view: DataView<ArrayBuffer>;
}
