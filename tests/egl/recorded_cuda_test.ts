/**
 * OpenGL's textures and buffers in CUDA, over a recording of CUDA's functions and a real OpenGL ES: what is called when, with
 * which context current, and what ends when.
 */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  imageInfo,
  InteropError,
  ledger,
  MapperGraph,
  NativeCallError,
  NoRouteError,
} from "@samepage/interop";
import { CudaContext, CudaEglImage, type CudaTensor } from "@samepage/interop/cuda";
import { EglContext } from "@samepage/interop/egl";
import { type Address, NULL } from "../../ffi/address.ts";
import { EGL_BAD_ATTRIBUTE } from "../../ffi/egl/errors.ts";
import { cudaEglFrame } from "../../ffi/cuda_egl/structs.ts";
import { cudaArraySurfaceLoadStore, cudaDevAttrIntegrated } from "../../ffi/cuda_runtime/constants.ts";
import { cudaErrorInvalidValue, cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import * as names from "../../ffi/egl/constants.ts";
import type { EGL } from "../../ffi/egl/functions.ts";
import { writeCudaChannelFormatDesc, writeCudaExtent } from "../../ffi/cuda_runtime/structs.ts";
import { GL_RENDERBUFFER, GL_TEXTURE_2D } from "../../ffi/gles/constants.ts";
import { GlPort } from "../../src/gl/port.ts";
import { planeLayouts } from "../../src/core/layout/frame_info.ts";
import { setTap } from "../../src/core/native/library.ts";
import { FrameStruct } from "../../src/cuda/egl/frame.ts";
import { GlResource } from "../../src/cuda/egl/gl_resource.ts";
import { cudaEgl } from "../../src/cuda/egl/library.ts";
import { createSync, destroySync } from "../../src/egl/lane.ts";
import { egl as native } from "../../src/egl/library.ts";
import { recordedTests } from "../cuda/recorded.ts";
import { missing } from "./help.ts";

const [RESOURCE, ARRAY, EVENT, ADDRESS] = [0x55n, 0x77n, 0x99n, 0x7000_0000n];

/** The calls, each with its arguments, and whether a GL context was current. */
let calls: unknown[][] = [];
/** Where EGLImages have addresses: the frame that is behind each. */
let asPointers: Frame<CudaTensor> | undefined;
/** The call that fails. */
let failing: string | undefined;

/** True while CUDA's work goes on, and while a program's own EGLSync is not signalled. */
let isBusy = false;
/** The events that were recorded. */
const recorded = new Set<bigint>();
/** The EGLSyncs of CUDA's events: Mesa has none. */
const ofEvents = new Set<bigint>();
/** A program's own EGLSync, where a test has one. */
let own = 0n;
/** The address of the next memory. */
let next = 0x2000_0000n;

setTap((api, functions) => {
  if (api !== "egl") return functions;
  const mesa = functions as unknown as EGL;
  const fakes: Partial<EGL> = {
    eglCreateSync(display, type, attributes) {
      if (type !== names.EGL_SYNC_CUDA_EVENT_NV) return mesa.eglCreateSync(display, type, attributes);
      const [name, event, end] = attributes as BigInt64Array;
      assertEquals([name, end], [names.EGL_CUDA_EVENT_HANDLE_NV, names.EGL_NONE].map(BigInt));
      answer("createSync", recorded.has(event) ? "recorded" : "not recorded");
      if (failing === "createSync") return NULL;
      const sync = mesa.eglCreateSync(display, names.EGL_SYNC_FENCE, null);
      ofEvents.add(sync);
      return sync;
    },
    eglWaitSync(display, sync, flags) {
      if (ofEvents.has(sync) || sync === own) answer("waitSync");
      return mesa.eglWaitSync(display, sync, flags);
    },
    eglClientWaitSync: (display, sync, flags, timeout) =>
      sync === own && isBusy ? names.EGL_TIMEOUT_EXPIRED : mesa.eglClientWaitSync(display, sync, flags, timeout),
    eglDestroySync(display, sync) {
      if (ofEvents.delete(sync)) answer("destroySync");
      return mesa.eglDestroySync(display, sync);
    },
    eglGetError: () => failing === "createSync" ? EGL_BAD_ATTRIBUTE : mesa.eglGetError(),
  };
  return { ...functions, ...fakes };
});

function answer(name: string, ...about: unknown[]): number {
  calls.push([name, ...about, native().eglGetCurrentContext() === 0n ? "outside" : "inside"]);
  return failing === name ? cudaErrorInvalidValue : 0;
}

const FUNCTIONS: Record<string, (...args: never[]) => number> = {
  cudaGraphicsGLRegisterImage(out: BigUint64Array, name: number, target: number, flags: number) {
    out[0] = RESOURCE;
    return answer("registerImage", name > 0, target, flags);
  },
  cudaGraphicsGLRegisterBuffer(out: BigUint64Array, name: number, flags: number) {
    out[0] = RESOURCE;
    return answer("registerBuffer", name > 0, flags);
  },
  cudaGraphicsMapResources: () => answer("map"),
  cudaGraphicsUnmapResources: () => answer("unmap"),
  cudaGraphicsSubResourceGetMappedArray: (out: BigUint64Array) => (out[0] = ARRAY, answer("array")),
  cudaGraphicsResourceGetMappedPointer: (out: BigUint64Array) => (out[0] = ADDRESS, answer("address")),
  cudaGraphicsUnregisterResource: () => answer("unregister"),
  cudaEventCreateFromEGLSync: (out: BigUint64Array, sync: bigint) => (out[0] = EVENT, answer("event", sync > 0n)),
  cudaGraphicsEGLRegisterImage: (out: BigUint64Array) => (out[0] = RESOURCE, answer("registerEglImage")),
  cudaGraphicsResourceGetMappedEglFrame(into: Uint8Array) {
    if (asPointers) {
      into.set(FrameStruct.of(asPointers).bytes);
      return answer("frame");
    }
    new DataView(into.buffer).setBigUint64(cudaEglFrame.fields.array_0.offset, ARRAY, true);
    into[cudaEglFrame.fields.planeCount.offset] = 1;
    return answer("frame");
  },
} as Record<string, (...args: never[]) => number>;

const test = recordedTests({
  cudaGetDeviceProperties(properties: Uint8Array) { // it says that it is the device that GL draws on
    new TextEncoder().encodeInto("Recorder\0", properties);
    using egl = EglContext.open();
    properties.set(Uint8Array.fromHex(egl.id.uuid!), 256);
    return 0;
  },
  /** The second device is a Tegra's. */
  cudaMallocPitch: (out: BigUint64Array, pitch: BigUint64Array) => ([out[0], pitch[0]] = [0x1000_0000n, 512n], 0),
  cudaMalloc: (out: BigUint64Array) => (out[0] = next += 0x1_0000n, 0),
  cudaMemset2DAsync: (to: bigint) => (calls.push(["fill", to]), 0),
  cudaFree: () => 0,
  cudaDeviceGetAttribute: (value: Int32Array, attribute: number, ordinal: number) => (
    value[0] = attribute === cudaDevAttrIntegrated ? ordinal : 32768, 0
  ),
  cudaStreamWaitEvent: (_: bigint, event: bigint) => event === EVENT ? answer("waitEvent") : 0,
  cudaEventDestroy: (event: bigint) => event === EVENT ? answer("destroyEvent") : 0,
  cudaEventRecord: (event: bigint) => (recorded.add(event), 0),
  cudaEventQuery: () => isBusy ? cudaErrorNotReady : 0,
  cudaArrayGetInfo(format: Uint8Array, extent: Uint8Array, flags: Uint8Array) {
    writeCudaChannelFormatDesc(new DataView(format.buffer), 0, { x: 8, y: 8, z: 8, w: 8, f: 1 });
    writeCudaExtent(new DataView(extent.buffer), 0, { width: 8n, height: 4n, depth: 0n });
    new DataView(flags.buffer).setUint32(0, cudaArraySurfaceLoadStore, true);
    return answer("info");
  },
  cudaCreateSurfaceObject: (out: BigUint64Array) => (out[0] = 1n, 0),
  cudaDestroySurfaceObject: () => 0,
} as never);

const RGBA = { dtype: "u8", channels: 4 } as const;
const SIZE = { format: "RGBA", width: 8, height: 4 } as const;

interface There {
  readonly egl: EglContext;
  readonly cuda: CudaContext;
  readonly graph: MapperGraph;
}

const lacks = missing();

/** A test with both contexts. */
function over(name: string, run: (there: There) => unknown): void {
  test(
    `GL: ${name}`,
    async () => {
      using cuda = CudaContext.open();
      setTap((api, functions) => {
        if (api !== "cuda_egl") return functions;
        return { ...functions, ...FUNCTIONS };
      });
      cudaEgl();
      setTap(undefined);
      using egl = EglContext.open();
      using graph = new MapperGraph([egl, cuda]);
      [calls, failing, isBusy, own] = [[], undefined, false, 0n];
      await run({ egl, cuda, graph });
      [failing, isBusy] = [undefined, false];
    },
    undefined,
    lacks,
  );
}

over("a texture that is registered is unregistered where GL's context cannot be put back", ({ egl, cuda }) => {
  let left = 1;
  const within = <R>(use: () => R) => {
    const answer = egl.openContext.within(use);
    if (left-- > 0) throw new InteropError("the context that was current cannot come back.", { api: "egl" });
    return answer;
  };
  const { alive } = ledger;
  using picture = egl.image.allocate(SIZE);
  const value = BigInt(picture.planes[0].rawHandle.name);
  const port = new GlPort("gl-image", { value, target: GL_TEXTURE_2D, within });
  assertThrows(() => new GlResource(cuda, port), InteropError, "cannot come back");
  assertEquals(calls.map(([name]) => name), ["registerImage", "unregister"]);
  picture[Symbol.dispose]();
  assertEquals(ledger.alive, alive);
});

over(
  "a texture is registered once, mapped for each map, and unregistered before it is deleted",
  ({ egl, cuda, graph }) => {
    {
      using picture = egl.image.allocate(SIZE);
      egl.queue.finish();
      for (let i = 0; i < 2; i++) {
        using mapped = graph.map(picture.planes[0], cuda.image(RGBA));
        assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
          ["egl.image→cuda.image", "alias"],
        ]);
        assertEquals(mapped.handle, ARRAY);
        using _surface = mapped.array.surface();
      }
    }
    const turn = [["map", "inside"], ["array", "inside"], ["info", "outside"], ["unmap", "inside"]];
    assertEquals(calls, [
      ["registerImage", true, GL_TEXTURE_2D, 4, "inside"],
      ...turn,
      ...turn,
      ["unregister", "inside"],
    ]);
    assertEquals(native().eglGetCurrentContext(), 0n);
  },
);

