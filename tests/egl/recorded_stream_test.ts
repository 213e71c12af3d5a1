/**
 * EGLStreams and their consumer in OpenGL ES over a recording of EGL's functions for streams, which Mesa has not: what is
 * called when, and what is not. The rest is Mesa's own; stream_gl_gpu_test.ts has the same on NVIDIA's driver.
 */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as names from "../../ffi/egl/constants.ts";
import { GL_COLOR, GL_READ_FRAMEBUFFER, GL_RGBA, GL_UNSIGNED_BYTE } from "../../ffi/gles/constants.ts";
import { EGL_BAD_STATE_KHR } from "../../ffi/egl/errors.ts";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  InteropError,
  LayoutError,
  ledger,
  NativeCallError,
} from "../../mod.ts";
import { setTap } from "../../src/core/native/library.ts";
import { closeFd, duplicateFd } from "../../src/core/native/fd.ts";
import type { AcquireOptions, EglContext } from "../../src/egl/mod.ts";
import { egl as native, gles } from "../../src/egl/library.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { test } from "./help.ts";

let state: number = names.EGL_STREAM_STATE_CREATED_KHR;
let [produced, consumed] = [0, 0];
let calls: string[] = [];
/** The function that fails. */
let failing = "";
let attributes: readonly number[] = [];
let error: number = names.EGL_SUCCESS;
/** True if the stream keeps its last frame. */
let keeps = false;

type Fake = (...args: never[]) => number | bigint;

const FAKES: Readonly<Record<string, Fake>> = {
  eglCreateStreamKHR: (_: bigint, given: Int32Array) => (attributes = [...given], 5n),
  eglDestroyStreamKHR: () => 1,
  eglQueryStreamKHR(_: bigint, _stream: bigint, name: number, out: Int32Array) {
    const { EGL_STREAM_STATE_KHR, EGL_STREAM_FIFO_LENGTH_KHR } = names;
    out[0] = name === EGL_STREAM_STATE_KHR ? state : name === EGL_STREAM_FIFO_LENGTH_KHR ? 3 : Number(keeps);
    return 1;
  },
  eglQueryStreamu64KHR: (_: bigint, _stream: bigint, name: number, out: BigUint64Array) => (
    out[0] = BigInt(name === names.EGL_PRODUCER_FRAME_KHR ? produced : consumed), 1
  ),
  eglGetStreamFileDescriptorKHR: () => duplicateFd(2),
  eglCreateStreamFromFileDescriptorKHR: () => 6n,
  eglStreamAttribKHR: (_: bigint, _stream: bigint, name: number, value: number) => (attributes = [name, value], 1),
  eglStreamConsumerGLTextureExternalKHR: () => (state = names.EGL_STREAM_STATE_CONNECTING_KHR, 1),
  eglStreamConsumerAcquireKHR: () => {
    if (produced === consumed && state === names.EGL_STREAM_STATE_EMPTY_KHR) return fail(0);
    consumed = Math.min(consumed + 1, produced);
    present(0);
    return 1;
  },
  eglStreamConsumerReleaseKHR: () => 1,
  eglCreateStreamProducerSurfaceKHR(display: bigint, config: bigint, _: bigint, size: Int32Array) {
    state = names.EGL_STREAM_STATE_EMPTY_KHR;
    return mesa().eglCreatePbufferSurface(display, config, size);
  },
};

/** A surface of Mesa's own stands for a stream's: the calls are given what they are for. */
const mesa = () =>
  Deno.dlopen("libEGL.so.1", {
    eglCreatePbufferSurface: { parameters: ["u64", "u64", "buffer"], result: "u64" },
  }).symbols;

const EGL_PBUFFER_BIT = 1;

/** The frames that were swapped: their bytes, GL's first row first, as NVIDIA's driver was seen to hand them over. */
let frames: Uint8Array[] = [];

function swapped(): number {
  const rows = new Uint8Array(SIZE.width * SIZE.height * 4);
  gles().glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
  gles().glReadPixels(0, 0, SIZE.width, SIZE.height, GL_RGBA, GL_UNSIGNED_BYTE, addressOf(rows, "test"));
  frames.push(rows);
  present(1);
  return 1;
}

/** What each returns when it fails. */
const FAILED: Readonly<Record<string, number | bigint>> = {
  eglCreateStreamKHR: 0n,
  eglGetStreamFileDescriptorKHR: -1,
  eglCreateStreamProducerSurfaceKHR: 0n,
  eglCreateStreamFromFileDescriptorKHR: 0n,
};

