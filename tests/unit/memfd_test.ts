import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  F_ADD_SEALS,
  F_SEAL_FUTURE_WRITE,
  F_SEAL_GROW,
  F_SEAL_SHRINK,
  F_SEAL_WRITE,
  MFD_ALLOW_SEALING,
  O_RDONLY,
  O_WRONLY,
} from "../../ffi/libc/constants.ts";
import { Port } from "../../src/core/device/port.ts";
import { AccessError, ArgumentError } from "../../src/core/errors.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { ledger } from "../../src/core/life/ledger.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { cString } from "../../src/core/native/text.ts";
import { Metadata } from "../../src/core/tensors/metadata.ts";
import { host } from "../../src/host/mod.ts";
import { socketPair } from "../libc.ts";
import { withEmptyLedger } from "./ledger.ts";
import { assertOpenFds, openFds } from "../gc.ts";

const BYTES = { shape: [4096], dtype: "u8" } as const;
const SEALED = F_SEAL_SHRINK | F_SEAL_GROW;

/** A memfd as another program makes it. */
function memfd(byteLength: number, seals: number): number {
  const fd = libc().memfd_create(cString("theirs"), MFD_ALLOW_SEALING);
  assertEquals(libc().ftruncate(fd, BigInt(byteLength)), 0);
  assertEquals(libc().write(fd, Uint8Array.of(1, 2, 3, 4), 4n), 4n);
  assertEquals(libc().fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

/** Another fd of the same file, opened as `flags` say. */
function reopened(fd: number, flags: number): number {
  return libc().open(cString(`/proc/self/fd/${fd}`), flags, 0);
}

/** A test that leaves no fd open and nothing alive. */
function test(name: string, run: () => void, expected?: Parameters<typeof withEmptyLedger>[1]): void {
  Deno.test(
    `memfd: ${name}`,
    withEmptyLedger(() => {
      libc();
      const before = openFds();
      run();
      assertOpenFds(before);
    }, expected),
  );
}

test("a tensor over a memfd of another program is its memory, and the fd stays the caller's", () => {
  const fd = memfd(4096, SEALED);
  const tensor = host.attach(fd, BYTES);
  assertEquals(ledger.alive, { "host.memfd": 1, "host.fd": 1 });
  assertEquals([...tensor.view().subarray(0, 4)], [1, 2, 3, 4]);
  tensor.view()[0] = 9;
  const seen = new Uint8Array(1);
  libc().lseek(fd, 0n, 0);
  libc().read(fd, seen, 1n);
  assertEquals([seen[0], tensor.access], [9, "read-write"]);
  closeFd(fd);
  assertEquals(tensor.view()[0], 9);
  tensor[Symbol.dispose]();
});

test("tensors over one memfd are peers, by whatever fd they came", () => {
  using first = host.allocate({ ...BYTES, sharable: true });
  const [fd, other] = [first.exportFd(), first.exportFd()];
  using second = host.attach(fd, BYTES);
  using third = host.attach(other, { shape: [16], dtype: "u8", byteOffset: 32 });
  closeFd(fd);
  closeFd(other);
  assertEquals([second.address, third.address], [first.address, first.address + 32n]);
  assertStrictEquals(second.grant.allocation, first.grant.allocation);
  using _part = third.borrow("read-write");
  assertThrows(() => first.view(), AccessError);
});

test("the memory outlives its first owner", () => {
  const first = host.allocate({ ...BYTES, sharable: true });
  first.view()[7] = 7;
  const fd = first.exportFd();
  using second = host.attach(fd, BYTES);
  first[Symbol.dispose]();
  using third = host.attach(fd, BYTES);
  closeFd(fd);
  assertEquals([second.view()[7], third.view()[7]], [7, 7]);
});

test("a view that was moved away keeps the mapping, and no fd", () => {
  const fd = memfd(4096, SEALED);
  const tensor = host.attach(fd, BYTES);
  closeFd(fd);
  const moved = tensor.view().buffer.transfer();
  tensor[Symbol.dispose]();
  assertEquals([...new Uint8Array(moved, 0, 4)], [1, 2, 3, 4]);
}, { quarantined: 4096 });

test("a memfd that was let go is another block when it comes back", () => {
  const fd = memfd(4096, SEALED);
  for (let i = 0; i < 3; i++) {
    using tensor = host.attach(fd, BYTES);
    tensor.view()[0]++;
    assertEquals(tensor.view()[0], 2 + i);
  }
  closeFd(fd);
});

const readOnly: readonly (readonly [what: string, seals: number, flags?: number])[] = [
  ["an fd that was opened for reading", SEALED, O_RDONLY],
  ["a memfd that is sealed against new writers", SEALED | F_SEAL_FUTURE_WRITE],
  ["a memfd that is sealed against all writers", SEALED | F_SEAL_WRITE],
];
for (const [what, seals, flags] of readOnly) {
  test(`${what} is for reading`, () => {
    const fd = memfd(4096, seals);
    const given = flags === undefined ? fd : reopened(fd, flags);
    {
      using tensor = host.attach(given, BYTES);
      assertEquals([tensor.access, tensor.view()[3]], ["read", 4]);
      assertThrows(() => host.attach(given, BYTES, { access: "read-write" }), ArgumentError, "can only be read");
      assertThrows(() => host.wrap(tensor.handle, BYTES), ArgumentError, "read-only");
      using _peer = host.wrap(tensor.handle, BYTES, { access: "read" });
    }
    for (const open of new Set([fd, given])) closeFd(open);
  });
}

test("memory that came for reading can be written once an fd for writing came", () => {
  const fd = memfd(4096, SEALED);
  const forReading = reopened(fd, O_RDONLY);
  using reader = host.attach(forReading, BYTES);
  const seen = reader.view();
  using writer = host.attach(fd, BYTES, { access: "write" });
  writer.view()[5] = 5;
  assertEquals([seen[5], writer.address], [5, reader.address]);
  const port = host.ports.export!(writer, "memfd", 16, "read-write", false).port;
  const again = port.takeFd();
  closeFd(fd);
  closeFd(forReading);
  reader[Symbol.dispose]();
  using third = host.attach(again, BYTES);
  assertEquals(third.access, "read-write");
  closeFd(again);
});

test("a frame lies where it says", () => {
  const info = imageInfo({ format: "NV12", width: 64, height: 16 });
  using frame = host.allocateFrame(info, { rowAlign: 128, sharable: true });
  frame.planes[1].bytes().fill(3);
  const { port } = host.ports.export!(frame.planes[1], "memfd", 100, "read", false);
  assertEquals([port.offset, port.byteLength], [128 * 16, 100]);
  const fd = port.takeFd();
  using same = host.attach(fd, { info, rowAlign: 128, metadata: new Metadata({ timestamp: { pts: 5n } }) });
  closeFd(fd);
  assertEquals(same.planes.map(({ address }) => address), frame.planes.map(({ address }) => address));
  assertEquals([same.metadata.get("timestamp")?.pts, same.planes[1].bytes()[5]], [5n, 3]);
  assertStrictEquals(same.grants[0].allocation, frame.grants[0].allocation);
});

test("a guarded tensor does not begin where its memfd does", () => {
  using tensor = host.allocate({ shape: [100], dtype: "u8", sharable: true, guard: true });
  const { port } = host.ports.export!(tensor, "memfd", 100, "read", false);
  const fd = port.takeFd();
  using same = host.attach(fd, { shape: [100], dtype: "u8", byteOffset: port.offset });
  closeFd(fd);
  assertEquals([port.offset, same.address], [4096 - 100, tensor.address]);
});

test("an import that ends by itself leaves nothing", () => {
  const fd = memfd(4096, SEALED);
  using tensor = host.attach(fd, BYTES);
  const { port } = host.ports.export!(tensor, "memfd", 4096, "read", false);
  const { handle, release } = host.ports.import!(port, "read");
  assertEquals(handle, tensor.address);
  release!();
  closeFd(fd);
});

const refused: readonly (readonly [what: string, open: () => number, message: string])[] = [
  ["a memfd that may shrink", () => memfd(4096, F_SEAL_GROW), "can shrink"],
  ["a memfd that is too short", () => memfd(4095, SEALED), "has 4095 bytes, got a layout of 4096"],
  ["an empty memfd", () => libc().memfd_create(cString("x"), 0), "can shrink"],
  ["a regular file", () => libc().open(cString(import.meta.filename!), O_RDONLY, 0), "a regular file"],
  ["a device", () => libc().open(cString("/dev/zero"), O_RDONLY, 0), "a device"],
  ["a directory", () => libc().open(cString("/"), O_RDONLY, 0), "another kind"],
  [
    "shared memory with a name",
    () => libc().open(cString(Deno.makeTempFileSync({ dir: "/dev/shm" })), O_RDONLY, 0),
    "",
  ],
];
for (const [what, open, message] of refused) {
  test(`${what} is refused`, () => {
    const fd = open();
    assert(fd >= 0);
    const path = Deno.readLinkSync(`/proc/self/fd/${fd}`);
    const error = assertThrows(() => host.attach(fd, BYTES), ArgumentError, message);
    assertEquals(error.argument, "fd");
    closeFd(fd);
    if (path.startsWith("/dev/shm/")) Deno.removeSync(path);
  });
}

test("a port's bytes end where its memfd does, wherever they begin in it", () => {
  const fd = memfd(8192, SEALED);
  const port = (offset: number) => new Port("memfd", { fd: reopened(fd, O_RDONLY), offset, byteLength: 4096 });
  const before = openFds();
  const { release } = host.ports.import!(port(4096), "read");
  release!();
  assertThrows(() => host.ports.import!(port(4097), "read"), ArgumentError, "has 8192 bytes, got a layout of 8193");
  assertOpenFds(before);
  closeFd(fd);
});

test("an fd for writing only, a socket and a number that is not open are refused", () => {
  const fd = memfd(4096, SEALED);
  const forWriting = reopened(fd, O_WRONLY);
  const [socket, far] = socketPair();
  assertThrows(() => host.attach(forWriting, BYTES), ArgumentError, "for writing only");
  assertThrows(() => host.attach(socket, BYTES), ArgumentError, "a socket");
  for (const open of [fd, forWriting, socket, far]) closeFd(open);
  assertThrows(() => host.attach(fd, BYTES), ArgumentError, `fd: ${fd} is not open`);
});
