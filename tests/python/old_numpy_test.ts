/** NumPy before 2.1, which knows version 0 of DLPack's struct alone. It has a file to itself: nothing has called NumPy yet. */
import { assertEquals } from "@std/assert";
import { host } from "../../mod.ts";
import { Python } from "../../src/python/mod.ts";
import { test } from "./help.ts";

test("toArray() lends for reading to NumPy before 2.1, whose array cannot be written", ["numpy"], () => {
  const python = Python.open();
  using tensor = host.allocate({ shape: [3], dtype: "u8" });
  tensor.view().set([1, 2, 3]);
  python.run(`
import numpy
new, asked = numpy.from_dlpack, []
class Old:
    def __init__(self, lent): self.lent = lent
    def __dlpack__(self, **options): asked.append(0); return self.lent.__dlpack__()
    def __dlpack_device__(self): return self.lent.__dlpack_device__()
numpy.from_dlpack = lambda lent: new(Old(lent))`);
  {
    using array = python.toArray(tensor, "numpy", { access: "read" });
    assertEquals(python.run("array.tolist(), array.flags.writeable, len(asked) > 0", { array }), [
      [1, 2, 3],
      false,
      true,
    ]);
    assertEquals([...tensor.view({ access: "read" })], [1, 2, 3]);
  }
  python.run("numpy.from_dlpack = new");
});
