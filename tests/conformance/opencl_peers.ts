import type { HostTensor } from "../../src/host/mod.ts";
import type { OpenCLContext, OpenCLTensor } from "../../src/opencl/mod.ts";
import { CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR } from "../../ffi/opencl/constants.ts";
import { bufferOf, release } from "../opencl/raw.ts";
import type { Peers } from "./subject.ts";

/** A picture of 32 by 32 pixels, so that it can be copied to and from an image. */
const BYTES = { shape: [32, 32, 4], dtype: "u8" } as const;
const SIZE = 4096;

interface Command {
  readonly access: "read" | "write";
  run(cl: OpenCLContext, tensor: OpenCLTensor): void;
}

/** Everything that a queue does to a tensor by a name of its own. */
const COMMANDS: Readonly<Record<string, Command>> = {
  fill: { access: "write", run: ({ queue }, tensor) => queue.fill(tensor, 7) },
  write: { access: "write", run: ({ queue }, tensor) => queue.write(tensor, new Uint8Array(SIZE)) },
  writeRect: {
    access: "write",
    run: ({ queue }, tensor) => queue.write(tensor, new Uint8Array(SIZE), { at: "dense" }),
  },
  read: { access: "read", run: ({ queue }, tensor) => queue.read(tensor, new Uint8Array(SIZE)) },
  readRect: { access: "read", run: ({ queue }, tensor) => queue.read(tensor, new Uint8Array(SIZE), { at: "dense" }) },
  "copy to": {
    access: "write",
    run(cl, tensor) {
      using from = cl.allocate(BYTES);
      cl.queue.copy(from, tensor);
    },
  },
  "copy from": {
    access: "read",
    run(cl, tensor) {
      using to = cl.allocate(BYTES);
      cl.queue.copy(tensor, to);
    },
  },
  "copyImage to": {
    access: "write",
    run(cl, tensor) {
      using image = cl.image({ order: "RGBA", type: "UNSIGNED_INT8" }).allocate({ shape: BYTES.shape });
      cl.queue.copy(image, tensor);
    },
  },
  "copyImage from": {
    access: "read",
    run(cl, tensor) {
      using image = cl.image({ order: "RGBA", type: "UNSIGNED_INT8" }).allocate({ shape: BYTES.shape });
      cl.queue.copy(tensor, image);
    },
  },
  "migrate to the device": { access: "read", run: ({ queue }, tensor) => queue.migrate([tensor], { to: "device" }) },
  "migrate to the host": { access: "read", run: ({ queue }, tensor) => queue.migrate([tensor], { to: "host" }) },
  "migrate without contents": {
    access: "write",
    run: ({ queue }, tensor) => queue.migrate([tensor], { to: "device", contentUndefined: true }),
  },
};

/** Buffers that somebody else made over host memory, and attached to. */
export function peersOf(cl: OpenCLContext): Peers {
  return {
    init: BYTES,
    attach(source: HostTensor) {
      const theirs = bufferOf(cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, source.handle);
      const tensor = cl.attach(theirs, BYTES);
      return {
        tensor,
        [Symbol.dispose]() {
          tensor[Symbol.dispose]();
          release(theirs);
        },
      };
    },
    transfers: Object.entries(COMMANDS).map(([name, { access, run }]) => (
      { name, access, run: (tensor) => run(cl, tensor as OpenCLTensor) }
    )),
  };
}