over("a renderbuffer goes by its own target", ({ egl, cuda, graph }) => {
  using picture = egl.image.allocate({ ...SIZE, storage: "renderbuffer" });
  using _mapped = graph.map(picture.planes[0], cuda.image(RGBA));
  assertEquals(calls[0], ["registerImage", true, GL_RENDERBUFFER, 4, "inside"]);
});

over("BGRA goes by its EGLImage, which nobody maps, and is registered once", ({ egl, cuda, graph }) => {
  {
    using picture = egl.image.allocate({ ...SIZE, format: "BGRA" });
    egl.queue.finish();
    for (let i = 0; i < 2; i++) {
      using mapped = graph.map(picture.planes[0], cuda.image(RGBA));
      assertEquals(mapped.route.steps[0].evidence, "the same memory, by its egl-image");
      assertEquals(mapped.handle, ARRAY);
    }
  }
  assertEquals(calls.map(([name]) => name), ["registerEglImage", "frame", "unregister"]);
});

over(
  "the EGLImage that CUDA has registered of a texture outlives the wrap that was mapped first",
  ({ egl, cuda, graph }) => {
    using texture = egl.image.allocate({ ...SIZE, format: "BGRA" });
    egl.queue.finish();
    const wrapped = () => egl.image.attach([texture.planes[0].handle.name], { format: "BGRA", width: 8, height: 4 });
    const before = ledger.alive["egl.EGLImage"] ?? 0;
    {
      using one = wrapped();
      graph.map(one.planes[0], cuda.image(RGBA))[Symbol.dispose]();
    }
    assertEquals(ledger.alive["egl.EGLImage"], before + 1);
    {
      using other = wrapped();
      graph.map(other.planes[0], cuda.image(RGBA))[Symbol.dispose]();
    }
    assertEquals(calls.map(([name]) => name), ["registerEglImage", "frame"]);
    texture[Symbol.dispose]();
    assertEquals(ledger.alive["egl.EGLImage"] ?? 0, before);
    assertEquals(calls.at(-1)![0], "unregister");
  },
);

