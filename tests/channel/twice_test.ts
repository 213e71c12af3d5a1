// Memory that comes twice, by two fds: the kernel identifies it, whichever API takes it.

import {
  assert,
  assertEquals,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { AccessError, ArgumentError, host, HostTensor, layout, MapperGraph, type Tensor } from "@samepage/interop";
import { MessageError } from "@samepage/interop/channel";
import { registerPlace } from "../../src/core/memory/peers.ts";
import { statusOf } from "../../src/core/native/fd.ts";
import { Device } from "./device.ts";
import { withProgram } from "./program.ts";
import * as raw from "./raw.ts";

const PAGE = 4096;

/** Another program's memfd. */
function memfd(pages: number): { readonly fd: number } & Disposable {
  const fd = raw.memfd(pages * PAGE);
  return { fd, [Symbol.dispose]: () => raw.close(fd) };
}

function asHost(tensor: Tensor): HostTensor {
  assert(tensor instanceof HostTensor);
  return tensor;
}

Deno.test("twice: a driver that imports fds by itself has one memory, and each part in its place", () =>
  withProgram([new Device()], async (say) => {
    using one = memfd(3);
    using other = memfd(3);
    const first = await say({ fd: one.fd, offset: PAGE, byteLength: 64 });
    using second = await say({ fd: one.fd, offset: PAGE + 32, byteLength: 2 * PAGE - 32 });
    using apart = await say({ fd: other.fd, offset: 0, byteLength: 64 });
    assertStrictEquals(second.grant.allocation, first.grant.allocation);
    assertNotStrictEquals(apart.grant.allocation, first.grant.allocation);
    assertEquals(first.grant.allocation.block.byteLength, 3 * PAGE);
    assertEquals([first.grant.start, first.grant.end], [PAGE, PAGE + 64]);
    assertEquals([second.grant.start, second.grant.end], [PAGE + 32, 3 * PAGE]);
    assertEquals([...first.grant.allocation.roots], [first.grant, second.grant]);
    first[Symbol.dispose]();
    using third = await say({ fd: one.fd, offset: 0, byteLength: 64 });
    assertStrictEquals(third.grant.allocation, second.grant.allocation);
  }));

Deno.test("twice: by two drivers, whichever is first, and none is left when all have ended", async () => {
  for (const contexts of [[new Device(), host], [host, new Device()], [new Device(), new Device()]]) {
    await withProgram(contexts, async (toOne, toOther) => {
      using memory = memfd(2);
      {
        using one = await toOne({ fd: memory.fd, offset: PAGE, byteLength: PAGE });
        using other = await toOther({ fd: memory.fd, offset: PAGE + 8, byteLength: 8 });
        assertStrictEquals(one.grant.allocation, other.grant.allocation);
        assertEquals([one.grant.start, other.grant.start], [PAGE, PAGE + 8]);
        using again = await toOne({ fd: memory.fd, offset: 0, byteLength: 8 });
        assertStrictEquals(again.grant.allocation, one.grant.allocation);
      }
      using later = await toOther({ fd: memory.fd, offset: 0, byteLength: 8 });
      assertEquals([...later.grant.allocation.roots], [later.grant]);
    });
  }
});

Deno.test("twice: what comes back is the part of the memory that it was, also when its sender has ended", () =>
  withProgram([new Device()], async (say) => {
    using memory = memfd(2);
    using source = host.allocate({ shape: [2 * PAGE], dtype: "u8" });
    const { identity } = statusOf(memory.fd);
    const { grant: { allocation, start } } = source;
    const forget = registerPlace("memfd", identity, allocation, start + 64);
    const first = await say({ fd: memory.fd, offset: 32, byteLength: 8 });
    forget();
    const second = await say({ fd: memory.fd, offset: 0, byteLength: 8 });
    assertStrictEquals(first.grant.allocation, allocation);
    assertStrictEquals(second.grant.allocation, allocation);
    assertEquals([first.grant.start, second.grant.start], [start + 96, start + 64]);
    first[Symbol.dispose]();
    second[Symbol.dispose]();
    using apart = await say({ fd: memory.fd, offset: 0, byteLength: 8 });
    assertNotStrictEquals(apart.grant.allocation, allocation);
  }));

Deno.test("twice: a part that ends behind its file does not reach a driver", async () => {
  const device = new Device();
  await withProgram([device], async (say) => {
    using memory = memfd(2);
    const error = await assertRejects(() => say({ fd: memory.fd, offset: PAGE + 1, byteLength: PAGE }), MessageError);
    assertEquals([error.argument, device.told], ["objects", []], error.message);
  });
});

Deno.test("twice: host memory has one writer, and no view outlives a writer", () =>
  withProgram([host, new Device()], async (toHost, toDevice) => {
    using memory = memfd(1);
    using first = asHost(await toHost({ fd: memory.fd, offset: 0, byteLength: 64 }));
    using second = asHost(await toHost({ fd: memory.fd, offset: 32, byteLength: 64 }));
    second.view()[0] = 7;
    assertEquals(first.view()[32], 7);
    using graph = new MapperGraph([host]);
    {
      const [one, other] = [first.view(), second.view()];
      using _writer = first.slice(layout({ shape: [64], dtype: "u8" }));
      assertEquals([one.length, other.length], [0, 0], "views of both");
      assertThrows(() => second.view(), AccessError);
      assertThrows(() => graph.map(second, host, { access: "read" }), AccessError);
      using third = await toDevice({ fd: memory.fd, offset: 40, byteLength: 8 });
      assertThrows(() => third.assertUsable("read"), AccessError);
    }
    assertEquals(second.view()[0], 7);
  }));

Deno.test("twice: the CPU waits for the work of a driver that took the memory first, and outlives it", async () => {
  const device = new Device();
  await withProgram([device, host], async (toDevice, toHost) => {
    using memory = memfd(2);
    const taken = await toDevice({ fd: memory.fd, offset: 0, byteLength: PAGE });
    using reader = asHost(await toHost({ fd: memory.fd, offset: PAGE - 32, byteLength: 64, access: "read" }));
    using one = asHost(await toHost({ fd: memory.fd, offset: PAGE - 32, byteLength: 64 }));
    const other = asHost(await toHost({ fd: memory.fd, offset: PAGE, byteLength: 64 }));
    assertThrows(() => one.view(), AccessError, "work that has not finished");
    device.line.lane.run(); // the driver's acquire
    one.view()[32] = 5;
    assertEquals([other.view()[0], other.address - one.address], [5, 32n], "one mapping");
    assertEquals(
      [reader.view()[32], reader.address],
      [5, one.address],
      "mapped for writing from the first that writes",
    );
    assertThrows(() => host.wrap(one.address, { shape: [8], dtype: "u8" }), ArgumentError, "mapped for the host");
    taken[Symbol.dispose]();
    other[Symbol.dispose]();
    assertEquals(one.view()[32], 5);
  });
});
