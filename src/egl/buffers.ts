import { PrintedTarget } from "../core/graph/context.ts";
import * as gl from "../../ffi/gles/constants.ts";
import { GlPort } from "../gl/port.ts";
import type { Memory, MemoryTarget } from "../core/contract.ts";
import { type Layout, layout, type LayoutInit, whole } from "../core/layout/layout.ts";
import { registerByHandle } from "../core/memory/peers.ts";
import { adoptTensor, attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { allocateTensor } from "../core/tensors/over.ts";
import { type SliceOptions, Tensor } from "../core/tensors/tensor.ts";
import type { EglBase } from "./base.ts";
import { GlBuffer } from "./buffer.ts";
import { checkGl } from "./errors.ts";
import { checks, gles } from "./library.ts";
import { byCopy } from "./memory.ts";

const BUFFER = "egl.buffer";

/** Elements in a GL buffer. Its handle is a {@link GlBuffer}; the elements begin at `layout.byteOffset` in it. */
export class EglBufferTensor extends Tensor<GlBuffer> {
  /** Lends a part as a child. @see {@link Tensor.slice} */
  override slice(init: Layout | LayoutInit, options: SliceOptions = {}): this {
    return super.slice(init, options) as this;
  }
}

/** The buffers of a context, as a node of the graph: vertices, and other data that GL and other APIs compute on. */
export class EglBuffers extends PrintedTarget<EglBase> implements MemoryTarget<EglBufferTensor> {
  /** The kind of memory. */
  readonly kind = "egl.buffer";
  /** Its ports. For mappers. */
  readonly ports: Memory<EglBufferTensor, GlBuffer>;

  /** Made by the context. */
  constructor(context: EglBase) {
    super(context);
    const { openContext } = context;
    const within = <R>(use: () => R): R => openContext.within(use);
    this.ports = {
      get line() {
        return context.line;
      },
      exports: [{ kind: "gl-buffer" }, byCopy()],
      imports: [],
      export({ rawHandle, grant: { start: offset } }, _kind, byteLength) {
        const at = { value: BigInt(rawHandle.name), offset, byteLength };
        rawHandle.lent++;
        return {
          port: new GlPort("gl-buffer", { ...at, target: gl.GL_ARRAY_BUFFER, within }),
          release: () => rawHandle.lent--,
        };
      },
      allocate(byteLength) {
        const handle = new GlBuffer(openContext, byteLength);
        return { handle, release: () => handle.free() };
      },
      tensor: (init) => new EglBufferTensor(init),
    };
  }

  /** True for tensors of this memory. */
  is(value: Mapped): value is EglBufferTensor {
    return value instanceof EglBufferTensor && value.target === this;
  }

  /**
   * Makes a zeroed buffer.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {NativeCallError} if memory runs out.
   *
   * @example
   * ```ts
   * import { EglContext } from "@samepage/interop/egl";
   *
   * using egl = EglContext.open();
   * using vertices = egl.buffer.allocate({ shape: [3, 2], dtype: "f32" });
   * egl.queue.write(vertices, Float32Array.of(0, 0, 1, 0, 0, 1));
   * egl.queue.run([{ buffer: vertices, access: "read" }], (gl) => {
   *   gl.glBindBuffer(0x8892, vertices.handle.name); // GL_ARRAY_BUFFER
   * });
   * ```
   */
  allocate(init: LayoutInit): EglBufferTensor {
    const tensor = allocateTensor(this, init);
    registerByHandle(BUFFER, keyOf(tensor.rawHandle), tensor.grant.allocation);
    return tensor;
  }

  /**
   * Elements in a buffer that the program made. The buffer stays the program's, and has to outlive the tensor.
   *
   * @param buffer its name, of the context's share group
   * @throws {ArgumentError} if there is no such buffer.
   * @throws {LayoutError} if the buffer is shorter than the elements.
   */
  attach(buffer: number, init: LayoutInit, options: AttachOptions = {}): EglBufferTensor {
    return attaching(options, (access) => {
      const name = whole(buffer, "buffer", 1);
      const at = layout(init);
      const { openContext, resource } = this.context;
      resource.assertLive();
      const byteLength = openContext.within(() => lengthOf(name));
      checks.assertWithin(at, byteLength, "init");
      const handle = new GlBuffer(openContext, byteLength, name);
      const owner = { kind: BUFFER, handle: keyOf(handle), release: () => handle.free() };
      const plane = { handle, layout: at, block: { kind: this.kind, byteLength } };
      return adoptTensor(this, owner, plane, { name: `egl buffer ${name}`, access });
    });
  }
}

function keyOf({ context, name }: GlBuffer): bigint {
  return context.handle << 32n | BigInt(name);
}

function lengthOf(name: number): number {
  const result = gles().glIsBuffer(name);
  checkGl("glIsBuffer");
  if (result === 0) {
    throw checks.wrong(
      "buffer",
      `the context knows no buffer ${name}.`,
      "A name is a buffer's once glBindBuffer has taken it. Attach to the context that made it: EglContext.attach().",
    );
  }
  const size = new Int32Array(1);
  gles().glBindBuffer(gl.GL_ARRAY_BUFFER, name);
  gles().glGetBufferParameteriv(gl.GL_ARRAY_BUFFER, gl.GL_BUFFER_SIZE, size);
  checkGl("glGetBufferParameteriv");
  return size[0];
}
