import { host, type HostTensor, layout, type LayoutInit } from "../../mod.ts";

/** What any element may lie at. */
const ALIGN = 16n;

/** Host memory that samepage has not allocated, in the middle of a page: it is not registered. */
export function oddMemory(init: LayoutInit): HostTensor {
  const { byteOffset, byteLength } = layout(init);
  const bytes = new Uint8Array(byteOffset + byteLength + 2 * Number(ALIGN));
  const address = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes.buffer)));
  const aligned = address + (-address & (ALIGN - 1n));
  return host.wrap(aligned % 4096n === 0n ? aligned + ALIGN : aligned, init, { keepAlive: bytes });
}
