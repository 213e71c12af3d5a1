import type { Mapper } from "../core/graph/mapper.ts";
import { EDGES } from "./edges/mod.ts";
import type { Address } from "../../ffi/address.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { contextOn, devicesOn, type OpenOn } from "../core/device/device_on.ts";
import type { Fence } from "../core/device/fence.ts";
import type { Line } from "../core/device/line.ts";
import type { Memory, Natives } from "../core/contract.ts";
import { Proofs } from "../core/device/proofs.ts";
import type { Reason } from "../core/errors.ts";
import type { Context, Target } from "../core/graph/context.ts";
import { DeviceContext } from "../core/graph/device_context.ts";
import {
  fourccText,
  type FrameInfo,
  type ImageFormat,
  type ImageInfo,
  imageOf,
  planeLayouts,
} from "../core/layout/frame_info.ts";
import { describeLayout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../core/layout/layout.ts";
import type { Resource } from "../core/life/resource.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { type Access, accessOf } from "../core/memory/access.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { Described } from "../core/tensors/described.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { assertMetadata, type Metadata } from "../core/tensors/metadata.ts";
import { tensorOver } from "../core/tensors/over.ts";
import { configsOf, imageFormatsOf, type VaapiConfig } from "./abilities.ts";
import { modifiersIn, pictureIn, poolSizeIn, surfaceIdIn } from "./arguments.ts";
import type { VaapiBase } from "./base.ts";
import { attachedDisplay, type Display, openDisplay } from "./display.ts";
import { formatsIn } from "./formats.ts";
import { SurfaceImages } from "./images.ts";
import { checks } from "./library.ts";
import { newLine, workOn } from "./line.ts";
import { vaapiNodes } from "./nodes.ts";
import { portsOf } from "./memory.ts";
import { VaapiPool } from "./pool.ts";
import { exportSurface, type Layers, type PrimeSurface } from "./prime.ts";
import { allocated, allocationOf, attached, newSurface } from "./surfaces.ts";
import type { VaapiSurface } from "./surface.ts";
import { pictureOf, refusePart, VaapiTensor } from "./tensor.ts";

/** The device to open. */
export interface VaapiChoice extends OpenOn {
  /** A render node: `"/dev/dri/renderD128"`; by default the first with a driver. */
  readonly node?: string;
  /** The driver's name (`"iHD"`, `"radeonsi"`), if libva would choose another. */
  readonly driver?: string;
}

/** Options of {@link VaapiContext.allocateFrame}. */
export interface VaapiAllocation {
  /** The DRM format modifiers from which the driver has to choose; any modifier by default. */
  readonly modifiers?: readonly bigint[];
  /** The frame's metadata. */
  readonly metadata?: Metadata;
}

/** Options of {@link VaapiContext.exportFds}. */
export interface VaapiExport {
  /** Describes each plane as a picture of its own, or all as one; by default whichever the driver supports. */
  readonly layers?: Layers;
  /** How the fds will be used; the frame's own access by default. */
  readonly access?: Access;
}

/** The render node of another context's device. @throws {ArgumentError} if its node is unknown. */
function nodeOn(on: Context, named: string | undefined): string {
  const nodes = named === undefined ? vaapiNodes().map(({ node }) => node) : [named];
  return devicesOn(checks, on, nodes, (node) => ({ name: node, id: { node } }))[0];
}

const CHOICE: Names<VaapiChoice> = { node: true, driver: true, on: true };
const ALLOCATION: Names<VaapiAllocation> = { modifiers: true, metadata: true };
const EXPORT: Names<VaapiExport> = { layers: true, access: true };
const LAYERS: { readonly [L in Layers]: unknown } = { separate: true, composed: true };

/**
 * A VA-API display, whose surfaces a GPU decodes, processes and encodes. The context is a target, and its frames are surfaces.
 *
 * @example
 * ```ts ignore
 * import { host, imageInfo, MapperGraph } from "@samepage/interop";
 * import { VaapiContext } from "@samepage/interop/vaapi";
 *
 * using va = VaapiContext.open();
 * using graph = new MapperGraph([host, va]);
 * using surface = va.allocateFrame(imageInfo({ format: "NV12", width: 1920, height: 1080 }));
 * using pixels = graph.map(surface, host, { copy: "allow" });
 * ```
 */
export class VaapiContext extends DeviceContext implements VaapiBase {
  /** The API's name. */
  readonly api = "vaapi";
  /** The kind of memory: surfaces. */
  readonly kind = "vaapi";
  /** Itself. */
  readonly context: Context = this;
  /** Itself. */
  readonly targets: readonly Target[] = [this];
  /** The edges to and from its memory that no port makes. */
  readonly edges: readonly Mapper[] = EDGES;
  /** The display. For mappers. */
  readonly display: Display;
  /** The line of its calls. For mappers. */
  readonly line: Line<undefined>;
  /** Its ports. For mappers. */
  readonly ports: Memory<VaapiTensor>;
  /** The display, and its surfaces by id. For libraries that use the same display. */
  readonly natives: Natives = {
    handles: () => ({ display: this.handle }),
    attach: ({ objects: [{ handle }] }, info, options) => this.attach(handle, info, options),
    pictureOf: (frame) => ({
      objects: [{ handle: BigInt(this.#planesIn(frame as Frame<VaapiTensor>)[0].rawHandle.id) }],
      planes: [],
    }),
  };
  /** Proofs that the CPU sees surfaces in place. For mappers. */
  readonly proofs: Proofs<VaapiBase>;
  /** How the CPU reaches its surfaces. For mappers. */
  readonly images: SurfaceImages;
  /** The driver's operations, by profile and entrypoint, in the driver's order. */
  readonly configs: readonly VaapiConfig[];
  /** The formats in which frames can be allocated: the driver has surfaces of them, and samepage knows them. */
  readonly formats: readonly ImageFormat[];
  /** True if the driver shares memory by fds. For mappers. */
  readonly hasPrime2: boolean;
  /** The formats of images, by fourcc. For mappers. */
  readonly imageFormats: ReadonlyMap<number, DataView<ArrayBuffer>>;

  private constructor(display: Display, undo: Undo) {
    const { vendor: name, node } = display;
    super("vaapi", { name, id: node === undefined ? {} : { node } }, undo); // VA-API reports neither UUID nor PCI address
    this.display = display;
    this.configs = configsOf(display.handle);
    this.imageFormats = imageFormatsOf(display.handle);
    this.formats = formatsIn(this.configs);
    this.hasPrime2 = this.configs.some(({ memoryTypes }) => memoryTypes.includes("DRM_PRIME_2"));
    this.proofs = new Proofs<VaapiBase>(this);
    this.ports = portsOf(this);
    this.images = new SurfaceImages(this);
    this.line = newLine(this.name, this.resource);
    this.opened();
  }

  /**
   * Opens a display on a render node: the given one, or the first that has a driver.
   *
   * @throws {LibraryNotFoundError} if there is no libva or no libva-drm.
   * @throws {ArgumentError} if no node can be used, with the reason for each, and what to do.
   * @throws {NativeCallError} if the node has no driver.
   */
  static open(choice: VaapiChoice = {}): VaapiContext {
    const { node: named, driver, on } = optionsIn(choice, CHOICE, "choice");
    if (named !== undefined) checks.assertText(named, "choice.node");
    if (driver !== undefined) checks.assertText(driver, "choice.driver");
    const node = on === undefined ? named : nodeOn(contextOn(checks, on), named);
    return allOrNothing("opening VA-API", (undo) => new VaapiContext(openDisplay(node, driver, undo), undo));
  }

  /**
   * A context on another library's `VADisplay`, which that library has initialized and ends.
   *
   * @param display a live display; a wrong one crashes the process
   * @throws {ArgumentError} for anything that cannot be a display.
   */
  static attach(display: bigint): VaapiContext {
    return new VaapiContext(attachedDisplay(checks.handleIn<Address>(display, "display")), []);
  }

  /** The `VADisplay`. */
  get handle(): Address {
    this.resource.assertLive();
    return this.display.handle;
  }

  /** Its render node; undefined for a display that was attached. */
  get node(): string | undefined {
    return this.display.node;
  }

  /** The version of VA-API, `"1.17"`; undefined for a display that was attached. */
  get version(): string | undefined {
    return this.display.version;
  }

  /** The formats of images, by VA-API's names: pixels of these are copied to and from surfaces. */
  get imageFourccs(): readonly string[] {
    return [...this.imageFormats.keys()].map(fourccText);
  }

  /** True for planes of this context's surfaces. */
  is(value: Mapped): value is VaapiTensor {
    return value instanceof VaapiTensor && value.target === this;
  }

  /**
   * Allocates a surface of one plane, as a tensor of bytes: `[height, width]` is GRAY8, `[height, width, 4]` is RGBA.
   *
   * @throws like {@link allocateFrame}.
   */
  allocate(init: LayoutInit): VaapiTensor {
    const at = layoutIn(init, LAYOUT_NAMES);
    const info = imageOf(at);
    if (info === undefined) {
      const what = `a surface is [height, width] or [height, width, 4] of u8, and not ${describeLayout(at)}.`;
      throw checks.wrong("shape", what, "Use allocateFrame for pictures of other formats.");
    }
    return allocated(this, pictureIn(this, info), undefined, { asTensor: true }) as VaapiTensor;
  }

  /**
   * Allocates a surface. Its pixels are undefined, and the driver chooses their layout, which `info.modifier` of the frame
   * holds if the driver reports it.
   *
   * @throws {LayoutError} for a wrong description.
   * @throws {ArgumentError} for a format or a size that the driver has no surfaces of.
   * @throws {NativeCallError} if the driver refuses.
   */
  allocateFrame(info: FrameInfo, options: VaapiAllocation = {}): Frame<VaapiTensor> {
    const { modifiers, metadata } = optionsIn(options, ALLOCATION);
    assertMetadata(metadata);
    return allocated(this, pictureIn(this, info), modifiersIn(modifiers), { metadata }) as Frame<VaapiTensor>;
  }

  /**
   * Makes a pool of surfaces that are reused.
   *
   * @throws like {@link allocateFrame}.
   */
  createPool(info: FrameInfo, size: number): VaapiPool {
    return new VaapiPool(this, pictureIn(this, info), poolSizeIn(size));
  }

  /**
   * Another library's surface, as a frame. It has to outlive the frame. The frame waits for work on the surface.
   *
   * @param surface a `VASurfaceID` of this display, as a number or as a frame's `handle`
   * @param info the format and size that its maker chose; a frame may be a part of a padded surface
   * @throws {ArgumentError} for anything that cannot be a surface, and if the driver exports it with fewer pixels, or in
   * another order. If the driver does not export it, this is checked when it is mapped to the host.
   * @throws {NativeCallError} if the driver does not know the surface.
   */
  attach(surface: number | bigint, info: FrameInfo, options: AttachOptions = {}): Frame<VaapiTensor> {
    const make = (access?: Access) => attached(this, surfaceIdIn(this.display, surface), pictureIn(this, info), access);
    return attaching(options, make) as Frame<VaapiTensor>;
  }

  /** A fence for all work that the device has on a frame's surface now. */
  fence(frame: Frame<VaapiTensor>): Fence {
    return workOn(this.#planesIn(frame)[0].handle);
  }

  /**
   * The memory of a frame, as fds of dma-bufs. You own the fds, and have to close them. The call waits for the device's work
   * on the surface. `graph.map(frame, dmabuf)` does all that for you.
   *
   * Do not attach the fds to `dmabuf` in this process: map the frame instead, so that samepage knows that the bytes are the
   * same.
   *
   * @throws {NativeCallError} if the driver does not export the surface in this form.
   */
  exportFds(frame: Frame<VaapiTensor>, options: VaapiExport = {}): PrimeSurface {
    const { layers, access } = optionsIn(options, EXPORT);
    if (layers !== undefined) checks.nameIn(layers, LAYERS, "layers");
    const [{ handle: surface }] = this.#planesIn(frame);
    const used = accessOf(access, frame.access);
    frame.assertUsable(used);
    surface.sync();
    return exportSurface(surface, used, layers);
  }

  /** Why a surface cannot be shown to the CPU now; undefined if it can. For mappers. */
  refuseShow(source: Described): Reason | undefined {
    return this.resource.state === "live" ? refusePart(source) : { reason: `${this.name} was disposed.` };
  }

  /** A new surface that stands in for host memory, until `undo` runs. For mappers. */
  newSurface(info: ImageInfo, undo: Undo): { readonly surface: VaapiSurface; readonly allocation: Allocation } {
    const surface = newSurface(this, info, undefined, undo);
    return { surface, allocation: allocationOf(surface).joinUntil(undo) };
  }

  /** The tensor or frame over such a surface. For mappers. */
  placed(resource: Resource, surface: VaapiSurface, parent: Mapped): VaapiTensor | Frame<VaapiTensor> {
    const at = { handle: surface, layouts: planeLayouts(surface.info), resource, parent };
    if (!(parent instanceof Frame)) return tensorOver<VaapiTensor>(this, at);
    return tensorOver<VaapiTensor>(this, { ...at, info: surface.info, metadata: parent.metadata });
  }

  /** The picture in a tensor or frame, if there is one. For mappers. */
  pictureOf(source: Described): ImageInfo | undefined {
    return pictureOf(source);
  }

  #planesIn(frame: Frame<VaapiTensor>): readonly VaapiTensor[] {
    checks.assertInstance(frame, Frame, "frame");
    if (frame.target === this) return frame.planes;
    throw checks.wrong("frame", `expected a frame of ${this.name}, got one of ${frame.target.context.name}.`);
  }

  /** Why the driver has no surface of a format and size; undefined if it has. For mappers. */
  refuse({ format, width, height }: ImageInfo): string | undefined {
    if (!this.formats.includes(format)) return `the driver has no surfaces of ${format}.`;
    const most = (side: "width" | "height") => Math.max(...this.configs.map((config) => config[side].max ?? Infinity));
    if (width <= most("width") && height <= most("height")) return undefined;
    return `the driver has no surface of ${width} × ${height}: at most ${most("width")} × ${most("height")}.`;
  }
}