over("a buffer is memory at an address, and a part of it begins there", ({ egl, cuda, graph }) => {
  using buffer = egl.buffer.allocate({ shape: [64], dtype: "u32" });
  {
    using mapped = graph.map(buffer, cuda);
    assertEquals([mapped.address, mapped.memory], [ADDRESS, "external"]);
  }
  using part = buffer.slice({ shape: [4], dtype: "u32", byteOffset: 32 });
  using mapped = graph.map(part, cuda);
  assertEquals(mapped.address, ADDRESS + 32n);
  assertEquals(calls.map(([name]) => name), [
    ...["registerBuffer", "map", "address", "unmap"],
    ...["map", "address"],
  ]);
});

over("two readers share one map, and GL uses the buffer again after both", ({ egl, cuda, graph }) => {
  using buffer = egl.buffer.allocate({ shape: [64], dtype: "u8" });
  const one = graph.map(buffer, cuda, { access: "read" });
  const other = graph.map(buffer, cuda, { access: "read" });
  const use = () => egl.queue.read(buffer, new Uint8Array(64));
  assertThrows(use, AccessError, "mapped to another driver");
  one[Symbol.dispose]();
  assertThrows(use, AccessError, "mapped to another driver");
  other[Symbol.dispose]();
  use();
  assertEquals(calls.map(([name]) => name), ["registerBuffer", "map", "address", "address", "unmap"]);
});

