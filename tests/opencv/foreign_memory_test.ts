// The seed's question: a UMat over memory of another library's allocator, which reads it and writes it where it lies.

import { assertEquals } from "@std/assert";
import { host, ledger, MapperGraph } from "@samepage/interop";
import { OpenCVContext } from "@samepage/interop/opencv";
import { assertBytes } from "../opencl/help.ts";
import { openPoCL, pattern, testUMat } from "./help.ts";

const [ROWS, COLUMNS] = [400, 512] as const;
const LENGTH = ROWS * COLUMNS;

/** Two calls of C's own allocator, which knows nothing of samepage. */
const FUNCTIONS = {
  aligned_alloc: { parameters: ["usize", "usize"], result: "pointer" },
  free: { parameters: ["pointer"], result: "void" },
} as const;

for (const offset of [0, 64, 16]) {
  testUMat(
    `graph.map() to a UMat uses aligned_alloc's memory in place, ${offset} bytes from the page's beginning`,
    () => {
      const libc = Deno.dlopen("libc.so.6", FUNCTIONS);
      const page = libc.symbols.aligned_alloc(4096n, BigInt(2 * 4096 + LENGTH))!;
      const before = ledger.alive;
      {
        using cl = openPoCL();
        using cv = OpenCVContext.open();
        using graph = new MapperGraph([host, cl, cv]);
        const address = Deno.UnsafePointer.value(page) + BigInt(offset);
        using theirs = host.wrap(address, { shape: [ROWS, COLUMNS], dtype: "u8" });
        const pixels = new Uint8Array(
          Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, LENGTH),
        );
        pixels.set(pattern(LENGTH));
        {
          using umat = graph.map(theirs, cv.umat);
          assertEquals(umat.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
            ["host→opencl", "alias"],
            ["opencl→opencv.umat", "alias"],
          ]);
          cv.bitwise_not(umat, umat); // reads their bytes, and writes them
        }
        assertBytes(pixels, pattern(LENGTH).map((byte) => 255 - byte), "written by OpenCV, read past samepage");
        pixels.set(pattern(LENGTH, 2));
        using result = host.allocate({ shape: [ROWS, COLUMNS], dtype: "u8" });
        {
          using input = graph.map(theirs, cv.umat, { access: "read" });
          using output = graph.map(result, cv.umat);
          cv.bitwise_not(input, output);
        }
        assertBytes(result.bytes(), pattern(LENGTH, 2).map((byte) => 255 - byte), "read by OpenCV");
        assertEquals(cl.bytesCopied, 0);
      }
      assertEquals(ledger.alive, before);
      libc.symbols.free(page);
      libc.close();
    },
  );
}
