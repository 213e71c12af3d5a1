/** Other APIs' images, over a recording: what CUDA is asked for, what waits for what, who closes which fd, what ends when. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  cudaArrayLayered,
  cudaArraySurfaceLoadStore,
  cudaExternalMemoryDedicated,
  cudaExternalMemoryHandleTypeOpaqueFd,
} from "../../ffi/cuda_runtime/constants.ts";
import { cudaErrorInvalidValue } from "../../ffi/cuda_runtime/errors.ts";
import { O_RDWR } from "../../ffi/libc/constants.ts";
import {
  readCudaExternalMemoryHandleDesc,
  readCudaExternalMemoryMipmappedArrayDesc,
  readCudaMemcpy3DParms,
  writeCudaChannelFormatDesc,
  writeCudaExtent,
} from "../../ffi/cuda_runtime/structs.ts";
import { AccessError, ArgumentError, LayoutError, MapperGraph, NativeCallError, NoRouteError } from "@samepage/interop";
import { pixelFormat } from "../../src/core/layout/frame_info.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { cString } from "../../src/core/native/text.ts";
import { CudaContext } from "../../src/cuda/mod.ts";
import { type ForeignImage, foreignImage } from "../foreign_image.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";

const [MEMORY, LEVELS, ARRAY] = [0x55n, 0x66n, 0x77n];

/** What was asked of the driver, in words. */
const told: unknown[][] = [];
/** Calls of this name fail. */
let failing: string | undefined;
/** The fd that the driver owns. */
let held = -1;
/** What the array was made with. */
let made = { depth: 0n, flags: 0 };

function answer(name: string, ...about: unknown[]): number {
  told.push([name, ...about]);
  return failing === name ? cudaErrorInvalidValue : 0;
}

const FAKES: Fakes = {
  cudaDeviceGetAttribute: (value: Int32Array) => {
    value[0] = 32768;
    return 0;
  },
  cudaImportExternalMemory: (out: BigUint64Array, view: DataView) => {
    const { type, handle, size, flags } = readCudaExternalMemoryHandleDesc(view, 0);
    const fd = Number(handle);
    const code = answer("cudaImportExternalMemory", type, size, flags);
    if (code !== 0) closeFd(fd); // as the driver does
    else [out[0], held] = [MEMORY, fd];
    return code;
  },
  cudaExternalMemoryGetMappedMipmappedArray: (out: BigUint64Array, handle: bigint, view: DataView) => {
    const { offset, format_x, format_y, format_w, format_f, width, height, depth, flags, numLevels } =
      readCudaExternalMemoryMipmappedArrayDesc(view, 0);
    out[0] = LEVELS;
    made = { depth, flags };
    const format = [format_x, format_y, format_w, format_f];
    const about = [handle, offset, format, width, height, depth, flags, numLevels];
    return answer("cudaExternalMemoryGetMappedMipmappedArray", ...about);
  },
  cudaGetMipmappedArrayLevel: (out: BigUint64Array, levels: bigint, level: number) => {
    out[0] = ARRAY;
    return answer("cudaGetMipmappedArrayLevel", levels, level);
  },
  cudaFreeMipmappedArray: (levels: bigint) => answer("cudaFreeMipmappedArray", levels),
  cudaDestroyExternalMemory: (handle: bigint) => {
    closeFd(held);
    return answer("cudaDestroyExternalMemory", handle);
  },
  cudaArrayGetInfo: (format: Uint8Array, extent: Uint8Array, flags: Uint8Array, array: bigint) => {
    writeCudaChannelFormatDesc(new DataView(format.buffer), 0, { x: 8, y: 8, z: 8, w: 8, f: 1 });
    writeCudaExtent(new DataView(extent.buffer), 0, { width: 70n, height: 33n, depth: made.depth });
    new DataView(flags.buffer).setUint32(0, made.flags, true);
    return answer("cudaArrayGetInfo", array);
  },
  cudaCreateSurfaceObject: (out: BigUint64Array) => {
    out[0] = 1n;
    return answer("cudaCreateSurfaceObject");
  },
  cudaDestroySurfaceObject: () => answer("cudaDestroySurfaceObject"),
  cudaMemcpy3DAsync: (parameters: Uint8Array) => {
    const { extent_width, extent_height, extent_depth } = readCudaMemcpy3DParms(new DataView(parameters.buffer), 0);
    return answer("cudaMemcpy3DAsync", extent_width, extent_height, extent_depth);
  },
} as Record<string, (...args: never[]) => number>;

const over = recordedTests(FAKES);

/** No fd is left open, whatever happened. */
function recordedTest(name: string, run: (cuda: CudaContext) => void): void {
  over(name, () => {
    using cuda = CudaContext.open();
    const fds = openFds();
    [failing, told.length] = [undefined, 0];
    run(cuda);
    failing = undefined;
    assertOpenFds(fds);
  });
}

