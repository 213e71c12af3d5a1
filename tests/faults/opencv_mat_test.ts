/** Every native call around a Mat fails once: what comes of it is typed, nothing stays behind, the bytes are as they were. */
import { assert, assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import { core } from "../../src/opencv/library.ts";
import { OpenCVContext } from "../../src/opencv/mod.ts";
import { giveSlot, takeSlot } from "../../src/opencv/slots.ts";
import { assertSame, random } from "../conformance/bytes.ts";
import { endReallocated, some, testMat } from "./opencv.ts";
import { sweep } from "./sweep.ts";

const VOLUME = { shape: [3, 4, 5, 7], dtype: "u8" } as const;

// The first of all: it is done once.
testMat("opening OpenCV", async () => {
  const faults = await sweep(() => {
    using _ = OpenCVContext.open();
  });
  some(faults, "opencv_core.Mat_construct2D");
});

testMat("a map of host memory to a Mat of four dimensions", async () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using source = host.allocate(VOLUME);
  const bytes = random(source.layout.byteLength);
  source.view().set(bytes);
  const faults = await sweep(() => {
    using mapped = graph.map(source, cv.mat);
    using _part = mapped.borrow("read");
  }, () => assertSame(source.bytes({ access: "read" }), bytes, "the source's bytes"));
  assertEquals(faults.map(({ call }) => call), ["opencv_core.fastMalloc", "opencv_core.fastMalloc"]);
});

testMat("a Mat of samepage's", async () => {
  using cv = OpenCVContext.open();
  const faults = await sweep(() => {
    using _ = cv.mat.create({ ...VOLUME, align: 8192 }); // with a mapping of its own
  });
  for (const call of ["libc.mmap", "libc.munmap", "opencv_core.fastMalloc"]) some(faults, call);
});

testMat("attaching to a Mat of other code's, and mapping it to the host", async () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  const slot = takeSlot();
  core().Mat_construct(slot.header);
  core().Mat_create(slot.header, 4, Int32Array.of(3, 3, 30, 40), 0); // more than two pages, which are probed at once
  const faults = await sweep(
    () => {
      using mat = cv.mat.attach(slot.header);
      using mapped = graph.map(mat, host);
      mapped.view();
    },
    undefined,
    ["libc.open", "libc.process_vm_readv"],
  ); // all memory is probed where the heap is not known; what cannot be probed is taken at its word
  for (const call of ["libc.process_vm_readv", "opencv_core.Mat_copy"]) some(faults, call);
  core().Mat_destruct(slot.header);
  giveSlot(slot);
});

testMat("an output that OpenCV gives other memory", async () => {
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, cv]);
  using source = cv.mat.create({ shape: [8, 9], dtype: "u8" });
  using small = host.allocate({ shape: [2, 2], dtype: "u8" });
  const results: number[] = [];
  const faults = await sweep(() => {
    const mapped = graph.map(small, cv.mat);
    try {
      cv.copyTo(source, mapped, { reallocate: true });
      results.push(1);
    } finally {
      endReallocated(mapped);
    }
  }, () => assertEquals(small.bytes({ access: "read" }), new Uint8Array(4), "the bytes that were mapped"));
  some(faults, "opencv_core.Mat_copyTo");
  assert(results.length > 0, "it never went well");
});
