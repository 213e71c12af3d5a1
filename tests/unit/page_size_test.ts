// Kernels for aarch64 may have pages of 16 or 64 KiB. Here the processor's name and the page size are those of such a one.

import { assertEquals, assertThrows } from "@std/assert";
import { InteropError } from "../../src/core/errors.ts";
import { setTap } from "../../src/core/native/library.ts";

Object.defineProperty(Deno, "build", { value: { ...Deno.build, arch: "aarch64" } });
let size = 65536;
setTap((api, functions) => api === "libc" ? { ...functions, getpagesize: () => size } : functions);

Deno.test("memory is refused where the kernel's pages are larger, and allocated where they are not", async () => {
  const { host } = await import("../../src/host/mod.ts");
  const allocate = () => host.allocate({ shape: [16], dtype: "u8" });
  for (let i = 0; i < 2; i++) {
    const error = assertThrows(
      allocate,
      InteropError,
      "This kernel has pages of 65536 bytes, and samepage needs pages of 4096.",
    );
    assertEquals([error.api, error.fn], ["host", "getpagesize"]);
  }
  size = 4096;
  using tensor = allocate();
  assertEquals(tensor.view().length, 16);
});
