import type { Address } from "../../ffi/address.ts";
import * as ze from "../../ffi/levelzero/constants.ts";
import * as layouts from "../../ffi/levelzero/structs.ts";
import type { Exported, Imported, Offer } from "../core/contract.ts";
import { Port } from "../core/device/port.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import { closedOnExec, closeFd } from "../core/native/fd.ts";
import type { OtherPorts } from "../core/tensors/unified.ts";
import { check, levelZero, made } from "./library.ts";
import type { OpenContext } from "./open_context.ts";
import { struct } from "./struct.ts";
import type { LevelZeroTensor, LevelZeroUsm } from "./usm.ts";

/** Exports device memory as dma-bufs, and imports dma-bufs as device memory. */
export function dmaBufPorts(usm: LevelZeroUsm): OtherPorts<LevelZeroTensor> {
  const { context: { native: open, device: { name, dmaBuf } } } = usm;
  const closed = (is: boolean, verb: string) => is ? undefined : { reason: `${name} ${verb} no dma-bufs.` };
  const exported: Offer = {
    kind: "dma-buf",
    closed: () => closed(dmaBuf.exports, "exports"),
    refuse: ({ allocation }) => usm.blockOf(allocation)?.usm === "device" ? undefined : NOT_OWN,
    sample: () => ({ name: "device memory by its dma-buf", make: (length, undo) => sampleOf(usm, length, undo) }),
  };
  return {
    exports: [exported],
    imports: [{ kind: "dma-buf", closed: () => closed(dmaBuf.imports, "imports") }],
    export: (tensor, _kind, byteLength) => exportDmaBuf(open, usm, tensor, byteLength),
    import: (port) => importDmaBuf(open, port),
  };
}

const NOT_OWN = {
  reason: "Level Zero exports only device memory that it allocated in this context.",
  remedy: 'Allocate it: levelZero.usm.allocate({ kind: "device", … }).',
};

function sampleOf(usm: LevelZeroUsm, byteLength: number, undo: Undo): LevelZeroTensor {
  const tensor = usm.allocate({ kind: "device", shape: [byteLength], dtype: "u8" });
  undo.push(() => tensor[Symbol.dispose]());
  return tensor;
}

/** The fd stands for the whole allocation; the port begins where the tensor does. */
function exportDmaBuf(
  { handle }: OpenContext,
  usm: LevelZeroUsm,
  { address, grant: { allocation } }: LevelZeroTensor,
  byteLength: number,
): Exported {
  const { address: base } = usm.blockOf(allocation)!;
  const fd = struct("ze_external_memory_export_fd_t", { flags: ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF });
  const facts = struct("ze_memory_allocation_properties_t", { pNext: fd });
  check(levelZero().zeMemGetAllocProperties(handle, base, facts, null), "zeMemGetAllocProperties");
  const own = closedOnExec(fd.number(layouts.ze_external_memory_export_fd_t.fields.fd));
  return { port: new Port("dma-buf", { fd: own, offset: Number(address - base), byteLength }) };
}

/** The whole dma-buf becomes device memory. The driver keeps its own reference, so the fd is closed here. */
function importDmaBuf(open: OpenContext, port: Port): Imported<Address> {
  const { handle, device } = open;
  const size = BigInt(port.memory!.byteLength);
  const fd = port.takeFd();
  return allOrNothing("importing a dma-buf", (undo) => {
    undo.push(open.hold());
    try {
      const flags = ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
      const imported = struct("ze_external_memory_import_fd_t", { flags, fd });
      const desc = struct("ze_device_mem_alloc_desc_t", { pNext: imported });
      const fn = "zeMemAllocDevice";
      const base = made<Address>(fn, (out) => levelZero()[fn](handle, desc, size, 0n, device.handle, out));
      owned("levelzero.usm", undo, () => open.free(base));
      return {
        handle: base + BigInt(port.offset) as Address,
        release: () => undoAll(undo, "releasing a dma-buf"),
      };
    } finally {
      closeFd(fd);
    }
  });
}
