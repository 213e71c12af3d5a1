/** scikit-image on a photograph that a kernel of OpenCL has filtered in place. It is too large for CI: see `SAMEPAGE_TEST_PYTHON`. */
import { assert, assertEquals } from "@std/assert";
import { host, MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { Python } from "@samepage/interop/python";
import { readPhoto } from "../../examples/edges/photo.ts";
import { HERE } from "../opencl/help.ts";
import { test } from "./help.ts";

const INVERT = "kernel void invert(global uchar *x) { x[get_global_id(0)] ^= 255; }";
const PHOTO = new URL("../../examples/edges/photo.jpg", import.meta.url).pathname;

const modules = HERE.includes("pocl") ? ["skimage"] : ["skimage", "PoCL"];

test(
  "scikit-image has a photograph in place that OpenCL has filtered, and OpenCL what it writes",
  modules,
  async () => {
    const { rgba, width, height } = await readPhoto(PHOTO);
    const original = rgba.slice();
    const python = Python.open();
    using cl = OpenCLContext.open();
    using graph = new MapperGraph([host, cl]);
    using program = cl.program(INVERT);
    using invert = program.kernel("invert");
    using photo = host.wrap(rgba, { shape: [height, width, 4], dtype: "u8" });
    const inverted = () => {
      using there = graph.map(photo, cl);
      invert.run({ items: [photo.byteLength] }, [there]);
      return there.route.bytesMoved;
    };
    assertEquals(inverted(), 0);
    {
      using array = python.toArray(photo, "numpy");
      const [address, count] = python.run<number[]>(
        `
import numpy, skimage
edges = skimage.filters.sobel(array[..., 1])
array[..., 3] = skimage.util.img_as_ubyte(edges > skimage.filters.threshold_otsu(edges))
array.__array_interface__['data'][0], int(numpy.count_nonzero(array[..., 3]))`,
        { array },
      );
      assertEquals(address, Number(photo.address));
      const share = count / (width * height);
      assert(share > 0.01 && share < 0.5, `${share} of all pixels are edges`);
    }
    assertEquals([inverted(), cl.bytesCopied], [0, 0]);
    const changed = photo.view({ access: "read" });
    const wrong = changed.findIndex((byte, i) => i % 4 === 3 ? byte !== 0 && byte !== 255 : byte !== original[i]);
    assertEquals(wrong, -1, "colours inverted twice are the photograph's; the edges are in place of its alpha");
  },
);
