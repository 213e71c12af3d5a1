import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  imageInfo,
  LayoutError,
  MapperGraph,
  NativeCallError,
  NoRouteError,
} from "@samepage/interop";
import { VaapiContext, vaapiNodes, type VaapiTensor } from "@samepage/interop/vaapi";
import { behave, LIBRARY, NODE, useDriver } from "../../vaapi/driver.ts";
import { any, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });
const RGBA = imageInfo({ format: "RGBA", width: 64, height: 32 });
const SOUND = { type: "audio", format: "f32", sampleRate: 8000, channels: 1, samples: 8, layout: "planar" } as const;

/** A row on the driver of the tests, which behaves so. */
function row(run: () => unknown, fails?: Failure, words: readonly string[] = []): Row {
  return {
    async run() {
      useDriver();
      behave(...words);
      await run();
    },
    nodes: [LIBRARY],
    ...(fails === undefined ? {} : { fails }),
  };
}

/** The same with a context. */
function withVaapi(use: (va: VaapiContext) => unknown, fails?: Failure, words?: readonly string[]): Row {
  return row(
    async () => {
      using va = VaapiContext.open({ node: NODE });
      await use(va);
    },
    fails,
    words,
  );
}

/** The same with a surface, and a graph that reaches the host. */
function withSurface(
  use: (there: { va: VaapiContext; graph: MapperGraph; surface: Frame<VaapiTensor> }) => unknown,
  fails?: Failure,
  words?: readonly string[],
): Row {
  return withVaapi(
    async (va) => {
      using graph = new MapperGraph([host, va]);
      using surface = va.allocateFrame(NV12);
      await use({ va, graph, surface });
    },
    fails,
    words,
  );
}

const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { error: ArgumentError, api: "vaapi", argument, message, ...(hint === undefined ? {} : { hint }) }
);
const native = (fn: string, codeName: string, code: number, hint?: RegExp): Failure => (
  {
    error: NativeCallError,
    api: "vaapi",
    fn,
    code,
    codeName,
    message: new RegExp(`${fn} failed with ${codeName}`),
    ...(hint === undefined ? {} : { hint }),
  }
);
const core = (error: Failure["error"], message: RegExp, fields: Partial<Failure> = {}): Failure => (
  { error, api: "core", message, ...fields }
);
const closed = (message: RegExp, hint: RegExp): Failure => ({
  error: NoRouteError,
  api: "core",
  argument: "target",
  message,
  hint,
});
const ended = core(DisposedError, /vaapi .* was disposed/);

