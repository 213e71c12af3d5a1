/** What holds of dma-bufs on any machine, also where it can make none. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { host, imageInfo, InteropError, LayoutError, MapperGraph } from "@samepage/interop";
import { connect, listen, MessageError } from "@samepage/interop/channel";
import { dmabuf } from "@samepage/interop/dmabuf";
import { assertApart, planesAt } from "../../src/core/layout/frame_info.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { own } from "../../src/core/memory/own.ts";
import { findPlace, registerByHandle, registerPlace } from "../../src/core/memory/peers.ts";
import { onlyFd } from "../../src/dmabuf/library.ts";
import { modifierName } from "../../src/dmabuf/modifiers.ts";

const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });

Deno.test("dmabuf: every allocator is open, or closed with a reason and a remedy that name it", () => {
  const allocators = dmabuf.allocators();
  assertEquals(allocators[0].node, "/dev/udmabuf");
  assertEquals(new Set(allocators.map(({ kind }) => kind)), new Set(["udmabuf", "dma-heap", "dumb-buffer"]));
  for (const { node, open, reason, remedy } of allocators) {
    assert(open || (reason!.includes(node) && remedy!.length > 0), node);
  }
});

Deno.test("dmabuf: without /dev/udmabuf the edge from the host is closed, and says what would open it", () => {
  using graph = new MapperGraph([host, dmabuf]);
  using tensor = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
  const { open, refused } = graph.explain(tensor, dmabuf);
  assertEquals(open, dmabuf.allocators()[0].open);
  if (!open) assert(refused[0].reason.includes("/dev/udmabuf") && refused[0].remedy!.length > 0);
});

Deno.test("dmabuf: a received memfd goes to the first context that this machine lets take it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    using server = listen(`${folder}/socket`);
    using receiver = connect(`${folder}/socket`, { contexts: [dmabuf, host] });
    using bare = connect(`${folder}/socket`, { contexts: [dmabuf] });
    using sent = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
    const [{ open, reason }] = dmabuf.allocators();
    for (const [i, peer] of [receiver, bare].entries()) {
      using sender = await server.accept();
      await sender.send(sent);
      if (i === 1 && !open) {
        await assertRejects(() => peer.receive(), MessageError, reason);
        continue;
      }
      using received = await peer.receive();
      assertEquals(received?.target, open ? dmabuf : host);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("dmabuf: a layout has the kernel's name, or that of its vendor", () => {
  assertEquals(modifierName(0n), "DRM_FORMAT_MOD_LINEAR");
  assertEquals(modifierName(0x0100_0000_0000_0002n), "I915_FORMAT_MOD_Y_TILED");
  assertEquals(modifierName(0x00ff_ffff_ffff_ffffn), "DRM_FORMAT_MOD_INVALID");
  assertEquals(modifierName(0x0200_0000_0000_1234n), "0x0200000000001234 of AMD");
  assertEquals(modifierName(0x7f00_0000_0000_0001n), "0x7f00000000000001");
});

Deno.test("dmabuf: planes lie where somebody has put them, and apart", () => {
  const planes = planesAt(NV12, [{ offset: 256, stride: 128 }, { offset: 8192, stride: 64 }]);
  assertEquals(planes.map(({ byteOffset, strides }) => [byteOffset, strides[0]]), [[256, 128], [8192, 64]]);
  assertApart(planes);
  assertThrows(() => planesAt(NV12, [{}]), LayoutError, "expected 2 of NV12, got 1");
  assertThrows(() => planesAt(NV12, [{ stride: 63 }, {}]), LayoutError);
  assertThrows(() => assertApart(planesAt(NV12, [{}, { offset: 2047 }])), LayoutError, "overlap");
});

Deno.test("peers: an object that is a part of an allocation is known by its handle, for as long as it is registered", () => {
  const allocation = new Allocation({ kind: "test.block", byteLength: 64, free() {} });
  registerByHandle("whole", 7n, allocation);
  const forget = registerPlace("part", 7n, allocation, 16);
  const resource = own({ name: "owner", allocation });
  assertEquals([findPlace("whole", 7n)?.start, findPlace("part", 7n)?.start], [0, 16]);
  forget();
  assertEquals(findPlace("part", 7n), undefined);
  resource.dispose();
  assertEquals(findPlace("whole", 7n), undefined);
});

Deno.test("peers: an object of which an fd has left is known when its map has ended, until its memory is freed", () => {
  const allocation = new Allocation({ kind: "test.block", byteLength: 64, free() {} });
  const resource = own({ name: "owner", allocation });
  const endOfMap = registerPlace("dma-buf", 8n, allocation, 16);
  for (let i = 0; i < 2; i++) registerByHandle("dma-buf", 8n, allocation, 16);
  endOfMap();
  assertEquals(findPlace("dma-buf", 8n)?.start, 16);
  resource.dispose();
  assertEquals(findPlace("dma-buf", 8n), undefined);
});

Deno.test("onlyFd() throws all failures in one list, and keeps no fd, where what that took cannot be given back", () => {
  const [first, second] = [new Error("the memfd is stuck"), new Error("the node is stuck")];
  const stuck = (error: Error) => () => {
    throw error;
  };
  const notOpen = 0x7fff_ffff; // its close fails too
  const { errors } = assertThrows(() => onlyFd(() => notOpen, [stuck(second), stuck(first)]), InteropError);
  assertEquals(errors?.slice(0, 2), [first, second]);
  assert(errors?.length === 3 && String(errors[2]).includes("close"), String(errors));
});