function present(frames: number): void {
  produced += frames;
  const drained = keeps ? names.EGL_STREAM_STATE_OLD_FRAME_AVAILABLE_KHR : names.EGL_STREAM_STATE_EMPTY_KHR;
  state = produced > consumed ? names.EGL_STREAM_STATE_NEW_FRAME_AVAILABLE_KHR : drained;
}

function fail<T>(result: T): T {
  error = EGL_BAD_STATE_KHR;
  return result;
}

setTap((api, functions) => {
  if (api === "egl") {
    return {
      ...functions,
      eglChooseConfig(display: never, wanted: Int32Array, ...rest: never[]) {
        // Mesa has no bit for a stream's surfaces.
        const known = wanted.map((word) => word === names.EGL_STREAM_BIT_KHR ? EGL_PBUFFER_BIT : word);
        return (functions.eglChooseConfig as (...args: unknown[]) => number)(display, known, ...rest);
      },
      eglSwapBuffers: () => (calls.push("eglSwapBuffers"), failing === "eglSwapBuffers" ? fail(0) : swapped()),
      eglGetError: () => error === names.EGL_SUCCESS ? (functions.eglGetError as () => number)() : error,
    };
  }
  if (api !== "egl_extensions") return functions;
  const faked = Object.entries(FAKES).map(([fn, fake]) => [fn, (...args: never[]) => {
    calls.push(fn);
    return fn === failing ? fail(FAILED[fn] ?? 0) : fake(...args);
  }]);
  return { ...functions, ...Object.fromEntries(faked) };
});

/** A test on a display that says it has streams. */
function streamTest(name: string, run: (egl: EglContext) => unknown): void {
  test(`streams, recorded: ${name}`, async (egl) => {
    const extensions = egl.openContext.display.extensions as Set<string>;
    const added = [
      "stream",
      "stream_fifo",
      "stream_cross_process_fd",
      "stream_consumer_gltexture",
      "stream_producer_eglsurface",
    ].map((it) => `EGL_KHR_${it}`);
    for (const extension of [...added, "EGL_NV_stream_reset"]) extensions.add(extension);
    [state, produced, consumed, calls] = [names.EGL_STREAM_STATE_CREATED_KHR, 0, 0, []];
    frames = [];
    [keeps, error] = [false, names.EGL_SUCCESS];
    const before = ledger.alive;
    await run(egl);
    assertEquals(ledger.alive, before);
  });
}

const SIZE = { format: "RGBA", width: 8, height: 8 } as const;

streamTest("a stream is made as it is asked for, and reports what the driver does", (egl) => {
  {
    using stream = egl.stream({ fifo: 4, reuse: false });
    const { EGL_STREAM_FIFO_LENGTH_KHR: length, EGL_SUPPORT_REUSE_NV: reuse, EGL_FALSE, EGL_NONE } = names;
    assertEquals(attributes, [length, 4, reuse, EGL_FALSE, EGL_NONE]);
    present(3);
    assertEquals([stream.state, stream.produced, stream.consumed, stream.handle], ["new-frame", 3, 0, 5n]);
  }
  assertEquals([calls.at(0), calls.at(-1)], ["eglCreateStreamKHR", "eglDestroyStreamKHR"]);
});

streamTest("a stream of another process's is one by its fd, and waits for the consumer", async (egl) => {
  using stream = egl.stream();
  const fd = stream.exportFd();
  using end = egl.attachStream(fd, {});
  closeFd(fd);
  assertEquals(end.handle, 6n);
  const waiting = end.waitFor("connecting");
  state = names.EGL_STREAM_STATE_CONNECTING_KHR;
  await waiting;
  const never = assertRejects(() => end.waitFor("new-frame"), InteropError, "was disconnected before");
  state = names.EGL_STREAM_STATE_DISCONNECTED_KHR;
  await never;
  await assertRejects(() => end.waitFor("busy" as never), ArgumentError, "expected one of initializing");
});

streamTest("a stream of other code's is one by its handle, as the driver says it is, and stays theirs", async (egl) => {
  for (keeps of [true, false]) {
    using stream = egl.attachStream(7n);
    assertEquals([stream.handle, stream.fifo, stream.reuse, stream.state], [7n, 3, keeps, "created"]);
  }
  using stream = egl.attachStream(7n);
  using consumer = egl.consumer(stream);
  present(1); // by a producer that samepage knows nothing of
  (await consumer.next())![Symbol.dispose]();
  consumer[Symbol.dispose]();
  stream[Symbol.dispose]();
  assertEquals(calls.filter((fn) => /Create|Destroy/.test(fn)), []);
  assertThrows(() => egl.attachStream(0n), ArgumentError, "expected a handle, got null");
});

