// Memory of another process: read, written, and gone.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { host, NativeCallError } from "../../mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";
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

  ucxTest(`a command fails when the other process hangs, over ${transport}`, async () => {
    await using owner = new Child("owner.ts", [transport, `${LENGTH}`]);
    await using ucx = UcxContext.open({ transports: [transport] });
    const remote = ucx.connect(Uint8Array.fromBase64(await owner.line()), { timeout: 300 });
    const here = host.allocate({ shape: [LENGTH], dtype: "u8" });
    owner.signal("SIGSTOP");
    const fence = remote.tensors[0].get(here);
    const behind = remote.tensors[0].get(here);
    const error = await assertRejects(async () => await fence, NativeCallError);
    assertEquals(error.codeName, "UCS_ERR_TIMED_OUT");
    await assertRejects(async () => await behind, NativeCallError, "UCS_ERR_TIMED_OUT");
    await disposeFailed(here, remote);
    owner.signal("SIGCONT");
  });
}

/** What a failed command used throws its error as it ends, and has ended all the same. */
async function disposeFailed(...all: readonly AsyncDisposable[]): Promise<void> {
  for (const one of all) await assertRejects(async () => await one[Symbol.asyncDispose](), NativeCallError);
}
