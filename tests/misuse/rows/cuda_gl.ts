import { AccessError, DisposedError, MapperGraph, NoRouteError } from "@samepage/interop";
import type { CudaContext } from "@samepage/interop/cuda";
import { EglContext, eglDevices } from "@samepage/interop/egl";
import { device } from "../cuda.ts";
import { fails, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const SIZE = { format: "RGBA", width: 8, height: 4 } as const;
const RGBA = { dtype: "u8", channels: 4 } as const;
const BYTES = { shape: [64], dtype: "u8" } as const;

/** OpenGL ES and CUDA on the first GPU, and a graph over them. */
interface Both {
  readonly egl: EglContext;
  readonly cuda: CudaContext;
  readonly graph: MapperGraph;
}

function openEgl(): EglContext {
  const gpu = eglDevices().find(({ cuda }) => cuda === 0);
  if (gpu === undefined) throw new Error("EGL does not have the GPU");
  return EglContext.open({ device: gpu.index });
}

function withBoth(run: (both: Both) => unknown, failure?: Failure): Row {
  return {
    gpus: 1,
    async run() {
      using cuda = device();
      using egl = openEgl();
      using graph = new MapperGraph([egl, cuda]);
      await run({ egl, cuda, graph });
    },
    ...(failure === undefined ? {} : { fails: failure }),
  };
}

const mapped = (argument: string): Failure => (
  { error: AccessError, api: "egl", argument, message: /is mapped to another driver/, hint: /Dispose the map/ }
);
const closed = (message: RegExp, hint: RegExp): Failure => (
  { error: NoRouteError, api: "core", argument: "target", message, hint, has: { refused: message } }
);

export default table(import.meta, {
  "a picture that GL reads while CUDA has it": withBoth(({ egl, cuda, graph }) => {
    using picture = egl.image.allocate(SIZE);
    using _ = graph.map(picture.planes[0], cuda.image(RGBA), { access: "read" });
    egl.queue.read(picture, new Uint8Array(128));
  }, mapped("from")),
  "a picture that GL draws to while CUDA has it": withBoth(({ egl, cuda, graph }) => {
    using picture = egl.image.allocate(SIZE);
    using _ = graph.map(picture.planes[0], cuda.image(RGBA));
    egl.queue.fill(picture, [0, 0, 0, 0]);
  }, mapped("to")),
  "a buffer that GL writes while CUDA reads it": withBoth(({ egl, cuda, graph }) => {
    using buffer = egl.buffer.allocate(BYTES);
    using _ = graph.map(buffer, cuda, { access: "read" });
    egl.queue.write(buffer, new Uint8Array(64));
  }, mapped("to")),
  "a program's own commands on a buffer that CUDA has": withBoth(({ egl, cuda, graph }) => {
    using buffer = egl.buffer.allocate(BYTES);
    using _ = graph.map(buffer, cuda, { access: "read" });
    egl.queue.run([{ buffer, access: "read" }], () => {});
  }, mapped("uses[0].buffer")),
  "a picture that CUDA is to write twice at once": withBoth(({ egl, cuda, graph }) => {
    using picture = egl.image.allocate(SIZE);
    using _ = graph.map(picture.planes[0], cuda.image(RGBA));
    graph.map(picture.planes[0], cuda.image(RGBA));
  }, { error: AccessError, api: "core", message: /are lent to its cuda.image/, hint: /Dispose that first/ }),
  "a surface of a picture that is only read": withBoth(({ egl, cuda, graph }) => {
    using picture = egl.image.allocate(SIZE);
    using read = graph.map(picture.planes[0], cuda.image(RGBA), { access: "read" });
    read.array.surface();
  }, { error: AccessError, api: "core", argument: "access", message: /was lent for "read"/, hint: /read-write/ }),
  "a picture as a whole": withBoth(({ egl, cuda, graph }) => {
    using picture = egl.image.allocate(SIZE);
    graph.map(picture, cuda.image(RGBA));
  }, closed(/it is a frame, and an image has one plane/, /Map its planes/)),
  "a picture of three channels": withBoth(({ egl, cuda, graph }) => {
    using picture = egl.image.allocate({ ...SIZE, format: "RGB" });
    graph.map(picture.planes[0], cuda.image(RGBA));
  }, closed(/its pixels are 3 × u8/, /no arrays of three channels/)),
  "a picture as images of another format": withBoth(({ egl, cuda, graph }) => {
    using picture = egl.image.allocate(SIZE);
    graph.map(picture.planes[0], cuda.image({ dtype: "u8" }));
  }, closed(/its pixels are 4 × u8/, /channels: 4/)),
  "a picture that ends while CUDA has it": withBoth(({ egl, cuda, graph }) => {
    const picture = egl.image.allocate(SIZE);
    const { array } = graph.map(picture.planes[0], cuda.image(RGBA));
    picture[Symbol.dispose]();
    array.surface();
  }, { error: DisposedError, api: "core", message: /was disposed/ }),
  "a context of GL's that ends while CUDA has its buffer": withBoth(({ cuda }) => {
    const egl = openEgl();
    const graph = new MapperGraph([egl, cuda]);
    const onDevice = graph.map(egl.buffer.allocate(BYTES), cuda);
    egl[Symbol.dispose]();
    cuda.stream.fill(onDevice, 1);
  }, { error: DisposedError, api: "core", argument: "to", message: /was disposed/ }),
  "turns that are taken as they are meant": {
    ...withBoth(({ egl, cuda, graph }) => {
      using buffer = egl.buffer.allocate(BYTES);
      const bytes = new Uint8Array(64);
      for (let turn = 1; turn <= 3; turn++) {
        {
          using onDevice = graph.map(buffer, cuda);
          fails("GL's", () => egl.queue.read(buffer, bytes), AccessError);
          cuda.stream.fill(onDevice, turn);
        }
        egl.queue.read(buffer, bytes);
        say(new Set(bytes).size, bytes[0]);
      }
    }),
    says: ["1 1", "1 2", "1 3"],
  },
});