streamTest("a wait for a stream that ends is rejected", async (egl) => {
  const stream = egl.stream();
  const waiting = assertRejects(() => stream.waitFor("connecting"), DisposedError);
  stream[Symbol.dispose]();
  await waiting;
});

streamTest("a consumer takes frames one by one, and gives them back", (egl) => {
  using picture = egl.image.allocate(SIZE);
  using stream = egl.stream({ fifo: 2 });
  using consumer = egl.consumer(stream);
  assertEquals(attributes, [names.EGL_CONSUMER_ACQUIRE_TIMEOUT_USEC_KHR, 0]); // it never waits
  calls = [];
  assertEquals([consumer.acquire(), calls], [undefined, ["eglQueryStreamKHR"]]);
  present(2);
  {
    using frame = consumer.acquire()!;
    assertThrows(() => consumer.acquire(), AccessError, "has a frame already");
    assertEquals(frame.texture > 0, true);
    assertThrows(() => frame.drawTo({} as never), ArgumentError, "expected an EglTensor");
  }
  const frame = consumer.acquire()!;
  consumer[Symbol.dispose]();
  assertThrows(() => frame.drawTo(picture), DisposedError);
  assertEquals(calls.filter((fn) => fn.endsWith("ReleaseKHR")).length, 2);
});

streamTest("with a time to wait, the driver waits so long, and shows the previous frame then", async (egl) => {
  keeps = true;
  using stream = egl.stream({ fifo: 2 });
  using consumer = egl.consumer(stream);
  const acquired = (options?: AcquireOptions) => {
    using frame = consumer.acquire(options);
    return frame !== undefined;
  };
  const limit = (microseconds: number) => [names.EGL_CONSUMER_ACQUIRE_TIMEOUT_USEC_KHR, microseconds];
  calls = [];
  assertEquals([acquired({ timeout: 500 }), calls], [false, ["eglQueryStreamKHR"]]); // no producer is connected
  state = names.EGL_STREAM_STATE_EMPTY_KHR;
  assertEquals([acquired({ timeout: 500 }), attributes], [false, limit(500)]); // and there never was a frame
  error = names.EGL_SUCCESS;
  present(1);
  assertEquals([acquired({ timeout: 500 }), attributes, consumed], [true, limit(0), 1]); // it is there: no wait
  assertEquals([acquired(), acquired({ timeout: 700 }), attributes, consumed], [false, true, limit(700), 1]);
  using again = await consumer.next({ timeout: 700 });
  assertEquals([again !== undefined, attributes], [true, limit(0)]); // the event loop went on meanwhile
  assertThrows(() => consumer.acquire({ timeout: 500 }), AccessError, "has a frame already");
  assertThrows(() => consumer.acquire({ timeout: 0.5 }), LayoutError, "options.timeout");
});

streamTest("GL produces frames: of pictures, and of what a program draws", async (egl) => {
  using picture = egl.image.allocate(SIZE);
  const pixels = Uint8Array.from({ length: 8 * 8 * 4 }, (_, i) => i);
  egl.queue.write(picture, pixels);
  using stream = egl.stream({ fifo: 2 });
  assertThrows(
    () => egl.producer(stream, { width: 8, height: 8 }),
    ArgumentError,
    'expected a stream that is "connecting", got "created"',
  );
  using consumer = egl.consumer(stream);
  {
    using producer = egl.producer(stream, { width: 8, height: 8 });
    assertEquals([producer.hasRoom, producer.isOpen, producer.present(picture)], [true, true, true]);
    assertEquals(frames, [pixels]);
    const colour = Float32Array.of(1, 0, 0, 1);
    const isDrawn = producer.draw([], (gl) => gl.glClearBufferfv(GL_COLOR, 0, colour));
    assertEquals([isDrawn, frames[1].subarray(0, 4)], [true, Uint8Array.of(255, 0, 0, 255)]);
    calls = [];
    assertEquals([producer.hasRoom, producer.present(picture), calls], [false, false, []]); // it would block
    const seen = new Uint8Array(pixels.length);
    egl.queue.read(picture, seen); // GL draws to pictures as before
    assertEquals(seen, pixels);
    const frame = (await consumer.next())!;
    assertEquals(producer.hasRoom, true);
    using small = egl.image.allocate({ ...SIZE, width: 4 });
    assertThrows(() => producer.present(small), LayoutError, "expected 8×8 pixels");
    using planes = egl.image.allocate({ ...SIZE, format: "NV12" });
    assertThrows(() => producer.present(planes), LayoutError, "several planes");
    assertThrows(() => producer.draw([], () => Promise.resolve() as never), ArgumentError, "returns a promise");
    assertThrows(() => producer.draw([], (gl) => gl.glBindTexture(1, 1)), NativeCallError, "GL_INVALID_ENUM");
    assertEquals([frames.length, native().eglGetCurrentContext()], [2, 0n]);
    failing = "eglSwapBuffers";
    assertThrows(() => producer.present(picture), NativeCallError, "eglSwapBuffers failed with EGL_BAD_STATE_KHR");
    [failing, error] = ["", names.EGL_SUCCESS];
    producer[Symbol.dispose]();
    assertThrows(() => frame.texture, DisposedError); // the consumer's frames end before the producer
    assertThrows(() => producer.present(picture), DisposedError);
  }
});

