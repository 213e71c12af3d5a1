import type { Address } from "../../../ffi/address.ts";
import { ledger } from "../../core/life/ledger.ts";
import { Resource } from "../../core/life/resource.ts";
import type { OpenCVContext } from "../context.ts";
import { holdDefault, leaveDefault } from "./default.ts";

/**
 * While it lives, the Mats that OpenCV itself creates lie in memory that any other API can use in place: at a multiple
 * of 4096, for a multiple of 64 bytes. Made by {@link OpenCVContext.pageAllocator}.
 */
export class PageAllocator {
  /** The `cv::MatAllocator*`. It stays valid to the end of the process, also as the `allocator` of a single Mat. */
  readonly address: Address;
  /** Its end of life. */
  readonly resource: Resource;

  /** Made by the context. */
  constructor(context: OpenCVContext) {
    const object = holdDefault();
    ledger.add("opencv.allocator");
    this.address = object.address;
    this.resource = new Resource({
      name: "OpenCV's page allocator",
      undo: [() => {
        ledger.remove("opencv.allocator");
        leaveDefault(object);
      }],
      owners: [context.resource],
    });
  }

  /** OpenCV's default is again what it was, unless another one holds this. Mats that were made meanwhile stay. */
  [Symbol.dispose](): void {
    this.resource.dispose();
  }
}
