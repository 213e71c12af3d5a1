import { cudaPeerAccessDefault } from "../../ffi/cuda_runtime/constants.ts";
import { cudaErrorPeerAccessAlreadyEnabled } from "../../ffi/cuda_runtime/errors.ts";
import type { Address } from "../../ffi/address.ts";
import type { Call } from "../core/contract.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { messageOf, type Reason, warn } from "../core/errors.ts";
import { check } from "./errors.ts";
import { cudart } from "./library.ts";
import { canAccess } from "./reach.ts";
import type { CudaStreamContext } from "./stream.ts";
import type { StreamLane } from "./stream_lane.ts";
import { cudaBlockOf, isPooled } from "./memory/block.ts";
import { bandwidth, copyBetween, type PeerBandwidth, type PeerOrdinals } from "./peer/bandwidth.ts";

const MEASURED = new Map<string, PeerBandwidth | undefined>();

/**
 * One context's access to memory of other devices. Access to all cudaMalloc'd memory of another device is enabled once, before
 * any use, because a kernel that touches it without access destroys both devices' contexts. For mappers.
 */
export class CudaPeers {
  readonly #context: CudaStreamContext;
  readonly #reachable = new Map<number, boolean>();
  readonly #open = new WeakSet<CudaStreamContext>();

  /** Made by the context. */
  constructor(context: CudaStreamContext) {
    this.#context = context;
  }

  /** True if its kernels can reach memory of a device, which is their own or a peer (cudaDeviceCanAccessPeer). */
  canReach(ordinal: number): boolean {
    let known = this.#reachable.get(ordinal);
    if (known === undefined) this.#reachable.set(ordinal, known = canAccess(this.#context.device.ordinal, ordinal));
    return known;
  }

  /** Why the kind of this memory stops another context from accessing or copying it. */
  refuse(allocation: Allocation): Reason | undefined {
    const { ordinal, name } = this.#context.device;
    const block = cudaBlockOf(allocation);
    if (block?.memory !== "device") {
      const kind = block?.memory ?? "the host's";
      const remedy = "Map the tensor there that it was mapped from; or copy it: stream.copy().";
      return { reason: `peer access is to memory of cuda.allocate(), and this is ${kind}.`, remedy };
    }
    if (block.ordinal !== ordinal) {
      return { reason: `it is not ${name}'s own memory.`, remedy: "Map the tensor that it was mapped from." };
    }
    if (!isPooled(allocation)) return undefined;
    const remedy = "Allocate it by cuda.allocate(), or copy it: stream.copy().";
    return { reason: "it is of a memory pool, which has access rules of its own.", remedy };
  }

  /** True if access to a context's memory is enabled. No native call. */
  isOpen(owner: CudaStreamContext): boolean {
    return owner.device.ordinal === this.#context.device.ordinal || this.#open.has(owner);
  }

  /** Enables access to a context's memory (cudaDeviceEnablePeerAccess), once. */
  open(owner: CudaStreamContext): void {
    if (this.isOpen(owner)) return;
    this.#context.within(() => {
      const code = cudart().cudaDeviceEnablePeerAccess(owner.device.ordinal, cudaPeerAccessDefault);
      if (code === cudaErrorPeerAccessAlreadyEnabled) cudart().cudaGetLastError(); // by another library of the process
      else check(code, "cudaDeviceEnablePeerAccess");
    });
    this.#open.add(owner);
  }

  /** Measures how fast it reads a context's memory, once; warns if that fails. Enables access. */
  tryToMeasure(owner: CudaStreamContext): void {
    const key = this.#key(owner);
    if (MEASURED.has(key)) return;
    MEASURED.set(key, undefined); // one try only
    try {
      this.open(owner);
      MEASURED.set(key, bandwidth(this.#context, owner));
    } catch (error) {
      warn(`how fast ${this.#context.name} reads ${owner.name} could not be measured: ${messageOf(error)}`);
    }
  }

  /** The measured bandwidth, if any. No native call. */
  measured(owner: CudaStreamContext): PeerBandwidth | undefined {
    return MEASURED.get(this.#key(owner));
  }

  /** A copy between devices (cudaMemcpyPeerAsync), by a stream of either. */
  copy(
    to: Address,
    from: Address,
    byteLength: number,
    ordinals: PeerOrdinals,
  ): Call<StreamLane> {
    return copyBetween(to, from, byteLength, ordinals);
  }

  #key(owner: CudaStreamContext): string {
    return `${this.#context.id.uuid} ${owner.id.uuid}`;
  }
}
