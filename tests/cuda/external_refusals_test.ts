/** What of CUDA's memory OpenCL is not given, and why: rules that need no GPU. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { cudaVirtualToOpenCL, host, ledger, NativeCallError, type Refusal } from "@samepage/interop";
import { Allocation } from "../../src/core/memory/allocation.ts";
import type { Target } from "../../src/core/graph/context.ts";
import { Described } from "../../src/core/tensors/described.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { libc } from "../../src/core/native/libc.ts";
import { F_DUPFD_CLOEXEC } from "../../ffi/libc/constants.ts";
import { open, test } from "../opencl/help.ts";

const UUID = "0123456789abcdef0123456789abcdef";

/** A tensor of virtual memory, as a route describes it. */
function described(about: { readonly live?: boolean; readonly sharable?: boolean } = {}): Described {
  const { live = true, sharable = true } = about;
  const context = { name: "a GPU", id: { uuid: UUID }, resource: { state: live ? "live" : "freed" } };
  const block = { ...(sharable ? { duplicateFd: () => 5 } : {}), hostAddress: undefined };
  const target = { kind: "cuda.virtual", context, blockOf: () => block } as unknown as Target;
  const allocation = new Allocation({ kind: "test.block", byteLength: 64, free() {} });
  allocation.join();
  allocation.leave();
  return new Described(target, "read-write", [{ layout: layout({ shape: [64], dtype: "u8" }), allocation, start: 0 }]);
}

/** An OpenCL context that takes fds, unless it is said why not. */
function opencl(uuid?: string, problem?: string): Target {
  const context = {
    name: "another GPU",
    id: uuid === undefined ? {} : { uuid },
    queue: { resource: { state: "live" } },
    external: { problem },
  };
  return { kind: "opencl", context } as unknown as Target;
}

function refusalOf(source: Described, target: Target): Refusal {
  const answer = cudaVirtualToOpenCL.probe(source, target, "read-write", []);
  assert("reason" in answer, "it was not refused");
  assertEquals(answer.edge, "cuda.virtual→opencl");
  return answer;
}

Deno.test("CUDA's memory goes to OpenCL on the same device alone, and both UUIDs are told", () => {
  const other = "f".repeat(32);
  const { reason } = refusalOf(described(), opencl(other));
  assert(reason.includes(UUID) && reason.includes(other), reason);
  assert(refusalOf(described(), opencl(undefined)).reason.includes("does not tell its UUID"));
});

Deno.test("CUDA's memory without an fd, of a disposed context, or for a driver that takes none, is refused", () => {
  assert(refusalOf(described({ sharable: false }), opencl(UUID)).reason.includes("without an fd"));
  assert(refusalOf(described({ live: false }), opencl(UUID)).reason.includes("disposed"));
  assertEquals(refusalOf(described(), opencl(UUID, "it has no fds.")).reason, "it has no fds.");
});

test("a platform that imports no memory says which extension it lacks", ["pocl"], () => {
  using cl = open("pocl");
  const { problem } = cl.external;
  assert(problem?.includes("cl_khr_external_memory"), problem);
  assertEquals(refusalOf(described(), cl).reason, problem);
});

test("an fd that no buffer could be made of is closed, and nothing is left", ["pocl"], () => {
  using cl = open("pocl");
  using memory = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
  const fd = memory.exportFd();
  const before = ledger.alive;
  assertThrows(() => cl.external.buffer(fd, 4096, []), NativeCallError, "clCreateBufferWithProperties");
  assertEquals(ledger.alive, before);
  assertEquals(libc().fcntl(fd, F_DUPFD_CLOEXEC, 0), -1); // EBADF
});
