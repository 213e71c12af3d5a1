import { ArgumentError, host, imageInfo, LayoutError } from "@samepage/interop";
import { any, outcome, same, say } from "../kit.ts";
import { table } from "../row.ts";

const BYTES = { shape: [64], dtype: "u8" } as const;

/** The C library, as a program that knows no better calls it. */
const libc = () =>
  Deno.dlopen("libc.so.6", {
    memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
    open: { parameters: ["buffer", "i32"], result: "i32" },
    pipe: { parameters: ["buffer"], result: "i32" },
    ftruncate: { parameters: ["i32", "i64"], result: "i32" },
    fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  }).symbols;

const [F_ADD_SEALS, F_SEAL_SHRINK, F_SEAL_FUTURE_WRITE] = [1033, 2, 16];

/** A memfd of so many bytes with these seals. */
function memfd(byteLength: number, seals: number): number {
  const fd = libc().memfd_create(new TextEncoder().encode("theirs\0"), 2);
  libc().ftruncate(fd, BigInt(byteLength));
  if (seals !== 0) libc().fcntl(fd, F_ADD_SEALS, seals);
  return fd;
}

export default table(import.meta, {
  "an fd that is not a number": {
    run: () => host.attach(any("3"), BYTES),
    fails: { error: ArgumentError, api: "host", argument: "fd", message: /expected an fd, got "3"/ },
  },
  "an fd that is negative, and one beyond an int": {
    run: () => say(outcome(() => host.attach(-1, BYTES)), outcome(() => host.attach(2 ** 31, BYTES))),
    says: ["ArgumentError fd ArgumentError fd"],
  },
  "an fd that is not open": {
    run: () => host.attach(9999, BYTES),
    fails: {
      error: ArgumentError,
      api: "host",
      argument: "fd",
      message: /fd: 9999 is not open\./,
      hint: /open in this process/,
    },
  },
  "the fd of a terminal, a pipe or a file": {
    run: () => host.attach(0, BYTES),
    fails: { error: ArgumentError, api: "host", argument: "fd", message: /expected a memfd/, hint: /memfd_create/ },
  },
  "the fd of a pipe": {
    run() {
      const fds = new Int32Array(2);
      libc().pipe(fds);
      host.attach(fds[0], BYTES);
    },
    fails: {
      error: ArgumentError,
      api: "host",
      argument: "fd",
      message: /expected a memfd, got a pipe\./,
      hint: /exportFd/,
    },
  },
  "the fd of a regular file": {
    run() {
      host.attach(libc().open(new TextEncoder().encode("/proc/self/exe\0"), 0), BYTES);
    },
    fails: {
      error: ArgumentError,
      ...{ api: "host", argument: "fd" },
      message: /expected a memfd, got a regular file\./,
      hint: /host\.allocate\(\{ sharable: true \}\)\.exportFd\(\)/,
    },
  },
  "a memfd that can shrink": {
    run: () => host.attach(memfd(64, 0), BYTES),
    fails: { error: ArgumentError, api: "host", argument: "fd", message: /can shrink/, hint: /F_ADD_SEALS/ },
  },
  "a memfd that is too short": {
    run: () => host.attach(memfd(63, F_SEAL_SHRINK), BYTES),
    fails: { error: ArgumentError, api: "host", argument: "fd", message: /has 63 bytes, got a layout of 64/ },
  },
  "a layout that begins behind the end": {
    run: () => host.attach(memfd(64, F_SEAL_SHRINK), { ...BYTES, byteOffset: 2 ** 52 }),
    fails: { error: ArgumentError, api: "host", argument: "fd", message: /has 64 bytes/ },
  },
  "an invalid layout": {
    run: () => host.attach(memfd(64, F_SEAL_SHRINK), any({ shape: [64] })),
    fails: { error: LayoutError, api: "core", argument: "dtype", message: /expected a dtype/, hint: /u8/ },
  },
  "a frame with an option of another function": {
    run() {
      const info = imageInfo({ format: "GRAY8", width: 8, height: 8 });
      host.attach(memfd(64, F_SEAL_SHRINK), { info, ...any<object>({ align: 64 }) });
    },
    fails: { error: ArgumentError, api: "core", argument: "init", message: /unknown property align/, hint: /rowAlign/ },
  },
  "an access that the memfd does not permit": {
    run: () => host.attach(memfd(64, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE), BYTES, { access: "write" }),
    fails: { error: ArgumentError, api: "host", argument: "access", message: /can only be read/, hint: /"read"/ },
  },
  "a view of memory that can only be read, for writing": {
    run() {
      using tensor = host.attach(memfd(64, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE), BYTES);
      say(outcome(() => tensor.view({ access: "write" })));
    },
    says: ["AccessError access"],
  },
  "the fd closed as soon as it is attached": { // the tensor has a duplicate
    run() {
      const fd = memfd(64, F_SEAL_SHRINK);
      using tensor = host.attach(fd, BYTES);
      same("close", libc().close(fd), 0);
      tensor.view()[63] = 5;
      say(tensor.view()[63]);
    },
    says: ["5"],
  },
});
