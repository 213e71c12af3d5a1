/** Handles of other APIs' memory and semaphores, as bytes: those of Windows too, which only a driver there takes. */
import { assertEquals } from "@std/assert";
import {
  type MEMORY_TYPES,
  memoryHandle,
  type SEMAPHORE_TYPES,
  semaphoreHandle,
} from "../../src/cuda/external/handles.ts";

const HANDLE = 0x1234_5678_9abcn;

function words({ buffer }: DataView<ArrayBuffer>): number[] {
  return [...new Uint32Array(buffer, 0, 10)];
}

Deno.test("cuda: memory by a handle: type, handle or fd, no name, size, dedicated", () => {
  const about = { byteLength: 2 ** 33 + 64, dedicated: true };
  assertEquals(words(memoryHandle({ kind: "opaque-fd", handle: 7, ...about })), [1, 0, 7, 0, 0, 0, 64, 2, 1, 0]);
  const types = { "opaque-win32": 2, "opaque-win32-kmt": 3, "d3d12-heap": 4, "d3d12-resource": 5 } as const;
  for (const [kind, type] of Object.entries({ ...types, "d3d11-resource": 6, "d3d11-resource-kmt": 7 })) {
    const made = memoryHandle({ kind: kind as keyof typeof MEMORY_TYPES, handle: HANDLE, ...about, dedicated: false });
    assertEquals(words(made), [type, 0, 0x5678_9abc, 0x1234, 0, 0, 64, 2, 0, 0], kind);
  }
});

Deno.test("cuda: a semaphore by a handle: type, handle or fd, no name", () => {
  assertEquals(words(semaphoreHandle("binary-fd", 7)).slice(0, 7), [1, 0, 7, 0, 0, 0, 0]);
  const types = { "binary-win32": 2, "binary-win32-kmt": 3, "d3d12-fence": 4, "d3d11-fence": 5 } as const;
  const more = { "keyed-mutex": 7, "keyed-mutex-kmt": 8, "timeline-fd": 9, "timeline-win32": 10 } as const;
  for (const [kind, type] of Object.entries({ ...types, ...more })) {
    const made = semaphoreHandle(kind as keyof typeof SEMAPHORE_TYPES, HANDLE);
    assertEquals(words(made).slice(0, 7), [type, 0, 0x5678_9abc, 0x1234, 0, 0, 0], kind);
  }
});