over("a picture that is mapped to be read is not read by GL meanwhile", ({ egl, cuda, graph }) => {
  using picture = egl.image.allocate(SIZE);
  const mapped = graph.map(picture.planes[0], cuda.image(RGBA), { access: "read" });
  assertThrows(() => egl.queue.read(picture, new Uint8Array(128)), AccessError, "GL must not use it");
  assertThrows(() => egl.queue.run([{ picture, access: "read" }], () => {}), AccessError, "uses[0].picture");
  mapped[Symbol.dispose]();
  egl.queue.read(picture, new Uint8Array(128));
});

for (const fails of ["registerImage", "map", "array", "info"]) {
  over(`where ${fails} fails, the picture is GL's again, and the next map works`, ({ egl, cuda, graph }) => {
    using picture = egl.image.allocate(SIZE);
    egl.queue.finish();
    const map = () => graph.map(picture.planes[0], cuda.image(RGBA));
    failing = fails;
    const error = assertThrows(() => {
      using mapped = map();
      return mapped.array;
    }, NativeCallError);
    assertEquals(error.code, cudaErrorInvalidValue);
    failing = undefined;
    assertEquals(calls.filter(([name]) => name === "unmap").length, ["array", "info"].includes(fails) ? 1 : 0);
    egl.queue.fill(picture, [0, 0, 0, 1]);
    using mapped = map();
    assertEquals(mapped.handle, ARRAY);
  });
}

for (const fails of ["registerBuffer", "map", "address"]) {
  over(`where ${fails} fails, the buffer is GL's again, and the next map works`, ({ egl, cuda, graph }) => {
    using buffer = egl.buffer.allocate({ shape: [64], dtype: "u8" });
    failing = fails;
    const { code } = assertThrows(() => graph.map(buffer, cuda), NativeCallError);
    assertEquals(code, cudaErrorInvalidValue);
    failing = undefined;
    assertEquals(calls.filter(([name]) => name === "unmap").length, fails === "address" ? 1 : 0);
    egl.queue.write(buffer, new Uint8Array(64));
    using mapped = graph.map(buffer, cuda);
    assertEquals(mapped.address, ADDRESS);
  });
}

over("an unmap that fails is the error of the map's end", ({ egl, cuda, graph }) => {
  using picture = egl.image.allocate(SIZE);
  const mapped = graph.map(picture.planes[0], cuda.image(RGBA));
  failing = "unmap";
  assertThrows(() => mapped[Symbol.dispose](), InteropError, "cudaGraphicsUnmapResources failed");
  failing = undefined;
  assertEquals(picture.planes[0].handle.lent, 0);
});

