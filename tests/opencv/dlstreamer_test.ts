/**
 * What Intel DL Streamer's mappers of Mats and UMats get wrong, by its numbers in docs/guides/dlstreamer.md, as cases: 2, 3, 5,
 * 13, 15 and 16.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, imageInfo, ledger, MapperGraph, NoRouteError, region, type Target } from "@samepage/interop";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { OpenCVContext, type OpenCVMat } from "@samepage/interop/opencv";
import { readUMat, readUMatData } from "../../ffi/opencv_core/structs.ts";
import { matIn } from "../../src/opencv/header.ts";
import { core } from "../../src/opencv/library.ts";
import { AT, giveSlot, takeSlot, viewOf } from "../../src/opencv/slots.ts";
import { bytesAt } from "../conformance/bytes.ts";
import { collect } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import { dataAt, pattern, testMat, testUMat } from "./help.ts";

/** Runs something on every OpenCL device of this machine. */
function everywhere(run: (cl: OpenCLContext) => void): void {
  for (const { platform, name: device } of openclDevices()) {
    using cl = OpenCLContext.open({ platform, device });
    run(cl);
  }
}

testMat("DL Streamer 2: a map is of the size that was asked for, whatever was mapped there before", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using image = host.allocate({ shape: [100, 100], dtype: "u8" });
  image.view().set(pattern(10_000));
  {
    using whole = graph.map(image, cv.mat);
    assertEquals(whole.matShape, { type: 0, sizes: [100, 100], steps: [100, 1] });
  }
  using corner = image.slice(region(image.layout, [0, 0], [50, 50]), { access: "read" });
  using wide = image.slice(region(image.layout, [0, 0], [25, 100]), { access: "read" });
  using mats = new DisposableStack();
  for (const [tensor, sizes] of [[corner, [50, 50]], [wide, [25, 100]], [image, [100, 100]]] as const) {
    const mat = mats.use(graph.map(tensor, cv.mat, { access: "read" }));
    assertEquals([mat.address, mat.matShape], [image.rawHandle, { type: 0, sizes, steps: [100, 1] }]);
  }
});

testMat("DL Streamer 2: the UV plane is not the Y plane", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 96, height: 64 }));
  const [y, uv] = frame.planes;
  y.bytes().fill(1);
  uv.bytes().fill(2);
  using luma = graph.map(y, cv.mat);
  using chroma = graph.map(uv, cv.mat);
  assertEquals([luma.type, chroma.type], ["CV_8UC1", "CV_8UC2"]);
  assertEquals(chroma.address - luma.address, 96n * 64n);
  using copied = cv.mat.create({ shape: [32, 48, 2], dtype: "u8" });
  cv.copyTo(chroma, copied);
  assert(bytesAt(copied.address, 3072).every((byte) => byte === 2), "these are no bytes of the UV plane");
});

testMat("DL Streamer 2: an address that comes again is no old map", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const seen = new Set<bigint>();
  let again = 0;
  for (let i = 1; i < 50; i++) {
    using tensor = host.allocate({ shape: [64, 16 + i], dtype: "u8" });
    tensor.view().fill(i);
    if (seen.has(tensor.address)) again++;
    seen.add(tensor.address);
    using mat = graph.map(tensor, cv.mat);
    assertEquals([mat.matShape.sizes, mat.address], [[64, 16 + i], tensor.rawHandle]);
    using copied = cv.mat.create({ shape: [64, 16 + i], dtype: "u8" });
    cv.copyTo(mat, copied);
    assert(bytesAt(copied.address, 64 * (16 + i)).every((byte) => byte === i));
  }
  assert(again > 0, "no address came again: this shows nothing");
});

testUMat("DL Streamer 2: nor in a UMat, where the cl_mem may come again too", () => {
  everywhere((cl) => {
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([host, cl, cv]);
    for (let i = 1; i < 12; i++) {
      using tensor = host.allocate({ shape: [16, 16 + i], dtype: "u8" });
      tensor.view().fill(i);
      {
        using umat = graph.map(tensor, cv.umat);
        assertEquals(umat.matShape.sizes, [16, 16 + i]);
        cv.bitwise_not(umat, umat);
      }
      assert(tensor.view().every((byte) => byte === 255 - i), cl.name);
    }
  });
});

testMat("DL Streamer 3: the parent lives as long as what was mapped from it", async () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const bytes = pattern(4096);
  const forget = (): OpenCVMat => {
    const source = host.allocate({ shape: [64, 64], dtype: "u8" });
    source.view().set(bytes);
    return graph.map(source, cv.mat);
  };
  const mat = forget();
  const warnings = await warningsOf(async () => {
    await collect();
    assertEquals(bytesAt(mat.address, 4096), bytes);
    const { parent } = mat;
    mat[Symbol.dispose]();
    parent![Symbol.dispose]();
  });
  assertEquals(warnings, []);
});

testUMat("DL Streamer 5: no tensor is its own parent, and a map to where it is leaks nothing", () => {
  everywhere((cl) => {
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([host, cl, cv]);
    using image = host.allocate({ shape: [8, 9], dtype: "u8" });
    for (const target of [cv.mat, cv.umat] as Target[]) {
      using mapped = graph.map(image, target);
      const before = ledger.alive;
      for (let i = 0; i < 1000; i++) {
        using again = graph.map(mapped, mapped.target);
        assert(again !== mapped && again.parent === mapped);
      }
      assertEquals(ledger.alive, before);
      mapped.assertUsable("read-write");
    }
  });
});

