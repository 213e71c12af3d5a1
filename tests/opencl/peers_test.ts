/** Memory of a driver's own, which has an address only while it is mapped. */
import { assert, assertEquals } from "@std/assert";
import { ArgumentError, host, region } from "@samepage/interop";
import { bench, testEach, thrown } from "./help.ts";

/** A picture of 32 by 32 pixels. */
const BYTES = { shape: [32, 32, 4], dtype: "u8" } as const;

testEach("memory of the driver's own cannot be wrapped by the address of a map, which ends with it", (platform) => {
  using b = bench(platform);
  const image = b.cl.image({ order: "RGBA", type: "UNSIGNED_INT8" });
  using buffer = b.cl.allocate(BYTES);
  using picture = image.allocate({ shape: BYTES.shape });
  for (const tensor of [buffer, picture]) {
    using mapped = b.graph.map(tensor, host);
    for (const access of ["read", "read-write"] as const) {
      const wrap = () => host.wrap(mapped.address + 64n, { shape: [64], dtype: "u8" }, { access });
      const error = thrown(ArgumentError, wrap);
      assertEquals(error.argument, "memory");
      assert(error.message.includes(tensor.name) && error.message.includes("slice"), error.message);
    }
    using part = mapped.slice(region(mapped.layout, [0, 0, 0], [1, 32, 4]));
    const view = part.bytes();
    mapped[Symbol.dispose]();
    assertEquals(view.length, 0);
  }
});
