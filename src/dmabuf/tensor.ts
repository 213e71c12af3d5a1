import type { Call } from "../core/device/driver.ts";
import { type Fence, fenceIn } from "../core/device/fence.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { type Access, writes } from "../core/memory/access.ts";
import { Resource } from "../core/life/resource.ts";
import { duplicateFd } from "../core/native/fd.ts";
import { Frame } from "../core/tensors/frame.ts";
import { type Part, Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import type { DmaBuf } from "./buffer.ts";
import { checks } from "./library.ts";
import { fenceOf, newLine, signals, type SyncLane } from "./sync.ts";

/** Bytes of a dma-buf. Its handle is the buffer; `layout.byteOffset` says where in it they begin. */
export class DmaBufTensor extends Tensor<DmaBuf> {
  /** Takes the resource over. */
  constructor(init: TensorInit<DmaBuf>) {
    super(init);
    this.grant.allocation.attachment(BUFFER, () => init.handle);
    if (init.parent instanceof Frame) this.joinFrame(init.parent);
  }

  /** The DRM format modifier: how the picture is tiled. 0 is linear, as `layout` says. */
  get modifier(): bigint {
    return bufferOf(this.grant.allocation)!.modifier;
  }

  /** The address of its first element, if the CPU may map the buffer. For those who write backends. */
  get address(): bigint | undefined {
    // Memory of the CPU's keeps its address: a second one would be another memory to OpenCL.
    const source = this.parent instanceof Frame ? this.parent.parent : this.parent;
    const known = source?.described.range;
    if (known?.address !== undefined) return known.address + BigInt(this.grant.start - known.start);
    const { address } = this.rawHandle;
    return address === undefined ? undefined : address + BigInt(this.layout.byteOffset);
  }

  /** It is a plane of `frame` now, which says how it is tiled. For those who write mappers. */
  override joinFrame(frame: Frame): void {
    super.joinFrame(frame);
    if (frame.info.type === "image") bufferOf(this.grant.allocation)!.modifier = frame.info.modifier;
  }

  /**
   * A new fd of the whole buffer, for another process or API. You own it. The tensor begins `layout.byteOffset` bytes into
   * the buffer.
   */
  exportFd(): number {
    this.assertUsable(this.leastAccess);
    return duplicateFd(this.rawHandle.fd);
  }

  /**
   * Hands a fence to the kernel: everyone who uses the buffer from now on waits for it, in other processes and drivers too.
   * A fence of an access `"read"` holds up writers only. The tensor's end waits for it as well.
   *
   * @throws {ArgumentError} for a fence that no sync file can stand for: await it instead.
   */
  addFence(fence: Fence, access: Access = this.access): void {
    const { line, mark } = fenceIn(fence, "fence", "dmabuf");
    this.assertUsable(access);
    if (fence.reached()) return;
    if (!signals.canWaitFor(line, mark)) {
      throw checks.wrong("fence", `no sync file can stand for work of ${line.name}.`, "Await fence.wait() instead.");
    }
    this.resource.usedBy(newLine("a fence of a dma-buf").submitRaw(handOver(this.rawHandle, access), [fence]));
  }

  /** The same as of any tensor; the fences are waited for as well that others have given to the buffer. */
  override async finished(): Promise<void> {
    this.resource.assertLive();
    for (const fence of pending(this.rawHandle, "read-write")) this.resource.usedBy(fence);
    await super.finished();
  }

  /** The address, for routes. */
  protected override get hostAddress(): bigint | undefined {
    return this.address;
  }

  /** A part of it, in the same buffer. */
  protected derive({ name, grant, layout }: Part): DmaBufTensor {
    const resource = new Resource({ name, grants: [grant], owners: [this.resource] });
    return new DmaBufTensor({ target: this.target, handle: this.rawHandle, layout, resource, parent: this });
  }
}

/** The key of what is known of an allocation's buffer, and is the same under each of its fds. */
const BUFFER = {};

/** What is known of an allocation's buffer. */
export function bufferOf(allocation: Allocation): DmaBuf | undefined {
  return allocation.findAttachment(BUFFER);
}

/** The work that an access to a buffer has to wait for, as the kernel knows it: of writers, or of all. */
export function pending(buffer: DmaBuf, access: Access): Fence[] {
  const fd = buffer.exportSyncFile(access);
  return fd === undefined ? [] : [fenceOf(fd)];
}

/** The command that gives a buffer what it waits for as fences. */
export function handOver(buffer: DmaBuf, access: Access): Call<SyncLane> {
  const use: Access = writes(access) ? "write" : "read";
  return {
    fn: "ioctl",
    call({ waits }) {
      for (const fd of waits) buffer.importSyncFile(fd, use);
      return 0;
    },
  };
}
