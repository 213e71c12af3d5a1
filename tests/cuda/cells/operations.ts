import { assert, assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../../mod.ts";
import { closeFd } from "../../../src/core/native/fd.ts";
import { ledger } from "../../../src/core/life/ledger.ts";
import type { CudaContext } from "../../../src/cuda/mod.ts";
import { isRegistered } from "../../../src/cuda/memory/registered.ts";
import { assertAllowed } from "../../../src/cuda/memory/rules.ts";
import type { CudaOperation } from "../../../src/cuda/memory/rules/rule.ts";
import { OpenCLContext } from "../../../src/opencl/mod.ts";
import { launch, patternOf } from "./kernels.ts";
import { BYTES, type Specimen, WIDTH } from "./specimens.ts";

/** Cycles that a kernel is busy for: some milliseconds. */
const BUSY = 20_000_000;

function fresh(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(BYTES));
}

/** What a tensor of device memory holds. */
function held(s: Specimen, tensor: ReturnType<Specimen["scratch"]>): Uint8Array {
  const bytes = new Uint8Array(BYTES);
  s.cuda.stream.read(tensor, bytes);
  return bytes;
}

/** The rule alone, for what has no function of its own that could be asked. */
function ruled(s: Specimen, operation: CudaOperation): void {
  assertAllowed(s.kind, operation, s.cuda.device);
}

