/** What is given out to other processes, as bytes: no GPU is needed to tell what is wrong with it. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, layout } from "@samepage/interop";
import { sealed } from "../../src/envelope/envelope.ts";
import {
  assertFits,
  HANDLE_BYTES,
  handleOf,
  type MemoryEnvelope,
  packEvent,
  packMemory,
  THIS_ISOLATE,
  unpackEvent,
  unpackMemory,
} from "../../src/cuda/ipc/envelope.ts";
import { staleViews } from "../stale_views.ts";

const DEVICE = "0123456789abcdef0123456789abcdef";
const OTHER = "fedcba9876543210fedcba9876543210";

function envelope(): MemoryEnvelope {
  const handle = crypto.getRandomValues(new Uint8Array(HANDLE_BYTES));
  const at = layout({ shape: [480, 640, 4], dtype: "u8", rowAlign: 4096, byteOffset: 512 });
  return { isolate: OTHER, device: DEVICE, allocation: 4 << 20, layout: at, handle };
}

Deno.test("an envelope of memory comes back as it was", () => {
  const packed = envelope();
  assertEquals(unpackMemory(packMemory(packed)), packed);
});

Deno.test("an envelope of an event comes back as it was", () => {
  const { isolate, device, handle } = envelope();
  assertEquals(unpackEvent(packEvent({ isolate, device, handle })), { isolate, device, handle });
});

Deno.test("every byte of an envelope that is altered, and every length but its own, is refused", () => {
  const { isolate, device, handle } = envelope();
  const envelopes = [
    [packMemory(envelope()), unpackMemory],
    [packEvent({ isolate, device, handle }), unpackEvent],
  ] as const;
  for (const [bytes, unpack] of envelopes) {
    for (let i = 0; i < bytes.length; i++) {
      const altered = bytes.slice();
      altered[i] ^= 1 << (i % 8);
      const error = assertThrows(() => unpack(altered), ArgumentError, "", `byte ${i}`);
      assertEquals(error.argument, "bytes");
      assertThrows(() => unpack(bytes.slice(0, i)), ArgumentError, "", `${i} bytes`);
    }
    assertThrows(() => unpack(Uint8Array.from([...bytes, 0])), ArgumentError);
  }
});

Deno.test("an envelope that somebody else has sealed is refused where it makes no sense", () => {
  const good = envelope();
  const { shape, dtype, strides, byteOffset } = good.layout;
  const at = { shape, dtype, strides, byteOffset };
  const header = { kind: "cuda.memory", isolate: OTHER, device: DEVICE, allocation: good.allocation, layout: at };
  const seal = (forged: object, handle = good.handle) =>
    sealed({ version: 1, what: "", isHeader: (_): _ is object => true, damaged: Error }, forged, [handle]);
  assertEquals(unpackMemory(seal(header)), good);
  for (
    const forged of [
      null,
      { ...header, kind: "cuda.event" },
      { ...header, isolate: 5 },
      { ...header, device: "GPU-0" },
      { ...header, allocation: -1 },
      { ...header, allocation: 1000 },
      { ...header, allocation: 1e300 },
      { ...header, layout: undefined },
      { ...header, layout: { ...at, shape: [-1] } },
      { ...header, layout: { ...at, shape: [0, 640, 4] } },
      { ...header, layout: { ...at, dtype: "constructor" } },
      { ...header, layout: { ...at, strides: [1, 1, 1] } },
      { ...header, layout: { ...at, byteOffset: 2 ** 52 } },
    ]
  ) {
    assertThrows(() => unpackMemory(seal(forged as object)), ArgumentError, "", JSON.stringify(forged));
  }
  assertThrows(() => unpackMemory(seal(header, good.handle.slice(1))), ArgumentError, "handle");
  assertThrows(() => unpackEvent(seal(header)), ArgumentError);
});

Deno.test("an envelope of this same process, and of another device, is refused by name", () => {
  const own = assertThrows(
    () => assertFits({ isolate: THIS_ISOLATE, device: DEVICE }, { uuid: DEVICE }),
    ArgumentError,
  );
  assert(own.message.includes("same process"), own.message);
  const other = assertThrows(() => assertFits({ isolate: OTHER, device: OTHER }, { uuid: DEVICE }), ArgumentError);
  assert(other.message.includes(OTHER) && other.message.includes(DEVICE), other.message);
  assertFits({ isolate: OTHER, device: DEVICE }, { uuid: DEVICE });
});

Deno.test("a plain handle has as many bytes as CUDA's", () => {
  const handle = new Uint8Array(HANDLE_BYTES).fill(7);
  assertEquals(handleOf(handle), handle);
  assertEquals(HANDLE_BYTES, 64);
  for (const wrong of [new Uint8Array(63), new Uint8Array(65), "handle", null, 5n, ...staleViews()]) {
    assertEquals(assertThrows(() => handleOf(wrong as Uint8Array), ArgumentError).argument, "handle");
  }
});
