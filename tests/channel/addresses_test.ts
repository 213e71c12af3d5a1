// A message may come with a file that is longer than anybody's memory. Only what it means takes addresses of this process.

import { assert, assertEquals, assertMatch, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, host, layout, ledger } from "../../mod.ts";
import { listen } from "../../src/channel/mod.ts";
import { encoded, KINDS } from "../../src/channel/message.ts";
import { foreignAddresses } from "../../src/core/native/foreign_addresses.ts";
import { HostTensor } from "../../src/host/mod.ts";
import { runModule } from "../process.ts";
import { warningsOf } from "../warnings.ts";
import { Device } from "./device.ts";
import { temporaryPath, withNothingLeft } from "./help.ts";
import { type Say, withProgram } from "./program.ts";
import * as raw from "./raw.ts";

const PAGE = 4096;
const TIB = 2 ** 40;

/** A sparse memfd, which is closed at the end. */
function sparse(to: DisposableStack, byteLength: number): number {
  return to.adopt(raw.memfd(byteLength), raw.close);
}

/** Runs `use` with a program that sends to the host; afterwards no address of this process is counted as others' memory. */
async function withSparse(
  use: (say: (sent: Parameters<Say>[0]) => Promise<HostTensor>) => Promise<void>,
): Promise<void> {
  const before = foreignAddresses.taken;
  await withProgram([host], (say) =>
    use(async (sent) => {
      const tensor = await say(sent);
      assert(tensor instanceof HostTensor);
      return tensor;
    }));
  assertEquals(foreignAddresses.taken, before);
}

Deno.test("peer.receive() maps the pages that are meant of a memfd of 32 TiB", () =>
  withSparse(async (say) => {
    using fds = new DisposableStack();
    const before = foreignAddresses.taken;
    const fd = sparse(fds, 32 * TIB);
    using first = await say({ fd, offset: 7 * TIB + 100, byteLength: 64 });
    assertEquals(foreignAddresses.taken - before, PAGE);
    first.view()[0] = 5;
    using second = await say({ fd, offset: 7 * TIB + 90, byteLength: 64 }); // in the same page
    assertEquals([foreignAddresses.taken - before, second.view()[10]], [PAGE, 5]);
    using third = await say({ fd, offset: 7 * TIB - 4, byteLength: PAGE + 200 });
    assertEquals([foreignAddresses.taken - before, third.view()[104]], [4 * PAGE, 5]);
    using fourth = await say({ fd, offset: 7 * TIB, byteLength: PAGE + 1 }); // longer than what is mapped from there
    assertEquals([foreignAddresses.taken - before, fourth.view()[100]], [6 * PAGE, 5]);
  }));

Deno.test("peer.receive() keeps law 3 between parts of one memfd that are mapped apart", () =>
  withSparse(async (say) => {
    using fds = new DisposableStack();
    const fd = sparse(fds, 32 * TIB);
    using one = await say({ fd, offset: TIB, byteLength: 2 * PAGE });
    using other = await say({ fd, offset: TIB + PAGE, byteLength: PAGE });
    assertStrictEquals(one.grant.allocation, other.grant.allocation);
    const view = one.view();
    {
      using _writer = other.slice(layout({ shape: [PAGE], dtype: "u8" }));
      assertEquals(view.length, 0, "the view is revoked");
      assertThrows(() => one.view(), AccessError);
    }
    assertThrows(() => host.wrap(other.address, { shape: [8], dtype: "u8" }), ArgumentError, "mapped for the host");
  }));

Deno.test("peer.receive() maps parts for writing from the first that writes", () =>
  withSparse(async (say) => {
    using fds = new DisposableStack();
    const fd = sparse(fds, 32 * TIB);
    using reader = await say({ fd, offset: TIB, byteLength: PAGE, access: "read" });
    assertEquals(reader.view()[8], 0);
    using writer = await say({ fd, offset: TIB + 8, byteLength: 2 * PAGE });
    writer.view()[0] = 9;
    using again = await say({ fd, offset: TIB, byteLength: PAGE });
    again.view()[9] = 3; // in the pages that were mapped for reading
    assertEquals([reader.view()[8], reader.view()[9]], [9, 3]);
  }));

