import type { Call } from "../core/contract.ts";
import { type Fence, fenceIn } from "../core/device/fence.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { type Access, writes } from "../core/memory/access.ts";
import { registerByHandle } from "../core/memory/peers.ts";
import { duplicateFd } from "../core/native/fd.ts";
import { Described, LatePlane } from "../core/tensors/described.ts";
import { Frame } from "../core/tensors/frame.ts";
import { Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import type { DmaBuf } from "./buffer.ts";
import { checks } from "./library.ts";
import { fenceOf, newLine, signals, type SyncLane } from "./sync.ts";

/** Bytes of a dma-buf. Its handle is the buffer; the bytes begin at `layout.byteOffset` in it. */
export class DmaBufTensor extends Tensor<DmaBuf> {
  /** Takes over the resource. */
  constructor(init: TensorInit<DmaBuf>) {
    super(init);
    this.grant.allocation.attachment(BUFFER, () => init.handle);
    if (init.parent instanceof Frame) this.joinFrame(init.parent);
  }

  /** The DRM format modifier, the tiling of the picture; 0 is linear, as in `layout`. */
  get modifier(): bigint {
    return bufferOf(this.grant.allocation)!.modifier;
  }

  /** The address of its first element, if the CPU may map the buffer: the first read maps it. For backends. */
  get address(): bigint | undefined {
    return this.described.range.address;
  }

  /** Makes it a plane of `frame`, which knows how it is tiled. For mappers. */
  override joinFrame(frame: Frame): void {
    super.joinFrame(frame);
    if (frame.info.type !== "image" || frame.info.modifier === 0n) return; // a tiled buffer stays tiled
    bufferOf(this.grant.allocation)!.modifier = frame.info.modifier;
  }

  /** A new fd of the whole buffer, which you own. The tensor begins `layout.byteOffset` bytes into the buffer. */
  exportFd(): number {
    this.assertUsable(this.leastAccess);
    const { rawHandle: { fd, identity }, grant: { allocation, start }, layout: { byteOffset } } = this;
    const copy = duplicateFd(fd);
    registerByHandle("dma-buf", identity, allocation, start - byteOffset); // the fd may come back after its map has ended
    return copy;
  }

  /**
   * Passes a fence to the kernel: all later users of the buffer wait for it, in other processes and drivers too. For a fence of
   * a `"read"` access, only writers wait. The tensor's end waits for it as well.
   *
   * @throws {ArgumentError} for a fence without a sync file: await it instead.
   */
  addFence(fence: Fence, access: Access = this.access): void {
    const { line, mark } = fenceIn(fence, "fence", "dmabuf");
    this.assertUsable(access);
    if (fence.reached()) return;
    if (!signals.canWaitFor(line, mark)) {
      throw checks.wrong("fence", `no sync file can stand for work of ${line.name}.`, "Await fence.wait() instead.");
    }
    this.resource.usedBy(newLine("a fence of a dma-buf").submitRaw(handOver([this.rawHandle], access), [fence]));
  }

  /** The kernel's fences of the buffer that other code has set: those of writers, or all. For backends. */
  override outsideWork(access: Access): readonly Fence[] {
    const fd = this.rawHandle.exportSyncFile(access);
    return fd === undefined ? [] : [fenceOf(fd)];
  }

  /** A getter for the address, because reading it maps the buffer, and most routes do not need that. */
  protected override describe(): Described {
    const { target, access, layout, grant: { allocation, start }, rawHandle: buffer, parent } = this;
    // CPU memory keeps its address: OpenCL would take a second address for other memory.
    const source = (parent instanceof Frame ? parent.parent : parent)?.described.range;
    const address = () => {
      const { address } = source ?? {};
      if (address !== undefined) return address + BigInt(start - source!.start);
      return buffer.address === undefined ? undefined : buffer.address + BigInt(layout.byteOffset);
    };
    const plane = { layout, allocation, start, fd: buffer };
    return new Described(target, access, [new LatePlane(plane, address)]);
  }
}

/** The key of facts about an allocation's buffer, which are the same for all its fds. */
const BUFFER = {};

export function bufferOf(allocation: Allocation): DmaBuf | undefined {
  return allocation.findAttachment(BUFFER);
}

/** The command that makes the work before it fences of the buffers. */
export function handOver(buffers: readonly DmaBuf[], access: Access): Call<SyncLane> {
  const use: Access = writes(access) ? "write" : "read";
  return {
    fn: "ioctl",
    call({ waits }) {
      for (const buffer of buffers) for (const fd of waits) buffer.importSyncFile(fd, use);
      return 0;
    },
  };
}
