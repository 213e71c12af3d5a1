import type { ClContext, ClKernel, ClProgram } from "../../ffi/opencl/handles.ts";
import type { GlContext } from "../gl/port.ts";
import type { Line } from "../core/device/line.ts";
import type { MemoryClass, Verdict } from "../core/device/proofs.ts";
import type { Target } from "../core/graph/context.ts";
import type { DeviceContext } from "../core/graph/device_context.ts";
import type { Resource } from "../core/life/resource.ts";
import type { ParameterInfo } from "./arguments/info.ts";
import type { HostBuffers } from "./buffers/host_buffers.ts";
import type { BufferTensor } from "./buffers/tensor.ts";
import type { Space } from "./buffers/space.ts";
import type { ImageTensor } from "./images/tensor.ts";
import type { OpenCLDevice } from "./device.ts";
import type { OpenCLDriver } from "./driver.ts";
import type { ImageAbilities } from "./images/abilities.ts";
import type { ClLane } from "./lane.ts";
import type { OpenCLPointerTensor } from "./pointers/tensor.ts";
import type { SvmMaps } from "./svm/maps.ts";

/** What the parts of a context know of it: {@link OpenCLContext} has all parts, so no part imports it. For mappers. */
export interface BaseContext extends DeviceContext, Target {
  /** Its first device. */
  readonly device: OpenCLDevice;
  /** All its devices. */
  readonly devices: readonly OpenCLDevice[];
  /** The largest buffer that all its devices take, in bytes. */
  readonly maxAllocation: number;
  /** The alignment of a sub-buffer on all its devices, in bytes. */
  readonly subBufferAlign: number;
  /** OpenGL's context that it was opened for, if it was. */
  readonly gl?: GlContext | undefined;
  /** The `cl_context` of a live context. */
  readonly handle: ClContext;
  /** The `cl_context`, without a check. */
  readonly rawHandle: ClContext;
  /** Its work. */
  readonly driver: OpenCLDriver;
  /** Its default queue. */
  readonly queue: { readonly line: Line<ClLane> };
  /** What is proven of its devices. */
  readonly proofs: { prove(which: MemoryClass<BaseContext>): Verdict };
  /** Its memory. */
  readonly memory: { readonly hostBuffers: HostBuffers; readonly space: Space };
  /** Its images. */
  readonly images: { readonly abilities: ImageAbilities };
  /** Its shared virtual memory. */
  readonly svm: { readonly maps: SvmMaps };
  /** Returns `given` if it is one of its devices. @throws {ArgumentError} otherwise. */
  deviceIn(given: OpenCLDevice): OpenCLDevice;
  /** Creates a queue. */
  createQueue(options?: { readonly device?: OpenCLDevice }): BaseQueue;
  /** Builds OpenCL C. */
  program(source: string, options?: { readonly options?: string }): BaseProgram;
}

/** What the parts of a context know of a queue. For mappers. */
export interface BaseQueue extends Disposable {
  /** Its context. */
  readonly context: BaseContext;
  /** Its device. */
  readonly device: OpenCLDevice;
  /** Its end of life. */
  readonly resource: Resource;
  /** Its line of work. */
  readonly line: Line<ClLane>;
  /** Copies memory to the program's bytes; blocks. */
  read(from: BufferTensor | ImageTensor | OpenCLPointerTensor, into: ArrayBufferView): void;
  /** Copies the program's bytes to memory; blocks. */
  write(to: BufferTensor | ImageTensor | OpenCLPointerTensor, from: ArrayBufferView): void;
  /** Hands all commands to the device. */
  flush(): void;
  /** Blocks until all commands are done. */
  finish(): void;
}

/** What the parts of a context know of a program. For mappers. */
export interface BaseProgram extends Disposable {
  /** The context it was built for. */
  readonly context: BaseContext;
  /** Its build options. */
  readonly options: string;
  /** The `cl_program`. */
  readonly handle: ClProgram;
  /** The names of its kernels. */
  readonly kernelNames: readonly string[];
  /** A kernel by its name. */
  kernel(name: string): BaseKernel;
}

/** What the parts of a context know of a kernel. For mappers. */
export interface BaseKernel extends Disposable {
  /** The `cl_kernel`. */
  readonly handle: ClKernel;
  /** Its parameters, in order. */
  readonly parameters: readonly ParameterInfo[];
}