const FORMAT = { dtype: "u8", channels: 4 } as const;
const EDGE = "vulkan.image→cuda.image";
const MADE = [
  ["cudaImportExternalMemory", cudaExternalMemoryHandleTypeOpaqueFd, 65536n, 0],
  [
    "cudaExternalMemoryGetMappedMipmappedArray",
    ...[MEMORY, 0n, [8, 8, 8, 1], 70n, 33n, 0n, cudaArraySurfaceLoadStore, 1],
  ],
  ["cudaGetMipmappedArrayLevel", LEVELS, 0],
];
const FREED = [["cudaFreeMipmappedArray", LEVELS], ["cudaDestroyExternalMemory", MEMORY]];

function graphOf(cuda: CudaContext, ...images: readonly ForeignImage[]): MapperGraph {
  return new MapperGraph([cuda, ...images.map(({ target }) => target.context)]);
}

/** The recorded device's. */
const uuidOf = ({ id: { uuid } }: CudaContext) => uuid;

recordedTest("an image is imported as an array that surfaces may write, and freed in reverse order", (cuda) => {
  using image = foreignImage(uuidOf(cuda));
  using graph = graphOf(cuda, image);
  using mapped = graph.map(image, cuda.image(FORMAT));
  assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [[EDGE, "alias"]]);
  assertEquals(told.splice(0), MADE);
  assertEquals([mapped.handle, mapped.width, mapped.height], [ARRAY as never, 70, 33]);
  mapped[Symbol.dispose]();
  assertEquals(told, FREED);
});

recordedTest("memory that was allocated for the image alone is imported so", (cuda) => {
  using image = foreignImage(uuidOf(cuda), { dedicated: true });
  using graph = graphOf(cuda, image);
  using _ = graph.map(image, cuda.image(FORMAT));
  assertEquals(told[0].at(-1), cudaExternalMemoryDedicated);
});

recordedTest(
  "an image by other code's fd is where and what its exporter says, and the fd stays the caller's",
  (cuda) => {
    const fd = libc().open(cString("/dev/null"), O_RDWR, 0);
    const fds = openFds();
    const init = { shape: [33, 70, 4], size: 65536, offset: 4096, dedicated: true };
    {
      using image = cuda.image({ dtype: "u8", channels: 4 }).importMemory(fd, init);
      assertEquals(told.splice(0), [
        ["cudaImportExternalMemory", cudaExternalMemoryHandleTypeOpaqueFd, 65536n, cudaExternalMemoryDedicated],
        [
          "cudaExternalMemoryGetMappedMipmappedArray",
          ...[MEMORY, 4096n, [8, 8, 8, 1], 70n, 33n, 0n, cudaArraySurfaceLoadStore, 1],
        ],
        ["cudaGetMipmappedArrayLevel", LEVELS, 0],
      ]);
      assertEquals([image.handle, image.width, image.height, openFds()], [ARRAY as never, 70, 33, fds + 1]);
    }
    assertEquals([told.splice(0), openFds()], [FREED, fds]);
    const refused = (about: object, what: string) => {
      assertThrows(
        () => cuda.image({ dtype: "u8", channels: 4 }).importMemory(fd, { ...init, ...about }),
        LayoutError,
        what,
      );
    };
    refused({ tiling: "linear" }, "CUDA would show others");
    refused({ shape: [33, 70] }, "pixels of 4");
    failing = "cudaExternalMemoryGetMappedMipmappedArray";
    assertThrows(() => cuda.image({ dtype: "u8", channels: 4 }).importMemory(fd, init), NativeCallError, failing);
    assertOpenFds(fds);
    closeFd(fd);
  },
);

recordedTest("uses of its array are its own: work, access, and the end", (cuda) => {
  using image = foreignImage(uuidOf(cuda));
  using graph = graphOf(cuda, image);
  const mapped = graph.map(image, cuda.image(FORMAT));
  const { array } = mapped;
  assert(mapped.array === array, "one array");
  assertEquals([array.extent, array.channels, array.dtype, array.writable], [
    { width: 70, height: 33, depth: 0 },
    4,
    "u8",
    true,
  ]);
  using pixels = cuda.allocate({ shape: [33, 70, 4], dtype: "u8" });
  cuda.stream.copy(pixels, array);
  assert(array.works[0] === mapped.works[0], "one record of work");
  const surface = array.surface();
  {
    using _ = mapped.borrow("read-write");
    assertThrows(() => mapped.array, AccessError);
    assertThrows(() => cuda.stream.copy(array, pixels), AccessError);
  }
  told.length = 0;
  mapped[Symbol.dispose]();
  assertEquals(told, [["cudaDestroySurfaceObject"], ...FREED]);
  assertThrows(() => surface.handle, Error, "disposed");
  assertThrows(() => array.handle, Error, "disposed");
});

