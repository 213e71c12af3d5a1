import { AccessError, ArgumentError, DisposedError, host, MapperGraph, NoRouteError } from "@samepage/interop";
import { BYTES, device } from "../cuda.ts";
import { any, fails, outcome, safe, say } from "../kit.ts";
import { table } from "../row.ts";

export default table(import.meta, {
  "memory that begins in the middle of a page": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      const bytes = new Uint8Array(new ArrayBuffer(3 * 4096 + 64));
      const address = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes)));
      const odd = (address + 4095n) / 4096n * 4096n + 8n;
      using t = host.wrap(odd, BYTES, { keepAlive: bytes });
      say(outcome(() => graph.map(t, cuda)), outcome(() => graph.map(t, cuda, { copy: "allow" })[Symbol.dispose]()));
      cuda.register(t);
    },
    says: ["NoRouteError target ok"],
    fails: {
      error: ArgumentError,
      ...{ api: "cuda", fn: "cudaHostRegister", argument: "tensor" },
      message: /in the middle of a page/,
      hint: /host\.allocate\(\)/,
    },
  },
  "a JavaScript buffer, wrapped": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using t = host.wrap(new Uint8Array(64));
      safe("map", () => graph.map(t, cuda)[Symbol.dispose]());
      safe("register", () => cuda.register(t)[Symbol.dispose]());
      t.view().fill(1);
    },
  },
  "twice": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using t = host.allocate(BYTES);
      using first = cuda.register(t);
      {
        using _second = cuda.register(t); // one more that keeps the pages
        say(outcome(() => cuda.register(t, { portable: false })));
        using _mapped = graph.map(t, cuda);
        first[Symbol.dispose]();
        first[Symbol.dispose]();
      }
      Deno.inspect(first);
      t.view().fill(1);
    },
    says: ["ArgumentError options"],
  },
  "unregistered with a live map": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using t = host.allocate(BYTES);
      const registration = cuda.register(t);
      const mapped = graph.map(t, cuda);
      registration[Symbol.dispose]();
      cuda.stream.fill(mapped, 5); // the map keeps the pages
      mapped[Symbol.dispose]();
      say(t.view().every((byte) => byte === 5));
    },
    says: ["true"],
  },
  "a part and then the whole": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using t = host.allocate({ shape: [4 * 4096], dtype: "u8" });
      using peer = host.wrap(t.handle + 4096n, BYTES);
      using mapped = graph.map(peer, cuda);
      fails("the whole, while a part is written", () => graph.map(t, cuda), AccessError);
      using _whole = cuda.register(t);
      cuda.stream.fill(mapped, 6);
      cuda.stream.finish();
    },
  },
  "anything but memory of the host": {
    gpus: 1,
    run() {
      using cuda = device();
      using x = cuda.allocate(BYTES);
      using pinned = cuda.pinned.allocate(BYTES);
      for (const it of [undefined, null, 5, {}, new Uint8Array(4096)]) {
        fails(`${it}`, () => cuda.register(any(it)), ArgumentError);
      }
      fails("the device's", () => cuda.register(x), ArgumentError);
      fails("pinned already", () => cuda.register(pinned), ArgumentError);
      using t = host.allocate(BYTES);
      fails("options", () => cuda.register(t, any(5)), ArgumentError);
      safe("memory of a device", () => cuda.register(t, { ioMemory: true })[Symbol.dispose]());
      const gone = host.allocate(BYTES);
      gone[Symbol.dispose]();
      fails("disposed", () => cuda.register(gone), DisposedError);
    },
  },
  "sharable memory, which is a file": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using t = host.allocate({ ...BYTES, sharable: true });
      safe("map", () => graph.map(t, cuda)[Symbol.dispose]());
      t.view().fill(1);
    },
  },
  "a file that is mapped and shared": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using t = host.wrap(sharedFile(), BYTES, { access: "read" });
      say(/its bytes are the file \/etc\//.test(graph.explain(t, cuda).toString()));
      say(outcome(() => graph.map(t, cuda)));
      using copy = graph.map(t, cuda, { copy: "allow" });
      const bytes = new Uint8Array(4096);
      cuda.stream.read(copy, bytes);
      say(bytes.every((byte, i) => byte === t.bytes()[i]));
      cuda.register(t);
    },
    says: ["true", "NoRouteError target", "true"],
    fails: {
      error: ArgumentError,
      ...{ api: "cuda", fn: "cudaHostRegister", argument: "tensor" },
      message: /its bytes are the file/,
      hint: /MAP_PRIVATE/,
    },
  },
  "memory that is registered to be only read, written": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using t = host.allocate(BYTES);
      using kept = safe("register", () => cuda.register(t, { readOnly: true })); // not every device can
      if (kept === undefined) return;
      fails("for writing", () => graph.map(t, cuda), NoRouteError);
      fails("for writing, by a copy", () => graph.map(t, cuda, { copy: "allow" }), NoRouteError);
      using mapped = graph.map(t, cuda, { access: "read" });
      fails("fill", () => cuda.stream.fill(mapped, 1), AccessError);
    },
  },
  "memory that is disposed while it is registered": {
    gpus: 1,
    run() {
      using cuda = device();
      const t = host.allocate(BYTES);
      const registration = cuda.register(t);
      t[Symbol.dispose]();
      registration[Symbol.dispose]();
      say(registration.resource.state);
    },
    says: ["freed"],
  },
});

/** The first page of a file that is there on every system, mapped to be read (PROT_READ, MAP_SHARED). */
function sharedFile(): bigint {
  const { open, mmap, close } = Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32" },
    mmap: { parameters: ["u64", "usize", "i32", "i32", "i32", "i64"], result: "u64" },
    close: { parameters: ["i32"], result: "i32" },
  }).symbols;
  const fd = open(new TextEncoder().encode("/etc/passwd\0"), 0);
  const address = mmap(0n, 4096n, 1, 1, fd, 0n);
  close(fd);
  return address;
}
