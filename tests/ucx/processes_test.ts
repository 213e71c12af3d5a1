// Memory of another process: read, written, and gone.

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { UCP } from "../../ffi/ucx/functions.ts";
import { host, ledger, NativeCallError } from "../../mod.ts";
import { nextTurn } from "../../src/core/pace.ts";
import { ucp } from "../../src/ucx/library.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
import { advanceAll } from "../../src/ucx/worker.ts";
import { Child } from "./child.ts";
import { TRANSPORTS, ucxTest } from "./help.ts";

const LENGTH = 3_000_001; // more than what goes in one piece, and odd

for (const transport of TRANSPORTS) {
  ucxTest(`get() and put() reach another process over ${transport}`, async () => {
    await using owner = new Child("owner.ts", [transport, `${LENGTH}`]);
    await using ucx = UcxContext.open({ transports: [transport] });
    await using remote = ucx.connect(Uint8Array.fromBase64(await owner.line()));
    await using here = host.allocate({ shape: [LENGTH], dtype: "u8" });
    const [there] = remote.tensors;
    assertEquals([there.dtype, there.shape, remote.access], ["u8", [LENGTH], "read-write"]);
    await there.get(here);
    assert(here.view().every((value, i) => value === (i * 7 & 0xff)));
    here.view().fill(201);
    await there.put(here);
    assertEquals(await owner.ask("look"), "201");
    here.view().fill(0);
    await there.get(here);
    assert(here.view().every((value) => value === 201));
  });

  ucxTest(`a command fails when the other process dies, over ${transport}`, async () => {
    await using owner = new Child("owner.ts", [transport, `${LENGTH}`]);
    await using ucx = UcxContext.open({ transports: [transport] });
    const remote = ucx.connect(Uint8Array.fromBase64(await owner.line()), { timeout: 15_000 });
    const here = host.allocate({ shape: [LENGTH], dtype: "u8" });
    await remote.tensors[0].get(here);
    owner.signal("SIGKILL");
    await owner[Symbol.asyncDispose]();
    const error = await assertRejects(async () => await remote.tensors[0].get(here), NativeCallError);
    assert(["UCS_ERR_CONNECTION_RESET", "UCS_ERR_ENDPOINT_TIMEOUT"].includes(error.codeName!), error.message);
    await disposeFailed(here, remote);
  });

  ucxTest(`a process that hung in the middle of a get() writes nothing later, over ${transport}`, async () => {
    const length = 24_000_001; // more than the kernel keeps of it
    await using owner = new Child("owner.ts", [transport, `${length}`]);
    await using ucx = UcxContext.open({ transports: [transport] });
    const remote = ucx.connect(Uint8Array.fromBase64(await owner.line()), { timeout: 300 });
    const here = host.allocate({ shape: [length], dtype: "u8" });
    const bytes = new Uint8Array(
      Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(here.address)!, length),
    );
    const calls = ucp() as { ucp_worker_progress: UCP["ucp_worker_progress"] };
    const { ucp_worker_progress: progress } = calls;
    let hangs = false;
    calls.ucp_worker_progress = (worker) => {
      if (!hangs && bytes[1_000_001] !== 0) {
        owner.signal("SIGSTOP");
        hangs = true;
      }
      return progress(worker);
    };
    try {
      await assertRejects(async () => await remote.tensors[0].get(here), NativeCallError, "UCS_ERR_TIMED_OUT");
    } finally {
      calls.ucp_worker_progress = progress;
      owner.signal("SIGCONT");
    }
    assertEquals(bytes[length - 1], 0); // it has not come whole
    bytes.fill(201);
    assertEquals(await owner.ask("look"), "0");
    for (let i = 0; i < 100; i++) {
      advanceAll();
      await nextTurn();
    }
    assert(bytes.every((value) => value === 201));
    assertEquals(await owner.ask("look"), "0");
    await disposeFailed(here, remote);
  });

  for (const met of [true, false]) {
    const when = met ? "after a reply" : "before it was met";
    ucxTest(`a command fails when the other process hangs ${when}, and that goes on, over ${transport}`, async () => {
      await using owner = new Child("owner.ts", [transport, `${LENGTH}`]);
      const ucx = UcxContext.open({ transports: [transport] });
      const remote = ucx.connect(Uint8Array.fromBase64(await owner.line()), { timeout: 300 });
      const here = host.allocate({ shape: [LENGTH], dtype: "u8" });
      if (met) await remote.tensors[0].get(here);
      owner.signal("SIGSTOP");
      const { alive } = ledger;
      try {
        const fence = remote.tensors[0].get(here);
        const behind = remote.tensors[0].get(here);
        for (const one of [fence, behind]) {
          const error = await assertRejects(async () => await one, NativeCallError);
          assertEquals(error.codeName, "UCS_ERR_TIMED_OUT");
        }
        await disposeFailed(here, remote);
        await ucx[Symbol.asyncDispose]();
      } finally {
        owner.signal("SIGCONT");
      }
      assertEquals(ledger.alive["ucx.worker"], alive["ucx.worker"]); // it stays
      for (let i = 0; i < 3; i++) {
        assertEquals(await owner.ask("look"), "0");
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
  }
}

/** What a failed command used throws its error as it ends, and has ended all the same. */
async function disposeFailed(...all: readonly AsyncDisposable[]): Promise<void> {
  for (const one of all) await assertRejects(async () => await one[Symbol.asyncDispose](), NativeCallError);
}
