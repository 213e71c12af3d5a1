// Decodes files into memory that ends, or begins, at a page which may not be touched: a codec that goes too far crashes.

import { host, type HostTensor, type LayoutInit } from "@samepage/interop";
import { hashOf, RawDecoder } from "../raw.ts";

const PAGE = 4096n;

const { symbols: libc } = Deno.dlopen("libc.so.6", {
  mmap: { parameters: ["u64", "u64", "i32", "i32", "i32", "i64"], result: "u64" },
  mprotect: { parameters: ["u64", "u64", "i32"], result: "i32" },
});

const [PROT_NONE, READ_WRITE, MAP_PRIVATE_ANONYMOUS] = [0, 3, 0x22];

/** Memory between two such pages, at the first or the last of its bytes. It is never unmapped. */
function guarded(side: "first" | "last", layout: LayoutInit<"u8">): HostTensor<"u8"> {
  const byteLength = BigInt(layout.shape[0]);
  const pages = (byteLength + PAGE - 1n) / PAGE * PAGE;
  const all = libc.mmap(0n, pages + 2n * PAGE, PROT_NONE, MAP_PRIVATE_ANONYMOUS, -1, 0n);
  if (libc.mprotect(all + PAGE, pages, READ_WRITE) !== 0) throw new Error("mprotect failed");
  return host.wrap(all + PAGE + (side === "first" ? 0n : pages - byteLength), layout);
}

/** Decodes all frames; returns their pixels' hashes, and how many lie in memory of ours. */
async function decode(path: string, threads: number, side?: "first" | "last") {
  const hashes: bigint[] = [];
  let ours = 0;
  const into = side && { allocate: (layout: LayoutInit<"u8">) => guarded(side, layout) };
  await using decoder = await RawDecoder.open(path, { threads, ...into && { into } });
  for await (const pointer of decoder.frames()) {
    hashes.push(hashOf(pointer));
    using frame = decoder.frameOf(pointer);
    if (frame !== undefined) ours++;
  }
  return { hashes, ours };
}

for (const path of Deno.args) {
  for (const threads of [1, 4]) {
    const expected = (await decode(path, threads)).hashes;
    for (const side of ["first", "last"] as const) {
      const { hashes, ours } = await decode(path, threads, side);
      const same = hashes.filter((hash, i) => hash === expected[i]).length;
      console.log(`${path.split("/").at(-1)} ${threads} ${side}: ${expected.length} ${ours} ${same}`);
    }
  }
}
