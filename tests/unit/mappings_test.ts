import { assertEquals } from "@std/assert";
import { MAP_PRIVATE, MAP_SHARED, PROT_READ } from "../../ffi/libc/constants.ts";
import { NULL } from "../../ffi/address.ts";
import { host } from "../../mod.ts";
import { libc } from "../../src/core/native/libc.ts";
import { fileBehind } from "../../src/core/native/mappings.ts";

Deno.test("memory is not a file: anonymous, in a memfd, or a private map of a file", () => {
  using plain = host.allocate({ shape: [4096], dtype: "u8" });
  using sharable = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
  assertEquals([plain, sharable].map(({ handle }) => fileBehind(handle, 4096)), [undefined, undefined]);
  withFile(MAP_PRIVATE, (address) => assertEquals(fileBehind(address, 4096), undefined));
});

Deno.test("a shared map of a file has its path, wherever in it one looks", () => {
  withFile(MAP_SHARED, (address, path) => {
    assertEquals(fileBehind(address, 1), path);
    assertEquals(fileBehind((address + 4095n) as typeof address, 8192), path);
  });
});

function withFile(kind: number, look: (address: typeof NULL, path: string) => void): void {
  const path = Deno.makeTempFileSync();
  Deno.writeFileSync(path, new Uint8Array(4096));
  const fd = libc().open(new TextEncoder().encode(`${path}\0`), 0, 0);
  const address = libc().mmap(NULL, 4096n, PROT_READ, kind, fd, 0n);
  try {
    look(address, path);
  } finally {
    libc().munmap(address, 4096n);
    libc().close(fd);
    Deno.removeSync(path);
  }
}
