import type { Address } from "../../../ffi/address.ts";
import { counted } from "../../core/life/ledger.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { alone } from "../../core/native/process_lock.ts";
import type { OpenCVBase } from "../base.ts";
import { core } from "../library.ts";
import { pageAllocatorClass } from "./native.ts";
import { allocatorAt, type AllocatorObject, makeAllocator } from "./object.ts";

/**
 * While it lives, the Mats that OpenCV itself creates lie in memory that any other API can use in place: at a multiple
 * of 4096, for a multiple of 64 bytes. After the last holder's end, OpenCV's default is what it was; Mats that were made
 * meanwhile stay. Made by {@link OpenCVContext.pageAllocator}.
 */
export class PageAllocator extends NativeObject {
  /** The `cv::MatAllocator*`. It stays valid to the end of the process, also as the `allocator` of a single Mat. */
  readonly address: Address;
  /** Its end of life. */
  readonly resource: Resource;

  /** Made by the context. */
  constructor(context: OpenCVBase) {
    super();
    const object = holdDefault();
    this.address = object.address;
    this.resource = new Resource({
      name: "OpenCV's page allocator",
      undo: [counted("opencv.allocator", () => leaveDefault(object))],
      owners: [context.resource],
    });
  }
}

/** The allocators of this isolate without a holder. They are never freed, and used again. */
const idle: AllocatorObject[] = [];

/** Makes a page allocator OpenCV's default, unless one is already, and adds a holder. */
function holdDefault(): AllocatorObject {
  return alone(() => {
    const pages = pageAllocatorClass();
    const previous = core().Mat_getDefaultAllocator();
    const known = allocatorAt(previous, pages);
    if (known !== undefined) {
      known.holders++;
      return known;
    }
    const object = idle.at(-1) ?? makeAllocator(pages);
    object.previous = previous;
    core().Mat_setDefaultAllocator(object.address);
    object.holders = 1;
    if (idle.at(-1) === object) idle.pop();
    return object;
  });
}

/** Removes a holder. After the last, the default is what it was, unless another one was set since. */
function leaveDefault(object: AllocatorObject): void {
  alone(() => {
    if (--object.holders > 0) return;
    if (core().Mat_getDefaultAllocator() !== object.address) return; // the setter may restore ours later
    core().Mat_setDefaultAllocator(object.previous);
    idle.push(object);
  });
}
