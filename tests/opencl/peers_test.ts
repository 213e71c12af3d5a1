/** A host tensor and an attached buffer over its memory are peers: what a command of the queue does to the host's views. */
import { assert, assertEquals } from "@std/assert";
import { ArgumentError, host, region } from "@samepage/interop";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import { CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR } from "../../ffi/opencl/constants.ts";
import { bufferOf, release } from "./raw.ts";
import { bench, testEach, thrown } from "./help.ts";

/** A picture of 32 by 32 pixels, so that it can be copied to and from an image. */
const BYTES = { shape: [32, 32, 4], dtype: "u8" } as const;
const SIZE = 4096;

/** A command that uses a tensor, and what it does with its bytes. */
interface Command {
  readonly access: "read" | "write";
  run(cl: OpenCLContext, tensor: OpenCLTensor): void;
}

/** Everything that a queue does to a tensor by a name of its own. */
const COMMANDS: Readonly<Record<string, Command>> = {
  fill: { access: "write", run: ({ queue }, tensor) => queue.fill(tensor, 7) },
  write: { access: "write", run: ({ queue }, tensor) => queue.write(tensor, new Uint8Array(SIZE)) },
  writeRect: { access: "write", run: ({ queue }, tensor) => queue.writeRect(tensor, new Uint8Array(SIZE)) },
  read: { access: "read", run: ({ queue }, tensor) => queue.read(tensor, new Uint8Array(SIZE)) },
  readRect: { access: "read", run: ({ queue }, tensor) => queue.readRect(tensor, new Uint8Array(SIZE)) },
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
      cl.queue.copyImage(image, tensor);
    },
  },
  "copyImage from": {
    access: "read",
    run(cl, tensor) {
      using image = cl.image({ order: "RGBA", type: "UNSIGNED_INT8" }).allocate({ shape: BYTES.shape });
      cl.queue.copyImage(tensor, image);
    },
  },
  "migrate to the device": { access: "read", run: ({ queue }, tensor) => queue.migrate([tensor], { to: "device" }) },
  "migrate to the host": { access: "read", run: ({ queue }, tensor) => queue.migrate([tensor], { to: "host" }) },
  "migrate without contents": {
    access: "write",
    run: ({ queue }, tensor) => queue.migrate([tensor], { to: "device", contentUndefined: true }),
  },
};

for (const [name, { access, run }] of Object.entries(COMMANDS)) {
  testEach(`peers: ${name} takes away the host's views that a kernel would`, (platform) => {
    using b = bench(platform);
    using source = host.allocate(BYTES);
    const theirs = bufferOf(b.cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, source.handle);
    {
      using tensor = b.cl.attachBuffer(theirs, BYTES);
      const [writable, readable] = [source.view(), source.view({ access: "read" })];
      run(b.cl, tensor);
      assertEquals([writable.length, readable.length], [0, access === "read" ? SIZE : 0]);
    }
    release(theirs);
  });
}

testEach("memory of the driver's own cannot be wrapped by the address of a map, which ends with it", (platform) => {
  using b = bench(platform);
  const image = b.cl.image({ order: "RGBA", type: "UNSIGNED_INT8" });
  using buffer = b.cl.allocate(BYTES);
  using picture = image.allocate({ shape: BYTES.shape });
  for (const tensor of [buffer, picture]) {
    using mapped = b.graph.map(tensor, host);
    for (const access of ["read", "read-write"] as const) {
      const wrap = () => host.wrap(mapped.address + 64n, { shape: [64], dtype: "u8" }, { access });
      const error = thrown(ArgumentError, wrap);
      assertEquals(error.argument, "memory");
      assert(error.message.includes(tensor.name) && error.message.includes("slice"), error.message);
    }
    using part = mapped.slice(region(mapped.layout, [0, 0, 0], [1, 32, 4]));
    const view = part.bytes();
    mapped[Symbol.dispose]();
    assertEquals(view.length, 0);
  }
});