streamTest("a producer of GL's ends with its consumer, and leaves nothing where it cannot be made", (egl) => {
  using picture = egl.image.allocate(SIZE);
  using stream = egl.stream();
  const consumer = egl.consumer(stream);
  failing = "eglCreateStreamProducerSurfaceKHR";
  assertThrows(() => egl.producer(stream, SIZE), ArgumentError, "unknown property format");
  assertThrows(() => egl.producer(stream, { width: 0, height: 8 }), LayoutError, "init.width");
  assertThrows(() => egl.producer(stream, { width: 8, height: 8 }), NativeCallError, "EGL_BAD_STATE_KHR");
  [failing, error] = ["", names.EGL_SUCCESS];
  using producer = egl.producer(stream, { width: 8, height: 8 });
  for (let i = 0; i < 3; i++) assertEquals(producer.present(picture), true); // a mailbox is never full
  consumer[Symbol.dispose]();
  state = names.EGL_STREAM_STATE_DISCONNECTED_KHR;
  assertEquals([producer.isOpen, producer.hasRoom], [false, false]);
  assertThrows(() => producer.present(picture), ArgumentError, "has disconnected");
});

streamTest("a consumer connects first, and once, to a stream of its context's", (egl) => {
  using stream = egl.stream();
  state = names.EGL_STREAM_STATE_EMPTY_KHR;
  assertThrows(() => egl.consumer(stream), ArgumentError, 'got "empty"');
  state = names.EGL_STREAM_STATE_CREATED_KHR;
  using _consumer = egl.consumer(stream);
  assertThrows(() => egl.consumer(stream), ArgumentError, 'got "connecting"');
  assertEquals(calls.filter((fn) => fn.includes("GLTexture")).length, 1);
});

streamTest("the loop over frames ends with the stream", async (egl) => {
  using stream = egl.stream({ fifo: 2 });
  using consumer = egl.consumer(stream);
  present(2);
  let seen = 0;
  for await (using _frame of consumer) if (++seen === 2) state = names.EGL_STREAM_STATE_DISCONNECTED_KHR;
  assertEquals([seen, consumer.isOpen], [2, false]);
  state = names.EGL_STREAM_STATE_EMPTY_KHR;
  const waiting = assertRejects(() => consumer.next(), DisposedError);
  stream[Symbol.dispose](); // and its consumer first
  await waiting;
});

streamTest("every call that fails is a typed error, and leaves nothing behind", (egl) => {
  const fail = (fn: string, use: () => unknown) => {
    failing = fn;
    const { code, message } = assertThrows(use, NativeCallError);
    [failing, error] = ["", names.EGL_SUCCESS];
    assertEquals([code, message.includes(fn)], [EGL_BAD_STATE_KHR, true], message);
  };
  fail("eglCreateStreamKHR", () => egl.stream());
  fail("eglCreateStreamFromFileDescriptorKHR", () => egl.attachStream(0));
  fail("eglQueryStreamKHR", () => egl.attachStream(7n));
  const stream = egl.stream({ fifo: 2 });
  fail("eglQueryStreamKHR", () => stream.state);
  fail("eglQueryStreamu64KHR", () => stream.produced);
  fail("eglGetStreamFileDescriptorKHR", () => stream.exportFd());
  fail("eglStreamConsumerGLTextureExternalKHR", () => egl.consumer(stream));
  fail("eglStreamAttribKHR", () => egl.consumer(stream));
  state = names.EGL_STREAM_STATE_CREATED_KHR; // of a driver's, such a stream is spoilt
  using consumer = egl.consumer(stream);
  present(1);
  fail("eglStreamConsumerAcquireKHR", () => consumer.acquire());
  const frame = consumer.acquire()!;
  fail("eglStreamConsumerReleaseKHR", () => frame[Symbol.dispose]());
  fail("eglDestroyStreamKHR", () => stream[Symbol.dispose]());
});
