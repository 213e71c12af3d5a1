import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  host,
  imageInfo,
  LayoutError,
  LibraryNotFoundError,
  MapperGraph,
  NativeCallError,
  NoRouteError,
} from "@samepage/interop";
import { EglContext, eglDevices } from "@samepage/interop/egl";
import { OpenCLContext } from "@samepage/interop/opencl";
import { any, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const SIZE = { width: 8, height: 4 } as const;
const RGBA = { format: "RGBA", ...SIZE } as const;

/** A row with a context of its own. */
function withEgl(use: (egl: EglContext) => unknown, fails?: Failure): Row {
  return {
    async run() {
      using egl = EglContext.open();
      await use(egl);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { error: ArgumentError, api: "egl", argument, message, ...(hint === undefined ? {} : { hint }) }
);
const unfit = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { ...wrong(argument, message, hint), error: LayoutError }
);
const native = (fn: string, codeName: string, code: number, message: RegExp, hint?: RegExp): Failure => (
  { error: NativeCallError, api: "egl", fn, codeName, code, message, ...(hint === undefined ? {} : { hint }) }
);

export default table(import.meta, {
  "OpenCL for a context, by a driver that shares none": {
    ...withEgl((egl) => OpenCLContext.open({ gl: egl }), {
      ...{ error: ArgumentError, api: "opencl", argument: "choice.gl" },
      ...{ message: /has no cl_khr_gl_sharing/, hint: /copies through the host/ },
    }),
    opencl: "Portable",
  },
  "OpenCL for a context that has ended": {
    ...withEgl((egl) => {
      egl[Symbol.dispose]();
      OpenCLContext.open({ gl: egl });
    }, { error: DisposedError, api: "core", message: /egl context .* was disposed/ }),
    opencl: "Portable",
  },
  "a platform that EGL has not": {
    run: () => EglContext.open({ platform: any("x11") }),
    fails: wrong("choice.platform", /expected one of "surfaceless", "device", "default", got "x11"/),
  },
  "a choice that is misspelt": {
    run: () => EglContext.open(any({ Platform: "device" })),
    fails: {
      error: ArgumentError,
      ...{ api: "core", argument: "choice" },
      message: /unknown property Platform/,
      hint: /platform/,
    },
  },
  "a device by its name": {
    run: () => EglContext.open({ device: any("llvmpipe") }),
    fails: { error: LayoutError, api: "core", argument: "choice.device", message: /expected a whole number/ },
  },
  "a device that is not in the list": {
    run: () => EglContext.open({ device: 1000 }),
    fails: wrong("choice.device", /EGL lists \d+ devices?/, /eglDevices\(\)/),
  },
  "a context that is to be shared, perhaps": {
    run: () => EglContext.open({ sharable: any("yes") }),
    fails: wrong("choice.sharable", /expected a boolean, got a string/),
  },
  "a device of a platform without devices": {
    run: () => EglContext.open({ platform: "surfaceless", device: 0 }),
    fails: wrong("choice.device", /"surfaceless" has no devices/, /"device"/),
  },
  "a library that is not there": {
    run: () => EglContext.open(),
    env: { SAMEPAGE_LIB_EGL: "/nowhere/libEGL.so.1" },
    flags: ["--allow-ffi", "--allow-env"],
    fails: {
      error: LibraryNotFoundError,
      ...{ api: "egl", fn: "dlopen" },
      message: /No egl library could be opened/,
      hint: /SAMEPAGE_LIB_EGL/,
      has: { attempts: /nowhere/ },
    },
  },
  "a display that is null": {
    run: () => EglContext.attach({ display: 0n }),
    fails: wrong("handles.display", /expected a handle, got null/),
  },
  "a display that is a number": {
    run: () => EglContext.attach({ display: any(5) }),
    fails: wrong("handles.display", /expected a bigint, got a number/),
  },
  "an invalid display": {
    run: () => EglContext.attach({ display: 64n }),
    fails: native("eglQueryString", "EGL_BAD_DISPLAY", 0x3008, /eglQueryString failed/, /initialised/),
  },
  "an invalid context to share with": withEgl(
    (egl) => EglContext.attach({ display: egl.display, context: 64n }),
    native("eglQueryContext", "EGL_BAD_CONTEXT", 0x3006, /eglQueryContext failed/),
  ),
  "a picture of a context that has ended": {
    run() {
      const egl = EglContext.open();
      egl[Symbol.dispose]();
      egl.image.allocate(RGBA);
    },
    fails: { error: DisposedError, api: "core", message: /egl context .* was disposed/ },
  },
  "a picture of an unknown format": withEgl(
    (egl) => egl.image.allocate({ ...SIZE, format: any("RGB565") }),
    { error: LayoutError, api: "core", argument: "format", message: /expected a pixel format/, hint: /Use one of/ },
  ),
  "a picture of a format that GL has not": withEgl(
    (egl) => egl.image.allocate({ ...SIZE, format: "BGR" }),
    unfit("format", /OpenGL ES has no textures of BGR/, /Use RGBA/),
  ),
  "a picture without pixels": withEgl(
    (egl) => egl.image.allocate({ ...RGBA, width: 0 }),
    { error: LayoutError, api: "core", argument: "width", message: /expected at least 1/ },
  ),
  "a picture that no texture holds": withEgl(
    (egl) => egl.image.allocate({ ...RGBA, width: 1_000_000 }),
    unfit("width", /has textures of at most \d+ pixels/),
  ),
  "a picture whose halves are not pixels": withEgl(
    (egl) => egl.image.allocate({ format: "NV12", width: 7, height: 4 }),
    { error: LayoutError, api: "core", argument: "width", message: /needs a multiple of 2, got 7/ },
  ),
  "a new picture with a modifier": withEgl(
    (egl) => egl.image.allocate({ ...RGBA, modifier: 1n }),
    wrong("modifier", /the driver decides/, /Leave it out/),
  ),
  "a picture in a buffer": withEgl(
    (egl) => egl.image.allocate({ ...RGBA, storage: any("buffer") }),
    wrong("storage", /expected one of "texture", "renderbuffer", got "buffer"/),
  ),
  "a renderbuffer of BGRA": withEgl(
    (egl) => egl.image.allocate({ ...SIZE, format: "BGRA", storage: "renderbuffer" }),
    wrong("storage", /no renderbuffers of BGRA/, /texture/),
  ),
  "too few textures": withEgl(
    (egl) => egl.image.attach([1], { ...SIZE, format: "NV12" }),
    wrong("textures", /expected the names of 2 textures for NV12/),
  ),
  "a texture without a name": withEgl(
    (egl) => egl.image.attach([0], RGBA),
    { error: LayoutError, api: "core", argument: "textures[0]", message: /expected at least 1/ },
  ),
  "a texture that does not exist": withEgl(
    (egl) => egl.image.attach([7777], RGBA),
    wrong("textures[0]", /knows no texture 7777/, /EglContext.attach/),
  ),
  "a texture of another size": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    egl.image.attach([picture.planes[0].handle.name], { format: "RGBA", width: 64, height: 64 });
  }, unfit("textures[0]", /expected a texture of 64 × 64 pixels of rgba unorm8, got 8 × 4/, /glTexImage2D/)),
  "textures that are not a list": withEgl(
    (egl) => egl.image.attach(any({ 0: 1, length: 1 }), RGBA),
    wrong("textures", /expected the names of 1 textures/),
  ),
  "a buffer without elements": withEgl(
    (egl) => egl.buffer.allocate({ shape: [0], dtype: "u8" }),
    { error: LayoutError, api: "core", argument: "shape[0]", message: /expected at least 1/ },
  ),
  "a buffer of an unknown type": withEgl(
    (egl) => egl.buffer.allocate({ shape: [4], dtype: any("vec4") }),
    { error: LayoutError, api: "core", argument: "dtype", message: /expected a dtype/, hint: /Use one of/ },
  ),
  "a buffer of a context that has ended": {
    run() {
      const egl = EglContext.open();
      egl[Symbol.dispose]();
      egl.buffer.allocate({ shape: [4], dtype: "u8" });
    },
    fails: { error: DisposedError, api: "core", message: /egl context .* was disposed/ },
  },
  "a buffer that does not exist": withEgl(
    (egl) => egl.buffer.attach(7777, { shape: [4], dtype: "u8" }),
    wrong("buffer", /knows no buffer 7777/, /EglContext.attach/),
  ),
  "a buffer by its tensor": withEgl((egl) => {
    using buffer = egl.buffer.allocate({ shape: [4], dtype: "u8" });
    egl.buffer.attach(any(buffer), { shape: [4], dtype: "u8" });
  }, { error: LayoutError, api: "core", argument: "buffer", message: /expected a whole number/ }),
  "elements beyond a buffer's end": withEgl((egl) => {
    using buffer = egl.buffer.allocate({ shape: [16], dtype: "u8" });
    egl.buffer.attach(buffer.handle.name, { shape: [16], dtype: "u8", byteOffset: 1 });
  }, unfit("init", /reaches to byte 17; the memory has 16/)),
  "a read of a buffer into too little": withEgl((egl) => {
    using buffer = egl.buffer.allocate({ shape: [16], dtype: "u8" });
    egl.queue.read(buffer, new Uint8Array(15));
  }, unfit("into", /expected the 16 bytes .* got 15/)),
  "a part beyond a buffer's end": withEgl((egl) => {
    using buffer = egl.buffer.allocate({ shape: [16], dtype: "u8" });
    buffer.slice({ shape: [16], dtype: "u8", byteOffset: 1 });
  }, { error: LayoutError, api: "core", argument: "init", message: /outside/ }),
  "a buffer as a picture": withEgl((egl) => {
    using buffer = egl.buffer.allocate({ shape: [16], dtype: "u8" });
    egl.queue.fill(any(buffer), [0, 0, 0, 0]);
  }, wrong("to", /expected an EglTensor, got an EglBufferTensor/)),
  "a buffer of another context": withEgl((egl) => {
    using other = EglContext.open();
    using buffer = other.buffer.allocate({ shape: [4], dtype: "u8" });
    egl.queue.write(buffer, new Uint8Array(4));
  }, wrong("to", /belongs to another context/, /Use it there/)),
  "a buffer and a picture as one use": withEgl((egl) => {
    using buffer = egl.buffer.allocate({ shape: [4], dtype: "u8" });
    using picture = egl.image.allocate(RGBA);
    egl.queue.run([any({ buffer, picture })], () => {});
  }, wrong("uses[0]", /a picture and a buffer/, /two uses/)),
  "a use of a picture as a buffer": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    egl.queue.run([any({ buffer: picture })], () => {});
  }, wrong("uses[0].buffer", /expected an EglBufferTensor, got a Frame/)),
  "a use of nothing": withEgl(
    (egl) => egl.queue.run([any({ access: "read" })], () => {}),
    wrong("uses[0].picture", /expected an EglTensor, got undefined/),
  ),
  "a colour of three numbers": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    egl.queue.fill(picture, [1, 0, 0]);
  }, wrong("value", /expected four finite numbers, got 3/, /red, green, blue, alpha/)),
  "a colour of all planes at once": withEgl((egl) => {
    using picture = egl.image.allocate({ format: "NV12", ...SIZE });
    egl.queue.fill(picture, [1, 0, 0, 1]);
  }, unfit("to", /has several planes/, /Fill each/)),
  "a copy to another size": withEgl((egl) => {
    using from = egl.image.allocate(RGBA);
    using to = egl.image.allocate({ ...RGBA, width: 9 });
    egl.queue.copy(from, to);
  }, unfit("to", /expected 8×4 pixels.* got 9×4/)),
  "a copy onto itself": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    using part = picture.borrow("read-write");
    egl.queue.copy(part, part);
  }, unfit("to", /the same picture/)),
  "a read into too little": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    egl.queue.read(picture, new Uint8Array(127));
  }, unfit("into", /expected the 128 bytes .* got 127/)),
  "a write of something else": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    egl.queue.write(picture, any([1, 2, 3]));
  }, wrong("from", /expected a typed array/)),
  "a write to a renderbuffer": withEgl((egl) => {
    using picture = egl.image.allocate({ ...RGBA, storage: "renderbuffer" });
    egl.queue.write(picture, new Uint8Array(128));
  }, unfit("to", /only drawn to/, /Write to a texture/)),
  "a tensor of the host's": withEgl((egl) => {
    using tensor = host.allocate({ shape: [4, 8, 4], dtype: "u8" });
    egl.queue.fill(any(tensor), [0, 0, 0, 0]);
  }, wrong("to", /expected an EglTensor, got a HostTensor/)),
  "a frame of the host's": withEgl((egl) => {
    using frame = host.allocateFrame(imageInfo(RGBA));
    egl.queue.fill(any(frame), [0, 0, 0, 0]);
  }, wrong("to", /expected an EglTensor, got/, /graph.map/)),
  "a picture of another context": withEgl((egl) => {
    using other = EglContext.open();
    using picture = other.image.allocate(RGBA);
    egl.queue.fill(picture, [0, 0, 0, 0]);
  }, wrong("to", /belongs to another context/, /graph.map/)),
  "a picture that was disposed": withEgl((egl) => {
    const picture = egl.image.allocate(RGBA);
    picture[Symbol.dispose]();
    egl.queue.fill(picture, [0, 0, 0, 0]);
  }, { error: DisposedError, api: "core", argument: "to", message: /was disposed/ }),
  "a part of a picture": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    picture.planes[0].slice({ shape: [2, 8, 4], dtype: "u8" });
  }, unfit("init", /is an image, which has no parts/, /Map a part/)),
  "a write to what was lent for reading": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    using lent = picture.borrow("read");
    egl.queue.fill(lent, [0, 0, 0, 0]);
  }, { error: AccessError, api: "core", argument: "access", message: /was lent for "read"/, hint: /read-write/ }),
  "a map to the host without leave to copy": withEgl((egl) => {
    using graph = new MapperGraph([host, egl]);
    using picture = egl.image.allocate(RGBA);
    graph.map(picture, host);
  }, {
    error: NoRouteError,
    ...{ api: "core", argument: "target" },
    message: /copy/,
    hint: /copy: "allow"/,
    has: { refused: /copy/ },
  }),
  "a picture that a program's commands have no leave for": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    egl.queue.run([{ picture, access: any("draw") }], () => {});
  }, { error: ArgumentError, api: "core", argument: "access", message: /expected/ }),
  "commands that are not a function": withEgl(
    (egl) => egl.queue.run([], any("glFlush()")),
    wrong("commands", /expected a function, got a string/),
  ),
  "pictures that are not a list": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    egl.queue.run(any({ picture }), () => {});
  }, wrong("uses", /expected an array/)),
  "commands that GL refuses": withEgl(
    (egl) => egl.queue.run([], (gl) => gl.glBindTexture(1, 1)),
    { ...native("commands", "GL_INVALID_ENUM", 0x500, /commands failed with GL_INVALID_ENUM/), api: "gles" },
  ),
  "work to wait for that is a promise": withEgl((egl) => {
    using picture = egl.image.allocate(RGBA);
    egl.queue.fill(picture, [0, 0, 0, 0], { after: any(Promise.resolve()) });
  }, wrong("after", /expected a fence/, /host\.signal/)),
  "a sync that is null": withEgl((egl) => egl.attachFence(0n), wrong("handle", /expected a handle, got null/)),
  "a sync that was disposed": withEgl((egl) => {
    const sync = egl.reusableSync();
    sync[Symbol.dispose]();
    sync.signal();
  }, { error: DisposedError, api: "core", message: /reusable sync .* was disposed/ }),
  "a stream of more frames than there can be": withEgl(
    (egl) => egl.stream({ fifo: 65 }),
    wrong("fifo", /expected at most 64 frames, got 65/),
  ),
  "a stream that is misspelt": withEgl(
    (egl) => egl.stream(any({ FIFO: 2 })),
    { error: ArgumentError, api: "core", argument: "init", message: /unknown property FIFO/, hint: /fifo/ },
  ),
  "a stream of Mesa's": withEgl((egl) => {
    if (egl.extensions.includes("EGL_KHR_stream")) throw new Error("a driver with streams: this row is of Mesa's");
    egl.stream();
  }, wrong("egl", /has no EGL_KHR_stream/, /NVIDIA's drivers/)),
  "a consumer of anything but a stream": withEgl(
    (egl) => egl.consumer(any({ handle: 1n })),
    wrong("stream", /expected an EglStream, got an Object/),
  ),
  "a producer of anything but a stream": withEgl(
    (egl) => egl.producer(any({ handle: 1n }), { width: 8, height: 8 }),
    wrong("stream", /expected an EglStream, got an Object/),
  ),
  "a stream of another process's, by anything but an fd": withEgl(
    (egl) => egl.attachStream(-1),
    { error: LayoutError, api: "core", argument: "fd", message: /expected/ },
  ),
  "a stream of other code's, by a handle that is null": withEgl((egl) => {
    if (egl.extensions.includes("EGL_KHR_stream")) throw new Error("a driver with streams: this row is of Mesa's");
    egl.attachStream(0n);
  }, wrong("egl", /has no EGL_KHR_stream/, /NVIDIA's drivers/)),
  "what it has, used as it is meant": {
    ...withEgl(async (egl) => {
      using picture = egl.image.allocate(RGBA);
      using other = egl.image.allocate(RGBA);
      const [{ handle }] = picture.planes;
      say(eglDevices().length >= 0, egl.handle > 0n, egl.display > 0n, egl.absent.size >= 0, egl.extensions.length > 9);
      say(
        egl.version >= "1.5",
        egl.glVersion.startsWith("OpenGL ES 3"),
        egl.bytesCopied,
        handle.image > 0n,
        handle.name > 0,
      );
      say(handle.toString() === Deno.inspect(handle));
      egl.queue.copy(picture, other, { after: egl.queue.fence() });
      await egl.queue.waitFor(egl.queue.fence()).wait();
      egl.queue.finish();
      using sync = egl.reusableSync();
      const fence = egl.attachFence(sync.handle);
      say(fence.reached(), (sync.signal(), sync.signalled), fence.reached(), (sync.reset(), sync.signalled));
      using buffer = egl.buffer.allocate({ shape: [4], dtype: "u8" });
      say(buffer.handle.toString() === Deno.inspect(buffer.handle));
      using wrapped = egl.buffer.attach(buffer.handle.name, { shape: [2], dtype: "u8", byteOffset: 2 });
      egl.queue.write(wrapped, Uint8Array.of(5, 6));
      egl.queue.finish();
      const bytes = new Uint8Array(4);
      egl.queue.read(buffer, bytes);
      say(String(bytes), egl.buffer.is(buffer));
      say(egl.image.is(picture.planes[0]), picture instanceof Frame, handle.isSameAs(other.planes[0].handle));
    }),
    says: [
      "true true true true true",
      "true true 0 true true",
      "true",
      "false true true false",
      "true",
      "0,0,5,6 true",
      "true true false",
    ],
  },
});