export default table(import.meta, {
  "a node that is not there": row(
    () => VaapiContext.open({ node: "/dev/dri/renderD999" }),
    wrong("node", /there is no \/dev\/dri\/renderD999/, /pass the node in/),
  ),
  "a file that is not a device": row(
    () => VaapiContext.open({ node: "/etc/hosts" }),
    { ...wrong("node", /\/etc\/hosts is not a DRM device/, /vaapiNodes/), fn: "vaGetDisplayDRM" },
  ),
  "a node by a number": row(
    () => VaapiContext.open({ node: any(128) }),
    wrong("choice.node", /expected a string, got a number/),
  ),
  "a driver by a number": row(
    () => VaapiContext.open({ driver: any(1) }),
    wrong("choice.driver", /expected a string, got a number/),
  ),
  "a choice that is misspelt": row(
    () => VaapiContext.open(any({ device: NODE })),
    core(ArgumentError, /unknown property device/, { argument: "choice", hint: /node, driver/ }),
  ),
  "a driver that is not there": row(
    () => VaapiContext.open({ node: NODE, driver: "nonesuch" }),
    native("vaInitialize", "VA_STATUS_ERROR_UNKNOWN", -1, /intel-media-va-driver/),
  ),
  "a display that is null": row(() => VaapiContext.attach(0n), wrong("display", /expected a handle, got null/)),
  "a display that is a number": row(
    () => VaapiContext.attach(any(1)),
    wrong("display", /expected a bigint, got a number/),
  ),
  "the nodes of this machine": row(() => {
    const nodes = vaapiNodes();
    if (
      !nodes.every(({ node, open, reason }) => node.startsWith("/dev/dri/renderD") && (open || reason !== undefined))
    ) {
      throw new Error(JSON.stringify(nodes));
    }
  }),
  "what a context says of itself": {
    ...withVaapi((va) => {
      say(va.name, va.node, va.configs.length, va.imageFourccs.length, va.formats.length, typeof va.version);
      using other = VaapiContext.attach(va.handle);
      say(other.node, other.version);
    }),
    says: ["samepage's test driver /dev/null 1 10 10 string", " "],
  },
  "a tensor of a shape that is not a picture": withVaapi(
    (va) => va.allocate({ shape: [4, 4, 3], dtype: "u8" }),
    wrong("shape", /\[height, width\] or \[height, width, 4\] of u8, and not \[4,4,3\] u8/, /allocateFrame/),
  ),
  "a tensor of words": withVaapi(
    (va) => va.allocate({ shape: [4, 4], dtype: "u32" }),
    wrong("shape", /and not \[4,4\] u32/, /allocateFrame/),
  ),
  "a tensor without rows": withVaapi(
    (va) => va.allocate({ shape: [0, 4], dtype: "u8" }),
    core(LayoutError, /expected at least 1, got 0/, { argument: "shape[0]" }),
  ),
  "a tensor without a dtype": withVaapi(
    (va) => va.allocate(any({ shape: [4, 4] })),
    core(LayoutError, /expected a dtype/, { argument: "dtype", hint: /Use one of/ }),
  ),
  "a tensor that is too large": withVaapi(
    (va) => va.allocate({ shape: [8, 5000], dtype: "u8" }),
    wrong("info", /no surface of 5000 × 8: at most 4096 × 4096/, /GRAY8, RGBA/),
  ),
  "a frame of a format that the driver has not": withVaapi(
    (va) => va.allocateFrame(imageInfo({ format: "P016", width: 4, height: 4 })),
    wrong("info", /the driver has no surfaces of P016/, /GRAY8, RGBA/),
  ),
  "a frame of an unknown format": withVaapi(
    (va) => va.allocateFrame(any({ ...NV12, format: "NV13" })),
    core(LayoutError, /expected a pixel format, got "NV13"/, { argument: "format", hint: /NV12/ }),
  ),
  "a frame of an odd width": withVaapi(
    (va) => va.allocateFrame({ ...NV12, width: 63 }),
    core(LayoutError, /NV12 needs a multiple of 2, got 63/, { argument: "width" }),
  ),
  "a frame of sound": withVaapi((va) => va.allocateFrame(SOUND), wrong("info", /expected an image, got audio/)),
  "a frame that is tiled by its description": withVaapi(
    (va) => va.allocateFrame({ ...NV12, modifier: 2n }),
    wrong("info.modifier", /the driver lays its surfaces out/, /modifiers/),
  ),
  "modifiers that are a bigint": withVaapi(
    (va) => va.allocateFrame(NV12, { modifiers: any(0n) }),
    wrong("modifiers", /expected an array of bigints, got a bigint/),
  ),
  "modifiers that are numbers": withVaapi(
    (va) => va.allocateFrame(NV12, { modifiers: any([0n, 1]) }),
    wrong("modifiers[1]", /expected 64 bits, got 1/),
  ),
  "a modifier of 65 bits": withVaapi(
    (va) => va.allocateFrame(NV12, { modifiers: [2n ** 64n] }),
    wrong("modifiers[0]", /expected 64 bits/),
  ),
  "no modifier at all": withVaapi(
    (va) => va.allocateFrame(NV12, { modifiers: [] }),
    wrong("modifiers", /expected at least one/, /Leave it out/),
  ),
  "modifiers that the driver may choose from": withVaapi((va) =>
    va.allocateFrame(NV12, { modifiers: [0n, 2n ** 64n - 2n] })[Symbol.dispose]()
  ),
  "an option of a frame that is misspelt": withVaapi(
    (va) => va.allocateFrame(NV12, any({ modifier: 0n })),
    core(ArgumentError, /unknown property modifier/, { argument: "options", hint: /modifiers/ }),
  ),
  "metadata that is a plain object": withVaapi(
    (va) => va.allocateFrame(NV12, { metadata: any({}) }),
    core(ArgumentError, /metadata/, { argument: "metadata" }),
  ),
  "a pool of nothing": withVaapi((va) => va.createPool(NV12, 0), wrong("size", /expected 1 to 256 surfaces, got 0/)),
  "a pool of half a surface": withVaapi((va) => va.createPool(NV12, 1.5), wrong("size", /got 1.5/)),
  "a pool of more surfaces than a decoder has": withVaapi((va) => va.createPool(NV12, 257), wrong("size", /got 257/)),
  "a pool of sound": withVaapi((va) => va.createPool(SOUND, 1), wrong("info", /expected an image/)),
  "a pool that has no surface left": withVaapi((va) => {
    using pool = va.createPool(NV12, 1);
    using _taken = pool.take();
    if (pool.available !== 0) throw new Error(`${pool.available}`);
    pool.take();
  }, { error: AccessError, api: "vaapi", message: /all 1 surfaces of the pool are in use/, hint: /Dispose a frame/ }),
  "a pool that has ended": withVaapi((va) => {
    const pool = va.createPool(NV12, 1);
    pool[Symbol.dispose]();
    pool.take();
  }, ended),
  "a surface that is not a number": withVaapi(
    (va) => va.attach(any("1"), NV12),
    wrong("surface", /expected a VASurfaceID, got "1"/),
  ),
  "a surface that is VA_INVALID_SURFACE": withVaapi(
    (va) => va.attach(0xffff_ffff, NV12),
    wrong("surface", /expected a VASurfaceID, got 4294967295/),
  ),
  "a surface that is smaller than its description": withSurface(
    ({ va, surface }) => va.attach(surface.handle, imageInfo({ format: "NV12", width: 64, height: 64 })),
    wrong("info", /the surface has 64 × 32 pixels, and not 64 × 64/, /what was vaCreateSurfaces called with/),
  ),
  "a surface that was imported, as another library's": withSurface(
    ({ va, surface }) => {
      using other = VaapiContext.open({ node: NODE });
      using graph = new MapperGraph([va, other]);
      using imported = graph.map(surface, other);
      other.attach(imported.handle, NV12);
    },
    wrong("surface", /is a frame already, which was mapped from another API's memory/, /Use that frame/),
  ),
  "a surface that the driver does not know": withVaapi(
    (va) => va.attach(200, NV12),
    native("vaQuerySurfaceStatus", "VA_STATUS_ERROR_INVALID_SURFACE", 6, /destroyed by its maker/),
  ),
  "the fence of something else": withVaapi(
    (va) => va.fence(any({})),
    wrong("frame", /expected a Frame, got an Object/),
  ),
  "the handle of a frame that is not a surface": withVaapi(
    () => {
      using frame = host.allocateFrame(NV12);
      void frame.handle;
    },
    core(ArgumentError, /has no handle of its own: it is not one native object/, {
      argument: "frame",
      hint: /planes\[0\]\.handle/,
    }),
  ),
  "the surface of a frame that has ended": withSurface(({ surface }) => {
    surface[Symbol.dispose]();
    void surface.handle;
  }, core(DisposedError, /was disposed/)),
  "a fence of a frame of the host": withVaapi((va) => {
    using frame = host.allocateFrame(NV12);
    va.fence(any(frame));
  }, wrong("frame", /expected a frame of samepage's test driver, got one of host/)),
  "a fence of a surface's work": {
    ...withSurface(async ({ va, surface }) => {
      await va.fence(surface).wait();
      const { handle } = surface.planes[0];
      handle.sync();
      say(
        handle.toString() === Deno.inspect(handle),
        handle.isBusy,
        BigInt(handle.id) === surface.handle,
        va.is(surface.planes[0]),
      );
    }),
    says: ["true false true true"],
  },
  "an export with layers of no kind": withSurface(
    ({ va, surface }) => va.exportFds(surface, { layers: any("both") }),
    wrong("layers", /expected one of "separate", "composed", got "both"/),
  ),
  "an export for an access of no kind": withSurface(
    ({ va, surface }) => va.exportFds(surface, { access: any("all") }),
    core(ArgumentError, /access/, { argument: "access" }),
  ),
  "an export option that is misspelt": withSurface(
    ({ va, surface }) => va.exportFds(surface, any({ layer: "separate" })),
    core(ArgumentError, /unknown property layer/, { argument: "options", hint: /layers, access/ }),
  ),
  "an export while the host writes": withSurface(({ va, graph, surface }) => {
    using _mapped = graph.map(surface, host);
    va.exportFds(surface);
  }, core(AccessError, /lent to/, { hint: /Dispose host map/ })),
  "an export that the driver has not": withSurface(
    ({ va, surface }) => va.exportFds(surface),
    native(
      "vaExportSurfaceHandle",
      "VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE",
      36,
      /Allocate the surface with the context/,
    ),
    ["no-separate", "no-composed"],
  ),
  "a plane of a surface for the host": withSurface(
    ({ graph, surface }) => graph.map(surface.planes[0], host),
    closed(/a surface is mapped as a whole/, /./),
  ),
  "a copy that was not asked for": withSurface(
    ({ graph, surface }) => graph.map(surface, host),
    closed(/vaapi→host/, /copy/),
    ["plain"],
  ),
  "a part of a picture as a frame": withSurface(({ graph, surface }) => {
    using part = surface.borrow("read");
    using _mapped = graph.map(part, host, { access: "read" }); // all planes, whole
  }),
  "sound as a surface": withVaapi((va) => {
    using graph = new MapperGraph([host, va]);
    using sound = host.allocateFrame(SOUND);
    graph.map(sound, va, { copy: "allow" });
  }, closed(/a surface is a picture/, /./)),
  "a tensor of words as a surface": withVaapi((va) => {
    using graph = new MapperGraph([host, va]);
    using words = host.allocate({ shape: [8, 8], dtype: "u32" });
    graph.map(words, va, { copy: "allow" });
  }, closed(/a surface is a picture/, /./)),
  "a view of a map that has ended": withVaapi((va) => {
    using graph = new MapperGraph([host, va]);
    using surface = va.allocateFrame(RGBA);
    const mapped = graph.map(surface, host);
    const view = mapped.planes[0].view();
    mapped[Symbol.dispose]();
    if (view.length !== 0) throw new Error("the view is not stale");
  }),
  "a frame of a context that has ended": row(() => {
    const va = VaapiContext.open({ node: NODE });
    va[Symbol.dispose]();
    va.allocateFrame(NV12);
  }, ended),
  "a pool of a context that has ended": row(() => {
    const va = VaapiContext.open({ node: NODE });
    va[Symbol.dispose]();
    va.createPool(NV12, 1);
  }, ended),
  "the display of a context that has ended": row(() => {
    const va = VaapiContext.open({ node: NODE });
    va[Symbol.dispose]();
    void va.handle;
  }, ended),
  "a surface of a context that has ended": withVaapi((va) => {
    const other = VaapiContext.attach(va.handle);
    other[Symbol.dispose]();
    other.attach(1, NV12);
  }, ended),
  "a map to a context that has ended": row(() => {
    const va = VaapiContext.open({ node: NODE });
    using graph = new MapperGraph([host, va]);
    using frame = host.allocateFrame(NV12);
    va[Symbol.dispose]();
    graph.map(frame, va, { copy: "allow" });
  }, core(DisposedError, /disposed/)),
});
