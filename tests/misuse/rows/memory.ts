import { ArgumentError, host, imageInfo, ledger, NativeCallError } from "@samepage/interop";
import { any, fails, open, safe, same, say } from "../kit.ts";
import { table } from "../row.ts";

const u8 = (length: number) => ({ shape: [length], dtype: "u8" }) as const;

/** The C library's own close(), as a program that knows no better may call it. */
function close(fd: number): number {
  return Deno.dlopen("libc.so.6", { close: { parameters: ["i32"], result: "i32" } }).symbols.close(fd);
}

/** The memfds of this process. */
function memfds(): number[] {
  const fds = Deno.readDirSync("/proc/self/fd").map(({ name }) => name).toArray();
  const isOurs = (fd: string) => {
    try {
      return Deno.readLinkSync(`/proc/self/fd/${fd}`).startsWith("/memfd:samepage");
    } catch {
      return false; // the folder's own, gone by now
    }
  };
  return fds.filter(isOurs).map(Number);
}

export default table(import.meta, {
  "more than there are addresses": {
    run: () => host.allocate(u8(2 ** 48)),
    fails: {
      ...{ error: NativeCallError, api: "libc", fn: "mmap", code: 12, codeName: "ENOMEM" },
      message: /mmap failed with ENOMEM \(12\)/,
      hint: /The request was for 281474976710656 bytes/,
    },
  },
  "more than 2^52, in shared memory": {
    run: () => host.allocate({ ...u8(2 ** 52), sharable: true }),
    fails: {
      error: NativeCallError,
      api: "libc",
      fn: "mmap",
      code: 12,
      codeName: "ENOMEM",
      message: /ENOMEM/,
      hint: /The request was for \d+ bytes/,
    },
  },
  "an alignment beyond the address space": {
    run: () => host.allocate({ ...u8(64), align: 2 ** 50 }),
    fails: {
      error: NativeCallError,
      api: "libc",
      fn: "mmap",
      code: 12,
      codeName: "ENOMEM",
      message: /ENOMEM/,
      hint: /The request was for \d+ bytes/,
    },
  },
  "a guard that is a text": {
    run: () => host.allocate({ ...u8(64), guard: any("x") }),
    fails: { error: ArgumentError, api: "host", argument: "guard", message: /expected a boolean, got a string/ },
  },
  "sharable as a text": {
    run: () => host.allocate({ ...u8(64), sharable: any("x") }),
    fails: { error: ArgumentError, api: "host", argument: "sharable", message: /expected a boolean, got a string/ },
  },
  "a guard for a frame that is a number": {
    run: () => host.allocateFrame(imageInfo({ format: "NV12", width: 4, height: 4 }), { guard: any(1) }),
    fails: { error: ArgumentError, api: "host", argument: "guard", message: /expected a boolean, got a number/ },
  },
  "an fd of memory that has none": {
    run() {
      using t = host.allocate(u8(64));
      t.exportFd();
    },
    fails: { error: ArgumentError, api: "host", fn: "exportFd", message: /has no fd/, hint: /sharable: true/ },
  },
  "an exported fd, closed": { // it is the program's own
    run() {
      using t = host.allocate({ ...u8(64), sharable: true });
      t.view().fill(3);
      const fd = t.exportFd();
      same("close", close(fd), 0);
      same("close", close(fd), -1);
      say(t.view()[63], close(t.exportFd()));
    },
    says: ["3 0"],
  },
  "samepage's own memfd, closed behind its back, and one more asked for": {
    flags: ["-A"],
    leaves: true,
    run() {
      const t = host.allocate({ ...u8(64), sharable: true });
      for (const fd of memfds()) close(fd);
      t.exportFd();
    },
    fails: {
      ...{ error: NativeCallError, api: "libc", fn: "fcntl", code: 9, codeName: "EBADF" },
      message: /failed with EBADF \(9\)/,
      hint: /Is the fd still open/,
    },
  },
  "samepage's own memfd, closed behind its back, and the dispose": {
    flags: ["-A"],
    run() {
      const t = host.allocate({ ...u8(64), sharable: true });
      for (const fd of memfds()) close(fd);
      t.view().fill(1); // the memory is there all the same
      t[Symbol.dispose]();
    },
    fails: {
      ...{ error: NativeCallError, api: "libc", fn: "close", code: 9, codeName: "EBADF" },
      message: /close failed with EBADF \(9\)/,
      hint: /Is the fd still open/,
    },
  },
  "more fds than a process may have": {
    run() {
      const kept: Disposable[] = [];
      fails("allocate", () => {
        while (kept.length < 2_000_000) kept.push(host.allocate({ ...u8(64), sharable: true }));
      }, NativeCallError);
      for (const tensor of kept) tensor[Symbol.dispose]();
      host.allocate({ ...u8(64), sharable: true })[Symbol.dispose]();
    },
  },
  "100,000 live tensors": {
    run() {
      const kept = Array.from({ length: 100_000 }, () => host.allocate(u8(64)));
      kept[99_999].view().fill(1);
      same("blocks", ledger.alive["host.block"], 100_000);
      for (const tensor of kept) tensor[Symbol.dispose]();
    },
  },
  "100,000 live buffers of a device": {
    opencl: true,
    run() {
      using cl = open();
      const kept = Array.from({ length: 100_000 }, () => cl.allocate(u8(64)));
      cl.queue.write(kept[99_999], new Uint8Array(64));
      same("buffers", ledger.alive["opencl.cl_mem"], 100_000);
    },
  },
  "5,000 live slices of one tensor": {
    run() {
      using t = host.allocate(u8(5000));
      for (let i = 0; i < 5000; i++) {
        t.slice({ shape: [1], dtype: "u8", strides: [1], byteOffset: i, byteLength: 1 });
        if (i % 500 === 0) fails("again", () => t.slice({ ...t.layout, shape: [1], byteOffset: i, byteLength: 1 }));
      }
    },
  },
  "140,000 live tensors, every second disposed, then the rest": {
    run() {
      const kept = Array.from({ length: 140_000 }, () => host.allocate(u8(64)));
      for (let i = 0; i < kept.length; i += 2) kept[i][Symbol.dispose]();
      for (let i = 1; i < kept.length; i += 2) kept[i][Symbol.dispose]();
      say(ledger.quarantinedBytes);
    },
    says: ["0"],
  },
  "aligned blocks until no mapping is left": {
    run() {
      const kept: Disposable[] = [];
      safe("allocate", () => {
        for (let i = 0; i < 70_000; i++) kept.push(host.allocate({ ...u8(64), align: 8192 }));
      });
      // V8 needs mappings too.
      const objects = Array.from({ length: 200 }, (_, i) => new Array(10_000).fill(i).map((x) => ({ x })));
      for (const tensor of kept) tensor[Symbol.dispose]();
      say(objects.length, ledger.quarantinedBytes);
    },
    says: ["200 0"],
  },
  "blocks with guard pages until no mapping is left": {
    run() {
      const kept: Disposable[] = [];
      safe("allocate", () => {
        for (let i = 0; i < 40_000; i++) kept.push(host.allocate({ ...u8(4096), guard: true }));
      });
      new ArrayBuffer(1 << 22);
      // V8 needs mappings too.
      const objects = Array.from({ length: 200 }, (_, i) => new Array(10_000).fill(i).map((x) => ({ x })));
      say(objects.length);
      for (const tensor of kept) tensor[Symbol.dispose]();
    },
    says: ["200"],
  },
});