for (const storage of ["a texture", "a buffer"] as const) {
  const map = ({ egl, cuda, graph }: There) => {
    if (storage === "a buffer") {
      const buffer = egl.buffer.allocate({ shape: [64], dtype: "u8" });
      return { of: buffer, map: () => graph.map(buffer, cuda) };
    }
    const picture = egl.image.allocate(SIZE);
    egl.queue.finish();
    return { of: picture, map: () => graph.map(picture.planes[0], cuda.image(RGBA)) };
  };
  const ends = () => calls.map(([name]) => name).filter((name) => name !== "info");

  over(`${storage} that a failed unmap has left mapped is unmapped before it is unregistered`, (there) => {
    const { of, map: begin } = map(there);
    const mapped = begin();
    failing = "unmap";
    assertThrows(() => mapped[Symbol.dispose](), InteropError, "cudaGraphicsUnmapResources failed");
    failing = undefined;
    calls = [];
    of[Symbol.dispose]();
    assertEquals(calls, [["unmap", "inside"], ["unregister", "inside"]]);
  });

  over(`${storage} that is mapped where GL's context cannot be made current to unmap it is unmapped later`, (there) => {
    const { of, map: begin } = map(there);
    const mapped = begin();
    const refused = there.egl.openContext as { within: unknown };
    refused.within = () => {
      throw new InteropError("the context cannot be made current.", { api: "egl" });
    };
    try {
      assertThrows(() => mapped[Symbol.dispose](), InteropError, "cannot be made current");
    } finally {
      delete refused.within;
    }
    calls = [];
    of[Symbol.dispose]();
    assertEquals(ends(), ["unmap", "unregister"]);
  });
}

over(
  "a texture that CUDA has mapped when GL's context cannot be put back is unmapped before it is unregistered",
  (there) => {
    const { egl, cuda, graph } = there;
    const picture = egl.image.allocate(SIZE);
    egl.queue.finish();
    const { openContext } = egl;
    const within = openContext.within.bind(openContext);
    Object.assign(openContext, {
      within<R>(use: () => R): R {
        const before = calls.length;
        const result = within(use);
        if (calls.slice(before).some(([name]) => name === "map")) {
          throw new InteropError("the context that was current cannot come back.", { api: "egl" });
        }
        return result;
      },
    });
    try {
      assertThrows(() => graph.map(picture.planes[0], cuda.image(RGBA)), InteropError, "cannot come back");
    } finally {
      Reflect.deleteProperty(openContext, "within");
    }
    picture[Symbol.dispose]();
    const names = calls.map(([name]) => name);
    assertEquals(
      names.filter((name) => name === "map").length,
      names.filter((name) => name === "unmap").length,
      `${names}`,
    );
    assertEquals(names.slice(-2), ["unmap", "unregister"]);
  },
);

over("what CUDA has no arrays of is refused, with the reason", ({ egl, cuda, graph }) => {
  using rgb = egl.image.allocate({ ...SIZE, format: "RGB" });
  assertThrows(() => graph.map(rgb.planes[0], cuda.image(RGBA)), NoRouteError, "its pixels are 3 × u8");
  using picture = egl.image.allocate(SIZE);
  const { refused } = assertThrows(() => graph.map(picture, cuda.image(RGBA)), NoRouteError);
  assertStringIncludes(refused.map(({ reason }) => reason).join(), "it is a frame");
  assertEquals(calls, []);
});

over("an EGLImage is CUDA's arrays, until it ends", ({ egl, cuda }) => {
  using picture = egl.image.allocate(SIZE);
  const { image: handle } = picture.planes[0].handle;
  {
    using image = CudaEglImage.register(cuda, handle);
    const [array] = image.arrays;
    assertEquals([array.handle, array.shape, image.tensors], [ARRAY, [4, 8, 4], []]);
    using _surface = array.surface();
    image.usedBy(cuda.stream.fence());
  }
  assertEquals(calls.map(([name]) => name), ["registerEglImage", "frame", "info", "unregister"]);
  assertThrows(() => CudaEglImage.register(cuda, 0n), ArgumentError, "expected a handle");
  for (const fails of ["registerEglImage", "frame", "info"]) {
    [calls, failing] = [[], fails];
    assertThrows(() => CudaEglImage.register(cuda, handle), NativeCallError);
    const registered = fails !== "registerEglImage";
    assertEquals(calls.some(([name]) => name === "unregister"), registered, fails);
  }
});