/** Each operation, done for real, and seen: or refused by what a program would call. */
export const OPERATIONS: { readonly [O in CudaOperation]: (s: Specimen, other?: CudaContext) => unknown } = {
  "kernel-read"(s) {
    const bytes = fresh();
    using seen = s.scratch();
    if (s.array !== undefined) {
      using from = s.scratch();
      s.cuda.stream.write(from, bytes);
      s.cuda.stream.copy(from, s.array);
      using texture = s.array.texture();
      launch(s.cuda, "from_texture", BYTES, [texture.handle, seen, WIDTH, BYTES]);
      const fence = s.cuda.stream.fence();
      texture.usedBy(fence);
    } else {
      s.onDevice((tensor) => {
        s.cuda.stream.write(tensor, bytes);
        launch(s.cuda, "copied", BYTES, [tensor, seen, BYTES]);
      });
    }
    assertEquals(held(s, seen), bytes);
  },

  "kernel-write"(s) {
    using seen = s.scratch();
    if (s.array !== undefined) {
      using surface = s.array.surface();
      launch(s.cuda, "to_surface", BYTES, [surface.handle, WIDTH, BYTES, 5]);
      const fence = s.cuda.stream.fence();
      surface.usedBy(fence);
      s.cuda.stream.copy(s.array, seen);
    } else {
      s.onDevice((tensor) => {
        launch(s.cuda, "pattern", BYTES, [tensor, BYTES, 5]);
        s.cuda.stream.copy(tensor, seen);
      });
    }
    assertEquals(held(s, seen), patternOf(BYTES, 5));
  },

  "kernel-on-another-device"(s, other) {
    if (s.array !== undefined) return ruled(s, "kernel-on-another-device");
    s.onDevice((tensor) => {
      launch(other!, "pattern", BYTES, [tensor, BYTES, 9]);
      const bytes = new Uint8Array(BYTES);
      s.cuda.stream.read(tensor, bytes);
      assertEquals(bytes, patternOf(BYTES, 9));
    });
  },

  "host-read"(s) {
    if (s.array !== undefined) return ruled(s, "host-read");
    const seen = s.onHost((view) => view.slice());
    assertEquals(seen.length, BYTES);
  },

  "host-write"(s) {
    if (s.array !== undefined) return ruled(s, "host-write");
    const bytes = fresh();
    s.onHost((view) => view.set(bytes));
    assertEquals(s.onHost((view) => view.slice()), bytes);
  },

  "host-view-while-a-kernel-runs"(s) {
    if (s.array !== undefined) return ruled(s, "host-view-while-a-kernel-runs");
    ruled(s, "host-view-while-a-kernel-runs");
    using elsewhere = s.scratch();
    const bytes = fresh();
    s.onHost((view) => {
      launch(s.cuda, "busy", 1, [elsewhere, BUSY]);
      view.set(bytes);
      assertEquals(view.slice(), bytes);
    });
  },

  copy(s) {
    const bytes = fresh();
    const { stream } = s.cuda;
    using from = s.scratch();
    using back = s.scratch();
    stream.write(from, bytes);
    if (s.array !== undefined) {
      stream.copy(from, s.array);
      stream.copy(s.array, back);
    } else if (s.kind === "pageable") {
      stream.read(from, s.hosts!.view());
      stream.write(back, s.hosts!.view());
    } else {
      s.onDevice((tensor) => {
        stream.copy(from, tensor);
        stream.copy(tensor, back);
      });
    }
    assertEquals(held(s, back), bytes);
  },

  register(s) {
    const { cuda } = s;
    // Registered memory is shared by who asks for the same flags; here are others.
    const options = s.kind === "registered" ? { readOnly: true } : {};
    using registration = cuda.register((s.hosts ?? s.tensor ?? s.array) as never, options);
    assertEquals(registration.resource.state, "live");
    assert(isRegistered(s.hosts!.grant.allocation));
  },

  unregister(s) {
    ruled(s, "unregister"); // there is no way to ask it of anything else than a registration
    s.registration![Symbol.dispose]();
    assert(!isRegistered(s.hosts!.grant.allocation));
  },

  free(s) {
    ruled(s, "free");
    const kinds = Object.keys(ledger.alive);
    s.end();
    const left = Object.keys(ledger.alive).filter((kind) =>
      kinds.includes(kind) && !/primary|stream|event/i.test(kind)
    );
    assertEquals(left, []);
  },

  prefetch(s) {
    const { managed, stream, device: { ordinal } } = s.cuda;
    const asked = (tensor: unknown) => {
      managed.prefetch(tensor as never, "device");
      stream.finish();
      assertEquals(managed.lastPrefetch(tensor as never), ordinal);
      managed.prefetch(tensor as never, "host");
      stream.finish();
      assertEquals(managed.lastPrefetch(tensor as never), "host");
    };
    asked(s.array ?? s.tensor ?? s.hosts);
  },

  advise(s) {
    const { managed, device: { ordinal } } = s.cuda;
    const tensor = (s.array ?? s.tensor ?? s.hosts) as never;
    managed.advise(tensor, "read-mostly");
    managed.advise(tensor, "preferred-location", { location: "host" });
    managed.advise(tensor, "accessed-by");
    const { readMostly, preferredLocation, accessedBy } = managed.adviceOn(tensor);
    assertEquals([readMostly, preferredLocation, accessedBy], [true, "host", [ordinal]]);
    managed.advise(tensor, "read-mostly", { unset: true });
    managed.advise(tensor, "preferred-location", { unset: true });
    managed.advise(tensor, "accessed-by", { unset: true });
    const after = managed.adviceOn(tensor);
    assertEquals([after.readMostly, after.preferredLocation, after.accessedBy], [false, undefined, []]);
  },

  attach(s) {
    const { managed, stream } = s.cuda;
    const tensor = (s.array ?? s.tensor ?? s.hosts) as never;
    const bytes = fresh();
    managed.attach(tensor, "host");
    stream.finish();
    s.onHost((view) => view.set(bytes));
    managed.attach(tensor, "single", stream);
    managed.attach(tensor, "global");
    assertEquals(held(s, tensor), bytes);
  },

  "export-ipc"(s) {
    if (s.tensor === undefined) return ruled(s, "export-ipc");
    assertEquals(s.cuda.exportMemory(s.tensor).handle.length, 64);
  },

  "export-fd"(s) {
    if (s.tensor === undefined) return ruled(s, "export-fd");
    const fd = s.cuda.virtual.exportFd(s.tensor);
    assert(fd > 2);
    closeFd(fd);
  },

  "export-dma-buf"(s) {
    ruled(s, "export-dma-buf");
    // That of cuda.virtual is for what lies on the device.
    using tensor = s.kind === "virtual" ? s.cuda.virtual.allocate({ shape: [BYTES], dtype: "u8" }) : s.scratch();
    using dmaBuf = s.cuda.exportDmaBuf(tensor);
    assert(dmaBuf.fd > 2);
  },

  "share-opencl"(s) {
    ruled(s, "share-opencl");
    using cl = OpenCLContext.open({ platform: "nvidia" });
    using graph = new MapperGraph([host, s.cuda, cl]);
    using mapped = graph.map(s.tensor!, cl);
    assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["alias"]);
  },
};
