import { literal, type Names, optionsIn } from "../argument.ts";
import { Checks } from "../checks.ts";
import type { MemoryTarget, Offer } from "../contract.ts";
import type { ArgumentError } from "../errors.ts";
import { isSameDevice } from "../device/device_id.ts";
import { ImagePort, Port } from "../device/port.ts";
import type { DType } from "../layout/dtype.ts";
import { type Layout, layout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../layout/layout.ts";
import { pictureIn, type PictureSize } from "../layout/pictures.ts";
import { undone } from "../life/undo.ts";
import { closeFd, duplicateFd, kindOfFile, kindWithoutMemory, statusOf, whereOpen } from "../native/fd.ts";
import { attaching, type AttachOptions } from "./adopt.ts";
import { importAs, importImageAs } from "./over.ts";
import type { Tensor } from "./tensor.ts";

/** What other code's memory was made with. An opaque fd says nothing of it, and drivers check nothing. */
export interface ForeignMemory {
  /** All of its bytes: Vulkan's `allocationSize`. */
  readonly size: number;
  /** True if it was allocated for one buffer or image alone (VkMemoryDedicatedAllocateInfo); false by default. */
  readonly dedicated?: boolean;
  /** The index of its memory type, which another Vulkan has to name; any fitting one by default. */
  readonly type?: number;
  /** The UUID of its device, as hexadecimal digits; if given, another device refuses it. */
  readonly uuid?: string;
}

/** What a buffer by an fd is: its memory, and where the elements lie in that. */
export interface MemoryImport extends LayoutInit, ForeignMemory {}

/** What an image by an fd is. */
export interface ImageImport extends ForeignMemory {
  /** `[height, width, channels]`, or `[layers, height, width, channels]`; one channel may be left out. */
  readonly shape: readonly number[];
  /** The byte of the memory where the image begins; 0 by default. */
  readonly offset?: number;
  /** The order of its pixels; `"optimal"`, the driver's own, by default. */
  readonly tiling?: "optimal" | "linear";
}

const KIND = "opaque-fd";
const MEMORY: Names<ForeignMemory> = { size: true, dedicated: true, type: true, uuid: true };
const BUFFER: Names<MemoryImport & Layout> = { ...LAYOUT_NAMES, ...MEMORY };
const IMAGE: Names<ImageImport> = { ...MEMORY, shape: true, offset: true, tiling: true };
const TILINGS = { optimal: undefined, linear: 0n };

/** A buffer over a duplicate of other code's fd, as `importMemory` makes one in every API. For backends. */
export function importMemory<T extends Tensor>(
  target: MemoryTarget<T>,
  fd: number,
  init: MemoryImport,
  options: AttachOptions,
): T {
  return attaching(options, (access = "read-write", after) => {
    const at = layoutIn(init, BUFFER);
    const port = portTo(target, target.ports.imports, fd, init, at);
    return importAs(target, port, { layouts: [at], access, after }) as T;
  });
}

/** The same for an image. `check` throws where the target has none of this size. For backends. */
export function importImage<T extends Tensor>(
  target: MemoryTarget<T>,
  fd: number,
  init: ImageImport,
  { dtype, elements }: { readonly dtype: DType; readonly elements: number },
  options: AttachOptions,
  check: (size: PictureSize, at: Layout) => void,
): T {
  return attaching(options, (access = "read-write", after) => {
    const checks = new Checks(target.context.api);
    const { shape, offset = 0, tiling = "optimal", size } = optionsIn(init, IMAGE, "init");
    const at = layout({ shape, dtype });
    const picture = pictureIn(shape, elements);
    if (picture === undefined) {
      throw checks.unfit("shape", `expected that of pictures with pixels of ${elements}, got [${shape.join(", ")}].`);
    }
    check(picture, at);
    assertLength(checks, size);
    if (!Number.isSafeInteger(offset) || offset < 0 || offset >= size) {
      throw checks.wrong("offset", `expected a byte of the memory's ${size}, got ${literal(offset)}.`);
    }
    const modifier = TILINGS[checks.nameIn(tiling, TILINGS, "tiling")];
    const objects = [portTo(target, target.ports.images!.imports, fd, init)];
    const planes = [{ object: 0, offset, stride: at.strides[0] }];
    return importImageAs(target, new ImagePort(KIND, { objects, planes, ...picture, modifier }), at, { access, after });
  });
}

function assertLength(checks: Checks, size: number): void {
  if (Number.isSafeInteger(size) && size > 0) return;
  throw checks.wrong("size", `expected the memory's length in bytes, got ${literal(size)}.`);
}

/** A port with a duplicate of the fd. */
function portTo(
  { context }: MemoryTarget,
  imports: readonly Pick<Offer, "kind" | "closed">[],
  given: number,
  { size, dedicated = false, type, uuid }: ForeignMemory,
  at?: Layout,
): Port {
  const checks: Checks = new Checks(context.api);
  assertLength(checks, size);
  if (at !== undefined) checks.assertWithin(at, size, "init");
  checks.assertBoolean(dedicated, "dedicated");
  if (type !== undefined && !(Number.isInteger(type) && type >= 0 && type < 32)) {
    throw checks.wrong("type", `expected the index of a memory type, got ${literal(type)}.`);
  }
  if (uuid !== undefined) checks.assertText(uuid, "uuid");
  if (uuid !== undefined && !isSameDevice({ uuid }, context.id)) {
    throw checks.wrong("uuid", `the memory is of device ${uuid}, and ${context.name} is ${context.id.uuid}.`);
  }
  const closed = imports.find(({ kind }) => kind === KIND)?.closed?.();
  if (closed !== undefined) throw checks.wrong("fd", closed.reason, closed.remedy);
  const fd = whereOpen(checks, "fd", checks.fdIn(given, "fd"), duplicateFd);
  const wrong = wrongMemory(checks, fd, size);
  if (wrong !== undefined) throw undone(wrong, [() => closeFd(fd)], "importing memory");
  return new Port(KIND, {
    fd,
    byteLength: size,
    dedicated,
    whole: { byteLength: size, ...(type === undefined ? {} : { type }) },
  });
}

/** The error for an fd that cannot be memory of this size, by what the kernel reports; undefined if it can. */
function wrongMemory(checks: Checks, fd: number, size: number): ArgumentError | undefined {
  const { mode, byteLength } = statusOf(fd);
  const other = kindWithoutMemory(fd, mode);
  if (other !== undefined) {
    return checks.wrong("fd", `expected memory, got ${other}.`, "Pass the fd that its driver exported the memory by.");
  }
  if (kindOfFile(mode) !== "a regular file" || byteLength >= size) return undefined;
  // a driver on the CPU maps the file, and touching bytes past its end kills the process
  return checks.wrong("size", `the fd is of a file of ${byteLength} bytes, and the memory is to have ${size}.`);
}