over("an EGLImage with addresses is tensors, plane by plane, until it ends", ({ egl, cuda }) => {
  using picture = egl.image.allocate(SIZE);
  using luma = cuda.allocate({ shape: [4, 8], dtype: "u8", pitch: true });
  using chroma = cuda.allocate({ shape: [2, 4, 2], dtype: "u8" });
  using frame = Frame.of([luma, chroma], imageInfo({ format: "NV12", width: 8, height: 4 }));
  asPointers = frame;
  const image = CudaEglImage.register(cuda, picture.planes[0].handle.image);
  asPointers = undefined;
  assertEquals(image.arrays, []);
  const said = (tensors: readonly CudaTensor[]) =>
    tensors.map(({ address, layout: { shape, strides, dtype } }) => [address, shape, strides, dtype]);
  assertEquals(said(image.tensors), said([luma, chroma]));
  const [plane] = image.tensors;
  image[Symbol.dispose]();
  assertThrows(() => plane.handle, DisposedError);
});

for (const format of ["I420", "P010", "BGRA", "GRAY8"] as const) {
  over(
    `an EGLImage of ${format} with addresses is one tensor a plane, which commands read and write`,
    ({ egl, cuda }) => {
      using picture = egl.image.allocate(SIZE);
      const info = imageInfo({ format, width: 8, height: 4 });
      const layouts = planeLayouts(info);
      const planes = layouts.map((layout) => cuda.allocate(layout));
      asPointers = Frame.of(planes, info);
      using image = CudaEglImage.register(cuda, picture.planes[0].handle.image);
      const shapes = image.tensors.map(({ layout: { shape, dtype } }) => [shape, dtype]);
      assertEquals(shapes, layouts.map(({ shape, dtype }) => [shape, dtype]));
      assertEquals(image.tensors.map(({ address }) => address), planes.map(({ address }) => address));
      calls = [];
      for (const tensor of image.tensors) cuda.stream.fill(tensor, 0);
      assertEquals(calls, planes.map(({ address }) => ["fill", address]));
      assertEquals(new Set(image.tensors.map(({ memory }) => memory)), new Set(["external"]));
      asPointers = undefined;
      for (const plane of planes) plane[Symbol.dispose]();
    },
  );
}

over("an EGLImage with addresses is mapped to no image, and is unregistered again", ({ egl, cuda, graph }) => {
  using picture = egl.image.allocate({ ...SIZE, format: "BGRA" });
  using pixels = cuda.allocate({ shape: [4, 8, 4], dtype: "u8" });
  asPointers = Frame.of([pixels], imageInfo({ ...SIZE, format: "BGRA" }));
  calls = [];
  const { hint } = assertThrows(
    () => graph.map(picture.planes[0], cuda.image(RGBA)),
    InteropError,
    "the EGLImage is memory at addresses",
  );
  asPointers = undefined;
  assertStringIncludes(hint!, ".tensors");
  assertEquals(calls.map(([name]) => name), ["registerEglImage", "frame", "unregister"]);
});

over(
  "a Tegra's stream waits for GL on the device, by an event of an EGLSync; for others the host waits",
  ({ egl, cuda }) => {
    using tegra = CudaContext.open({ ordinal: 1 });
    using picture = egl.image.allocate(SIZE);
    calls = [];
    egl.queue.fill(picture, [1, 0, 0, 1]);
    const fence = egl.queue.fence();
    const [there, here] = [tegra.line, cuda.line].map((line) => line.whyHostWaits([fence]));
    assertEquals(there, undefined);
    assertStringIncludes(here!, "CUDA makes events of EGLSyncs on a Tegra alone");
    assertEquals([tegra.line, cuda.line].map((line) => line.sync.reaches(egl.line)), [true, false]);
    tegra.line.sync.waitFor(egl.line, fence.mark); // as `waitFor` does while GL has not finished: llvmpipe may have
    tegra[Symbol.dispose]();
    assertEquals(calls, [["event", true, "outside"], ["waitEvent", "outside"], ["destroyEvent", "outside"]]);
  },
);

/** A driver with EGL_NV_cuda_event, as a Tegra's is. */
function takesEvents(egl: EglContext): void {
  (egl.openContext.display.extensions as Set<string>).add("EGL_NV_cuda_event");
}

