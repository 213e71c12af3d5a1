import { O_CLOEXEC, O_RDONLY } from "../../../ffi/libc/constants.ts";
import { libc } from "./libc.ts";
import { cString } from "./text.ts";

/** A kernel file (/proc/…), as far as it can be read. It needs --allow-ffi and no other permission of Deno's. */
export function textOf(path: string): string {
  const fd = libc().open(cString(path), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return "";
  const decoder = new TextDecoder();
  const bytes = new Uint8Array(65_536);
  let text = "";
  for (let read = 1n; read > 0n;) {
    read = libc().read(fd, bytes, BigInt(bytes.length));
    if (read > 0n) text += decoder.decode(bytes.subarray(0, Number(read)), { stream: true });
  }
  libc().close(fd);
  return text;
}
