import type { Address } from "../../ffi/address.ts";
import type { Memory } from "../core/contract.ts";
import { InteropError, type Reason } from "../core/errors.ts";
import type { Context } from "../core/graph/context.ts";
import { owned } from "../core/life/ledger.ts";
import type { Undo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import type { Part, Tensor } from "../core/tensors/tensor.ts";
import { gpuMemory } from "../inference/context.ts";
import { call, check, checks, ov } from "./library.ts";
import { OUT } from "../inference/calls.ts";
import { OpenVINOTensor, ports } from "./memory.ts";
import { shapeFor } from "./values.ts";

/** How OpenVINO runs models in another API's context. */
interface RemoteKind {
  /** OpenVINO's name of such contexts. */
  readonly type: string;
  /** The property that takes the context's handle, and that handle's name in `natives`. */
  readonly key: string;
  readonly handle: string;
  /** The context's memory, as OpenVINO takes it in place. */
  portsOf(on: Context): Memory<OpenVINOTensor, Address>;
}

/** By the API of the other context. */
const KINDS: Readonly<Record<string, RemoteKind>> = {
  opencl: { type: "OCL", key: "OCL_CONTEXT", handle: "context", portsOf: bufferPorts },
  vaapi: { type: "VA_SHARED", key: "VA_DEVICE", handle: "display", portsOf: surfacePorts },
};

/** Throws unless models can run in this context. */
export function assertRemote({ api, name }: Context): void {
  if (api in KINDS) return;
  const hint = "Pass an OpenCLContext or a VaapiContext of Intel's GPU.";
  throw checks.wrong("on", `OpenVINO runs nothing on ${name} (${api}).`, hint);
}

/** Names of properties. OpenVINO's functions take names and values alternately, and their number. */
const [CONTEXT_TYPE, MEMORY_TYPE] = ["CONTEXT_TYPE", "SHARED_MEM_TYPE"].map(cString);
const [BUFFER, MEM_HANDLE] = ["OCL_BUFFER", "MEM_HANDLE"].map(cString);
const [SURFACE, SURFACE_ID, PLANE] = ["VA_SURFACE", "DEV_OBJECT_HANDLE", "VA_PLANE"].map(cString);

/** Makes OpenVINO's remote context over another API's, until `undo` runs. */
export function remoteContext(core: Address, device: string, { api, natives }: Context, undo: Undo): Address {
  const { type, key, handle } = KINDS[api];
  const context = natives!.handles()[handle] as Address;
  const named = [CONTEXT_TYPE, cString(type), cString(key)] as const;
  call("ov_core_create_context", core, cString(device), 4n, OUT, ...named, context);
  const remote = OUT[0] as Address;
  owned("openvino.remote_context", undo, () => ov().ov_remote_context_free(remote));
  return remote;
}

/** The ports of the memory that models in such a context read and write. */
export function remotePorts(on: Context): Memory<OpenVINOTensor, Address> {
  return KINDS[on.api].portsOf(on);
}

/** Whole buffers of a `cl_context`. */
function bufferPorts(on: Context): Memory<OpenVINOTensor, Address> {
  return {
    ...gpuMemory(ports, { kind: "cl_mem" }, on),
    refuse: ({ target }) => refuseOther(target.context, on),
    tensor: (init) => new BufferTensor(init),
    import({ value, offset }) {
      assertWhole(offset, "source");
      return { handle: value as Address };
    },
  };
}

/** A buffer, whose handle is its `cl_mem`. */
class BufferTensor extends OpenVINOTensor {
  protected override derive(part: Part): Tensor<Address> {
    assertWhole(part.layout.byteOffset, "init");
    return super.derive(part);
  }

  protected override objectOver(type: number, shape: readonly number[]): Address {
    const { target: { remote }, rawHandle } = this;
    call("ov_remote_context_create_tensor", remote!, type, shapeFor(shape), 4n, OUT, ...BUFFERS, rawHandle);
    return OUT[0] as Address;
  }
}

const BUFFERS = [MEMORY_TYPE, BUFFER, MEM_HANDLE] as const;

function assertWhole(offset: number, argument: string): void {
  if (offset === 0) return;
  throw checks.unfit(
    argument,
    `it begins at byte ${offset} of its cl_mem.`,
    "OpenVINO takes a buffer from its beginning.",
  );
}

/** Surfaces of a display, as frames. All other memory is host memory, which OpenVINO copies. */
function surfacePorts(on: Context): Memory<OpenVINOTensor, Address> {
  return {
    ...ports,
    images: {
      exports: [],
      imports: [{ kind: "va-surface" }],
      refuse: ({ target, info }) => info?.format === "NV12" ? refuseOther(target.context, on) : NOT_NV12,
      import: ({ objects: [{ value: id }] }) => ({
        handles: [0, 1].map((plane) => new Plane(id, plane) as unknown as Address),
      }),
    },
    refuse({ target, info, planes }) {
      if (target.kind !== "openvino") return info && NO_SURFACE;
      return planes.some(({ address }) => address === undefined) ? UNSEEN : undefined;
    },
    addressOf: (plane) => isSurface(plane.handle) ? undefined : ports.addressOf!(plane),
    tensor: (init) => isSurface(init.handle) ? new SurfaceTensor(init) : ports.tensor!(init),
  };
}

/** The handle of a surface's plane, which has no address. */
class Plane {
  constructor(readonly id: bigint, readonly index: number) {}
}

function isSurface(handle: unknown): boolean {
  return handle instanceof Plane;
}

/** A plane of a surface. */
class SurfaceTensor extends OpenVINOTensor {
  override get address(): Address {
    throw new InteropError(`${this.name} has no address: only the driver knows where a surface's bytes lie.`, {
      ...{ api: "openvino", hint: "Map the surface to the host." },
    });
  }

  protected override get hostAddress(): undefined {
    return undefined;
  }

  protected override derive(part: Part): Tensor<Address> {
    if (part.layout === this.layout) return super.derive(part);
    throw checks.unfit("init", "a surface's plane has no parts.", "OpenVINO takes all of it.");
  }

  protected override objectOver(type: number, shape: readonly number[]): Address {
    const { id, index } = this.rawHandle as unknown as Plane;
    const { target: { remote } } = this;
    const place = [MEMORY_TYPE, SURFACE, SURFACE_ID, cString(`${id}`), PLANE, cString(`${index}`)] as const;
    const { ov_remote_context_create_tensorOfSurface: create } = ov();
    const code = create(remote!, type, shapeFor(shape), 6n, OUT, ...place);
    check(code, "ov_remote_context_create_tensor");
    return OUT[0] as Address;
  }
}

function refuseOther(context: Context, on: Context): Reason | undefined {
  return context === on ? undefined : OTHER;
}

const OTHER: Reason = {
  reason: "it belongs to another context than the one in which models run.",
  remedy: "Map it there first.",
};

const NOT_NV12: Reason = {
  reason: "OpenVINO takes surfaces of NV12, as whole frames.",
  remedy: "Decode to NV12, or have the video processor convert the surface.",
};

const NO_SURFACE: Reason = {
  reason: "models in a VaapiContext take frames that are surfaces.",
  remedy: 'Map it to that context first: graph.map(frame, va, { copy: "allow" }).',
};

const UNSEEN: Reason = {
  reason: "it is a surface, whose bytes OpenVINO does not show to the CPU.",
  remedy: "Map the frame of the VaapiContext.",
};