Deno.test("host.attach() maps the pages that are meant of a memfd of 32 TiB", async () => {
  const before = foreignAddresses.taken;
  await withNothingLeft(async () => {
    using fds = new DisposableStack();
    const fd = sparse(fds, 32 * TIB);
    using tensor = host.attach(fd, { shape: [64], dtype: "u8", byteOffset: 31 * TIB });
    tensor.view().fill(1);
    assertEquals(foreignAddresses.taken - before, PAGE);
    await Promise.resolve();
  });
  assertEquals(foreignAddresses.taken, before);
});

Deno.test("peer.receive() refuses more addresses than memory of others may take, until some are unmapped", async () => {
  const before = foreignAddresses.taken;
  await withNothingLeft(async () => {
    await using at = await temporaryPath();
    using server = listen(at.path, { contexts: [host] });
    using ending = new DisposableStack();
    const receive = async (byteLength: number) => {
      const socket = ending.adopt(raw.connectRaw(at.path), raw.close);
      const peer = ending.use(await server.accept());
      const planes = [{ dtype: "u8", shape: [byteLength / PAGE, PAGE], strides: [PAGE, 1], byteOffset: 0 }];
      const body = { memory: "memfd", access: "read", sync: "done", objects: [{ offset: 0, byteLength }], planes };
      raw.sendRaw(socket, encoded(KINDS.memory, 1, body), [sparse(ending, byteLength)]);
      return (await peer.receive())!;
    };
    const first = await receive(8 * TIB);
    using second = await receive(7 * TIB);
    const error = await assertRejects(() => receive(2 * TIB), ArgumentError);
    assertMatch(error.message, /memory of other processes would take 17408 GiB of addresses/);
    assertEquals(foreignAddresses.taken - before, 15 * TIB);
    first[Symbol.dispose]();
    using third = await receive(2 * TIB);
    assertEquals([second.access, third.access, foreignAddresses.taken - before], ["read", "read", 9 * TIB]);
  });
  assertEquals(foreignAddresses.taken, before);
});

Deno.test("peer.receive() counts what a driver maps of an opaque fd", async () => {
  const uuid = "fa".repeat(16);
  const before = foreignAddresses.taken;
  await withNothingLeft(async () => {
    await using at = await temporaryPath();
    using device = new Device({ uuid });
    using server = listen(at.path, { contexts: [device] });
    using ending = new DisposableStack();
    const socket = ending.adopt(raw.connectRaw(at.path), raw.close);
    const peer = ending.use(await server.accept());
    const planes = [{ dtype: "u8", shape: [64], strides: [1], byteOffset: 0 }];
    const send = (whole: number) => {
      const objects = [{ offset: 0, byteLength: 64, memory: { byteLength: whole, dedicated: false, identity: "7" } }];
      const body = { memory: "opaque-fd", device: uuid, access: "read", sync: "done", objects, planes };
      raw.sendRaw(socket, encoded(KINDS.memory, 1, body), [sparse(ending, whole)]);
    };
    send(8 * TIB);
    const first = (await peer.receive())!;
    assertEquals(foreignAddresses.taken - before, 8 * TIB);
    first[Symbol.dispose]();
    assertEquals(foreignAddresses.taken, before);
    send(32 * TIB);
    await assertRejects(() => peer.receive(), ArgumentError, "addresses");
    assertEquals(device.told.length, 1);
  });
  assertEquals(foreignAddresses.taken, before);
});