recordedTest("an image that is mapped for reading is written by no surface and no copy", (cuda) => {
  using image = foreignImage(uuidOf(cuda));
  using graph = graphOf(cuda, image);
  using mapped = graph.map(image, cuda.image(FORMAT), { access: "read" });
  using pixels = cuda.allocate({ shape: [33, 70, 4], dtype: "u8" });
  cuda.stream.copy(mapped.array, pixels);
  assertThrows(() => mapped.array.surface(), AccessError);
  assertThrows(() => cuda.stream.copy(pixels, mapped.array), AccessError);
});

recordedTest("what fails leaves no fd, no memory and no array", (cuda) => {
  using image = foreignImage(uuidOf(cuda));
  using graph = graphOf(cuda, image);
  const undone = [[], [FREED[1]], FREED];
  for (const [i, [name]] of MADE.entries()) {
    failing = name as string;
    told.length = 0;
    assertThrows(() => graph.map(image, cuda.image(FORMAT)), NativeCallError, failing);
    assertEquals(told.slice(i + 1), undone[i], failing);
  }
  failing = undefined;
  using _ = graph.map(image, cuda.image(FORMAT)); // its bytes are not lent
});

recordedTest(
  "rows of pixels, other formats, other devices and anything but a format are refused before any call",
  (cuda) => {
    using image = foreignImage(uuidOf(cuda));
    using rows = foreignImage(uuidOf(cuda), { modifier: 0n });
    using foreign = foreignImage("0".repeat(32));
    using graph = graphOf(cuda, image, rows, foreign);
    assertThrows(() => graph.map(rows, cuda.image(FORMAT)), LayoutError, "row by row");
    const other = assertThrows(() => graph.map(image, cuda.image({ dtype: "f32" })), NoRouteError);
    assertEquals(other.refused[0].reason, "its pixels are 4 × u8, and those of the target 1 × f32.");
    assertEquals(other.refused[0].remedy, 'Map it to cuda.image({ dtype: "u8", channels: 4 }).');
    assertThrows(() => graph.map(foreign, cuda.image(FORMAT)), NoRouteError, uuidOf(cuda)!);
    for (const format of [{}, { dtype: "u64" }, { dtype: "u8", channels: 3 }, { dtype: "u8", order: "RGBA" }, null]) {
      assertThrows(() => cuda.image(format as never), ArgumentError);
    }
    assert(cuda.image(FORMAT) === cuda.image({ ...FORMAT }), "one target for each format");
    assertEquals(told, []);
  },
);

recordedTest("pixels for experiments are copied by CUDA's own command, and not counted", (cuda) => {
  using image = foreignImage(uuidOf(cuda));
  using graph = graphOf(cuda, image);
  using mapped = graph.map(image, cuda.image(FORMAT));
  told.length = 0;
  const bytes = new Uint8Array(33 * 70 * 4);
  cuda.image(FORMAT).ports.copies!.write(mapped, bytes);
  cuda.image(FORMAT).ports.copies!.read(mapped, bytes);
  const copied = ["cudaMemcpy3DAsync", 70n, 33n, 1n];
  assertEquals([told, cuda.bytesCopied], [[copied, copied], 0]);
});

recordedTest("layers are a layered array, whose slices copies and experiments reach", (cuda) => {
  using image = foreignImage(uuidOf(cuda), { shape: [5, 33, 70, 4] });
  using graph = graphOf(cuda, image);
  using mapped = graph.map(image, cuda.image(FORMAT));
  assertEquals(told.splice(0)[1].slice(4), [70n, 33n, 5n, cudaArraySurfaceLoadStore | cudaArrayLayered, 1]);
  const { array, layers, height, width } = mapped;
  assertEquals([layers, height, width, array.layered, array.shape], [5, 33, 70, true, [5, 33, 70, 4]]);
  using pixels = cuda.allocate({ shape: [5, 33, 70, 4], dtype: "u8" });
  told.length = 0;
  cuda.stream.copy(array, pixels);
  cuda.image(FORMAT).ports.copies!.read(mapped, new Uint8Array(5 * 33 * 70 * 4));
  const copied = ["cudaMemcpy3DAsync", 70n, 33n, 5n];
  assertEquals(told, [copied, copied]);
});

recordedTest("layers that are too many, or pixels of another format that look like layers, are refused", (cuda) => {
  using many = foreignImage(uuidOf(cuda), { shape: [32769, 33, 70, 4] });
  using grey = foreignImage(uuidOf(cuda), { shape: [5, 33, 4], format: pixelFormat("r", "uint8") });
  using graph = graphOf(cuda, many, grey);
  const { refused } = assertThrows(() => graph.map(many, cuda.image(FORMAT)), NoRouteError);
  assertStringIncludes(refused[0].reason, "maxSurface2DLayeredLayers is 32768");
  assertStringIncludes(
    assertThrows(() => graph.map(grey, cuda.image(FORMAT)), NoRouteError).refused[0].reason,
    "its pixels are 1 × u8, and those of the target 4 × u8",
  );
  assertEquals(told, []);
});
