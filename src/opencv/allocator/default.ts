import { alone } from "../../core/native/process_lock.ts";
import { core } from "../library.ts";
import { pageAllocatorClass } from "./native.ts";
import { allocatorAt, type AllocatorObject, makeAllocator } from "./object.ts";

/** Those of this isolate that nobody holds: used again, for they are never given back. */
const idle: AllocatorObject[] = [];

/** Makes a page allocator OpenCV's default one, unless it is one already; one more holds it. @throws what it takes. */
export function holdDefault(): AllocatorObject {
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

/** One less holds it. After the last one the default is what it was, unless somebody has set another one since. */
export function leaveDefault(object: AllocatorObject): void {
  alone(() => {
    if (--object.holders > 0) return;
    if (core().Mat_getDefaultAllocator() !== object.address) return; // whoever did that may come back to it
    core().Mat_setDefaultAllocator(object.previous);
    idle.push(object);
  });
}