Deno.test("a peer that sends pages of files of 32 TiB, and shorter ones when refused, does not end the process", async () => {
  const source = `
    import { host } from "./src/host/mod.ts";
    import { listen } from "./src/channel/mod.ts";
    import { encoded, KINDS } from "./src/channel/message.ts";
    import * as raw from "${new URL("./raw.ts", import.meta.url)}";
    const path = Deno.makeTempDirSync() + "/socket";
    using server = listen(path, { contexts: [host] });
    const [offset, byteLength, kept] = [0, 4096, []];
    const planes = [{ dtype: "u8", shape: [byteLength], strides: [1], byteOffset: 0 }];
    const bytes = encoded(KINDS.memory, 1, { memory: "memfd", access: "read", sync: "done", objects: [{ offset, byteLength }], planes });
    let length = 2 ** 45;
    for (let i = 0; i < 600; i++) {
      const socket = raw.connectRaw(path);
      const peer = await server.accept();
      const fd = raw.memfd(length);
      raw.sendRaw(socket, bytes, [fd]);
      raw.close(fd);
      try {
        kept.push(await peer.receive());
      } catch {
        length = Math.max(length / 2, 4096);
      }
      peer[Symbol.dispose]();
      raw.close(socket);
    }
    const objects = Array.from({ length: 100 }, (_, i) => new Array(100_000).fill(i).map((x) => ({ x }))); // V8 needs memory, too
    console.log(kept.length, length === 2 ** 45, objects.length);
  `;
  const { code, stdout, stderr } = await runModule(source);
  assertEquals([code, stdout], [0, "600 true 100\n"], stderr.slice(0, 2000));
});

Deno.test("host.attach() says that no addresses are left where the kernel refuses, and what to do", async () => {
  const source = `
    import { ArgumentError, host } from "@samepage/interop";
    import { foreignAddresses } from "./src/core/native/foreign_addresses.ts";
    import { reservePages, unmapPages } from "./src/core/native/blocks.ts";
    import * as raw from "${new URL("./raw.ts", import.meta.url)}";
    const fd = raw.memfd(2 ** 20);
    const taken = [];
    // V8 takes pages of 256 KiB at any time, and ends the process where it gets none: holes are left that the file is too
    // large for.
    const room = reservePages(2 ** 26);
    for (let at = 0; at < 2 ** 26; at += 2 ** 20) unmapPages(room + BigInt(at), 2 ** 19);
    for (let length = 2 ** 46; length >= 2 ** 20;) {
      try {
        taken.push([reservePages(length), length]); // what other Workers and drivers have, to this one
      } catch {
        length /= 2;
      }
    }
    let error;
    try {
      host.attach(fd, { shape: [2 ** 20], dtype: "u8" });
    } catch (thrown) {
      error = thrown;
    }
    for (const [address, length] of taken) unmapPages(address, length);
    console.log(error instanceof ArgumentError, error?.message, error?.hint, foreignAddresses.taken);
    using tensor = host.attach(fd, { shape: [2 ** 20], dtype: "u8" });
    console.log(tensor.view().length);
  `;
  const { code, stdout, stderr } = await runModule(source);
  assertEquals(code, 0, stderr.slice(0, 2000));
  const [said, length] = stdout.trim().split("\n");
  assertMatch(said, /^true .*the process has \d+ GiB of addresses in use, of the \d+ GiB.* Dispose tensors .* 0$/);
  assertEquals(length, String(2 ** 20));
});

// The last: what it keeps counts for good.
Deno.test("host.attach() keeps the pages of a moved view that it has mapped, and counts no others of the file", async () => {
  using fds = new DisposableStack();
  const before = ledger.quarantinedBytes;
  const tensor = host.attach(sparse(fds, 4 * 2 ** 30), { shape: [64], dtype: "u8", byteOffset: 2 ** 30 });
  tensor.view().buffer.transfer();
  const warnings = await warningsOf(() => Promise.resolve(tensor[Symbol.dispose]()));
  assertMatch(warnings.join(), /a view of 4096 bytes \(host\.memfd\) was moved away/);
  assertEquals(ledger.quarantinedBytes - before, PAGE);
});