testUMat("DL Streamer 13: offset and step of a UMat are the tensor's, whatever they are", () => {
  everywhere((cl) => {
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([host, cl, cv]);
    const bytes = pattern(40 * 200);
    for (const step of [121, 128, 200]) { // rows of 120 bytes, padded by 1, 8 and 80
      for (const [row, column] of [[0, 0], [0, 1], [3, 7], [11, 2]]) {
        using buffer = cl.allocate({ shape: [40, 40, 3], dtype: "u8", strides: [step, 3, 1] });
        const { byteLength } = buffer.layout;
        cl.queue.write(buffer, bytes.subarray(0, byteLength));
        const at = region(buffer.layout, [row, column, 0], [20, 30, 3]);
        {
          using part = buffer.slice(at);
          using umat = graph.map(part, cv.umat);
          const header = readUMat(viewOf(umat.slot), AT.header);
          assertEquals([header.rows, header.cols, header.step_buf_0], [20, 30, BigInt(step)]);
          assertEquals(readUMatData(viewOf(umat.slot), AT.data).handle, umat.buffer.mem);
          assertEquals(core().UMat_handle(umat.handle, 0), umat.buffer.mem);
          cv.bitwise_not(umat, umat);
        }
        const now = new Uint8Array(byteLength);
        cl.queue.read(buffer, now);
        const expected = bytes.slice(0, byteLength);
        for (let y = 0; y < 20; y++) {
          for (let x = 0; x < 90; x++) expected[at.byteOffset + y * step + x] ^= 255;
        }
        assertEquals(now, expected, `${cl.name}: rows of ${step} bytes, from ${row}, ${column}`);
      }
    }
  });
});

testUMat("DL Streamer 15: several isolates map, and share a Mat of OpenCV's, at the same time", async () => {
  using cv = OpenCVContext.open();
  const slot = takeSlot();
  core().Mat_construct(slot.header);
  core().Mat_create(slot.header, 2, Int32Array.of(64, 64), 0);
  const { data, u } = matIn(viewOf(slot));
  bytesAt(data, 4096).fill(42);
  const url = new URL("workers/maps.ts", import.meta.url);
  const workers = [1, 2, 3].map(() => new Worker(url, { type: "module" }));
  try {
    const answers = workers.map((worker) =>
      new Promise<unknown>((resolve) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = (event) => {
          event.preventDefault();
          resolve(event.message);
        };
        worker.postMessage(slot.header);
      })
    );
    const answered = Promise.all(answers);
    for (let over = false; !over;) {
      for (let i = 0; i < 100; i++) cv.mat.attach(slot.header)[Symbol.dispose]();
      over = await Promise.race([
        answered.then(() => true),
        new Promise<boolean>((r) => setTimeout(() => r(false))),
      ]);
    }
    assertEquals(await answered, workers.map(() => "done"));
    assertEquals(dataAt(u).refcount, 1, "owners of the Mat");
  } finally {
    for (const worker of workers) worker.terminate();
    core().Mat_destruct(slot.header);
    giveSlot(slot);
  }
});

testMat("DL Streamer 16: more bytes than 32 bits count, as OpenCV's own Mat has them", () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const made = takeSlot();
  for (const [rows, columns] of [[46_340, 46_340], [46_341, 46_341], [65_536, 65_536], [1, 2 ** 31 - 1]]) {
    using huge = host.allocate({ shape: [rows, columns], dtype: "u8" }); // only what is touched takes memory
    using mat = graph.map(huge, cv.mat);
    core().Mat_construct2D(made.header, rows, columns, 0, mat.address, BigInt(columns));
    const [ours, theirs] = [matIn(viewOf(mat.slot)), matIn(viewOf(made))];
    for (const field of ["flags", "dims", "rows", "cols", "data", "dataend", "datalimit", "shape"] as const) {
      assertEquals(ours[field], theirs[field], `${field} of ${rows}×${columns}`);
    }
    core().Mat_destruct(made.header);
    using last = mat.slice(region(mat.layout, [rows - 1, columns - 1], [1, 1]));
    using byte = cv.mat.create({ shape: [1, 1], dtype: "u8" });
    bytesAt(byte.address, 1)[0] = 77;
    cv.copyTo(byte, last);
    assertEquals(bytesAt(huge.rawHandle + BigInt(rows * columns - 1), 1)[0], 77);
  }
  giveSlot(made);
  using long = host.allocate({ shape: [2 ** 31], dtype: "u8" });
  const error = assertThrows(() => graph.map(long, cv.mat), NoRouteError);
  assert(error.message.includes("which an int holds, got 2147483648"), error.message);
});

testUMat("DL Streamer 16: a UMat of more bytes than OpenCV's kernels count is refused, with the reason", () => {
  using cl = OpenCLContext.open({ platform: "Portable" });
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cl, cv]);
  using huge = host.allocate({ shape: [65_536, 65_536], dtype: "u8" });
  const error = assertThrows(() => graph.map(huge, cv.umat), NoRouteError);
  const reasons = error.refused.map(({ reason }) => reason).join("\n");
  assert(reasons.includes("with an int (2147483647)") || reasons.includes("takes in one buffer"), reasons);
});