over("GL waits for CUDA on the device, by an EGLSync of an event that was recorded before", ({ egl, cuda }) => {
  using picture = egl.image.allocate(SIZE);
  const fence = cuda.stream.line.submitRaw({ fn: "a kernel", call: () => 0 });
  assertStringIncludes(egl.line.whyHostWaits([fence])!, "has no EGL_NV_cuda_event");
  takesEvents(egl);
  assertEquals([egl.line.whyHostWaits([fence]), egl.absent.has("EGL_NV_cuda_event")], [undefined, false]);
  egl.queue.finish();
  isBusy = true;
  calls = [];
  egl.queue.fill(picture, [1, 0, 0, 1], { after: fence });
  assertEquals(calls, [["createSync", "recorded", "inside"], ["waitSync", "inside"]]);
  egl.queue.fill(picture, [0, 1, 0, 1], { after: fence }); // it stands behind the wait
  assertEquals(calls.length, 2);
  isBusy = false;
  egl.queue.finish();
  assertEquals(calls.slice(2), [["destroySync", "outside"]]);
});

over("an event that becomes no EGLSync is the error of GL's command, which waits for the next one", ({ egl, cuda }) => {
  takesEvents(egl);
  using picture = egl.image.allocate(SIZE);
  const after = cuda.stream.line.submitRaw({ fn: "a kernel", call: () => 0 });
  [isBusy, failing] = [true, "createSync"];
  const fill = () => egl.queue.fill(picture, [1, 0, 0, 1], { after });
  const { codeName } = assertThrows(fill, NativeCallError, "eglCreateSync failed");
  [calls, failing] = [[], undefined];
  fill();
  assertEquals([codeName, calls.map(([name]) => name)], ["EGL_BAD_ATTRIBUTE", ["createSync", "waitSync"]]);
  isBusy = false;
});

over("a program's own EGLSync is waited for on the device, by a Tegra's stream and by GL", ({ egl, cuda }) => {
  using tegra = CudaContext.open({ ordinal: 1 });
  const { display, openContext } = egl;
  own = openContext.within(() => createSync(display, names.EGL_SYNC_FENCE));
  using reusable = egl.reusableSync();
  const [fence, byHand] = [egl.attachFence(own), egl.attachFence(reusable.handle)];
  const why = [tegra.line, egl.line, cuda.line].map((line) => line.whyHostWaits([fence]));
  assertEquals(why.slice(0, 2), [undefined, undefined]);
  assertStringIncludes(why[2]!, "on a Tegra alone");
  for (const line of [tegra.line, egl.line]) assertEquals(typeof line.whyHostWaits([byHand]), "string");
  isBusy = true;
  calls = [];
  tegra.stream.waitFor(fence);
  assertEquals(calls, [["event", true, "outside"], ["waitEvent", "outside"]]);
  calls = [];
  egl.queue.waitFor(fence);
  assertEquals(calls, [["waitSync", "inside"]]);
  isBusy = false;
  reusable.signal();
  fence.waitSync();
  destroySync(display, own as Address);
});

over("an EGLSync that becomes no event is the error of the command that was to wait", ({ egl }) => {
  using tegra = CudaContext.open({ ordinal: 1 });
  using picture = egl.image.allocate(SIZE);
  egl.queue.fill(picture, [1, 0, 0, 1]);
  [calls, failing] = [[], "event"];
  const { mark } = egl.queue.fence();
  assertThrows(() => tegra.line.sync.waitFor(egl.line, mark), NativeCallError, "cudaEventCreateFromEGLSync");
});

over("GL's work is not waited for by the host where CUDA's map orders it, and is where nothing is mapped", (there) => {
  const { egl, cuda, graph } = there;
  using named = egl.image.allocate(SIZE);
  using image = egl.image.allocate({ ...SIZE, format: "BGRA" });
  egl.queue.finish();
  const { lane } = egl.line;
  const asked: number[] = [];
  const poll = lane.poll.bind(lane);
  Object.assign(lane, {
    poll: () => 0,
    block: (mark: number) => void (asked.push(mark), Object.assign(lane, { poll })),
  });
  for (const [picture, hostWait] of [[named, false], [image, true]] as const) {
    egl.queue.fill(picture, [1, 0, 0, 1]); // GL has never finished it, as far as anybody hears
    using mapped = graph.map(picture.planes[0], cuda.image(RGBA));
    assertEquals([mapped.route.steps[0].hostWait, asked.length > 0], [hostWait, hostWait]);
  }
});
