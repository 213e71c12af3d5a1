// What UCX's workers and requests go through that does not happen at will: UCX's functions return something else for a while.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Address, NULL } from "../../ffi/address.ts";
import { UCS_ERR_BUSY, UCS_INPROGRESS, UCS_OK } from "../../ffi/ucx/errors.ts";
import type { UCP } from "../../ffi/ucx/functions.ts";
import { host, NativeCallError } from "../../mod.ts";
import { type Undo, undoAll } from "../../src/core/life/undo.ts";
import { nextTurn } from "../../src/core/pace.ts";
import { opened } from "../../src/ucx/context.ts";
import { ucp } from "../../src/ucx/library.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { UcpWorker } from "../../src/ucx/worker.ts";
import { ucxTest } from "./help.ts";
import { create, freshPath, LARGE, open, openRings, publish } from "./ring_help.ts";

/** Has functions of UCX's be others for as long as `use` runs. */
async function replaced(others: (own: UCP) => Partial<UCP>, use: () => void | Promise<void>): Promise<void> {
  const calls = ucp();
  const own = { ...calls };
  Object.assign(calls, others(own));
  try {
    await use();
  } finally {
    Object.assign(calls, own);
  }
}

/** Some workers of one context. */
async function withWorkers(count: number, use: (workers: readonly UcpWorker[]) => void | Promise<void>): Promise<void> {
  const { handle } = opened({ TLS: "tcp", NET_DEVICES: "lo" });
  const undo: Undo = [() => ucp().ucp_cleanup(handle)];
  try {
    await use(Array.from({ length: count }, () => new UcpWorker(handle, undo)));
  } finally {
    undoAll(undo, "a test");
  }
}

ucxTest("a worker that is asked again and again keeps the others going", async () => {
  await withWorkers(2, async ([asked, other]) => {
    const advanced = new Set<bigint>();
    const progress = (own: UCP): Partial<UCP> => ({
      ucp_worker_progress: (worker) => (advanced.add(worker), own.ucp_worker_progress(worker)),
    });
    await replaced(progress, () => {
      for (let i = 0; i < 100; i++) asked.ask();
    });
    assertEquals(advanced, new Set([asked.handle, other.handle]));
  });
});

ucxTest("the event loop turns while UCX is busy and has nothing to do", async () => {
  await withWorkers(1, async ([worker]) => {
    let turn = 0;
    const turns: number[] = [];
    const busy = (own: UCP): Partial<UCP> => ({
      ucp_worker_arm: (worker) => {
        turns.push(turn);
        return turns.length < 50 ? UCS_ERR_BUSY : own.ucp_worker_arm(worker);
      },
    });
    await replaced(busy, async () => {
      const leave = worker.serve();
      for (; turns.length < 50; turn++) await nextTurn();
      leave();
    });
    assert(new Set(turns).size > 25, `50 questions in ${new Set(turns).size} turns`);
  });
});

ucxTest("a command that is over once its connection was given up is lost, and so are those behind it", async () => {
  await using ucx = UcxContext.open({ transports: ["tcp"] });
  await using there = host.allocate({ shape: [64], dtype: "u8" });
  await using share = ucx.share([there]);
  const remote = ucx.connect(share.ticket, { timeout: 50 });
  const here = host.allocate({ shape: [64], dtype: "u8" });
  let [gets, isCut] = [0, false];
  const late = (own: UCP): Partial<UCP> => ({
    ucp_get_nbx: (...of) => gets++ === 0 ? own.ucp_get_nbx(...of) : NULL,
    ucp_ep_close_nbx: (...of) => {
      isCut = true;
      return own.ucp_ep_close_nbx(...of);
    },
    ucp_request_check_status: (of) =>
      own.ucp_request_check_status(of) === UCS_INPROGRESS || !isCut ? UCS_INPROGRESS : UCS_OK,
  });
  await replaced(late, async () => {
    for (const fence of [remote.tensors[0].get(here), remote.tensors[0].get(here)]) {
      await assertRejects(async () => await fence, NativeCallError, "UCS_ERR_TIMED_OUT");
    }
  });
  assertEquals(gets, 1); // the second has not begun
  for (const one of [here, remote]) await assertRejects(async () => await one[Symbol.asyncDispose](), NativeCallError);
});

ucxTest("ring: each request is given back, those of messages that are dropped too", async () => {
  const left = new Set<Address>();
  const dropped = new Set<Address>();
  const kept = (request: Address) => {
    if (request !== NULL && BigInt.asIntN(64, request) > 0n) left.add(request);
    return request;
  };
  const counting = (own: UCP): Partial<UCP> => ({
    ucp_tag_send_nbx: (...of) => kept(own.ucp_tag_send_nbx(...of)),
    ucp_ep_flush_nbx: (...of) => kept(own.ucp_ep_flush_nbx(...of)),
    ucp_ep_close_nbx: (...of) => kept(own.ucp_ep_close_nbx(...of)),
    ucp_tag_msg_recv_nbx: (...of) => {
      const request = kept(own.ucp_tag_msg_recv_nbx(...of));
      if (of[1] === NULL) dropped.add(request);
      return request;
    },
    // As for a message that comes in pieces, of which some are on their way.
    ucp_request_check_status: (of) => dropped.has(of) ? UCS_INPROGRESS : own.ucp_request_check_status(of),
    ucp_request_free: (of) => {
      left.delete(of);
      dropped.delete(of);
      own.ucp_request_free(of);
    },
  });
  await replaced(counting, async () => {
    const { ucx, rings } = openRings(["tcp"]);
    await using _ = ucx;
    for (let i = 0; i < 3; i++) {
      const path = freshPath();
      await using ring = create(rings, path, 4, "wait", LARGE);
      const reader = await open(rings, path);
      await ring.joined();
      for (let i = 0; i < 4; i++) await publish(ring, i);
      await new Promise((resolve) => setTimeout(resolve, 5));
      reader[Symbol.dispose]();
      (await open(rings, path))[Symbol.dispose](); // what came after its end is dropped now
    }
  });
  assertEquals(left.size, 0);
});

ucxTest("ring: both sides register their frames with UCX once", async () => {
  const { ucx, rings } = openRings(["tcp"]);
  await using _ = ucx;
  const path = freshPath();
  await using ring = create(rings, path, 2, "wait", LARGE);
  await using reader = await open(rings, path);
  await ring.joined();
  let registered = 0;
  const counting = (own: UCP): Partial<UCP> => ({ ucp_mem_map: (...of) => (registered++, own.ucp_mem_map(...of)) });
  await replaced(counting, async () => {
    for (let i = 1; i <= 10; i++) {
      await publish(ring, i);
      (await reader.next())![Symbol.dispose]();
    }
  });
  assertEquals(registered, 0);
});
