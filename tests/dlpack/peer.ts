import { fromFileUrl } from "@std/path";
import type { Address } from "../../ffi/address.ts";
import { compile } from "../guard/cxx.ts";
import { ifThere } from "../inference/there.ts";

const path = (name: string) => fromFileUrl(new URL(name, import.meta.url));

/** Where `deno task setup` has unpacked DLPack's header, and where it travels to a machine with a GPU. */
const FOLDERS = ["../../.dlpack/tvm_ffi/include", "../../.gpu-kit/dlpack/include", "../../.gpu-kit/include"].map(path);

const folder = FOLDERS.find((folder) => ifThere(`${folder}/dlpack/dlpack.h`) !== undefined);

/** Why the other library cannot be compiled; undefined where it was. */
export const lacking: string | undefined = folder === undefined ? "needs dlpack.h: deno task setup test" : undefined;

/** Another library of this process, compiled against DLPack's own header; undefined without that. */
export const peer = folder === undefined ? undefined! : Deno.dlopen(
  await compile(path("peer.cpp"), `-I${folder}`, "-lpthread"),
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
export const COUNTING = BigInt(Deno.UnsafePointer.value(peer?.counting ?? null)) as Address;
