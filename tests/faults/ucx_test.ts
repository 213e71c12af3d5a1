/** Every native call for UCX fails once: what comes of it is typed, and nothing stays. */
import { assertEquals } from "@std/assert";
import { host } from "../../mod.ts";
import { installTap } from "./tap.ts";
import { sweep } from "./sweep.ts";

installTap();
const { UcxContext } = await import("../../src/ucx/mod.ts");
const { ucxTest } = await import("../ucx/help.ts");
const { create, freshPath, open, openRings } = await import("../ucx/ring_help.ts");

const BYTES = { shape: [64], dtype: "u8" } as const;
const WAITS = ["ucx.ucp_worker_arm", "libc.epoll_ctl", "libc.epoll_create1", "libc.eventfd"]
  .concat(["libc.write", "libc.read", "libc.close"]);
const seen = new Set<string>();

function test(name: string, operation: () => unknown, silent: readonly string[] = []): void {
  ucxTest(`faults: ucx: ${name}`, async () => {
    await operation();
    for (const { call } of await sweep(operation, () => {}, silent)) seen.add(call);
  });
}

test("opening", () => UcxContext.open({ transports: ["tcp"] })[Symbol.dispose]());

test("sharing", () => {
  using ucx = UcxContext.open({ transports: ["tcp"] });
  using tensor = host.allocate(BYTES);
  using _share = ucx.share([tensor, tensor]);
});

test("connecting, and commands", () => {
  using ucx = UcxContext.open({ transports: ["tcp"] });
  using there = host.allocate(BYTES);
  using share = ucx.share([there], { access: "read-write" });
  using here = host.allocate(BYTES);
  using remote = ucx.connect(share.ticket);
  remote.tensors[0].get(here).waitSync();
  remote.tensors[0].put(here).waitSync();
});

/** Where nothing reports that bytes have come, they are looked for by a timer, and a warning says so. */
test("a wait", async () => {
  await using ucx = UcxContext.open({ transports: ["tcp"] });
  await using there = host.allocate(BYTES);
  await using share = ucx.share([there]);
  await using here = host.allocate(BYTES);
  await using remote = ucx.connect(share.ticket);
  await remote.tensors[0].get(here);
}, WAITS);

test("making a ring", () => {
  const { ucx, rings } = openRings(["tcp"]);
  using _ = ucx;
  using _ring = create(rings, freshPath(), 2);
});

/**
 * A side that cannot go on leaves the ring, which is the end for the other one. A reader throws what it has failed by when
 * it is asked for the next frame, which this one is not.
 */
test("a ring", async () => {
  const { ucx, rings } = openRings(["tcp"], { timeout: 1_000 });
  await using _ = ucx;
  const path = freshPath();
  await using ring = create(rings, path, 2);
  await using reader = await open(rings, path);
  const signal = AbortSignal.timeout(20_000);
  await ring.joined({ signal });
  const published = await ring.next({ signal });
  await ring.publish(published);
  using frame = await reader.next({ signal });
  frame?.[Symbol.dispose]();
  await ring.flush({ signal });
}, [...WAITS, "ucx.ucp_tag_send_nbx"]);

ucxTest("faults: ucx: each function that can fail has failed", () => {
  const expected = ["ucp_config_read", "ucp_config_modify", "ucp_init_version", "ucp_worker_create"]
    .concat(["ucp_worker_get_efd", "ucp_worker_get_address", "ucp_mem_map", "ucp_mem_unmap", "ucp_rkey_pack"])
    .concat(["ucp_ep_create", "ucp_ep_close_nbx", "ucp_ep_rkey_unpack", "ucp_get_nbx", "ucp_put_nbx"])
    .concat(["ucp_ep_flush_nbx", "ucp_worker_arm", "ucp_tag_send_nbx", "ucp_tag_msg_recv_nbx"]).map((fn) =>
      `ucx.${fn}`
    );
  assertEquals(expected.filter((call) => !seen.has(call)), []);
});
