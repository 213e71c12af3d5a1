import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, layout, LayoutError, MapperGraph } from "@samepage/interop";
import { EglContext } from "@samepage/interop/egl";
import { GL_ARRAY_BUFFER } from "../../ffi/gles/constants.ts";
import { test } from "./help.ts";

test("a new buffer is zeros, and keeps what is written to it", (egl) => {
  using buffer = egl.buffer.allocate({ shape: [5, 3], dtype: "f32" });
  const seen = new Float32Array(15);
  egl.queue.read(buffer, seen.fill(7));
  assertEquals(new Set(seen), new Set([0]));
  const written = Float32Array.from(seen, (_, i) => i / 4);
  egl.queue.write(buffer, written);
  egl.queue.read(buffer, seen);
  assertEquals(seen, written);
  assertEquals(egl.bytesCopied, 180);
  assertThrows(() => egl.queue.read(buffer, new Float32Array(14)), LayoutError, "expected the 60 bytes");
  assertThrows(() => egl.queue.read(buffer, new Int32Array(15)), LayoutError, "expected f32, which");
});

test("a part of a buffer is its own bytes", (egl) => {
  using buffer = egl.buffer.allocate({ shape: [16], dtype: "u8" });
  {
    using part = buffer.slice(layout({ shape: [4], dtype: "u8", byteOffset: 8 }));
    egl.queue.write(part, Uint8Array.of(1, 2, 3, 4));
  }
  const seen = new Uint8Array(16);
  egl.queue.read(buffer, seen);
  assertEquals([...seen], [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0]);
});

test("a buffer maps to the host by a copy, which has to be allowed, and brings back what was written", (egl) => {
  using graph = new MapperGraph([host, egl]);
  using buffer = egl.buffer.allocate({ shape: [8], dtype: "u16" });
  egl.queue.write(buffer, Uint16Array.of(1, 2, 3, 4, 5, 6, 7, 8));
  assertThrows(() => graph.map(buffer, host), Error, "copy");
  {
    using mapped = graph.map(buffer, host, { copy: "allow" });
    const view = mapped.view();
    assertEquals([...view], [1, 2, 3, 4, 5, 6, 7, 8]);
    view[0] = 99;
  }
  const seen = new Uint16Array(8);
  egl.queue.read(buffer, seen);
  assertEquals(seen[0], 99);
});

test("a program's commands use a buffer, and its name is GL's", (egl) => {
  using buffer = egl.buffer.allocate({ shape: [8], dtype: "u8" });
  egl.queue.run([{ buffer, access: "write" }], (gl) => {
    gl.glBindBuffer(GL_ARRAY_BUFFER, buffer.handle.name);
    assert(gl.glIsBuffer(buffer.handle.name) !== 0);
  });
});

test("a program's own buffer is wrapped, and stays", (egl) => {
  using theirs = egl.buffer.allocate({ shape: [16], dtype: "u8" });
  const { name } = theirs.handle;
  using attached = EglContext.attach({ display: egl.display, context: egl.handle });
  {
    using wrapped = attached.buffer.attach(name, { shape: [4], dtype: "u8", byteOffset: 4 });
    using again = attached.buffer.attach(name, { shape: [12], dtype: "u8" });
    assertEquals(wrapped.grant.allocation, again.grant.allocation); // one block: what one writes, the other waits for
    attached.queue.write(wrapped, Uint8Array.of(9, 8, 7, 6));
    attached.queue.finish();
  }
  const seen = new Uint8Array(16);
  egl.queue.read(theirs, seen);
  assertEquals([...seen.subarray(3, 9)], [0, 9, 8, 7, 6, 0]);
  assertThrows(() => attached.buffer.attach(name, { shape: [17], dtype: "u8" }), LayoutError, "the memory has 16");
  assertThrows(() => attached.buffer.attach(7777, { shape: [1], dtype: "u8" }), ArgumentError, "knows no buffer 7777");
});
